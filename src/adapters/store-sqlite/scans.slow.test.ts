// Look-ups beside scans, on the threads of a real store: requests are admitted while users search.

import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeIds, type TenantId } from '../../core/foundation/ids/index.ts'
import type { StoreHarness } from '../../ports/store-conformance/kit.conformance.ts'
import { makeThreadedHarness } from './harness.fixture.ts'

const TENANT = 'acme' as TenantId
const SEARCHES = 12
const PAYLOAD = JSON.stringify({ text: 'lorem ipsum '.repeat(4_000) })

let harness: StoreHarness

beforeEach(async () => {
  harness = await makeThreadedHarness()
  const ids = makeIds({ now: () => 1_000, bytes: (length) => randomBytes(length) })
  for (let index = 0; index < 200; index += 1) {
    const event = {
      ...{ id: ids.event(), tenant: TENANT, source: 'shop', subject: 'shop.events', objectType: null },
      ...{ objectId: null, occurredAt: null, correlationId: 'c', causationId: null, traceId: 't' },
      ...{
        dedupKey: String(index),
        payloadHash: 'h',
        headers: '{}',
        data: PAYLOAD,
        raw: null,
        sensitive: [],
        matched: 0,
      },
    }
    await harness.store.commit({
      tenant: TENANT,
      guards: [],
      writes: [{ w: 'event.append', event, dedupForMs: 1_000 }],
    })
  }
})

afterEach(() => harness.close())

test('[ST86] a look-up is answered while earlier searches still run', async () => {
  const reads = harness.store.forTenant(TENANT)
  const search = () => reads.events({ q: 'nobody', cursor: null, limit: 10 })
  const [event] = (await reads.events({ cursor: null, limit: 1 })).items
  await search()
  let answered = 0
  const searches = Array.from({ length: SEARCHES }, async () => {
    await search()
    answered += 1
  })
  expect(await reads.event(event!.id)).toMatchObject({ id: event!.id })
  expect(answered).toBeLessThan(SEARCHES)
  await Promise.all(searches)
  expect(answered).toBe(SEARCHES)
})

test('[ST86] a scan sees what was committed before it was requested, as a look-up does', async () => {
  const reads = harness.store.forTenant(TENANT)
  await reads.events({ source: 'shop', cursor: null, limit: 1 })
  const write = { w: 'record.put', kind: 'bundle', key: 'current', version: 1, body: '{}' } as const
  await harness.store.commit({ tenant: TENANT, guards: [], writes: [write] })
  expect((await harness.store.system('verification').dump()).records).toMatchObject([{ key: 'current' }])
  expect(await reads.record('bundle', 'current')).toMatchObject({ version: 1 })
})
