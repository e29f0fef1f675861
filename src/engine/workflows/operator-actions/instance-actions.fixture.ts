// A triage that a user decides about, for tests of operator actions: a call first, then a review.

import type { WorkflowDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import type { Instance } from '../../../core/workflows/instance/index.ts'
import { type Node, SOURCE, type World } from '../../engine.fixture.ts'
import { begin, CREATE, place, post, transition } from '../saga.fixture.ts'
import type { Operator } from './instance-actions.ts'

export const TRIAGE: WorkflowDocument = {
  kind: 'Workflow',
  name: 'triage',
  description: null,
  version: '1.0.0',
  status: 'active',
  start: 'incoming',
  places: [
    place('incoming'),
    place('review', { type: 'review' }),
    place('closed', { type: 'final' }),
    place('rejected', { type: 'error' }),
  ],
  transitions: [
    transition('prioritise', 'incoming', 'review', {
      do: post('prioritise'),
      out: { 'data.priority': 'result.body.id' },
      retry: { profile: null, attempts: 1, delaysMs: [] },
    }),
    transition('approve', 'review', 'closed', {
      on: 'manual',
      permission: 'triage.approve',
      input: { type: 'object', required: ['note'], properties: { note: { type: 'string' } } },
      notBy: 'metadata.requestedBy',
      out: { 'data.note': 'input.note' },
    }),
    transition('reject', 'review', 'rejected', { on: 'manual' }),
    transition('expedite', 'review', 'closed', { when: 'data.urgent == true' }),
  ],
  triggers: [
    {
      ...CREATE,
      map: { ...CREATE.map, 'data.email': 'payload.email', 'metadata.requestedBy': 'payload.by' },
    },
    {
      id: '1',
      manual: { permission: 'triage.start', input: { type: 'object', required: ['order'] } },
      action: 'create',
      where: null,
      correlate: {},
      map: { 'data.order': 'payload.order' },
      bufferMs: 0,
    },
  ],
  deadLetter: { severity: 'high', runbook: null },
  security: { permissions: ['triage.approve', 'triage.start', 'triage.see'], encrypt: [], audit: 'full' },
}

export const SECRET = 'jo@example.com'

export const SEALED: WorkflowDocument = {
  ...TRIAGE,
  security: { permissions: ['triage.approve', 'triage.start'], encrypt: ['data.email'], audit: 'full' },
}

const base = { tenant: DEFAULT_TENANT, permissions: [] }
export const ANN: Operator = { ...base, actor: 'ann', role: 'operator', permissions: ['triage.approve'] }
export const BOB: Operator = { ...base, actor: 'bob', role: 'operator' }
export const EVE: Operator = { ...base, actor: 'eve', role: 'viewer' }
export const ADA: Operator = { ...base, actor: 'ada', role: 'admin' }

export const documents = (...workflows: readonly WorkflowDocument[]) => [SOURCE, ...workflows]

export function open(world: World, node: Node, id = 'd1', more: object = {}): Promise<Instance> {
  const payload = { kind: 'paid', id, order: `o-${id}`, email: SECRET, by: 'jo', ...more }
  return begin(world, node, payload).then(({ instance }) => instance)
}

/** The value of a promise that needs time to pass. */
export async function heard<Value>(world: World, promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {})
  await world.pass()
  return promise
}

/** The code of its refusal. */
export async function refusal(
  world: World,
  promise: Promise<unknown>,
): Promise<{ readonly code: string; readonly message: string; readonly details: object }> {
  try {
    await heard(world, promise)
  } catch (error) {
    return error as never
  }
  throw new Error('it was not refused')
}
