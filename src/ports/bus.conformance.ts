// What every bus must do (docs/spec/bus.md).

import { afterEach, describe, expect, test, vi } from 'vitest'
import { collect, KEPT } from './bus.fixture.ts'
import { type Bus, BusError, type Handled } from './bus.ts'
import { MISSED, readWake, type Wake } from './wakes.ts'

export interface BusHarness extends AsyncDisposable {
  /** A node on the bus, connected. */
  connect(): Promise<Bus>
  /** The node crashes. */
  cut(bus: Bus): Promise<void>
  /** A stream of another system; recreated if it exists. */
  makeStream(stream: { readonly name: string; readonly subjects: readonly string[] }): Promise<void>
  removeStream(name: string): Promise<void>
  /** As another system would send it. */
  send(message: TestMessage): Promise<void>
  /** The messages of the subject in streams, oldest first. */
  stored(subject: string): Promise<readonly { readonly id: string | null; readonly body: string }[]>
  setReachable(isReachable: boolean): Promise<void>
  /** After this long without an acknowledgement a message is delivered again. */
  readonly ackWaitMs: number
  readonly maxBytes: number
}

export interface TestMessage {
  readonly subject: string
  readonly id?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const EVENTS = 'millrace.acme.events'
const encode = (text: string) => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

function message(id: string, subject: string, body = id) {
  return { id, subject, headers: {}, body: encode(body) }
}

/** Waits for a condition that other nodes bring about. */
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 10 })

