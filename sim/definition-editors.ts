// People who change definitions while events flow: who pause, resume, disable and roll back. And what must be true of it:
// a node that was told that a route or a source is paused or disabled asks for none of its work (DV13, DV14, IN4).
//
// What a node was told counts only while nobody else says anything: another word may reach it at any time.

import type { ControlVerb, DefinitionStatus } from '../src/core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../src/core/foundation/ids/index.ts'
import type { ClaimRequest } from '../src/ports/store.ts'
import type { VirtualTime } from './clock.ts'
import type { Life } from './node.ts'
import type { Rng } from './random.ts'
import type { Observations } from './run-observations.ts'
import { ROUTES, SOURCES } from './scenario.ts'

export interface Definers {
  /** Somebody pauses, resumes, disables or rolls back. */
  act(): void
  /** Until every route and source goes on. */
  resumeAll(): void
  /** Definitions are applied: nobody knows what holds until it is over. */
  applying(life: Life, applied: Promise<unknown>): void
  claimAsked(life: Life, request: ClaimRequest): void
}

const AGAIN_MS = 1_000
const VERSIONS = 3
const OUTLIVED_MS = 60_000
const CALM_MS = 10_000
const SOURCE_VERBS: Readonly<Record<ControlVerb, number>> = { pause: 5, disable: 2, resume: 5 }
const VERBS: Readonly<Record<ControlVerb, number>> = { pause: 4, disable: 3, resume: 5 }

export function makeDefiners(deps: {
  readonly observations: Observations
  readonly time: VirtualTime
  readonly rng: Rng
  pickLife(): Life | null
  isHealed(): boolean
  trace(who: string, what: () => string): void
}): Definers {
  const { observations, time, rng, trace } = deps
  const told = new Map<Life, Map<string, DefinitionStatus>>()
  /** Words that are on their way. */
  const open = new Set<{ readonly life: Life; readonly askedAt: number }>()

  /** What a life asked for before it ended may still be done for a while. */
  const isOpen = () =>
    [...open].some(({ life, askedAt }) => !life.isDead() || time.now() - askedAt < OUTLIVED_MS)

  const during = (life: Life, asked: Promise<unknown>, then: () => void = () => {}) => {
    const word = { life, askedAt: time.now() }
    open.add(word)
    told.clear()
    asked.then(
      () => {
        open.delete(word)
        then()
      },
      (error: unknown) => {
        open.delete(word)
        const isExpected =
          error instanceof Error && (error.name === 'AppError' || error.name === 'StoreError')
        if (!isExpected) observations.violate('BROKEN', 'who changes definitions is answered by an exception')
      },
    )
  }

  const control = (life: Life, kind: 'Route' | 'Source', name: string, verb: ControlVerb) => {
    const engine = life.engine()
    if (engine === null) return
    trace('person', () => `${verb}s ${kind} ${name} at ${life.name}`)
    if (kind === 'Source' && verb === 'pause') observations.everPaused.add(name)
    const said = { by: 'person', reason: null }
    const asked = engine.definitions.control(DEFAULT_TENANT, kind, name, verb, said)
    let status: DefinitionStatus | null = null
    during(
      life,
      asked.then((item) => {
        status = item.status
      }),
      () => {
        observations.counts.controls += 1
        if (isOpen() || status === null || life.isDead()) return
        told.set(life, new Map([[`${kind.toLowerCase()}:${name}`, status]]))
      },
    )
    return asked
  }

  const resume = (kind: 'Route' | 'Source', name: string) => {
    const again = () => time.after(AGAIN_MS, () => resume(kind, name))
    const life = deps.pickLife()
    if (life === null) {
      again()
      return
    }
    life.pass(() => {
      let isOver = false
      const settle = (isDone: boolean) => {
        if (isOver) return
        isOver = true
        if (!isDone) again()
      }
      const asked = control(life, kind, name, 'resume')
      if (asked === undefined) settle(false)
      else
        asked.then(
          () => settle(true),
          () => settle(false),
        )
      // A life that ends takes its answer with it.
      time.after(20 * AGAIN_MS, () => settle(false))
    })
  }

  return {
    act() {
      const life = deps.pickLife()
      if (life === null) return
      life.pass(() => {
        const engine = life.engine()
        // What waited in a stopped process until everything healed is not said any more.
        if (engine === null || deps.isHealed()) return
        if (rng.chance(350)) {
          const to = rng.between(1, VERSIONS)
          trace('person', () => `rolls back to version ${to} at ${life.name}`)
          const said = { by: 'person', reason: null }
          during(life, engine.definitions.rollback(DEFAULT_TENANT, { to, ...said }), () => {
            observations.counts.rollbacks += 1
          })
        } else if (rng.chance(400)) {
          const { name } = rng.pick(SOURCES)
          void control(life, 'Source', name, rng.weighted(SOURCE_VERBS) as ControlVerb)
        } else {
          void control(life, 'Route', rng.pick(ROUTES).document.name, rng.weighted(VERBS) as ControlVerb)
        }
      })
    },
    resumeAll() {
      // After whatever was said before and is still on its way.
      time.after(CALM_MS, () => {
        for (const { document } of ROUTES) resume('Route', document.name)
        for (const { name } of SOURCES) resume('Source', name)
      })
    },
    applying: (life, applied) => during(life, applied),
    claimAsked(life, { slots }) {
      for (const [consumer, status] of told.get(life) ?? []) {
        // Another tenant may have a consumer of the same name.
        const isAsked = slots.some((slot) => slot.tenant === DEFAULT_TENANT && slot.consumer === consumer)
        if (status === 'active' || !isAsked) continue
        observations.violate('DV13', `${life.name} claims work of ${consumer}, which is ${status}`)
      }
    },
  }
}
