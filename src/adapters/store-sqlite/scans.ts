// Which reads may skip many rows that they do not return, or count many: look-ups should not wait behind them.

import { readWholeId } from '../../core/foundation/ids/index.ts'
import type { ReadName, Reads } from './reads.ts'
import { isWorkScan } from './work-list.ts'

type Lists =
  | 'events'
  | 'workList'
  | 'deadLetters'
  | 'ledgerList'
  | 'failures'
  | 'instances'
  | 'orphans'
  | 'runs'

const SCANS: ReadonlySet<ReadName> = new Set([
  'dump',
  'deadLetterGroups',
  'eventsAfter',
  'instanceCounts',
  'openCounts',
  'openTotal',
  'outbox',
  'outboxCount',
  'overview',
  'oldestReadyAt',
  'workCounts',
])

/** Whether a list is filtered by a property that no index holds. */
const FILTERED: { readonly [Name in Lists]: (query: Parameters<Reads[Name]>[1]) => boolean } = {
  events: ({ q = '', source, sourceNot, subject, unmatched, objectId, correlationId, from, to }) =>
    readWholeId(q) === null &&
    (q !== '' ||
      unmatched === false ||
      [source, sourceNot, subject, objectId, correlationId, from, to].some((filter) => filter !== undefined)),
  workList: isWorkScan,
  deadLetters: (query) =>
    query.eventId === undefined &&
    (query.consumer !== undefined || query.class !== undefined || query.reason !== undefined),
  ledgerList: (query) => query.consumer !== undefined || query.state === 'done',
  failures: (query) =>
    query.consumer !== undefined || query.class !== undefined || query.state === 'resolved',
  instances: (query) =>
    query.parent === undefined &&
    [query.state, query.place, query.definition, query.attention].some((filter) => filter !== undefined),
  orphans: (query) => query.workflow !== undefined,
  runs: (query) => query.workId === undefined && (query.state === 'completed' || query.purpose !== undefined),
}

export function isScan<Name extends ReadName>(name: Name, args: Parameters<Reads[Name]>): boolean {
  if (SCANS.has(name)) return true
  const isFiltered = FILTERED[name as Lists] as ((query: unknown) => boolean) | undefined
  return isFiltered?.(args[1]) ?? false
}
