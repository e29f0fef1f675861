// Lists: as many rows as requested, over as many pages as that takes.

import { Option } from 'commander'
import { type Session, wholeNumber } from './command.ts'

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

export interface ListOptions {
  readonly limit: number
}

const LIMIT_DEFAULT = 25
const LIMIT_MAX = 10_000
const PAGE_MAX = 200

export function limitOption(): Option {
  return new Option('-n, --limit <rows>', 'how many rows at most')
    .default(LIMIT_DEFAULT)
    .argParser(wholeNumber(1, LIMIT_MAX))
}

/** A search may return short pages while there is more, so the rows are counted and not the pages. */
export async function readPages<Item>(
  session: Session,
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
  limit: number,
  /** For what a page has besides its rows. */
  onPage: (page: Page<Item>) => void = () => {},
): Promise<Page<Item>> {
  const items: Item[] = []
  let cursor: string | null = null
  do {
    const page: Page<Item> = await session.api.get(path, {
      ...query,
      limit: Math.min(PAGE_MAX, limit - items.length),
      cursor: cursor ?? undefined,
    })
    onPage(page)
    items.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null && items.length < limit)
  return { items, nextCursor: cursor }
}

/** On a terminal: what an empty list means, and that there is more than shown. */
export function noteRest(session: Session, page: Page<unknown>, empty: string): void {
  const { out } = session
  if (!out.isTty) return
  if (page.items.length === 0) out.note(empty)
  else if (page.nextCursor !== null) out.note(`There are more; --limit ${page.items.length * 4} shows them.`)
}
