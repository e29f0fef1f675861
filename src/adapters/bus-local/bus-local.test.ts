import { describe, expect, test } from 'vitest'
import { makeMachineClock, makeVirtualTime } from '../../../sim/clock.ts'
import { type BusHarness, busConformance } from '../../ports/bus.conformance.ts'
import { collect, KEPT } from '../../ports/bus.fixture.ts'
import type { IncomingMessage } from '../../ports/bus.ts'
import { wakesConformance } from '../../ports/wakes.conformance.ts'
import type { Wake } from '../../ports/wakes.ts'
import { makeSystemClock } from '../clock-system/index.ts'
import { type Fate, type LocalBus, type LocalHubOptions, type Moment, makeLocalHub } from './index.ts'

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
const encode = (text: string) => new TextEncoder().encode(text)

/** Time that moves in small steps and stands still while the machine is too busy to take one: what is due first always happens first. */
function makeSteppedTime() {
  const time = makeVirtualTime(Date.now())
  const clock = makeMachineClock(time, 0).clockFor({ pass: (callback) => callback() })
  let isOver = false
  const step = () => void time.run(time.now() + 5, () => isOver).then(wait)
  const wait = () => !isOver && setTimeout(step, 6)
  wait()
  return {
    clock,
    stop: () => {
      isOver = true
    },
  }
}

async function makeHarness(): Promise<BusHarness> {
  const { clock, stop } = makeSteppedTime()
  const hub = makeLocalHub({ clock, ackWaitMs: 300, answerMs: 500, maxBytes: 65_536 })
  let made = 0
  const nodes = new Set<LocalBus>()
  return {
    ackWaitMs: 300,
    maxBytes: 65_536,
    connect: async () => {
      made += 1
      const bus = hub.connect(`node-${made}`)
      nodes.add(bus)
      return bus
    },
    cut: async (bus) => {
      for (const one of nodes) if (one === bus) one.cut()
    },
    makeStream: async (stream) => hub.addStream(stream),
    removeStream: async (name) => hub.removeStream(name),
    send: async ({ subject, id = null, headers = {}, body = '' }) => {
      hub.send({ subject, id, headers, body: encode(body) })
    },
    stored: async (subject) => hub.stored(subject).map(({ id, body }) => ({ id, body: decode(body) })),
    setReachable: async (isReachable) => hub.setReachable(isReachable),
    [Symbol.asyncDispose]: async () => stop(),
  }
}

busConformance('local', makeHarness)

wakesConformance('local bus', async () => {
  const hub = makeLocalHub({ clock: makeSystemClock() })
  let made = 0
  return {
    connect: async () => {
      made += 1
      return hub.connect(`node-${made}`).wakes
    },
    [Symbol.asyncDispose]: async () => {},
  }
})

