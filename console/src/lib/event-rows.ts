// How a list of events merges what is new. Pure: rows in, rows out.

import type { Change } from '../live.ts'
import type { EventRow } from '../types.ts'

/** No one reads more rows than this; the oldest are dropped, and return by "load more". */
export const ROWS_MAX = 600

/** The newest page before what is shown. If they do not overlap, what is shown is too old to keep. */
export function mergeHead(
  shown: readonly EventRow[],
  head: readonly EventRow[],
): { readonly rows: readonly EventRow[]; readonly fresh: number; readonly isWhole: boolean } {
  const known = new Set(shown.map(({ id }) => id))
  const fresh = head.filter(({ id }) => !known.has(id))
  const meets = shown.length === 0 || fresh.length < head.length
  if (!meets) return { rows: head, fresh: fresh.length, isWhole: false }
  const inHead = new Map(head.map((row) => [row.id, row]))
  const kept = shown.map((row) => inHead.get(row.id) ?? row)
  return { rows: [...fresh, ...kept], fresh: fresh.length, isWhole: true }
}

/** The states of consumers as the stream sends them; the same array if nothing in it changed. */
export function applyChanges(rows: readonly EventRow[], changes: readonly Change[]): readonly EventRow[] {
  const byEvent = new Map<string, Map<string, Extract<Change, { type: 'work' }>>>()
  for (const change of changes) {
    if (change.type !== 'work' || change.eventId === null) continue
    const ofEvent = byEvent.get(change.eventId) ?? new Map()
    ofEvent.set(change.id, change)
    byEvent.set(change.eventId, ofEvent)
  }
  if (byEvent.size === 0) return rows
  let isChanged = false
  const next = rows.map((row) => {
    const ofEvent = byEvent.get(row.id)
    if (ofEvent === undefined) return row
    let isRowChanged = false
    const consumers = row.consumers.map((consumer) => {
      const change = ofEvent.get(consumer.workId)
      if (change === undefined) return consumer
      const { state, attempts } = change
      if (state === consumer.state && attempts === consumer.attempts) return consumer
      isRowChanged = true
      return { ...consumer, state, attempts }
    })
    if (!isRowChanged) return row
    isChanged = true
    return { ...row, consumers }
  })
  return isChanged ? next : rows
}
