// How many instances of a workflow are where, summed from groups of equal ones: a store counts each group without reading an
// instance.

import type { Marking } from './instance.ts'
import { parseMarking } from './marking.ts'

/** The active instances of one definition with one marking. */
export interface InstanceGroup {
  readonly definition: string
  /** As in the instance with the greatest id. */
  readonly version: string
  readonly marking: string
  readonly count: number
  readonly lastId: string
}

/** Counts above this are not distinguished. */
const COUNT_MAX = 10_000

export function sumGroups(groups: readonly InstanceGroup[]): {
  readonly markings: { readonly marking: Marking; readonly count: number }[]
  readonly definitions: { readonly definition: string; readonly version: string; readonly count: number }[]
} {
  const markings = new Map<string, number>()
  const definitions = new Map<string, InstanceGroup>()
  for (const group of groups) {
    markings.set(group.marking, Math.min((markings.get(group.marking) ?? 0) + group.count, COUNT_MAX))
    const before = definitions.get(group.definition)
    const last = before !== undefined && before.lastId > group.lastId ? before : group
    const count = Math.min((before?.count ?? 0) + group.count, COUNT_MAX)
    definitions.set(group.definition, { ...last, count })
  }
  return {
    markings: [...markings]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([text, count]) => ({ marking: parseMarking(text), count })),
    definitions: [...definitions.values()].map(({ definition, version, count }) => ({
      definition,
      version,
      count,
    })),
  }
}
