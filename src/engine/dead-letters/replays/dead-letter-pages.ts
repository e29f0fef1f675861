// Reads the dead letters that a filter selects, newest first.

import {
  type DeadLetter,
  type DeadLetterConditions,
  type DeadLetterReason,
  type DeadLetterState,
  deadLetterSpan,
  fitsConditions,
  hasConditions,
} from '../../../core/failures/dead-letter/index.ts'
import type { FailureClass } from '../../../core/failures/failure/index.ts'
import type { DeadLetterId } from '../../../core/foundation/ids/index.ts'
import { type Page, type PageRequest, StoreError, type TenantReads } from '../../../ports/store.ts'
import type { ReplayFilter } from './replay-record.ts'

export interface DeadLetterPage {
  readonly deadLetters: readonly DeadLetter[]
  /** The last one read, matching or not; null: there are no more. */
  readonly after: DeadLetterId | null
}

type Reads = Pick<TenantReads, 'deadLetters'>

/** Whatever their state, unless given. */
interface DeadLetterQuery extends DeadLetterConditions {
  readonly state?: DeadLetterState
  readonly consumer?: string
  readonly class?: FailureClass
  readonly reason?: DeadLetterReason
}

/** For filters without `ids`; only open ones, unless given. */
export function readDeadLetters(
  reads: Reads,
  { ids: _ids, ...filter }: ReplayFilter,
  after: DeadLetterId | null,
  limit: number,
): Promise<DeadLetterPage> {
  return readSome(reads, { ...filter, state: filter.state ?? 'open' }, after, limit)
}

async function readSome(
  reads: Reads,
  query: DeadLetterQuery,
  after: DeadLetterId | null,
  limit: number,
): Promise<DeadLetterPage> {
  const { cause, key, correlationId, severity, from, to, ...indexed } = query
  const { below, atLeast } = deadLetterSpan(query)
  const olderThan = after !== null && (below === null || after < below) ? after : below
  const page = await reads.deadLetters({
    ...indexed,
    ...(olderThan === null ? {} : { olderThan }),
    cursor: null,
    limit,
  })
  const last = page.items.at(-1)?.id ?? null
  const isOver = page.nextCursor === null || (last !== null && atLeast !== null && last < atLeast)
  return {
    deadLetters: page.items.filter((deadLetter) => fitsConditions(deadLetter, query)),
    after: isOver ? null : last,
  }
}

const SCAN_PAGE = 500
const SCAN_PAGES = 20
const DEAD_LETTER_ID = /^dlq_[0-9a-f-]{36}$/

/**
 * A page for display. Conditions without an index read a bounded number of dead letters: the page may then
 * hold fewer than requested while there are more.
 */
export async function listDeadLetters(
  reads: Reads,
  { cursor, limit, ...query }: DeadLetterQuery & PageRequest,
): Promise<Page<DeadLetter>> {
  if (!hasConditions(query)) return reads.deadLetters({ ...query, cursor, limit })
  if (cursor !== null && !DEAD_LETTER_ID.test(cursor))
    throw new StoreError('invalid_cursor', 'the cursor is not one of this list')
  const items: DeadLetter[] = []
  let after = cursor as DeadLetterId | null
  for (let pages = 0; pages < SCAN_PAGES; pages += 1) {
    const page: DeadLetterPage = await readSome(reads, query, after, SCAN_PAGE)
    items.push(...page.deadLetters)
    if (items.length > limit)
      return { items: items.slice(0, limit), nextCursor: items[limit - 1]?.id ?? null }
    after = page.after
    if (after === null) break
  }
  return { items, nextCursor: after }
}

const COUNT_PAGE = 500
const COUNT_MAX = 100_000

/** How many there are, up to a bound that keeps the request fast. */
export async function countDeadLetters(
  reads: Reads,
  filter: ReplayFilter,
): Promise<{ readonly count: number; readonly isCapped: boolean }> {
  if (filter.ids !== undefined) return { count: filter.ids.length, isCapped: false }
  let count = 0
  let after: DeadLetterId | null = null
  for (let seen = 0; seen < COUNT_MAX; seen += COUNT_PAGE) {
    const page: DeadLetterPage = await readDeadLetters(reads, filter, after, COUNT_PAGE)
    count += page.deadLetters.length
    if (page.after === null) return { count, isCapped: false }
    after = page.after
  }
  return { count, isCapped: true }
}
