// The node's lease in the store, by the clocks that decide it.
import { describe, expect, test } from 'vitest'
import type { Incarnation } from '../../core/foundation/ids/index.ts'
import { StoreError } from '../../ports/store.ts'
import { accept, CREATED, makeDeferred, makeWorld, PAID, workOf } from '../engine.fixture.ts'

const LEASE_MS = 30_000
const unavailable = () => Promise.reject(new StoreError('unavailable', 'gone'))

describe('a lease', () => {
  test('[ND15] of two processes with one name, each logs what to do, and they do not fence each other at once', async () => {
    const world = makeWorld(() => CREATED)
    const nodes = [await world.node({ name: 'same' }), await world.node({ name: 'same' })]
    await world.pass(10 * 60_000)
    const told = (name: string) =>
      nodes.map(({ log }) => log.messages.filter((message) => message.name === name))
    for (const messages of told('node.name-taken')) {
      expect(messages[0]).toMatchObject({
        level: 'error',
        fields: { todo: expect.stringContaining('MILLRACE_NODE') },
      })
      expect(messages.at(-1)?.fields).toMatchObject({ waitMs: 60_000 })
    }
    for (const messages of told('node.fenced')) expect(messages.length).toBeLessThan(15)
    await nodes[1]?.crash()
    await world.pass(60_000 + LEASE_MS)
    expect(nodes[0]?.engine.health().alive).toBe(true)
  })

  test('[E1] ends by the node’s own clock when no heartbeat arrives', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ faults: { renew: unavailable } })
    await world.pass(LEASE_MS - 1)
    expect(node.engine.health().alive).toBe(true)
    await world.pass(1)
    expect(node.engine.health().alive).toBe(false)
  })

  test('[E1] is counted from before the heartbeat was sent, however late the response is', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    const gate = makeDeferred<void>()
    node.faults.renew = async (pass) => {
      const renewed = await pass()
      await gate.promise
      return renewed
    }
    // The heartbeat is sent after a third of the lease, and its response comes much later.
    await world.pass(LEASE_MS - 1)
    gate.give()
    await world.pass()
    node.faults.renew = unavailable
    await world.pass(LEASE_MS / 3)
    expect(node.engine.health().alive).toBe(true)
    await world.pass(1)
    expect(node.engine.health().alive).toBe(false)
  })

  test('[E1] without one, nothing is leased on insert and nothing is claimed', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ faults: { renew: unavailable } })
    await world.pass(LEASE_MS)
    const eventId = await accept(world, node)
    await world.pass(60_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', epoch: 0 })
    expect(world.calls).toEqual([])
  })

  test('[E2] that was fenced is never used again: the node joins again and goes on', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    const before = node.log.messages.find(({ name }) => name === 'node.joined')?.fields
    node.faults.renew = unavailable
    await world.pass(LEASE_MS)
    await world.store.reclaim(1)
    node.faults.renew = (pass) => pass()
    await world.pass(LEASE_MS)
    const joined = node.log.messages.filter(({ name }) => name === 'node.joined')
    expect(joined).toHaveLength(2)
    expect(Number(joined[1]?.fields.incarnation)).toBeGreaterThan(Number(before?.incarnation))
    expect(await world.store.renew(before?.incarnation as Incarnation, 1)).toBe('fenced')
    const eventId = await accept(world, node)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
  })

  test('[E3] of a dead node ends, and another node takes its jobs', async () => {
    const world = makeWorld((_request, call) => (call === 1 ? null : CREATED))
    const first = await world.node({ name: 'first' })
    const eventId = await accept(world, first)
    const second = await world.node({ name: 'second' })
    first.crash()
    await world.pass(LEASE_MS - 1_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'leased', epoch: 1 })
    await world.pass(LEASE_MS)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', epoch: 3 })
    expect(second.log.messages.map(({ name }) => name)).toContain('work.reclaimed')
  })

  test('[ND14] of a stopping node ends with it: others get its jobs at once, and nothing is lost', async () => {
    const world = makeWorld((_request, call) => (call === 1 ? null : CREATED))
    const first = await world.node({ name: 'first' })
    const eventId = await accept(world, first)
    await world.node({ name: 'second' })
    const drained = first.engine.drain(2_000)
    await world.pass(2_000)
    expect(await drained).toEqual({ left: 1 })
    expect(first.engine.health()).toMatchObject({ open: false, alive: false })
    await world.pass(5_000)
    // What it had sent may have arrived: no node sends it again.
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', alone: false, losses: 0 })
    expect(world.calls).toHaveLength(1)
  })

  test('[ND14] a stopping node claims nothing more, though it has slots and time, and jobs are due', async () => {
    const world = makeWorld((_request, call) => (call === 1 ? null : CREATED))
    let claims = 0
    const node = await world.node({
      name: 'first',
      faults: {
        claim: (pass) => {
          claims += 1
          return pass()
        },
      },
    })
    await accept(world, node)
    const drained = node.engine.drain(60_000)
    const before = claims
    const store = await world.node({ name: 'second', config: { roles: new Set(['ingest']) } })
    const eventId = await accept(world, store, { ...PAID, id: 'd2', order: 'o2' })
    await world.pass(10_000)
    expect(claims).toBe(before)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', epoch: 0 })
    // Running jobs have the rest of the time.
    world.calls[0]?.answer(CREATED)
    await world.pass()
    expect(await drained).toEqual({ left: 0 })
    expect(world.calls).toHaveLength(1)
  })

  test('[ND14] sends nothing for a job it gave away, though the response to its reserve comes only then', async () => {
    const world = makeWorld(() => CREATED)
    const answer = makeDeferred<void>()
    const node = await world.node({
      name: 'first',
      faults: {
        async commit({ writes }, pass) {
          const result = await pass()
          if (writes.some(({ w }) => w === 'ledger.reserve')) await answer.promise
          return result
        },
      },
    })
    const eventId = await accept(world, node)
    const drained = node.engine.drain(1_000)
    await world.pass(1_000)
    expect(await drained).toEqual({ left: 1 })
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', epoch: 1 })
    answer.give()
    await world.pass(1_000)
    expect(world.calls).toEqual([])
  })

  test('[ND14] an unavailable store does not keep a node from stopping', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ faults: { leave: () => new Promise(() => {}) } })
    const drained = node.engine.drain(1_000)
    await world.pass(10_000)
    expect(await drained).toEqual({ left: 0 })
  })

  test('[E3] of a node that restarts ends at once', async () => {
    const world = makeWorld()
    const first = await world.node()
    const eventId = await accept(world, first)
    first.crash()
    await world.node()
    await world.pass()
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked' })
  })
})
