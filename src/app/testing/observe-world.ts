// Reads what a flow test came to: from the store and from the vendors.

import { isCanonical } from '../../core/events/canonical/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { type JsonValue, parseJson } from '../../core/foundation/json/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Observed, ObservedPart } from '../../core/testing/flow-test/index.ts'
import type { Page, TenantReads } from '../../ports/store.ts'
import type { TestWorld } from './test-world.ts'

const PAGE = 200
/** As the API shows instances to admins. */
const READER = { tenant: DEFAULT_TENANT, actor: 'test', role: 'admin', permissions: [] } as const

type Seen = Omit<Observed, 'requests'>

/** Jobs that wait for something outside: for a time limit, for a lock or a slot. */
const PATIENT: ReadonlySet<string> = new Set(['timer', 'admit', 'signal'])
const OPEN: ReadonlySet<string> = new Set(['ready', 'waiting', 'leased'])

/** Jobs that have not ended and go on by themselves. */
export async function openJobs(reads: TenantReads): Promise<readonly WorkRow[]> {
  const jobs = await allPages((cursor) => reads.workList({ cursor, limit: PAGE }))
  return jobs.filter(({ kind, state }) => OPEN.has(state) && !PATIENT.has(kind))
}

export async function observeWorld({ engine, reads, vendors, settled }: TestWorld): Promise<Seen> {
  const keys = await allPages((cursor) => reads.ledgerList({ cursor, limit: PAGE, state: 'done' }))
  const deadLetters = await allPages((cursor) => reads.deadLetters({ cursor, limit: PAGE }))
  const parked = await allPages((cursor) => reads.workList({ cursor, limit: PAGE, state: 'parked' }))
  const instances = await allPages((cursor) => reads.instances({ cursor, limit: PAGE }))
  const shown: ObservedPart[] = []
  for (const { id } of instances) {
    const { row, instance } = await settled(engine.workflows.reading.one(READER, id))
    const { marking, data, correlations, failure } = instance
    const places = Object.keys(marking)
      .flatMap((place) => Array<string>(marking[place] ?? 0).fill(place))
      .sort()
    shown.push({
      workflow: row.workflow,
      version: row.version,
      state: row.state,
      places,
      ...(places.length === 1 ? { place: places[0] as string } : {}),
      data: data as JsonValue,
      correlation: Object.fromEntries(correlations.map(({ name, value }) => [name, value])),
      ...(failure === null ? {} : { failure: { class: failure.class, error: failure.error } }),
    })
  }
  return {
    calls: vendors.calls(),
    unanswered: vendors.unanswered(),
    answered: vendors.answered(),
    // A route without a key of its own has one made of the event's id, which says nothing.
    keys: keys.flatMap(({ key, eventId }) => (key.includes(eventId) ? [] : [key])).sort(),
    emitted: await emittedEvents(reads),
    instances: shown,
    deadLetters: deadLetters
      .filter(({ state }) => state !== 'resolved' && state !== 'discarded')
      .map(({ consumer, reason, class: failure, attempts, key, step, severity, lastError }) => ({
        ...named(consumer),
        reason,
        class: failure,
        attempts,
        key,
        step,
        severity,
        error: lastError,
      })),
    parked: parked.map(showJob),
    waiting: (await openJobs(reads)).map(showJob),
  }
}

async function emittedEvents(reads: TenantReads): Promise<Observed['emitted']> {
  const events = await allPages((cursor) => reads.events({ cursor, limit: PAGE }))
  const emitted = []
  for (const { id } of events) {
    const event = await reads.event(id)
    if (event === null) continue
    const own = isCanonical(event)
    // What came from outside was sent by the test itself.
    if (!own && event.causationId === null) continue
    const { subject, source, objectId, data } = event
    emitted.push({ subject, source, objectId, data: parseJson(data), isCanonical: own })
  }
  return emitted
}

function showJob({ consumer, class: failure, attempts, key, lastError }: WorkRow): ObservedPart {
  return { ...named(consumer), class: failure, attempts, key, error: lastError }
}

/** `route:book` as `{ route: 'book' }`. */
function named(consumer: string): ObservedPart {
  const [kind = '', ...name] = consumer.split(':')
  return { [kind]: name.join(':') }
}

/** All pages, the oldest first. */
export async function allPages<Item>(
  read: (cursor: string | null) => Promise<Page<Item>>,
): Promise<readonly Item[]> {
  const items: Item[] = []
  let cursor: string | null = null
  do {
    const page: Page<Item> = await read(cursor)
    items.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null)
  return items.reverse()
}
