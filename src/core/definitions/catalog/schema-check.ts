// Shared by the parts of a compiled schema: a check, its fault, and the kind of a value.

import { isNumeral, type JsonValue } from '../../foundation/json/index.ts'

export interface Fault {
  readonly path: readonly (string | number)[]
  readonly problem: string
}

/** Counts down over one whole check. */
export interface Walk {
  steps: number
  /** How deep checks may still recurse: a schema may refer to itself without descending in the payload. */
  calls: number
}

export type Check = (value: JsonValue, walk: Walk) => Fault | null
export type Fields = { readonly [key: string]: JsonValue }

export function isMap(value: JsonValue | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isNumeral(value)
}

export function isWhole(value: JsonValue): boolean {
  const plain = isNumeral(value) ? value.plain() : value
  return typeof plain === 'bigint' || Number.isInteger(plain)
}

export function kindOf(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'bigint' || isNumeral(value) ? 'number' : typeof value
}

export function describeKind(value: JsonValue): string {
  const kind = kindOf(value)
  if (kind === 'null') return 'null'
  return /^[aio]/.test(kind) ? `an ${kind}` : `a ${kind}`
}

export function under(step: string | number, fault: Fault | null): Fault | null {
  return fault === null ? null : { path: [step, ...fault.path], problem: fault.problem }
}

export function fault(problem: string): Fault {
  return { path: [], problem }
}
