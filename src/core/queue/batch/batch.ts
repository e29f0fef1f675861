// A batch: several jobs of one route that share a call. Its members, its key, and how it is split in two.
//
// Invariants: BA1 the key is independent of the members' order. BA2 a split keeps every member once, and both halves are
// smaller: splitting ends.

import type { Scope } from '../../expression/index.ts'
import { hashText } from '../../foundation/hash/index.ts'
import { type JsonValue, stringifyJson } from '../../foundation/json/index.ts'

/** One member, as expressions see it in `batch`. */
export interface MemberInBatch {
  /** As the vendor sees it: a forced repetition has its number appended. */
  readonly key: string
  /** The scope of the job's own expressions. */
  readonly scope: Scope
}

export function batchKey(keys: readonly string[]): string {
  return `batch:${hashText(stringifyJson([...keys].sort()))}`
}

/**
 * A batch sees its members and nothing of a single event. `as`: the name of an element, where the route has one job per
 * element.
 */
export function batchScope(members: readonly MemberInBatch[], key: string, as: string | null): Scope {
  const [first] = members
  const batch = members.map((member) => seenMember(member, as))
  // A function without `with` gets what is in `payload`.
  const shared = { batch, payload: batch, key }
  return first === undefined ? shared : { ...shared, tenant: first.scope.tenant, vars: first.scope.vars }
}

function seenMember({ key, scope }: MemberInBatch, as: string | null): JsonValue {
  const { event, payload, header, source } = scope
  const seen = { key, event, payload, header, source }
  return (as === null ? seen : { ...seen, [as]: scope[as] }) as JsonValue
}

/** Two halves; null: a single member cannot be split. */
export function splitBatch<Member>(
  members: readonly Member[],
): readonly [readonly Member[], readonly Member[]] | null {
  if (members.length < 2) return null
  const middle = Math.ceil(members.length / 2)
  return [members.slice(0, middle), members.slice(middle)]
}
