// GET /v1/ledger and /v1/ledger/history: the effects on other systems, and what may be done about unknown outcomes.

import type { FastifyInstance } from 'fastify'
import type { LedgerEntry } from '../core/effects/ledger/index.ts'
import { LEDGER_STATES } from '../core/effects/ledger/index.ts'
import type { WorkId } from '../core/foundation/ids/index.ts'
import type { TenantReads } from '../ports/store.ts'
import { ledgerEntryShape } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn } from './operations.ts'
import { readFilter } from './queries.ts'
import { showLedgerEntry } from './shapes.ts'

export const ledgerOperations = operations('ledger', (s) => ({
  listLedger: {
    at: 'GET /v1/ledger',
    summary: 'Effects by idempotency key, newest first; never a payload',
    description:
      'With `state=unknown` the unknown outcomes. `actions` says what may be done about each now: `probe`, `retry` and `cancel` of its work item, `done` and `released` as the word of `resolve`.',
    query: s.page({
      state: s.enum(LEDGER_STATES).describe('`unknown` are the outcomes that wait for a person.'),
      consumer: s.text,
      key: s.textOf(2_048),
    }),
    answer: s.pageOf(s.ref(ledgerEntryShape)),
  },
  listLedgerHistory: {
    at: 'GET /v1/ledger/history',
    summary: 'All generations of a key, the first one first: each is one requested effect',
    query: s.fields({ key: s.textOf(2_048) }),
    answer: s.answer(
      'The generations, all at once; none where the ledger does not know the key',
      s.object({ items: s.list(s.ref(ledgerEntryShape)), nextCursor: s.null }),
    ),
  },
}))

export function addLedgerRoutes(app: FastifyInstance, api: Pick<HttpApi, 'reads' | 'work'>): void {
  const on = serveOn(app, ledgerOperations)
  on('listLedger', async (request) => {
    const reads = api.reads(request.caller.tenant)
    const { key, ...filter } = readFilter(request.query)
    if (key === undefined) {
      const { items, nextCursor } = await reads.ledgerList(filter)
      return { items: await showEntries(api, reads, items), nextCursor }
    }
    const entry = await reads.ledger(key)
    const matches =
      entry !== null &&
      (filter.state === undefined || filter.state === entry.state) &&
      (!('consumer' in filter) || filter.consumer === entry.consumer)
    return { items: matches ? await showEntries(api, reads, [entry]) : [], nextCursor: null }
  })

  on('listLedgerHistory', async (request) => {
    const reads = api.reads(request.caller.tenant)
    const entries = await reads.ledgerHistory(request.query.key)
    return { items: await showEntries(api, reads, entries), nextCursor: null }
  })
}

const AT_ONCE = 20

/** With the work item of each as it is now. Many entries may be of one item: it is read once. */
async function showEntries(api: Pick<HttpApi, 'work'>, reads: TenantReads, entries: readonly LedgerEntry[]) {
  const ids = [...new Set(entries.map(({ work }) => work))]
  const items = new Map<WorkId, Awaited<ReturnType<TenantReads['work']>>>()
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const some = ids.slice(at, at + AT_ONCE)
    const rows = await Promise.all(some.map((id) => reads.work(id)))
    for (const [index, row] of rows.entries()) items.set(some[index] as WorkId, row)
  }
  return Promise.all(
    entries.map(async (entry) => {
      const work = items.get(entry.work) ?? null
      return {
        ...showLedgerEntry(entry),
        work: work === null ? null : { id: work.id, state: work.state, key: work.key },
        actions: work === null ? [] : await api.work.allowed(work, entry),
      }
    }),
  )
}
