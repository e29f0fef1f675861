// Random operations on the outbox: the part of operations.conformance.ts that is about the bus.

import type { NewEvent } from '../../core/events/event/index.ts'
import type { NewOutboxRow } from '../../core/store/outbox/index.ts'
import type { Commit, Store, Write } from '../store.ts'
import { oneOf, type Turn, tenantOf } from './operation-choices.conformance.ts'

export function makeEventTold({ id, subject }: NewEvent): Write {
  const row = {
    id,
    subject: `millrace.acme.events.${subject}`,
    about: 'event',
    event: id,
    body: null,
  } as const
  return { w: 'outbox.add', rows: [row] }
}

/** Of tokens, and of events that may be another tenant's, or deleted. */
export function makeTelling({ book, pick }: Turn): Commit {
  const rows = Array.from({ length: 1 + pick(3) }, (): NewOutboxRow => {
    const event = pick(2) === 0 ? null : (oneOf(pick, book.events)?.id ?? null)
    return {
      id: event ?? book.ids.uuid(),
      subject: oneOf(pick, ['a.b', 'a\u0000b', 'ü.😀']),
      about: event === null ? 'token' : 'event',
      event,
      body: event === null ? oneOf(pick, [null, '{"place":"a"}', '']) : null,
    }
  })
  return { tenant: tenantOf(pick), guards: [], writes: [{ w: 'outbox.add', rows }] }
}

/** Positions are each store's own, so they are used here and not returned. */
export async function relaySome(
  store: Store,
  { limit, step }: { readonly limit: number; readonly step: number },
): Promise<unknown> {
  const { rows, events } = await store.system('relay').outbox(limit)
  const going = rows.filter((_, index) => index % step === 0)
  for (const tenant of new Set(going.map((row) => row.tenant))) {
    const positions = going.filter((row) => row.tenant === tenant).map((row) => row.position)
    await store.commit({ tenant, guards: [], writes: [{ w: 'outbox.delete', positions }] })
  }
  const count = await store.system('relay').outboxCount(1_000)
  return { rows: rows.map(({ position: _, ...row }) => row), events, count }
}
