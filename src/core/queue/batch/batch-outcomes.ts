// Assigns an outcome to each member of a batch, from the response to the batch's call.
//
// Invariant: BA3 every member gets exactly one outcome, whatever the response says.

import type { RouteDocument } from '../../definitions/documents/index.ts'
import { must } from '../../effects/action/index.ts'
import { compileExpression, ExpressionError, type Keyed } from '../../expression/index.ts'
import { refusalWords } from '../../failures/failure/index.ts'
import { isNumber, type JsonValue, stringifyJson } from '../../foundation/json/index.ts'

export type MemberOutcome =
  | { readonly as: 'done'; readonly result: JsonValue | undefined }
  | { readonly as: 'refused'; readonly words: string | null }
  /** The response does not say, or contradicts itself. */
  | { readonly as: 'untold'; readonly why: string }

export interface BatchRules {
  readonly size: number
  readonly maxWaitMs: number
  /** Whether the response says more than yes or no. */
  readonly isPartial: boolean
  /** One outcome per key, in the order of the keys. */
  outcomesOf(keys: readonly string[], said: unknown): readonly MemberOutcome[]
}

export function compileBatch(document: NonNullable<RouteDocument['batch']>, keyed: Keyed = {}): BatchRules {
  const { size, maxWaitMs } = document
  const results = compiled(document.results, keyed)
  const key = compiled(document.item?.key, keyed)
  const ok = compiled(document.item?.ok, keyed)
  if (results === null || key === null || ok === null) {
    return { size, maxWaitMs, isPartial: false, outcomesOf: (keys) => keys.map(() => DONE) }
  }
  return {
    size,
    maxWaitMs,
    isPartial: true,
    outcomesOf(keys, said) {
      const list = attempt(() => results.evaluate({ result: said as JsonValue }))
      if (!Array.isArray(list)) return keys.map(() => untold('the answer has no list of results'))
      const outcomes = new Map<string, MemberOutcome>()
      for (const item of list as readonly JsonValue[]) {
        const name = nameOf(attempt(() => key.evaluate({ item })))
        if (name === null) continue
        const outcome = outcomeOf(
          item,
          attempt(() => ok.evaluate({ item })),
        )
        const before = outcomes.get(name)
        const agrees = before === undefined || before.as === outcome.as
        outcomes.set(name, agrees ? outcome : untold('the answer says two things of it'))
      }
      return keys.map((one) => outcomes.get(one) ?? untold('the answer does not name it'))
    },
  }
}

const DONE: MemberOutcome = { as: 'done', result: undefined }

function compiled(text: string | undefined, keyed: Keyed) {
  return text === undefined ? null : must(compileExpression(text, keyed)).expression
}

/** A result that cannot be read says nothing about any member. */
function attempt(evaluate: () => JsonValue): JsonValue {
  try {
    return evaluate()
  } catch (error) {
    if (error instanceof ExpressionError) return null
    throw error
  }
}

function nameOf(value: JsonValue): string | null {
  return typeof value === 'string' || isNumber(value) ? String(value) : null
}

function outcomeOf(item: JsonValue, ok: JsonValue): MemberOutcome {
  if (ok === true) return { as: 'done', result: item }
  if (ok === false) return { as: 'refused', words: refusalWords(stringifyJson(item)) }
  return untold('whether it went well is neither true nor false')
}

function untold(why: string): MemberOutcome {
  return { as: 'untold', why }
}
