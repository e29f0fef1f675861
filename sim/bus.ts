// What goes wrong on the bus, and the source that takes its messages.

import type { Fate, Moment } from '../src/adapters/bus-local/index.ts'
import { MESSAGE_SUBJECT, type SourceDocument } from '../src/core/definitions/documents/index.ts'
import { MINUTE } from '../src/core/foundation/time/index.ts'
import type { Rng } from './random.ts'

/** In a thousand, and mean times between; 0: never. */
export interface BusPlan {
  readonly lost: Readonly<Partial<Record<Moment['what'], number>>>
  readonly twice: number
  readonly late: number
  readonly lateMsMax: number
  /** Nobody reaches the bus for a while. */
  readonly awayEveryMs: number
  readonly awayMsMax: number
  /** It comes back without anything that it held. */
  readonly loseEveryMs: number
  /** What others publish for us. */
  readonly messages: number
  /** What happens here is told to it. */
  readonly hasOutbox: boolean
}

const MOMENTS: readonly Moment['what'][] = ['publish', 'answer', 'deliver', 'acknowledge', 'wake']

export function drawBus(rng: Rng): BusPlan {
  const some = (perMille: number, value: () => number) => (rng.chance(perMille) ? value() : 0)
  return {
    lost: Object.fromEntries(MOMENTS.map((what) => [what, some(500, () => rng.between(5, 300))])),
    twice: some(500, () => rng.between(5, 200)),
    late: some(500, () => rng.between(5, 300)),
    lateMsMax: rng.pick([50, 2_000, 20_000]),
    awayEveryMs: some(500, () => rng.between(5, 30) * 1_000),
    awayMsMax: rng.pick([500, 10_000, 60_000]),
    loseEveryMs: some(250, () => rng.between(10, 40) * 1_000),
    messages: rng.between(4, 16),
    hasOutbox: rng.chance(800),
  }
}

/** Wake-ups alone, where nodes share a store without a bus: the store carries them. */
export function drawWakes(rng: Rng): BusPlan {
  return { ...drawBus(rng), awayEveryMs: 0, loseEveryMs: 0, messages: 0, hasOutbox: false }
}

export function makeFate(plan: BusPlan, rng: Rng, isHealed: () => boolean): (moment: Moment) => Fate {
  return ({ what }) => {
    // A wake-up may be lost at any time: nobody depends on it.
    if (isHealed() && what !== 'wake') return {}
    return {
      isLost: rng.chance(plan.lost[what] ?? 0),
      isTwice: rng.chance(plan.twice),
      delayMs: rng.chance(plan.late) ? rng.int(plan.lateMsMax) : rng.int(5),
    }
  }
}

export const STREAM = { name: 'ORDERS', subjects: ['order.>'] }

/** Takes what others publish; known by its id, or by its place in the stream. */
export const WIRE: SourceDocument & Required<Pick<SourceDocument, 'nats'>> = {
  kind: 'Source',
  name: 'wire',
  description: null,
  verify: { scheme: 'closed' },
  subject: MESSAGE_SUBJECT,
  event: { id: null, objectType: 'order', objectId: 'payload.order', occurredAt: null },
  dedup: { by: null, windowMs: 30 * MINUTE },
  limits: { bodyBytes: 65_536, depth: 16 },
  status: 'active',
  nats: { subjects: STREAM.subjects },
}
