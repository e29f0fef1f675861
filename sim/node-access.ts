// What those outside see of the world, and how they are answered.

import type { Role } from '../src/core/queue/node-role/index.ts'
import type { VirtualTime } from './clock.ts'
import type { Data } from './data.ts'
import type { Faults, Profile } from './faults.ts'
import type { Life } from './node.ts'
import type { Rng } from './random.ts'
import type { Observations } from './run-observations.ts'
import type { Vendor } from './vendor.ts'

export interface Outside {
  readonly time: VirtualTime
  readonly data: Data
  readonly faults: Faults
  readonly profile: Profile
  readonly observations: Observations
  readonly rng: Rng
  vendor(): Vendor
  lives(): readonly Life[]
  trace(who: string, what: () => string): void
}

/** One that has the role. */
export function pickLife({ lives, rng }: Pick<Outside, 'lives' | 'rng'>, role: Role = 'api'): Life | null {
  const open = lives().filter((life) => life.engine() !== null && life.roles.has(role))
  return open.length === 0 ? null : rng.pick(open)
}

/** Whatever the answer: a person sees an error, looks again, and decides anew. */
export function ask({ observations }: Outside, answer: Promise<unknown>): void {
  answer.catch((error: unknown) => {
    const isExpected = error instanceof Error && (error.name === 'AppError' || error.name === 'StoreError')
    if (!isExpected) observations.violate('BROKEN', 'a person is answered by an exception')
  })
}
