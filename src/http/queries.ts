// A list, from the query to the page: what its filters mean for the store, and its rows as clients see them. schema-kit.ts declares the
// same for the request and the answer (`page`, `pageOf`).

import { type Instant, parseInstant } from '../core/foundation/time/index.ts'
import type { Page } from '../ports/store.ts'

interface Conditions {
  readonly from?: string
  readonly to?: string
  readonly consumer?: string
}

type Stored<Given extends Conditions> = Omit<Given, 'from' | 'to'> &
  (Given extends { readonly from?: string } ? { readonly from?: Instant; readonly to?: Instant } : unknown)

/** As the store reads them: instants are numbers there, and `crm` is the consumer `route:crm`. */
export function readConditions<Given extends Conditions>(given: Given): Stored<Given> {
  const { from, to, consumer, ...rest } = given
  return {
    ...rest,
    ...(from !== undefined && { from: readInstant(from) }),
    ...(to !== undefined && { to: readInstant(to) }),
    ...(consumer !== undefined && { consumer: consumer.includes(':') ? consumer : `route:${consumer}` }),
  } as unknown as Stored<Given>
}

/** The conditions of a list, and where its page begins. */
export function readFilter<Given extends Conditions & { readonly cursor?: string }>(
  query: Given,
): Omit<Stored<Given>, 'cursor'> & { readonly cursor: string | null } {
  return { ...readConditions(query), cursor: query.cursor ?? null }
}

/** Of a text that the schema has let through. */
export function readInstant(text: string): Instant {
  return parseInstant(text) ?? Number.NaN
}

export function showPage<Row, Shown>({ items, nextCursor }: Page<Row>, show: (row: Row) => Shown) {
  return { items: items.map((row) => show(row)), nextCursor }
}
