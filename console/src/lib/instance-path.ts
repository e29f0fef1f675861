// The path of an instance through its net, from its history: the order in which transitions fired, and which arcs
// tokens took.

import type { Firing, HistoryEntry, InstanceDetail } from '../types.ts'

export interface InstancePath {
  /** By transition: 1 for the first firing, and so on. */
  readonly fired: ReadonlyMap<string, readonly number[]>
  readonly states: ReadonlyMap<string, Firing['state']>
  takes(arc: { readonly place: string; readonly transition: string | null; readonly type: string }): boolean
}

export function pathOfInstance({
  history,
  firings,
}: Pick<InstanceDetail, 'firings'> & { readonly history: readonly HistoryEntry[] }): InstancePath {
  const fired = new Map<string, number[]>()
  const took = new Set<string>()
  const put = new Set<string>()
  let number = 0
  for (const entry of history) {
    if (entry.name === undefined || entry.part !== undefined) continue
    if (entry.type === 'fired' || entry.type === 'began') {
      number += 1
      fired.set(entry.name, [...(fired.get(entry.name) ?? []), number])
    }
    for (const place of entry.took ?? []) took.add(`${entry.name} ${place}`)
    for (const place of entry.put ?? []) put.add(`${entry.name} ${place}`)
  }
  return {
    fired,
    states: new Map(firings.filter(({ type }) => type === 'fire').map(({ name, state }) => [name, state])),
    takes: ({ place, transition, type }) =>
      (type === 'in' || type === 'any' ? took : put).has(`${transition} ${place}`),
  }
}
