// What every carrier of wake-up signals must do (docs/spec/wake-ups.md).

import { afterEach, describe, expect, test, vi } from 'vitest'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { WAKE_BYTES_MAX, type Wake, type Wakes } from './wakes.ts'

export interface WakesHarness extends AsyncDisposable {
  /** A node that hears the others from now on. */
  connect(): Promise<Wakes>
}

const TENANT = 'acme' as TenantId

/** Waits for what other nodes bring about. */
const until = (check: () => void) => vi.waitFor(check, { timeout: 60_000, interval: 5 })

export function wakesConformance(name: string, makeHarness: () => Promise<WakesHarness>): void {
  const opened: WakesHarness[] = []
  afterEach(async () => {
    for (const harness of opened.splice(0)) await harness[Symbol.asyncDispose]()
  })
  const open = async (): Promise<WakesHarness> => {
    const harness = await makeHarness()
    opened.push(harness)
    return harness
  }
  const hear = (wakes: Wakes) => {
    const heard: Wake[] = []
    wakes.listen((wake) => heard.push(wake))
    return heard
  }

  describe(`wake-ups: ${name}`, () => {
    test('[WK1] every other node gets a signal as it was sent', async () => {
      const { connect } = await open()
      const [one, two, three] = [await connect(), await connect(), await connect()]
      const others = [hear(two), hear(three)]
      const told: Wake[] = [
        { wake: 'work' },
        { wake: 'definitions', tenant: TENANT },
        { wake: 'definitions', tenant: TENANT, kinds: ['circuit', 'rate'] },
        { wake: 'outbox' },
        { wake: 'watching', forMs: 30_000 },
        { wake: 'changes', tenant: TENANT, body: '{"text":"ü 😀 \\" \\u0000"}' },
        { wake: 'changes', tenant: TENANT, body: null },
      ]
      for (const wake of told) one.send(wake)
      for (const heard of others) {
        await until(() => expect(heard).toHaveLength(told.length))
        expect(heard).toEqual(expect.arrayContaining(told))
      }
    })

    test('[WK2] a node does not get its own signals', async () => {
      const { connect } = await open()
      const [one, two] = [await connect(), await connect()]
      const [own, heard] = [hear(one), hear(two)]
      one.send({ wake: 'work' })
      await until(() => expect(heard).toEqual([{ wake: 'work' }]))
      two.send({ wake: 'outbox' })
      await until(() => expect(own).toEqual([{ wake: 'outbox' }]))
    })

    test('[WK3] of many equal ones at once one or more arrive, and a later one arrives too', async () => {
      const { connect } = await open()
      const [one, two] = [await connect(), await connect()]
      const heard = hear(two)
      for (let count = 0; count < 200; count += 1) one.send({ wake: 'work' })
      await until(() => expect(heard.length).toBeGreaterThan(0))
      one.send({ wake: 'outbox' })
      await until(() => expect(heard.at(-1)).toEqual({ wake: 'outbox' }))
      const before = heard.length
      one.send({ wake: 'work' })
      await until(() => expect(heard.length).toBeGreaterThan(before))
    })

    test('[WK4] a body of the maximum size arrives, whatever its characters', async () => {
      const { connect } = await open()
      const [one, two] = [await connect(), await connect()]
      const heard = hear(two)
      const quotes = JSON.stringify('"'.repeat((WAKE_BYTES_MAX - 2) / 2))
      expect(Buffer.byteLength(quotes)).toBe(WAKE_BYTES_MAX)
      one.send({ wake: 'changes', tenant: TENANT, body: quotes })
      await until(() => expect(heard).toEqual([{ wake: 'changes', tenant: TENANT, body: quotes }]))
    })

    test('[WK4] a body that is too large is replaced by a hint that there is more', async () => {
      const { connect } = await open()
      const [one, two] = [await connect(), await connect()]
      const heard = hear(two)
      one.send({ wake: 'changes', tenant: TENANT, body: JSON.stringify('x'.repeat(WAKE_BYTES_MAX)) })
      await until(() => expect(heard).toEqual([{ wake: 'changes', tenant: TENANT, body: null }]))
    })

    test('[WK5] a node that stopped listening gets nothing more, and the others do', async () => {
      const { connect } = await open()
      const [one, two] = [await connect(), await connect()]
      const gone: Wake[] = []
      const stop = two.listen((wake) => gone.push(wake))
      const heard = hear(two)
      stop()
      stop()
      one.send({ wake: 'work' })
      await until(() => expect(heard).toEqual([{ wake: 'work' }]))
      expect(gone).toEqual([])
    })
  })
}
