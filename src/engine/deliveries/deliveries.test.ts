import { describe, expect, test } from 'vitest'
import type { SubscriptionDocument } from '../../core/definition/index.ts'
import { DEFAULT_TENANT } from '../../core/ids/index.ts'
import { RETRY_PROFILES } from '../../core/retry/index.ts'
import { DAY } from '../../core/time/index.ts'
import { accept, answered, makeWorld, SOURCE, workOf } from '../world.fixture.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const HOOK: SubscriptionDocument = {
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
  retry: RETRY_PROFILES.DELIVERY,
  timeoutMs: 10_000,
  maxWaitMs: 1 * DAY,
  disableAfterMs: 5 * DAY,
  deadLetter: { severity: 'high', runbook: null },
  metadata: {},
}

describe('deliveries', () => {
  test('one', async () => {
    const world = makeWorld(() => answered(204), [SECRET])
    const node = await world.node({ documents: [SOURCE, HOOK] })
    const id = await accept(world, node)
    const work = await workOf(world, id)
    console.log(work, world.calls, node.log)
    expect(work.state).toBe('done')
    console.log(await world.reads.attempts(work.id))
    void DEFAULT_TENANT
  })
})
