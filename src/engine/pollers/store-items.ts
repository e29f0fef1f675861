// Stores the items of a page: each becomes an event by the same path as a received one, unless it looks as it did before; one that
// cannot be read becomes a dead letter.
//
// Invariants: PO2 the same version of an object is one event, however often it is read. PO3 a malformed item does not keep the others
// of its page from being stored. PO20 it is marked as unread, so that only a replay that reads it makes an event of it.

import { WHOLE_PAYLOAD } from '../../core/events/sensitive/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import { type JsonValue, stringifyJson } from '../../core/foundation/json/index.ts'
import { UNREAD_HEADER } from '../../core/ingest/bus-message/index.ts'
import type { Source } from '../../core/ingest/source/index.ts'
import {
  added,
  type ItemEvent,
  itemHeader,
  NO_COUNTS,
  type PollCounts,
  type Poller,
} from '../../core/polling/poller/index.ts'
import type { Guard, Write } from '../../ports/store.ts'
import { StoreError } from '../../ports/store.ts'
import { type Draft, type EngineBase, orConflict, RACES_MAX, retrying } from '../commit/index.ts'
import type { Acceptor } from '../ingest/index.ts'
import type { Item } from '../leases/index.ts'

/** The counts of the page. Throws StoreError: then the whole page is read again. */
export type StoreItems = (item: Item, poller: Poller, items: readonly JsonValue[]) => Promise<PollCounts>

/** So many are on their way to the store at once: they share its transactions. */
const AT_ONCE = 200

export function makeStoreItems(
  deps: Pick<EngineBase, 'store' | 'ids' | 'clock' | 'commits'> & { readonly acceptor: Acceptor },
): StoreItems {
  const { store, ids, clock, commits, acceptor } = deps

  const draftOf = (
    { event }: Item,
    { consumer }: Poller,
    text: string,
    named: Pick<Draft, 'subject' | 'objectType' | 'objectId' | 'occurredAt' | 'dedupKey' | 'headers'>,
  ): Draft => {
    const correlationId = ids.uuid()
    return {
      id: ids.event(),
      tenant: event.tenant,
      source: consumer,
      ...named,
      correlationId,
      causationId: event.id,
      traceId: correlationId.replaceAll('-', ''),
      payloadHash: hashText(text),
      data: text,
      raw: null,
      sensitive: [],
    }
  }

  const storeMalformed = async (item: Item, poller: Poller, value: JsonValue, problem: string) => {
    const text = stringifyJson(value)
    const stored = await acceptor.keep({
      source: asUnread(poller.source),
      draft: draftOf(item, poller, text, {
        subject: `poll.${poller.document.name}.malformed`,
        objectType: null,
        objectId: null,
        occurredAt: null,
        dedupKey: `malformed:${hashText(text)}`,
        headers: stringifyJson(UNREAD),
      }),
      payload: value,
      header: UNREAD,
      unread: problem,
      startedAt: clock.monotonic(),
    })
    return stored !== 'refused' && stored.duplicate ? DUPLICATE : DEAD_LETTERED
  }

  /** What the object looked like when it was stored last. */
  const remembered = async (item: Item, key: string, snapshotHash: string) => {
    const found = await store.forTenant(item.work.tenant).record('polled', key)
    const version = found?.version ?? 0
    const guard: Guard = { g: 'version', of: 'polled', key, version }
    const write: Write = {
      w: 'record.put',
      kind: 'polled',
      key,
      version: version + 1,
      body: JSON.stringify(snapshotHash),
    }
    return { isSame: found !== null && JSON.parse(found.body) === snapshotHash, guard, write }
  }

  const storeEvent = (item: Item, poller: Poller, event: ItemEvent): Promise<PollCounts> => {
    const { names, data, snapshotHash } = event
    const { tenant } = item.work
    const header = itemHeader(event)
    const storeOnce = async (retry: () => Promise<PollCounts>): Promise<PollCounts> => {
      const key = `${poller.document.name}/${names.objectId}`
      const before = snapshotHash === null ? null : await remembered(item, key, snapshotHash)
      if (before?.isSame === true) return UNCHANGED
      const stored = await acceptor.keep({
        source: poller.source,
        draft: draftOf(item, poller, stringifyJson(data), { ...names, headers: stringifyJson(header) }),
        payload: data,
        header,
        startedAt: clock.monotonic(),
        ...(before === null ? {} : { beside: { guards: [before.guard], writes: [before.write] } }),
      })
      if (stored === 'refused') return retry()
      if (!stored.duplicate) return STORED
      // Stored before, by another path or before a crash: what it looks like is still to be remembered.
      if (before !== null) await commits.once(tenant, [before.guard], [before.write])
      return DUPLICATE
    }
    return retrying(RACES_MAX, storeOnce, orConflict('an object of a poller changes without end'))
  }

  const storeOne = async (item: Item, poller: Poller, value: JsonValue): Promise<PollCounts> => {
    const read = poller.readItem(value, item.work.tenant)
    return read.ok ? storeEvent(item, poller, read.event) : storeMalformed(item, poller, value, read.problem)
  }

  return async (item, poller, items) => {
    let counts: PollCounts = NO_COUNTS
    for (let at = 0; at < items.length; at += AT_ONCE) {
      const some = items.slice(at, at + AT_ONCE)
      const stored = await Promise.allSettled(some.map((value) => storeOne(item, poller, value)))
      for (const one of stored) {
        if (one.status === 'rejected') throw asStoreError(one.reason)
        counts = added(counts, one.value)
      }
    }
    return counts
  }
}

/** The store is not available: the job is put back like any other that met this. */
function asStoreError(error: unknown): unknown {
  return error instanceof AppError && error.cause instanceof StoreError ? error.cause : error
}

const UNREAD = { [UNREAD_HEADER]: 'malformed' }

/** Sensitive paths are those of the event that an item becomes: where the same values are in the item itself is unknown. */
function asUnread(source: Source): Source {
  const { document } = source
  if (document.sensitive === undefined) return source
  return { ...source, document: { ...document, sensitive: WHOLE_PAYLOAD } }
}

const STORED: PollCounts = { ...NO_COUNTS, found: 1, stored: 1 }
const DUPLICATE: PollCounts = { ...NO_COUNTS, found: 1, duplicates: 1 }
const UNCHANGED: PollCounts = { ...NO_COUNTS, found: 1, unchanged: 1 }
const DEAD_LETTERED: PollCounts = { ...NO_COUNTS, found: 1, deadLettered: 1 }
