// Rows in pages that fit into memory: bounded in number and in text, for payloads of any size.

export interface PageLimits {
  readonly rowsMax: number
  readonly charactersMax: number
}

export const PAGE_LIMITS: PageLimits = { rowsMax: 1_000, charactersMax: 8_388_608 }

/** A page has at least one row, however long. */
export function* inPages<Row extends object>(
  rows: Iterable<Row>,
  { rowsMax, charactersMax }: PageLimits = PAGE_LIMITS,
): Generator<readonly Row[]> {
  let page: Row[] = []
  let characters = 0
  for (const row of rows) {
    page.push(row)
    for (const value of Object.values(row)) if (typeof value === 'string') characters += value.length
    if (page.length < rowsMax && characters < charactersMax) continue
    yield page
    page = []
    characters = 0
  }
  if (page.length > 0) yield page
}
