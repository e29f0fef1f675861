// A world whose endpoints respond as the test says.

import type { SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import { DAY } from '../../../core/foundation/time/index.ts'
import { RETRY_PROFILES } from '../../../core/queue/retry/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import type { HttpOutcome } from '../../../ports/http-client.ts'
import { answered, makeWorld, SOURCE, type World } from '../../engine.fixture.ts'

export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export const HOOK: SubscriptionDocument = {
  kind: 'Subscription',
  name: 'crm',
  description: null,
  url: 'https://crm.example/hooks',
  on: ['shop.events.*'],
  where: null,
  status: 'active',
  secret: { ref: 'crm' },
  signing: 'standard',
  headers: {},
  retry: RETRY_PROFILES.DELIVERY,
  timeoutMs: 10_000,
  maxWaitMs: 20 * DAY,
  disableAfterMs: null,
  deadLetter: { severity: 'high', runbook: null },
  metadata: {},
}

export const REFUSED: HttpOutcome = {
  kind: 'failed',
  sent: 'no',
  code: 'refused',
  message: 'refused',
  durationMs: 1,
}

/** Endpoints respond with these in order, and with the last one from then on; null: not before the test says. */
export function endpointWorld(
  outcomes: readonly (HttpOutcome | null)[] = [answered(204)],
  secrets: readonly string[] = [SECRET],
) {
  const world = makeWorld((_request, call) => outcomes[Math.min(call, outcomes.length) - 1] ?? null, secrets)
  return {
    ...world,
    start: (hooks: readonly SubscriptionDocument[] = [HOOK], options: Parameters<World['node']>[0] = {}) =>
      world.node({ documents: [SOURCE, ...hooks], ...options }),
    /** Of all events, the first one first. */
    async deliveries(): Promise<readonly WorkRow[]> {
      const page = world.reads.workList({ kind: 'delivery', cursor: null, limit: 200 })
      await world.pass()
      return (await page).items.toReversed()
    },
    async emitted(): Promise<readonly string[]> {
      const page = world.reads.events({ source: 'millrace', cursor: null, limit: 200 })
      await world.pass()
      return (await page).items.map(({ subject }) => subject).toReversed()
    },
    async got<Value>(promise: Promise<Value>): Promise<Value> {
      const settled = promise.then(
        (value) => () => value,
        (error: unknown) => () => {
          throw error
        },
      )
      await world.pass()
      return (await settled)()
    },
  }
}
