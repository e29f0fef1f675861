// A subscription, its endpoint that can be down, and events from before the subscription.

import type { SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type EventId, eventIdAt } from '../../../core/foundation/ids/index.ts'
import { DAY } from '../../../core/foundation/time/index.ts'
import { RETRY_PROFILES } from '../../../core/queue/retry/index.ts'
import type { HttpOutcome } from '../../../ports/http-client.ts'
import type { Write } from '../../../ports/store.ts'
import { answered, makeWorld, type Node, SOURCE, type World } from '../../engine.fixture.ts'
import type { BulkReplay } from './replay-record.ts'

export const T = DEFAULT_TENANT
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export const HOOK: SubscriptionDocument = {
  kind: 'Subscription',
  name: 'crm',
  description: null,
  url: 'https://crm.example/hooks',
  on: ['shop.events.*'],
  where: null,
  status: 'active',
  secret: null,
  signing: 'standard',
  headers: {},
  retry: { profile: null, attempts: 1, delaysMs: [] },
  timeoutMs: 10_000,
  maxWaitMs: DAY,
  disableAfterMs: null,
  deadLetter: { severity: 'high', runbook: null },
  metadata: {},
}

export const PATIENT = { ...HOOK, retry: RETRY_PROFILES.DELIVERY }

export interface Scene {
  readonly world: World
  readonly node: Node
  /** The endpoint's response from now on. */
  answer(outcome: HttpOutcome | null): void
  /** The events sent to it, in order. */
  sent(): readonly string[]
  /** The states of the event's jobs for the subscription. */
  states(id: EventId): Promise<readonly string[]>
}

export async function makeScene(documents: readonly SubscriptionDocument[] = [HOOK]): Promise<Scene> {
  let outcome: HttpOutcome | null = answered(204)
  const world = makeWorld(() => outcome, [SECRET])
  const node = await world.node({ documents: [SOURCE, ...documents] })
  return {
    world,
    node,
    answer(next) {
      outcome = next
    },
    sent: () => world.calls.map(({ request }) => request.headers['webhook-id'] ?? ''),
    async states(id) {
      const rows = await world.reads.workOfEvent(id)
      return rows.filter(({ kind }) => kind === 'delivery').map(({ state }) => state)
    },
  }
}

/** Waits for a result that needs time to pass. */
export async function heard<Value>(world: World, answer: Promise<Value>, ms = 50): Promise<Value> {
  const settled = answer.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  await world.pass(ms)
  const result = await settled
  if ('error' in result) throw result.error
  return result.value
}

export function findReplay(node: Node, id: string): Promise<BulkReplay | null> {
  return node.engine.replays.find(T, id)
}

/** `count` events without any jobs, one per millisecond up to now. */
export async function keepEvents(
  world: World,
  count: number,
  more: { readonly subject?: string; readonly data?: (index: number) => object } = {},
): Promise<readonly EventId[]> {
  const ids: EventId[] = []
  const writes: Write[] = []
  for (let index = 0; index < count; index += 1) {
    const at = eventIdAt(world.now() - count + index)
    const id = `${at.slice(0, -8)}${index.toString(16).padStart(8, '0')}` as EventId
    ids.push(id)
    writes.push({
      w: 'event.append',
      dedupForMs: 0,
      event: {
        id,
        tenant: T,
        source: 'shop',
        subject: more.subject ?? 'shop.events.paid',
        objectType: 'order',
        objectId: `o${index}`,
        occurredAt: null,
        correlationId: `c${index}`,
        causationId: null,
        traceId: `t${index}`,
        dedupKey: `k${index}`,
        payloadHash: '',
        headers: '{}',
        data: JSON.stringify(more.data?.(index) ?? { index }),
        raw: null,
        sensitive: [],
        matched: 0,
      },
    })
  }
  await heard(world, world.store.commit({ tenant: T, guards: [], writes }))
  return ids
}