describe('with a given clock and given faults', () => {
  const SUBJECT = 'millrace.acme.events.x'

  function makeWorld(fate: (moment: Moment, nth: number) => Fate, options: Partial<LocalHubOptions> = {}) {
    const time = makeVirtualTime(1_000_000)
    const clock = makeMachineClock(time, 0).clockFor({ pass: (callback) => callback() })
    const counts = new Map<string, number>()
    const hub = makeLocalHub({
      clock,
      ...options,
      fate: (moment) => {
        const nth = (counts.get(moment.what) ?? 0) + 1
        counts.set(moment.what, nth)
        return fate(moment, nth)
      },
    })
    const bus = hub.connect('a')
    const got: IncomingMessage[] = []
    const consume = (handle: (message: IncomingMessage) => void = () => {}) =>
      collect(bus, {
        stream: null,
        subjects: [SUBJECT],
        maxInFlight: 2,
        handle: async (message) => {
          got.push(message)
          handle(message)
          return KEPT
        },
      }).consumer
    const run = (ms: number) => time.run(time.now() + ms, () => false)
    return { hub, bus, got, consume, run, time }
  }
  const one = (id: string) => ({ id, subject: SUBJECT, headers: {}, body: encode(id) })

  test('[BU19] a message that is lost, or whose response is, is not known to be stored', async () => {
    const { hub, bus, run } = makeWorld(({ what }, nth) => ({ isLost: what === 'publish' && nth === 1 }))
    const lost = expect(bus.publish([one('a')])).rejects.toMatchObject({ code: 'unavailable' })
    await run(10_000)
    await lost
    expect(hub.stored(SUBJECT)).toEqual([])

    const world = makeWorld(({ what }, nth) => ({ isLost: what === 'answer' && nth === 1 }))
    const unanswered = expect(world.bus.publish([one('a')])).rejects.toMatchObject({ code: 'unavailable' })
    await world.run(10_000)
    await unanswered
    const again = expect(world.bus.publish([one('a')])).resolves.toEqual([true])
    await world.run(10_000)
    await again
    expect(world.hub.stored(SUBJECT)).toHaveLength(1)
  })

  test('[BU19] an id is remembered for the duplicate window', async () => {
    const { hub, run, time } = makeWorld(() => ({}), { duplicateWindowMs: 60_000 })
    hub.send(one('a'))
    await run(59_999)
    hub.send(one('a'))
    expect(hub.stored(SUBJECT)).toHaveLength(1)
    await run(1)
    hub.send(one('a'))
    expect(hub.stored(SUBJECT).map(({ at }) => at)).toEqual([1_000_000, time.now()])
  })

  test('[BU19] a message lost on its way to a consumer, or whose acknowledgement is lost, is redelivered', async () => {
    for (const what of ['deliver', 'acknowledge'] as const) {
      const world = makeWorld((moment, nth) => ({ isLost: moment.what === what && nth === 1 }))
      world.consume()
      world.hub.send(one('a'))
      await world.run(29_000)
      expect(world.got).toHaveLength(what === 'deliver' ? 0 : 1)
      await world.run(2_000)
      expect(world.got.at(-1)?.deliveries).toBe(2)
      await world.run(100_000)
      expect(world.got).toHaveLength(what === 'deliver' ? 1 : 2)
    }
  })

  test('[BU19] a message that the faults deliver twice or late arrives twice or late', async () => {
    const world = makeWorld(({ what }) => (what === 'deliver' ? { isTwice: true, delayMs: 500 } : {}))
    world.consume()
    world.hub.send(one('a'))
    await world.run(499)
    expect(world.got).toHaveLength(0)
    await world.run(1)
    expect(world.got).toHaveLength(2)
    await world.run(100_000)
    expect(world.got).toHaveLength(2)
  })

  test('[BU19] losing state removes other systems’ streams; ours are recreated empty', async () => {
    const world = makeWorld(() => ({}))
    world.hub.addStream({ name: 'CRM', subjects: ['crm.>'] })
    world.consume()
    world.hub.send(one('a'))
    await world.run(1_000)
    world.hub.loseState()
    expect(world.hub.stored('>')).toEqual([])
    expect(world.hub.send({ ...one('c'), subject: 'crm.a' })).toBe(false)
    expect(world.hub.send(one('a'))).toBe(true)
    await world.run(1_000)
    expect(world.got.map(({ id }) => id)).toEqual(['a', 'a'])
    expect(new Set(world.got.map(({ place }) => place)).size).toBe(2)
  })

  test('[BU19] a paused node handles nothing, and its messages are redelivered to another node', async () => {
    const time = makeVirtualTime(0)
    const clock = makeMachineClock(time, 0).clockFor({ pass: (callback) => callback() })
    const hub = makeLocalHub({ clock })
    const held: (() => void)[] = []
    let isPaused = true
    const pass = (callback: () => void) => void (isPaused ? held.push(callback) : callback())
    const seen: string[] = []
    const consumeOn = (node: string, bus: LocalBus) =>
      collect(bus, {
        stream: null,
        subjects: [SUBJECT],
        maxInFlight: 1,
        handle: async ({ deliveries }) => {
          seen.push(`${node} ${deliveries}`)
          return KEPT
        },
      })
    consumeOn('paused', hub.connect('paused', makeMachineClock(time, 0).clockFor({ pass })))
    hub.send(one('a'))
    await time.run(10, () => false)
    consumeOn('other', hub.connect('other'))
    await time.run(29_000, () => false)
    expect(seen).toEqual([])
    await time.run(31_000, () => false)
    expect(seen).toEqual(['other 2'])
    isPaused = false
    for (const callback of held.splice(0)) callback()
    await time.run(100_000, () => false)
    expect(seen).toEqual(['other 2', 'paused 1'])
  })

  test('[BU19] wake-ups reach the other nodes: lost, twice or late as the faults say', async () => {
    const { hub, bus, run } = makeWorld(
      (_, nth) => [{ isLost: true }, { isTwice: true }, { delayMs: 50 }][nth - 1] ?? {},
    )
    const heard: Wake[] = []
    hub.connect('b').wakes.listen((wake) => heard.push(wake))
    bus.wakes.listen(() => expect.unreachable('a node does not hear itself'))
    const tell = async (ms: number) => {
      bus.wakes.send({ wake: 'work' })
      await run(ms)
      return heard.length
    }
    expect([await tell(10), await tell(10), await tell(49), await tell(2)]).toEqual([0, 2, 2, 4])
  })
})
