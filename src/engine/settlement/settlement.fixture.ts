// A leased job and a dead letter for tests of the settler, as plain data.

import type { StoredEvent } from '../../core/events/event/index.ts'
import type { DeadLetter } from '../../core/failures/dead-letter/index.ts'
import {
  DEFAULT_TENANT,
  type DeadLetterId,
  type EventId,
  type FailureId,
  type Incarnation,
  type WorkId,
} from '../../core/foundation/ids/index.ts'
import { EMPTY_NOTE, type WorkRow } from '../../core/queue/work/index.ts'
import { compileRoute, type Route } from '../../core/routing/index.ts'
import { ROUTE } from '../engine.fixture.ts'
import { type Item, makeItem } from '../leases/index.ts'
import type { DecisionInput } from './job-decision.ts'

export const OWNER = 1 as Incarnation
export const DEAD_LETTER_ID = 'dlq_1' as DeadLetterId
export const DECISION_INPUT: DecisionInput = {
  counters: { attempts: 1, waits: 0, losses: 0 },
  note: EMPTY_NOTE,
}
export const PLAIN_ROUTE: Route = compileRoute(ROUTE)
export const ORDERED_ROUTE: Route = compileRoute({
  ...ROUTE,
  order: { by: 'payload.order', version: 'payload.order' },
})

const EVENT: StoredEvent = {
  id: 'evt_1' as EventId,
  tenant: DEFAULT_TENANT,
  source: 'shop',
  subject: 'shop.events.paid',
  objectType: 'order',
  objectId: 'o1',
  occurredAt: null,
  correlationId: 'evt_1',
  causationId: null,
  traceId: '0'.repeat(32),
  dedupKey: 'd1',
  payloadHash: 'h1',
  headers: '{}',
  data: '{"order":"o1"}',
  raw: null,
  sensitive: [],
  matched: 1,
  receivedAt: 1_000,
  duplicates: 0,
  lastDuplicateAt: null,
}

const WORK: WorkRow = {
  id: 'wrk_1' as WorkId,
  tenant: DEFAULT_TENANT,
  kind: 'route',
  consumer: 'route:book',
  definition: 'd',
  codeHash: null,
  eventId: EVENT.id,
  state: 'leased',
  dueAt: 1_000,
  owner: OWNER,
  epoch: 7,
  alone: false,
  createdAt: 1_000,
  expiresAt: 601_000,
  processedAt: null,
  replayOf: null,
  element: null,
  lane: null,
  hasPlace: false,
  isFrozen: false,
  into: null,
  generation: 1,
  instance: null,
  step: null,
  attempts: 0,
  waits: 0,
  losses: 0,
  ...EMPTY_NOTE,
}

export const LETTER: DeadLetter = {
  id: DEAD_LETTER_ID,
  version: 4,
  state: 'replaying',
  class: 'transient',
  reason: 'cap_reached',
  consumer: WORK.consumer,
  eventId: EVENT.id,
  workId: WORK.id,
  attempts: 3,
  replays: 1,
  lastError: 'answered 503',
  key: 'BOOK:o1',
  correlationId: EVENT.correlationId,
  payloadHash: EVENT.payloadHash,
  runbook: null,
  severity: 'high',
  step: 'call',
  failureId: 'fail_0' as FailureId,
  tenant: DEFAULT_TENANT,
  createdAt: 500,
  updatedAt: 900,
}

export function makeLeased(work: Partial<WorkRow> = {}, deadLetter?: DeadLetter): Item {
  const item = makeItem(OWNER, { ...WORK, ...work }, EVENT)
  return deadLetter === undefined ? item : { ...item, deadLetter }
}
