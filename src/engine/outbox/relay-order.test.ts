// What a pass has read when the bus comes back, and when the node's leader lease is over.

import { expect, test } from 'vitest'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import type { BusStatus } from '../../ports/bus.ts'
import type { Commit } from '../../ports/store.ts'
import { makeRelay } from './relay.ts'
import { ALWAYS_HELD } from './relay-lease.ts'

const row = (position: number, subject: string) => ({
  ...{ position, tenant: 'default', id: `r${position}`, subject, about: 'token', event: null },
  ...{ body: '{}', createdAt: 0 },
})

test('[BU33] a bus that comes back in the middle of a pass does not get later messages before skipped ones', async () => {
  let rows = [row(1, 'default.full'), row(2, 'default.other')]
  let isFull = true
  let watcher: (status: Pick<BusStatus, 'isConnected'>) => void = () => {}
  let onRead = () => {}
  const published: string[] = []
  const timers: (() => void)[] = []
  const store = {
    system: () => ({
      async outbox(_: number, after = 0) {
        const found = rows.filter(({ position }) => position > after)
        onRead()
        return { rows: found, events: [] }
      },
      outboxEldest: async () => ({ at: null, heldBy: null }),
    }),
    forTenant: () => ({ record: async () => null }),
    async commit({ writes }: Commit) {
      for (const write of writes)
        if (write.w === 'outbox.delete') rows = rows.filter((one) => !write.positions.includes(one.position))
      return { ok: true, at: 0, leased: [] }
    },
  }
  const bus = {
    status: () => ({ isConnected: true, tokensBirth: null }),
    watch(heard: typeof watcher) {
      watcher = heard
      return () => {}
    },
    publish: async (messages: readonly { subject: string; id: string }[]) =>
      messages.map(({ subject, id }) => {
        const isTaken = !isFull || !subject.endsWith('full')
        if (isTaken) published.push(id)
        return isTaken
      }),
  }
  const clock = {
    monotonic: () => 0,
    after(_: number, callback: () => void) {
      timers.push(callback)
      return () => void (timers.includes(callback) && timers.splice(timers.indexOf(callback), 1))
    },
  }
  const deps = { store, bus, clock, log: makeMemoryLog(), time: { now: () => 0 }, leaderLease: ALWAYS_HELD }
  const relay = makeRelay(deps as never, { pollMs: 1_000, busPrefix: 'm' })
  const look = async () => {
    timers.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  relay.start()
  await look()
  expect(published).toEqual(['r2'])
  rows.push(row(3, 'default.full'))
  onRead = () => {
    onRead = () => {}
    isFull = false
    watcher({ isConnected: false })
    watcher({ isConnected: true })
  }
  for (let leaderLease = 0; leaderLease < 4; leaderLease += 1) await look()
  expect(published).toEqual(['r2', 'r1', 'r3'])
})

test('[BU28] a node whose lease ended while the bus did not answer publishes no more of what it read', async () => {
  let isHeld = true
  const published: string[] = []
  const timers: (() => void)[] = []
  const store = {
    system: () => ({
      outbox: async () => ({ rows: [row(1, 'default.slow'), row(2, 'default.other')], events: [] }),
      outboxEldest: async () => ({ at: null, heldBy: null }),
    }),
    forTenant: () => ({ record: async () => null }),
    commit: async () => ({ ok: true, at: 0, leased: [] }),
  }
  const bus = {
    status: () => ({ isConnected: true, tokensBirth: null }),
    watch: () => () => {},
    async publish(messages: readonly { id: string }[]) {
      published.push(...messages.map(({ id }) => id))
      // The first gets no response, and waiting for it takes longer than the lease.
      isHeld = false
      return messages.map(({ id }) => id !== 'r1')
    },
  }
  const clock = {
    monotonic: () => 0,
    after(_: number, callback: () => void) {
      timers.push(callback)
      return () => {}
    },
  }
  const leaderLease = { take: async () => (isHeld ? 0 : 5_000), isHeld: () => isHeld, giveUp: async () => {} }
  const log = makeMemoryLog()
  const relay = makeRelay({ store, bus, clock, log, time: { now: () => 0 }, leaderLease } as never, {
    pollMs: 1_000,
    busPrefix: 'm',
  })
  relay.start()
  for (let look = 0; look < 3; look += 1) {
    timers.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(published).toEqual(['r1', 'r2'])
  expect(log.messages.map(({ name }) => name)).not.toContain('relay.waiting')
})
