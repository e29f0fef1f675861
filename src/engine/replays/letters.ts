// The letters that a filter names, one after the other, the newest first.

import { causeOf, type DeadLetter } from '../../core/dead-letter/index.ts'
import type { DeadLetterId } from '../../core/ids/index.ts'
import type { TenantReads } from '../../ports/store.ts'
import type { ReplayFilter } from './record.ts'

export interface LetterPage {
  readonly letters: readonly DeadLetter[]
  /** The last one looked at, fitting or not; null: there are no more. */
  readonly after: DeadLetterId | null
}

/** For filters without `ids`. */
export async function readLetters(
  reads: Pick<TenantReads, 'deadLetters'>,
  filter: ReplayFilter,
  after: DeadLetterId | null,
  limit: number,
): Promise<LetterPage> {
  const { ids: _ids, cause, state = 'open', ...rest } = filter
  const olderThan = after === null ? {} : { olderThan: after }
  const page = await reads.deadLetters({ ...rest, ...olderThan, state, cursor: null, limit })
  const letters =
    cause === undefined ? page.items : page.items.filter(({ lastError }) => causeOf(lastError) === cause)
  return { letters, after: page.nextCursor === null ? null : (page.items.at(-1)?.id ?? null) }
}

const COUNT_PAGE = 500
const COUNT_MAX = 100_000

/** How many there are, up to a bound that no person waits behind. */
export async function countLetters(
  reads: Pick<TenantReads, 'deadLetters'>,
  filter: ReplayFilter,
): Promise<{ readonly count: number; readonly isCapped: boolean }> {
  if (filter.ids !== undefined) return { count: filter.ids.length, isCapped: false }
  let count = 0
  let after: DeadLetterId | null = null
  for (let seen = 0; seen < COUNT_MAX; seen += COUNT_PAGE) {
    const page: LetterPage = await readLetters(reads, filter, after, COUNT_PAGE)
    count += page.letters.length
    if (page.after === null) return { count, isCapped: false }
    after = page.after
  }
  return { count, isCapped: true }
}
