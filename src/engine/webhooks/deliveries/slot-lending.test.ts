import { expect, test } from 'vitest'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { makeSlotLending } from './slot-lending.ts'

/** The test advances the time; `lent` contains the tenants whose slots are lent now. */
function makeParts() {
  let now = 0
  let waiting: { readonly at: number; readonly callback: () => void }[] = []
  const lent: TenantId[] = []
  const slotLending = makeSlotLending({
    clock: {
      monotonic: () => now,
      after(delayMs, callback) {
        waiting.push({ at: now + delayMs, callback })
        return () => {}
      },
    },
    lend(tenant) {
      lent.push(tenant)
      return () => void lent.splice(lent.indexOf(tenant), 1)
    },
  })
  return {
    slotLending,
    lentOf: (tenant: string) => lent.filter((one) => one === tenant).length,
    pass(ms: number) {
      now += ms
      const due = waiting.filter(({ at }) => at <= now)
      waiting = waiting.filter(({ at }) => at > now)
      for (const { callback } of due) callback()
    },
  }
}

test('[DY23] hanging endpoints of one tenant leave slots that can be lent to others', () => {
  const { slotLending, lentOf, pass } = makeParts()
  const ends = Array.from({ length: 2_000 }, () => slotLending.begin('many' as TenantId, 100))
  for (let call = 0; call < 300; call += 1) slotLending.begin('few' as TenantId, 100)
  pass(1_000)
  expect([lentOf('many'), lentOf('few')]).toEqual([768, 256])
  // A call that ends makes room for the next, also of the tenant that used up its own share.
  for (const end of ends.slice(0, 100)) end()
  pass(1_000)
  expect([lentOf('many'), lentOf('few')]).toEqual([768, 256])
  for (const end of ends.slice(100)) end()
  pass(1_000)
  expect([lentOf('many'), lentOf('few')]).toEqual([0, 300])
})

test('[DY32] while bodies use up the memory for calls, nothing more is lent', () => {
  const { slotLending, lentOf, pass } = makeParts()
  const MIB = 1_048_576
  const begin = (tenant: string, bytes: number) => slotLending.begin(tenant as TenantId, bytes)
  // One tenant used up its share, others still get theirs.
  const large = Array.from({ length: 200 }, () => begin('large', MIB))
  begin('small', 1_000)
  pass(1_000)
  expect([lentOf('large'), lentOf('small')]).toEqual([0, 1])
  const more = Array.from({ length: 60 }, () => begin('other', MIB))
  begin('small', 1_000)
  pass(1_000)
  expect([lentOf('large'), lentOf('other'), lentOf('small')]).toEqual([0, 0, 1])
  // A call that ends returns its bytes, and a waiting one is lent.
  for (const end of more.slice(0, 10)) end()
  pass(1_000)
  expect([lentOf('large'), lentOf('other'), lentOf('small')]).toEqual([0, 50, 2])
  for (const end of large.slice(0, 100)) end()
  pass(1_000)
  expect([lentOf('large'), lentOf('other'), lentOf('small')]).toEqual([100, 50, 2])
})
