// Pure helpers of `ctx.effect`: check the options, and convert a result for storage.

import { findJsonFault } from '../../../core/effects/function/index.ts'
import type { LedgerEntry } from '../../../core/effects/ledger/index.ts'
import { parseDuration } from '../../../core/expression/index.ts'
import {
  copyPlain,
  isNumber,
  isStorable,
  type JsonValue,
  parseJson,
  stringifyJson,
} from '../../../core/foundation/json/index.ts'
import { SECOND } from '../../../core/foundation/time/index.ts'
import type { EffectOptions } from '../../../ports/code.ts'
import type { FunctionRun, OpenEffect } from './function-run.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/
const EFFECTS_MAX = 100
/** How long the vendor may still work after the call timed out, as for the probe of a route. */
const PROBE_AFTER_MS = 30 * SECOND

type Checked =
  | { readonly ok: true; readonly effect: OpenEffect }
  | { readonly ok: false; readonly problem: string }

/** An error here is a bug in the function: retrying cannot fix it. */
export function checkEffect(
  run: FunctionRun,
  name: unknown,
  body: unknown,
  options: EffectOptions<unknown>,
): Checked {
  const refuse = (problem: string): Checked => ({ ok: false, problem })
  if (typeof name !== 'string' || !NAME.test(name)) {
    return refuse(
      `${show(name)} is no name for an effect: write letters, digits and _ . : - (at most 100), such as 'post' or \`line-\${id}\``,
    )
  }
  if (run.effects?.has(name)) {
    return refuse(
      `a second effect '${name}' in one run: name them apart, in a loop by the id of what it is about (\`${name}-\${id}\`)`,
    )
  }
  if ((run.effects?.size ?? 0) >= EFFECTS_MAX) {
    return refuse(`more than ${EFFECTS_MAX} effects in one run: split the work over several events`)
  }
  if (typeof body !== 'function')
    return refuse(`effect '${name}': the second argument is the function that makes the call`)
  if (options.probe !== undefined && typeof options.probe !== 'function') {
    return refuse(`effect '${name}': probe is a function that gives what it finds, or undefined`)
  }
  const keyTtlMs = durationOf(options.keyTtl, null)
  if (keyTtlMs === undefined)
    return refuse(`effect '${name}': keyTtl is a duration such as 24h, or milliseconds`)
  const probeAfterMs = durationOf(options.probeAfter, PROBE_AFTER_MS)
  if (probeAfterMs === undefined) {
    return refuse(`effect '${name}': probeAfter is a duration such as 30s, or milliseconds`)
  }
  return {
    ok: true,
    effect: {
      name,
      key: effectKey(run.key, name),
      abilities: {
        idempotent: options.idempotent === true,
        keyTtlMs,
        probeAfterMs: options.probe === undefined ? null : probeAfterMs,
        timeoutMs: run.action.timeoutMs,
      },
      phase: 'ledger',
      ledgerSince: Number.POSITIVE_INFINITY,
      acts: 0,
      over: null,
      until: null,
    },
  }
}

function effectKey(key: string, name: string): string {
  return `${key}#${name}`
}

/** undefined: no duration. */
function durationOf<Default>(
  value: string | number | undefined,
  otherwise: Default,
): number | Default | undefined {
  if (value === undefined) return otherwise
  const ms = typeof value === 'number' ? value : parseDuration(String(value))
  return ms !== null && Number.isFinite(ms) && ms >= 0 ? ms : undefined
}

function show(name: unknown): string {
  return typeof name === 'string' ? `'${name.slice(0, 120)}'` : `a ${typeof name}`
}

/** The result as stored; null, with the reason, if it cannot be. */
export function keepResult(
  value: unknown,
  bytesMax: number,
): { readonly text: string; readonly problem: null } | { readonly text: null; readonly problem: string } {
  if (value === undefined) return { text: 'null', problem: null }
  const fault = findJsonFault(value, 'the result')
  if (fault !== null) return { text: null, problem: fault }
  const text = stringifyJson(value as JsonValue)
  if (text.length > bytesMax) {
    return { text: null, problem: `the result has ${text.length} bytes; ${bytesMax} are kept` }
  }
  if (!isStorable(text)) return { text: null, problem: 'the result holds a character that cannot be stored' }
  return { text, problem: null }
}

export function readResult(
  entry: LedgerEntry,
): { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly problem: string } {
  if (entry.result !== null) return { ok: true, value: copyPlain(parseJson(entry.result)) }
  // An operator knows that the effect exists, but not what it returned.
  if (entry.proof === 'person') return { ok: true, value: null }
  return {
    ok: false,
    problem:
      'its result was not kept: it was too large or no JSON. Return less from the effect, such as the id alone',
  }
}

/** The `id` of the effect's result, by which it can be found. */
export function refOfResult(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const { id } = value as { readonly id?: unknown }
  if (typeof id !== 'string' && !isNumber(id)) return null
  const text = String(id)
  return text !== '' && text.length <= 500 && isStorable(text) ? text : null
}
