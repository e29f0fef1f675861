// An operation of a provider as one call under the ledger: its input is checked before anything is sent, its request is
// rendered with the connection's configuration, and an unknown outcome is looked up if the provider can be asked.
//
// Invariants: DR7 an input that does not fit the operation is not sent. DR8 an unknown outcome is settled only by a clear
// response of the provider.

import { type CompiledSchema, compileSchema } from '../../core/definitions/catalog/index.ts'
import type { OperationDocument } from '../../core/definitions/documents/index.ts'
import {
  type OperationAction,
  type OperationScope,
  type PathRequest,
  parseResponse,
  type RenderedRequest,
} from '../../core/effects/action/index.ts'
import { keyOfGeneration } from '../../core/effects/ledger/index.ts'
import { describeError as describe, ExpressionError } from '../../core/expression/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { Vars } from '../../core/routing/index.ts'
import type { EngineConfig } from '../config.ts'
import type { Lookups } from '../definitions/index.ts'
import {
  type Call,
  errorText,
  type InternalCall,
  type KnownOutcome,
  type Performed,
} from '../effects/index.ts'

export interface Operations {
  /** `call` goes through an outbound client. Throws ExpressionError if the input lacks something or does not fit. */
  callOf(call: InternalCall, action: OperationAction): Call
}

const inputs = new WeakMap<OperationDocument, CompiledSchema | null>()

/** Throws ExpressionError; the message names the place, never the value. */
export function checkInput(operation: OperationDocument, input: JsonValue): void {
  let schema = inputs.get(operation)
  if (schema === undefined) {
    const compiled = operation.input === null ? null : compileSchema(operation.input)
    schema = compiled?.ok === true ? compiled : null
    inputs.set(operation, schema)
  }
  const fault = schema?.check(input) ?? null
  if (fault === null) return
  const path = fault.path.replace(/^payload/, 'input')
  throw new ExpressionError(
    'type',
    `the input does not fit ${operation.name}: ${path} ${fault.problem}`,
    path,
  )
}

export function makeOperations(
  deps: { readonly lookups: Lookups; readonly vars: Vars },
  config: Pick<EngineConfig, 'responseBytesMax'>,
): Operations {
  const { lookups, vars } = deps

  const perform = async (call: Call, action: OperationAction): Promise<Performed> => {
    const { through, request } = call
    if (through === undefined) throw new Error('assertion failed: an operation without a door')
    const { timeoutMs } = action.abilities
    const sent = await through.send(request, { timeoutMs, maxResponseBytes: config.responseBytesMax })
    const { outcome, error } = sent
    const judged = sent.judge?.(action.policy) ?? NOT_JUDGED
    if (outcome.kind === 'failed') return { outcome, verdict: judged, ...(error === null ? {} : { error }) }
    const response = parseResponse(outcome)
    const verdict = action.refine(response, judged)
    if (verdict.as === 'failed') return { outcome, verdict, ...(error === null ? {} : { error }) }
    return { outcome, verdict, ...givenBy(action, response) }
  }

  const ask = async (call: Call, action: OperationAction, scope: OperationScope): Promise<KnownOutcome> => {
    const { through } = call
    const { lookup } = action
    if (lookup === null || through === undefined) return { effect: 'unclear' }
    try {
      const { timeoutMs } = action.abilities
      const request = through.locate(requestOf(lookup.render(scope)))
      const { outcome } = await through.send(request, {
        timeoutMs,
        maxResponseBytes: config.responseBytesMax,
      })
      const isAnswer = outcome.kind === 'response' && (outcome.status < 300 || outcome.status === 404)
      if (!isAnswer) return { effect: null, error: `lookup: ${errorText(outcome)}` }
      const { isThere, ref } = lookup.found(scope, parseResponse(outcome))
      return isThere ? { effect: 'found', effectRef: ref } : { effect: 'absent' }
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      return { effect: null, error: `lookup: ${describe(error)}` }
    }
  }

  return {
    callOf(internal, action) {
      const { item, key, scope } = internal
      const input = action.input(scope)
      checkInput(action.operation, input)
      const found = lookups.find(item.work.tenant, action.connection)
      const config = found.ok ? found.account.addresses.config : null
      const seen = {
        input,
        config,
        key: keyOfGeneration(key, item.work.generation),
        vars: vars(item.work.tenant),
      }
      // Without the connection the rendered request is not sent: the outbound client reports what is missing.
      const rendered = found.ok ? requestOf(action.render(seen)) : NOTHING_TO_SEND
      const request = internal.through?.locate(rendered) ?? rendered
      const call: Call = { ...internal, action: { ...action, probe: null }, request }
      return {
        ...call,
        perform: () => perform(call, action),
        ...(action.lookup === null ? {} : { ask: () => ask(call, action, seen) }),
      }
    },
  }
}

/** The result of an operation. A formula that fails does not undo what was done: the response takes its place. */
export function givenBy(
  operation: Pick<OperationAction, 'resultOf' | 'refOf'>,
  response: Parameters<OperationAction['resultOf']>[0],
): { readonly value: JsonValue; readonly effectRef: string | null } {
  const attempt = <Value>(make: () => Value, otherwise: Value): Value => {
    try {
      return make()
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      return otherwise
    }
  }
  return {
    value: attempt(() => operation.resultOf(response), response.body),
    effectRef: attempt(() => operation.refOf(response), null),
  }
}

function requestOf({ target, ...rest }: PathRequest): RenderedRequest {
  return { ...rest, url: target }
}

const NOTHING_TO_SEND: RenderedRequest = { method: 'GET', url: '', headers: {}, body: null }
const NOT_JUDGED = { as: 'failed', class: 'config', effect: 'none', retryAfterMs: null } as const
