// Workflows for tests of triggers: about orders of the shop of src/engine/engine.fixture.ts, changed as a test needs
// it.

import type {
  PlaceDocument,
  TransitionDocument,
  TriggerDocument,
  WorkflowDocument,
} from '../../core/definitions/documents/index.ts'
import type { EventId, InstanceId } from '../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Instance } from '../../core/workflows/instance/index.ts'
import { decodeInstance } from '../../core/workflows/machine/index.ts'
import type { Orphan } from '../../core/workflows/orphan/index.ts'
import { accept, type Node, type World } from '../engine.fixture.ts'

export function place(name: string, type: PlaceDocument['type'] = 'normal'): PlaceDocument {
  return { name, type }
}

export function transition(name: string, from: string, to: string, more: Partial<TransitionDocument> = {}) {
  return {
    name,
    from: [from],
    to: [to],
    on: 'auto',
    when: null,
    out: {},
    key: null,
    retry: { profile: 'STEP', attempts: 3, delaysMs: [1_000, 2_000] },
    maxWaitMs: 600_000,
    ...more,
  } satisfies TransitionDocument
}

export const CREATE: TriggerDocument = {
  id: '0',
  on: ['shop.events.ordered'],
  action: 'create',
  where: null,
  correlate: { order: 'payload.order' },
  unique: 'live',
  map: { 'data.order': 'payload.order', 'data.by': 'payload.id' },
  bufferMs: 0,
}

export const UPDATE: TriggerDocument = {
  id: '1',
  on: ['shop.events.changed'],
  action: 'update',
  where: null,
  correlate: { order: 'payload.order' },
  map: { 'data.seen': "(data.seen == null ? '' : data.seen) + payload.id" },
  bufferMs: 60_000,
}

export const CLOSE: TriggerDocument = {
  id: '2',
  on: ['shop.events.closed'],
  action: 'update',
  where: null,
  correlate: { order: 'payload.order' },
  map: {},
  fire: 'close',
  bufferMs: 0,
}

/** An order waits until an event closes it. */
export const CASE: WorkflowDocument = {
  kind: 'Workflow',
  name: 'order',
  description: null,
  version: '1.0.0',
  status: 'active',
  start: 'open',
  places: [place('open', 'waiting'), place('closed', 'final')],
  transitions: [transition('close', 'open', 'closed', { on: 'event' })],
  triggers: [CREATE, UPDATE, CLOSE],
  deadLetter: { severity: 'high', runbook: null },
}

/** Each event has its own id: a repeated id is a duplicate. */
export function sender(world: World, node: Node) {
  let sent = 0
  return (kind: string, order: string, more: object = {}): Promise<EventId> => {
    sent += 1
    return accept(world, node, { kind, order, id: `d${sent}`, ...more })
  }
}

export async function instancesOf(world: World): Promise<readonly Instance[]> {
  const { items } = await world.reads.instances({ cursor: null, limit: 100 })
  return items.map(decodeInstance).reverse()
}

export async function instanceOf(world: World, id: string | null): Promise<Instance> {
  const row = await world.reads.instance(id as InstanceId)
  if (row === null) throw new Error(`no instance ${id}`)
  return decodeInstance(row)
}

/** The jobs of an event, in order of creation. */
export async function itemsOf(world: World, eventId: EventId): Promise<readonly WorkRow[]> {
  return world.reads.workOfEvent(eventId)
}

export async function orphansOf(world: World): Promise<readonly Orphan[]> {
  return [...(await world.reads.orphans({ cursor: null, limit: 100 })).items].reverse()
}

/** Runs everything that is due at once, and returns the result. */
export async function heard<Value>(world: World, promise: Promise<Value>): Promise<Value> {
  const settled = promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  await world.pass()
  const outcome = await settled
  if ('error' in outcome) throw outcome.error
  return outcome.value
}
