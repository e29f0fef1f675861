// /readyz: whether the node can do now what its roles require. The store is checked within a bounded time and at most
// once a second, however often it is requested.
//
// Invariants: ND10 not ready before the start is over, from the moment the node is asked to stop, and while the store
// does not respond in time. ND16 nor from a failed write on, until one succeeds. ND11 a node is not ready without its
// lease. ND12 the bus is reported and decides nothing; so is refused code.

import type { EngineHealth } from '../engine/index.ts'
import type { Readiness } from '../http/index.ts'
import type { Bus } from '../ports/bus.ts'
import type { Clock } from '../ports/clock.ts'
import { StoreError } from '../ports/store.ts'
import type { WriteHealth } from './failed-writes.ts'

export interface ReadinessDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'after'>
  /** Whether the start is over. */
  isStarted(): boolean
  engine(): EngineHealth
  /** A small read. */
  look(): Promise<unknown>
  readonly writes: WriteHealth
  /** Why the node does nothing until the operator decides; none: it is not paused. */
  pauses(): readonly string[]
  readonly bus: Pick<Bus, 'status'> | null
  /** How many bundles that something uses are refused; omitted: none is. */
  refusedCode?(): number
}

export interface NodeReadiness {
  ask(): Promise<Readiness>
  /** The node was asked to stop: it is not ready from now on. */
  leave(): void
}

const FRESH_MS = 1_000
const LOOK_MS_MAX = 2_000
const NO_ANSWER = `the store has not answered within ${LOOK_MS_MAX / 1_000} s`

function refusedNote(count: number): string {
  const what =
    count === 1
      ? '1 bundle of code is refused, and its jobs wait'
      : `${count} bundles of code are refused, and their jobs wait`
  return `${what}: \`millrace refused-code\` lists them with the reason, \`millrace sign-code <hash>\` signs one`
}

export function makeReadiness(deps: ReadinessDeps): NodeReadiness {
  const { clock } = deps
  let isLeaving = false
  let looked: { readonly at: number; readonly problem: string | null } | null = null
  let looking: Promise<string | null> | null = null

  /** null: it responds. */
  const lookOnce = async (): Promise<string | null> => {
    let cancel: () => void = () => {}
    const late = new Promise<string>((resolve) => {
      cancel = clock.after(LOOK_MS_MAX, () => resolve(NO_ANSWER))
    })
    const seen = deps.look().then(
      async () => {
        // Without traffic nothing else would find out that the disk has space again.
        if (deps.writes.problem() !== null) await deps.writes.probe()
        return null
      },
      (error: unknown) => (error instanceof StoreError ? error.message : 'the store does not answer'),
    )
    try {
      return await Promise.race([seen, late])
    } finally {
      cancel()
    }
  }

  const findProblem = async (): Promise<string | null> => {
    if (looked !== null && clock.monotonic() - looked.at < FRESH_MS) return looked.problem
    looking ??= lookOnce().then((problem) => {
      looked = { at: clock.monotonic(), problem }
      looking = null
      return problem
    })
    return looking
  }

  const busOf = (): Readiness['checks']['bus'] => {
    if (deps.bus === null) return 'none'
    return deps.bus.status().isConnected ? 'ok' : 'away'
  }

  return {
    async ask() {
      const unanswered = await findProblem()
      const unwritten = deps.writes.problem()
      const problem = unanswered ?? (unwritten === null ? null : `the last write failed: ${unwritten}`)
      const { open, alive } = deps.engine()
      // Every node joins: if the heartbeat is refused, every event is too.
      const lease = alive ? ('held' as const) : ('lost' as const)
      const reasons: string[] = []
      const refused = deps.refusedCode?.() ?? 0
      const pauses = deps.pauses()
      if (pauses.length > 0) reasons.push(...pauses)
      else if (isLeaving || (deps.isStarted() && !open)) reasons.push('the node is shutting down')
      else if (!deps.isStarted()) reasons.push('the node is starting')
      else if (lease === 'lost') reasons.push('the node has no lease in the store')
      if (problem !== null) reasons.push(problem)
      const checks = {
        store: problem === null ? ('ok' as const) : ('away' as const),
        lease,
        bus: busOf(),
        ...(refused > 0 ? { code: 'refused' as const } : {}),
      }
      const notes = refused > 0 ? { notes: [refusedNote(refused)] } : {}
      return { ready: reasons.length === 0, reasons, ...notes, checks }
    },
    leave() {
      isLeaving = true
    },
  }
}
