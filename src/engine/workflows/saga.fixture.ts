// A setup in three steps at a vendor, for tests: each creates an object, and each can be undone.

import type {
  HttpActionDocument,
  PlaceDocument,
  TransitionDocument,
  TriggerDocument,
  WorkflowDocument,
} from '../../core/definitions/documents/index.ts'
import type { EventId } from '../../core/foundation/ids/index.ts'
import { DAY, HOUR } from '../../core/foundation/time/index.ts'
import type { Instance, InstanceRow } from '../../core/workflows/instance/index.ts'
import { decodeInstance } from '../../core/workflows/machine/index.ts'
import type { HttpOutcome, HttpRequest } from '../../ports/http-client.ts'
import { accept, HTTP, type Node, PAID, type World } from '../engine.fixture.ts'

export function place(name: string, more: Partial<PlaceDocument> = {}): PlaceDocument {
  return { name, type: 'normal', ...more }
}

export function transition(
  name: string,
  from: string | readonly string[],
  to: string | readonly string[],
  more: Partial<TransitionDocument> = {},
): TransitionDocument {
  return {
    name,
    from: typeof from === 'string' ? [from] : from,
    to: typeof to === 'string' ? [to] : to,
    on: 'auto',
    when: null,
    out: {},
    key: null,
    retry: { profile: null, attempts: 2, delaysMs: [1_000] },
    maxWaitMs: DAY,
    ...more,
  }
}

/** A POST that the vendor knows by this name. */
export function post(name: string, more: Partial<HttpActionDocument> = {}): HttpActionDocument {
  return { ...HTTP, url: `https://vendor.example/${name}`, body: { order: '{{ data.order }}' }, ...more }
}

/** A step that creates an object and can remove it. */
export function step(
  name: string,
  from: string,
  to: string,
  more: Partial<TransitionDocument> = {},
): TransitionDocument {
  return transition(name, from, to, {
    do: post(name),
    undo: post(`undo-${name}`, { body: { id: '{{ result.body.id }}' } }),
    out: { [`data.${name}`]: 'result.body.id' },
    ...more,
  })
}

export const CREATE: TriggerDocument = {
  id: '0',
  on: ['shop.events.paid'],
  action: 'create',
  where: null,
  correlate: { order: 'payload.order' },
  unique: 'live',
  map: { 'data.order': 'payload.order' },
  bufferMs: HOUR,
}

export const SETUP: WorkflowDocument = {
  kind: 'Workflow',
  name: 'setup',
  description: null,
  version: '1.0.0',
  status: 'active',
  start: 'begun',
  places: [place('begun'), place('one'), place('two'), place('ready', { type: 'final' })],
  transitions: [step('a', 'begun', 'one'), step('b', 'one', 'two'), step('c', 'two', 'ready')],
  triggers: [CREATE],
  deadLetter: { severity: 'high', runbook: null },
}

/** The same with a compensation. */
export const SAGA: WorkflowDocument = {
  ...SETUP,
  places: [...SETUP.places, place('rolling_back'), place('broken', { type: 'error' })],
  onFailure: { undo: 'done-steps', through: 'rolling_back', to: 'broken' },
}

export function made(request: HttpRequest): HttpOutcome {
  return {
    kind: 'response',
    status: 201,
    headers: {},
    body: JSON.stringify({ id: `v-${nameOf(request)}` }),
    durationMs: 1,
  }
}

export function nameOf({ url }: Pick<HttpRequest, 'url'>): string {
  return url.slice(url.lastIndexOf('/') + 1)
}

export function called(world: World): readonly string[] {
  return world.calls.map(({ request }) => nameOf(request))
}

export async function begin(
  world: World,
  node: Node,
  payload: object = PAID,
): Promise<{ readonly eventId: EventId; readonly instance: Instance }> {
  const eventId = await accept(world, node, payload)
  const row = (await rows(world)).find((one) => one.eventId === eventId)
  if (row === undefined) throw new Error('the event began no instance')
  return { eventId, instance: decodeInstance(row) }
}

export async function rows(world: World): Promise<readonly InstanceRow[]> {
  return (await world.reads.instances({ cursor: null, limit: 100 })).items
}

export async function look(world: World, { id }: Pick<Instance, 'id'>): Promise<Instance> {
  const row = await world.reads.instance(id)
  if (row === null) throw new Error('there is no such instance')
  return decodeInstance(row)
}

export async function historyOf(world: World, { id }: Pick<Instance, 'id'>): Promise<readonly string[]> {
  const found = await world.reads.instanceHistory(id, { after: 0, limit: 100 })
  return found.map(({ type, body }) => {
    const { name } = JSON.parse(body) as { name?: string }
    return name === undefined ? type : `${type} ${name}`
  })
}
