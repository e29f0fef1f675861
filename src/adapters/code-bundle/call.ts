// One call of a user's function: its schema checks the input, and every result or error becomes an outcome.

import {
  type FunctionOutcome,
  failedFunction,
  outcomeOfError,
  outcomeOfValue,
} from '../../core/effects/function/index.ts'
import { copyPlain, type JsonValue } from '../../core/foundation/json/index.ts'
import type { FunctionContext } from '../../ports/code.ts'

export interface UserFunction {
  readonly name: string
  readonly input?: Schema | undefined
  readonly timeout?: unknown
  readonly tenants?: unknown
  readonly emits?: unknown
  run(input: unknown, context: FunctionContext): unknown
}

/** The part of Standard Schema that is used. */
interface Schema {
  readonly '~standard': { validate(value: unknown): Validated | PromiseLike<Validated> }
}

type Validated =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

type Answer = FunctionOutcome | Promise<FunctionOutcome>

const ISSUES_MAX = 5

export function callFunction(
  definition: UserFunction,
  shared: JsonValue,
  context: FunctionContext,
  onError: (error: unknown) => FunctionOutcome = outcomeOfError,
): Answer {
  try {
    // The user's code starts here: it may change its input, and all jobs of the event share the payload.
    const input = copyPlain(shared)
    const validate = definition.input?.['~standard']
    if (validate === undefined) return runFunction(definition, input, context, onError)
    const checked = validate.validate(input)
    return isThenable(checked)
      ? Promise.resolve(checked)
          .then((one) => runChecked(definition, one, context, onError))
          .catch(onError)
      : runChecked(definition, checked, context, onError)
  } catch (error) {
    return onError(error)
  }
}

function runChecked(
  definition: UserFunction,
  checked: Validated,
  context: FunctionContext,
  onError: (error: unknown) => FunctionOutcome,
): Answer {
  if (checked.issues === undefined) return runFunction(definition, checked.value, context, onError)
  const told = checked.issues.slice(0, ISSUES_MAX).map(({ message, path }) => `${placeOf(path)}: ${message}`)
  const more = checked.issues.length > ISSUES_MAX ? `, and ${checked.issues.length - ISSUES_MAX} more` : ''
  return failedFunction('terminal', `the input of ${definition.name} does not fit: ${told.join('; ')}${more}`)
}

function runFunction(
  definition: UserFunction,
  input: unknown,
  context: FunctionContext,
  onError: (error: unknown) => FunctionOutcome,
): Answer {
  try {
    const value = definition.run(input, context)
    return isThenable(value) ? Promise.resolve(value).then(outcomeOfValue, onError) : outcomeOfValue(value)
  } catch (error) {
    return onError(error)
  }
}

function placeOf(path: Issue['path']): string {
  const steps = (path ?? []).map((step) => (typeof step === 'object' ? step.key : step))
  return steps.reduce<string>(
    (place, step) => (typeof step === 'number' ? `${place}[${step}]` : `${place}.${String(step)}`),
    'input',
  )
}

function isThenable<Value>(value: unknown): value is PromiseLike<Value> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}
