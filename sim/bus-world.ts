// The part of the world that has to do with the bus: the bus itself with its faults, those who publish for us, wake-ups between
// nodes, and the checks. Of a run without them nothing is there, and nothing is drawn.

import { type LocalBus, makeLocalHub } from '../src/adapters/bus-local/index.ts'
import type { DefinitionDocument } from '../src/core/definitions/documents/index.ts'
import type { Bus } from '../src/ports/bus.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { Commit } from '../src/ports/store.ts'
import { NO_WAKES, type Wakes } from '../src/ports/wakes.ts'
import { makeFate, STREAM, WIRE } from './bus.ts'
import { makeBusChecks } from './check-bus.ts'
import { makeMachineClock } from './clock.ts'
import type { Outcome } from './data.ts'
import type { Life } from './node.ts'
import type { Outside } from './node-access.ts'
import type { Rng } from './random.ts'
import { drawMessage } from './senders-and-operator.ts'

export interface BusWorld {
  readonly hasOutbox: boolean
  readonly beside: readonly DefinitionDocument[]
  /** What a life is given. */
  connect(life: Life, clock: Clock): { readonly bus: Bus | null; readonly wakes: Wakes }
  /** The life is over. */
  left(life: Life): void
  applying(commits: readonly Commit[]): void
  applied(commits: readonly Commit[], outcomes: readonly Outcome[]): void
  /** Everything that goes wrong and is sent while faults are on. */
  begin(repeat: (chaos: Rng, everyMs: number, act: () => void) => void): void
  heal(): void
  /** Whether all that was published was taken, and all that happened was told. */
  isMended(): boolean
  end(): void
}

const NOTHING: BusWorld = {
  hasOutbox: false,
  beside: [],
  connect: () => ({ bus: null, wakes: NO_WAKES }),
  left() {},
  applying() {},
  applied() {},
  begin() {},
  heal() {},
  isMended: () => true,
  end() {},
}

/** A publisher that got no answer publishes again after this. */
const AGAIN_MS = 2_000
/** Whoever keeps the streams of others makes one again that is gone. */
const REMAKE_MS_MAX = 5_000

const encode = (text: string) => new TextEncoder().encode(text)

/** `isBus`: otherwise wake-ups alone. */
export function makeBusWorld(
  outside: Outside,
  rng: Rng,
  isBus: boolean,
  withBug: (bus: Bus) => Bus,
): BusWorld {
  const { time, observations, profile, trace } = outside
  const plan = profile.bus
  if (plan === undefined) return NOTHING
  let isHealed = false
  let isReachable = true
  const clock = makeMachineClock(time, 0).clockFor({ pass: (callback) => callback() })
  const hub = makeLocalHub({ clock, fate: makeFate(plan, rng.fork('fate'), () => isHealed) })
  hub.addStream(STREAM)
  const checks = makeBusChecks({ ...outside, hasOutbox: plan.hasOutbox, stored: hub.stored })
  const connected = new Map<Life, LocalBus>()
  /** Who has not been told yet that his message is there. */
  const publishing = new Set<string>()

  const watched = (life: Life, bus: Bus): Bus => ({
    ...bus,
    wakes: bus.wakes,
    async publish(messages) {
      const answers = await bus.publish(messages)
      for (const [index, message] of messages.entries()) if (answers[index]) checks.told(message)
      return answers
    },
    consume: (spec) =>
      bus.consume({
        ...spec,
        async handle(message) {
          const handled = await spec.handle(message)
          if (handled.is === 'kept' && !life.isDead()) checks.acknowledged(message)
          return handled
        },
      }),
    [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
  })

  const publish = (message: { id: string | null; subject: string; text: string }, name: string) => {
    const { id, subject } = message
    if (isReachable && !(!isHealed && rng.chance(plan.lost.publish ?? 0))) {
      const isThere = hub.send({ id, subject, headers: {}, body: encode(message.text) })
      if (isThere) trace('others', () => `publish ${name} ${subject}`)
      if (isThere && !(!isHealed && rng.chance(plan.lost.answer ?? 0))) {
        observations.counts.published += 1
        publishing.delete(name)
        return
      }
    }
    time.after(AGAIN_MS, () => publish(message, name))
  }

  const publishAll = (chaos: Rng) => {
    for (let number = 1; number <= plan.messages; number += 1) {
      const { kind, order, amount, vat } = drawMessage(chaos, number, profile.kinds)
      const name = `p${number}`
      const isPoison = chaos.chance(120)
      const text = isPoison ? `{"order": "${order}", ` : JSON.stringify({ order, amount, vat })
      const message = { id: chaos.chance(700) ? name : null, subject: `order.${kind}`, text }
      publishing.add(name)
      time.after(chaos.int(Math.floor(profile.faultsMs * 0.8)), () => publish(message, name))
    }
  }

  const setReachable = (reachable: boolean) => {
    if (isReachable === reachable) return
    isReachable = reachable
    trace('bus', () => (reachable ? 'is back' : 'cannot be reached'))
    hub.setReachable(reachable)
  }

  const lose = (chaos: Rng) => {
    observations.counts.busLosses += 1
    trace('bus', () => 'loses its state')
    checks.lost()
    hub.loseState()
    time.after(chaos.int(REMAKE_MS_MAX), () => hub.addStream(STREAM))
  }

  return {
    hasOutbox: isBus && plan.hasOutbox,
    beside: isBus ? [WIRE] : [],
    connect(life, own) {
      const bus = hub.connect(life.name, own)
      connected.set(life, bus)
      return { bus: isBus ? withBug(watched(life, bus)) : null, wakes: bus.wakes }
    },
    left(life) {
      connected.get(life)?.cut()
      connected.delete(life)
    },
    applying: (commits) => checks.applying(commits),
    applied: (commits, outcomes) => checks.applied(commits, outcomes),
    begin(repeat) {
      const chaos = rng.fork('chaos')
      repeat(chaos.fork('away'), plan.awayEveryMs, () => {
        if (!isReachable) return
        observations.counts.busOutages += 1
        setReachable(false)
        time.after(chaos.between(10, plan.awayMsMax), () => setReachable(true))
      })
      repeat(chaos.fork('lose'), plan.loseEveryMs, () => lose(chaos))
      if (isBus) publishAll(rng.fork('messages'))
    },
    heal() {
      isHealed = true
      setReachable(true)
    },
    isMended: () => publishing.size === 0 && checks.isMended(),
    end: () => checks.end(),
  }
}
