import { expect, test } from 'vitest'
import type { TenantId } from '../../core/ids/index.ts'
import { makeLending } from './lending.ts'

/** Time passes when the test says so; `lent` tells whose slots are lent now. */
function makeParts() {
  let now = 0
  let waiting: { readonly at: number; readonly callback: () => void }[] = []
  const lent: TenantId[] = []
  const lending = makeLending({
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
    lending,
    lentOf: (tenant: string) => lent.filter((one) => one === tenant).length,
    pass(ms: number) {
      now += ms
      const due = waiting.filter(({ at }) => at <= now)
      waiting = waiting.filter(({ at }) => at > now)
      for (const { callback } of due) callback()
    },
  }
}

test('[DY23] the endpoints of one tenant that hang leave something to be lent to others', () => {
  const { lending, lentOf, pass } = makeParts()
  const ends = Array.from({ length: 2_000 }, () => lending.begin('many' as TenantId))
  for (let call = 0; call < 300; call += 1) lending.begin('few' as TenantId)
  pass(1_000)
  expect([lentOf('many'), lentOf('few')]).toEqual([768, 256])
  // Whoever ends makes room for the next, also of the tenant that had all of its own.
  for (const end of ends.slice(0, 100)) end()
  pass(1_000)
  expect([lentOf('many'), lentOf('few')]).toEqual([768, 256])
  for (const end of ends.slice(100)) end()
  pass(1_000)
  expect([lentOf('many'), lentOf('few')]).toEqual([0, 300])
})