export function busConformance(name: string, makeHarness: () => Promise<BusHarness>): void {
  const opened: AsyncDisposable[] = []
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]()
  })

  const open = async () => {
    const harness = await makeHarness()
    opened.push(harness)
    const connect = async () => {
      const bus = await harness.connect()
      opened.push(bus)
      return bus
    }
    const bus = await connect()
    return { harness, connect, bus }
  }

  const openWithStream = async () => {
    const all = await open()
    await all.harness.makeStream({ name: 'CRM', subjects: ['crm.>'] })
    const send = async (count: number, from = 0) => {
      for (let index = from; index < from + count; index += 1) {
        await all.harness.send({ subject: `crm.contact.${index % 3}`, id: `m-${index}`, body: `${index}` })
      }
    }
    return { ...all, send }
  }
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => `${index}`)
  const sorted = (bodies: readonly string[]) => [...bodies].sort((a, b) => Number(a) - Number(b))

  describe(`bus: ${name}`, () => {
    test('[BU1] messages of one subject are stored in the order given', async () => {
      const { bus, harness } = await open()
      const messages = numbers(60).map((body) =>
        message(`e-${body}`, `${EVENTS}.crm.${Number(body) % 2}`, body),
      )
      expect(await bus.publish(messages)).toEqual(messages.map(() => true))
      for (const rest of [0, 1]) {
        const held = (await harness.stored(`${EVENTS}.crm.${rest}`)).map(({ body }) => Number(body))
        expect(held).toEqual(
          numbers(60)
            .map(Number)
            .filter((one) => one % 2 === rest),
        )
      }
    })

    test('[BU2] a message whose id is remembered is stored once', async () => {
      const { bus, harness } = await open()
      const subject = `${EVENTS}.crm.created`
      expect(await bus.publish([message('a', subject), message('b', subject)])).toEqual([true, true])
      expect(await bus.publish([message('b', subject), message('c', subject)])).toEqual([true, true])
      expect((await harness.stored(subject)).map(({ id }) => id)).toEqual(['a', 'b', 'c'])
      expect(await bus.publish([])).toEqual([])
    })

    test('[BU2] of a token’s subject the last message is stored, and an empty one is a message', async () => {
      const { bus, harness } = await open()
      const subject = 'millrace.acme.workflows.triage.places.open.tokens.t1'
      expect(await bus.publish([message('in', subject), message('out', subject, '')])).toEqual([true, true])
      expect(await harness.stored(subject)).toEqual([{ id: 'out', body: '' }])
    })

    test('[BU2] headers and every byte of the body arrive', async () => {
      const { bus } = await open()
      const body = Uint8Array.from({ length: 256 }, (_, index) => index)
      const headers = { 'millrace-tenant': 'acme', traceparent: '00-ab-cd-01' }
      await bus.publish([{ id: 'bytes', subject: `${EVENTS}.bytes`, headers, body }])
      const { got } = collect(bus, { stream: null, subjects: [`${EVENTS}.bytes`] })
      await until(() => expect(got).toHaveLength(1))
      expect(got[0]).toMatchObject({ id: 'bytes', subject: `${EVENTS}.bytes`, headers })
      expect(Buffer.from(got[0]?.body ?? []).equals(Buffer.from(body))).toBe(true)
    })

    test('[BU3] a message that no stream accepts is not stored, and holds back nothing else', async () => {
      const { bus } = await open()
      const [lost, there] = [message('a', 'nobody.has.this'), message('b', `${EVENTS}.x`)]
      expect(await bus.publish([lost, there])).toEqual([false, true])
      await expect(bus.publish([lost])).rejects.toMatchObject({ code: 'unavailable' })
    })

    test('[BU3] a message that is too large is refused, and holds back nothing, not even of its subject', async () => {
      const { bus, harness } = await open()
      const large = message('large', `${EVENTS}.x`, 'x'.repeat(harness.maxBytes + 1))
      expect(await bus.publish([large, message('b', `${EVENTS}.x`)])).toEqual([false, true])
      const refusal = await bus.publish([large]).catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(BusError)
      expect(refusal).toMatchObject({ code: 'refused', message: expect.stringContaining('bytes') })
    })

    test('[BU3] a bus that is down says so, and accepts the messages when it is back', async () => {
      const { bus, harness } = await open()
      const told: boolean[] = []
      bus.watch(({ isConnected }) => told.push(isConnected))
      await harness.setReachable(false)
      await until(() => expect(bus.status().isConnected).toBe(false))
      const one = message('a', `${EVENTS}.x`)
      await expect(bus.publish([one])).rejects.toMatchObject({ code: 'unavailable' })
      await harness.setReachable(true)
      await until(() => expect(bus.status().isConnected).toBe(true))
      await until(async () => expect(await bus.publish([one])).toEqual([true]))
      expect((await harness.stored(one.subject)).map(({ id }) => id)).toEqual(['a'])
      await until(() => expect(told).toEqual(expect.arrayContaining([false, true])))
    })

    test('[WK15] a node that was cut off from the others learns so when it is over, and others cannot say so', async () => {
      const { bus, harness } = await open()
      const heard: Wake[] = []
      bus.wakes.listen((wake) => heard.push(wake))
      await harness.setReachable(false)
      await until(() => expect(bus.status().isConnected).toBe(false))
      expect(heard).toEqual([])
      await harness.setReachable(true)
      await until(() => expect(heard).toEqual(MISSED))
      expect(readWake({ wake: 'missed' })).toBeNull()
    })

    test('[BU36] it is known which stream has the tokens, and that it was recreated', async () => {
      const { bus, harness } = await open()
      const birth = () => bus.status().tokensBirth
      await until(() => expect(birth()).not.toBeNull())
      const before = birth()
      const told = new Set<string | null>()
      bus.watch(({ tokensBirth }) => told.add(tokensBirth))
      const reconnect = async () => {
        await harness.setReachable(false)
        await until(() => expect(bus.status().isConnected).toBe(false))
        await harness.setReachable(true)
        await until(() => expect(bus.status().isConnected).toBe(true))
        await bus.publish([])
      }
      await harness.removeStream('MILLRACE_TOKENS')
      await harness.makeStream({ name: 'MILLRACE_TOKENS', subjects: ['millrace.*.workflows.>'] })
      await reconnect()
      await until(() => expect([...told].filter((one) => one !== null && one !== before)).toHaveLength(1))
      const after = birth()
      expect(told.has(after)).toBe(true)
      await reconnect()
      expect(birth()).toBe(after)
    })

    test('[BU3] a closed bus accepts nothing', async () => {
      const { bus } = await open()
      await bus[Symbol.asyncDispose]()
      await expect(bus.publish([message('a', `${EVENTS}.x`)])).rejects.toMatchObject({ code: 'closed' })
      expect(bus.status().isConnected).toBe(false)
    })

    test('[BU4] a consumer delivers earlier and later messages, as they were sent', async () => {
      const { bus, harness } = await openWithStream()
      const before = Date.now()
      await harness.send({ subject: 'crm.contact.a', body: '{"a":1}', headers: { 'X-Kind': 'made' } })
      await harness.send({ subject: 'crm.other', id: 'm-1', body: '' })
      const { got, states } = collect(bus, { subjects: ['crm.contact.*'] })
      await until(() => expect(got).toHaveLength(1))
      await harness.send({ subject: 'crm.contact.b', id: 'm-2', body: 'not JSON' })
      await until(() => expect(got).toHaveLength(2))
      expect(got[0]).toMatchObject({ subject: 'crm.contact.a', id: null, deliveries: 1 })
      expect(Object.entries(got[0]?.headers ?? {}).map(([key, value]) => [key.toLowerCase(), value])).toEqual(
        [['x-kind', 'made']],
      )
      expect(Math.abs((got[0]?.at ?? 0) - before)).toBeLessThan(30_000)
      expect(got[1]).toMatchObject({ subject: 'crm.contact.b', id: 'm-2' })
      expect(decode(got[1]?.body ?? new Uint8Array())).toBe('not JSON')
      expect(states).toEqual(['consuming'])
    })

    test('[BU5] a message that is not stored is delivered again, not before its time, as often as it takes', async () => {
      const { bus, send } = await openWithStream()
      await send(1)
      const times: number[] = []
      const { got } = collect(bus, {
        handle: async ({ deliveries }) => {
          times.push(performance.now())
          return deliveries < 12 ? { is: 'again', afterMs: deliveries === 1 ? 150 : 0 } : KEPT
        },
      })
      await until(() => expect(got).toHaveLength(12))
      expect(got.map(({ deliveries }) => deliveries)).toEqual(numbers(12).map((one) => Number(one) + 1))
      expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(140)
      expect(new Set(got.map(({ place }) => place)).size).toBe(1)
    })

    test('[BU6] nodes that name the same durable share its messages', async () => {
      const { bus, connect, send } = await openWithStream()
      const other = await connect()
      // Neither finishes without the other: each has room for one, and waits until both have one.
      const both: (() => void)[] = []
      const handle = async (): Promise<Handled> => {
        await new Promise<void>((resolve) => {
          both.push(resolve)
          if (both.length === 2) for (const go of both) go()
          if (both.length > 2) resolve()
        })
        return KEPT
      }
      const [one, two] = [bus, other].map((node) => collect(node, { maxInFlight: 1, handle }))
      await send(20)
      const all = () => [...(one?.bodies() ?? []), ...(two?.bodies() ?? [])]
      await until(() => expect(new Set(all()).size).toBe(20))
      expect(sorted(all())).toEqual(numbers(20))
      expect([one?.got.length, two?.got.length]).not.toContain(0)
    })

    test('[BU6] another durable has the messages too', async () => {
      const { bus, send } = await openWithStream()
      const [one, two] = ['reader', 'auditor'].map((durable) => collect(bus, { durable }))
      await send(5)
      await until(() => expect([one?.got.length, two?.got.length]).toEqual([5, 5]))
    })

    test('[BU7] messages in flight at a crashed node are delivered to another', async () => {
      const { bus, connect, harness, send } = await openWithStream()
      const gone = await connect()
      const release: (() => void)[] = []
      const lost = collect(gone, {
        handle: () => new Promise((resolve) => release.push(() => resolve(KEPT))),
      })
      await send(6)
      await until(() => expect(lost.got).toHaveLength(6))
      const { bodies, got } = collect(bus)
      await harness.cut(gone)
      await until(() => expect(sorted(bodies())).toEqual(numbers(6)))
      expect(Math.min(...got.map(({ deliveries }) => deliveries))).toBeGreaterThan(1)
      for (const one of release) one()
    })

    test('[BU8] no more than the limit are in flight at once', async () => {
      const { bus, send } = await openWithStream()
      await send(30)
      let underWay = 0
      const seen: number[] = []
      const { got } = collect(bus, {
        maxInFlight: 3,
        handle: async () => {
          underWay += 1
          seen.push(underWay)
          await new Promise((resolve) => setImmediate(resolve))
          underWay -= 1
          return KEPT
        },
      })
      await until(() => expect(got.length).toBeGreaterThanOrEqual(30))
      expect(Math.max(...seen)).toBeLessThanOrEqual(3)
    })

    test('[BU75] nor more than the limit in bytes, and one message at most beyond it', async () => {
      const { bus, harness } = await openWithStream()
      const body = 'x'.repeat(700_000)
      const count = 24
      for (let index = 0; index < count; index += 1)
        await harness.send({ subject: 'crm.large', id: `large-${index}`, body: `${index} ${body}` })
      let underWay = 0
      const seen: number[] = []
      const finish: (() => void)[] = []
      const { got } = collect(bus, {
        maxInFlight: 64,
        maxBytes: () => 4_200_000,
        handle: async (message) => {
          underWay += message.body.byteLength
          seen.push(underWay)
          await new Promise<void>((resolve) => finish.push(resolve))
          underWay -= message.body.byteLength
          return KEPT
        },
      })
      // As many as the limit allows have arrived; the rest comes as these end.
      await until(() => expect(got.length).toBeGreaterThanOrEqual(4))
      await until(() => {
        for (const one of finish.splice(0)) one()
        expect(got.length).toBeGreaterThanOrEqual(count)
      })
      expect(new Set(got.map(({ id }) => id)).size).toBe(count)
      expect(Math.max(...seen)).toBeLessThanOrEqual(4_200_000 + body.length + 10)
    })

    test('[BU9] a message that is processed for long is not delivered again', async () => {
      const { bus, connect, harness, send } = await openWithStream()
      let finish = (_: Handled) => {}
      const slow = collect(bus, { handle: () => new Promise((resolve) => (finish = resolve)) })
      await send(1)
      await until(() => expect(slow.got).toHaveLength(1))
      const other = collect(await connect())
      // A message that comes later shows that the time is over.
      const sign = { subject: 'sign.late', id: 'late', body: 'late' }
      await harness.makeStream({ name: 'SIGN', subjects: ['sign.>'] })
      await harness.send(sign)
      const delayed = collect(bus, {
        stream: 'SIGN',
        subjects: ['sign.>'],
        durable: 'sign',
        handle: async ({ deliveries }) =>
          deliveries === 1 ? { is: 'again', afterMs: 2.5 * harness.ackWaitMs } : KEPT,
      })
      await until(() => expect(delayed.got).toHaveLength(2))
      expect([slow.got.length, other.got.length]).toEqual([1, 0])
      finish(KEPT)
      await slow.consumer.close()
    })

    test('[BU10] closing waits for messages in flight, and the next continues from there', async () => {
      const { bus, connect, send } = await openWithStream()
      await send(5)
      const finish: (() => void)[] = []
      const first = collect(bus, {
        maxInFlight: 2,
        handle: () => new Promise((resolve) => finish.push(() => resolve(KEPT))),
      })
      await until(() => expect(first.got).toHaveLength(2))
      let isClosed = false
      const closing = first.consumer.close().then(() => {
        isClosed = true
      })
      await send(5, 5)
      expect(isClosed).toBe(false)
      for (const one of finish.splice(0)) one()
      await closing
      expect(first.got).toHaveLength(2)
      const next = collect(await connect())
      await until(() => expect(next.got.length).toBeGreaterThanOrEqual(8))
      expect(sorted([...first.bodies(), ...next.bodies()])).toEqual(numbers(10))
    })

    test('[BU11] a consumer without its stream says what to do, and starts when it exists', async () => {
      const { bus, harness } = await open()
      const named = collect(bus)
      const found = collect(bus, { stream: null, durable: 'finder' })
      await until(() => expect([named.states, found.states].map((one) => one.length)).toEqual([1, 1]))
      expect(named.states[0]).toMatch(/no stream CRM.*make it/)
      expect(found.states[0]).toMatch(/no stream has .*crm\.>.*make one/)
      await harness.makeStream({ name: 'CRM', subjects: ['crm.>'] })
      await harness.send({ subject: 'crm.a', body: '0' })
      await until(() => expect([named.got.length, found.got.length]).toEqual([1, 1]))
      expect([named.states[1], found.states[1]]).toEqual(['consuming', 'consuming'])
    })

    test('[BU74] a stream that may not be read is not read, and not named unless it was requested', async () => {
      const { bus, harness, send } = await openWithStream()
      await harness.makeStream({ name: 'ERP', subjects: ['erp.>'] })
      await send(3)
      const mayRead = (stream: string) => stream === 'ERP'
      const named = collect(bus, { mayRead })
      const found = collect(bus, { mayRead, stream: null, durable: 'finder' })
      const missing = collect(bus, { mayRead, stream: 'NONE', durable: 'other' })
      const erp = collect(bus, { mayRead, stream: null, durable: 'erp', subjects: ['erp.>'] })
      await harness.send({ subject: 'erp.a', body: '0' })
      await until(() => expect(erp.bodies()).toEqual(['0']))
      await until(() => expect([named, found, missing].every((one) => one.states.length > 0)).toBe(true))
      expect(named.states[0]).toMatch(/may not read the stream CRM.*MILLRACE_NATS_STREAMS/)
      expect(missing.states[0]).toMatch(/may not read the stream NONE/)
      expect(found.states[0]).toMatch(/no stream has .*crm\.>/)
      expect(found.states[0]).not.toContain('CRM')
      expect([named, found, missing].flatMap((one) => one.got)).toEqual([])
    })

    test('[BU12] several subjects may be in several streams, and nodes share each', async () => {
      const { bus, connect, harness } = await openWithStream()
      await harness.makeStream({ name: 'ERP', subjects: ['erp.>'] })
      const spec = { stream: null, subjects: ['crm.contact.*', 'crm.deal.*', 'erp.order.>'] }
      const nodes = [collect(bus, spec), collect(await connect(), spec)]
      const subjects = ['crm.contact.a', 'crm.deal.a', 'crm.other.a', 'erp.order.a.b', 'erp.bill.a']
      for (const subject of subjects) await harness.send({ subject, body: subject })
      const all = () => nodes.flatMap((node) => node.bodies()).sort()
      await until(() => expect(all()).toEqual(['crm.contact.a', 'crm.deal.a', 'erp.order.a.b']))
    })

    test('[BU12] other subjects under the same durable deliver new messages, and redelivered ones keep their position', async () => {
      const { bus, harness } = await openWithStream()
      await harness.send({ subject: 'crm.contact.a', body: 'first' })
      const narrow = collect(bus, { subjects: ['crm.contact.*'] })
      await until(() => expect(narrow.got).toHaveLength(1))
      await narrow.consumer.close()
      const wide = collect(bus, { subjects: ['crm.*.*'] })
      await harness.send({ subject: 'crm.deal.a', body: 'second' })
      await until(() => expect(wide.bodies()).toContain('second'))
      // A bus that cannot change a filter starts again: the code that stores messages recognizes them by their positions.
      const places = new Map([...narrow.got, ...wide.got].map(({ place, body }) => [place, decode(body)]))
      expect([...places.values()]).toEqual(['first', 'second'])
      await wide.consumer.close()
      await harness.send({ subject: 'crm.contact.b', body: 'third' })
      const back = collect(bus, { subjects: ['crm.contact.*'] })
      await until(() => expect(back.bodies()).toEqual(['third']))
    })

    test('[BU13] a recreated stream has other positions, and its consumer starts there by itself', async () => {
      const { bus, harness, send } = await openWithStream()
      await send(2)
      const { got } = collect(bus)
      await until(() => expect(got).toHaveLength(2))
      await harness.removeStream('CRM')
      await harness.makeStream({ name: 'CRM', subjects: ['crm.>'] })
      await send(2)
      await until(() => expect(got).toHaveLength(4))
      expect(new Set(got.map(({ place }) => place)).size).toBe(4)
    })
  })
}
