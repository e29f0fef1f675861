// The circuits of the steps and triggers of workflows (PA25, PA26): no call of a step leaves while its circuit is open, except a trial, and
// a job that waits for a circuit uses no attempt. That no job is lost meanwhile is N2's and N12's to say.
//
// As with connections, what a node knows may be some seconds old: an open circuit is held against the life that wrote it, and against
// those that started after it.

import type { Circuit } from '../src/core/flow-control/circuit/index.ts'
import { DEFAULT_TENANT, type WorkId } from '../src/core/foundation/ids/index.ts'
import { parseStepName, partName } from '../src/core/workflows/machine/index.ts'
import type { Commit } from '../src/ports/store.ts'
import type { VirtualTime } from './clock.ts'
import type { Data, Outcome } from './data.ts'
import type { Life } from './node.ts'
import type { Observations } from './run-observations.ts'
import type { Send } from './vendor.ts'

export interface CircuitChecks {
  applied(life: Life, commits: readonly Commit[], outcomes: readonly Outcome[]): void
  sent(send: Send): void
  started(life: Life): void
  paused(life: Life): void
}

interface Known {
  readonly at: number
  readonly life: Life
  readonly state: Circuit['state']
}

/** A call that was let in when the circuit opened may still reserve and leave. */
const UNDER_WAY_MS = 15_000
/** What the engine says of a job that waits for its circuit. */
const HELD = ' paused itself, because '

export function makeCircuitChecks(deps: {
  readonly observations: Observations
  readonly data: Data
  readonly time: VirtualTime
}): CircuitChecks {
  const { observations, data, time } = deps
  /** Those that are not closed. */
  const circuits = new Map<string, Known>()
  const attempts = new Map<WorkId, number>()
  const startedAt = new Map<Life, number>()
  const pausedAt = new Map<Life, number>()

  const isKnown = (life: Life, { at, life: writer }: Known): boolean => {
    if ((pausedAt.get(life) ?? 0) >= at - UNDER_WAY_MS) return false
    if (writer === life) return time.now() > at + UNDER_WAY_MS
    return at < (startedAt.get(life) ?? 0)
  }

  return {
    started: (life) => void startedAt.set(life, time.now()),
    paused: (life) => void pausedAt.set(life, time.now()),
    applied(life, commits, outcomes) {
      for (const [index, { tenant, writes }] of commits.entries()) {
        if (outcomes[index]?.ok !== true || tenant !== DEFAULT_TENANT) continue
        for (const write of writes) {
          if (write.w === 'record.delete' && write.kind === 'circuit') circuits.delete(write.key)
          if (write.w === 'record.put' && write.kind === 'circuit') {
            const { state } = JSON.parse(write.body) as Circuit
            circuits.set(write.key, { at: time.now(), life, state })
          }
          if (write.w !== 'work.again') continue
          const before = attempts.get(write.work) ?? 0
          if (write.note.lastError?.includes(HELD) === true) {
            observations.counts.heldByCircuit += 1
            if (write.counters.attempts > before)
              observations.violate('PA25', `work ${write.work} uses an attempt while its circuit is open`)
          }
          attempts.set(write.work, write.counters.attempts)
        }
      }
    },
    sent(send) {
      const { consumer, isRotation } = send.operation
      if (send.isProbe || isRotation === true || !consumer.startsWith('workflow:')) return
      const reserve = observations.reserves.get(send.key)?.findLast(({ life }) => life === send.life)
      const work = reserve === undefined ? null : data.work(DEFAULT_TENANT, reserve.work)
      const step = parseStepName(work?.step ?? '')
      if (step === null || (step.type !== 'fire' && step.type !== 'undo' && step.type !== 'enter')) return
      const name = `${consumer}/${partName(step.type, step.name)}`
      const known = circuits.get(name)
      if (known?.state === 'open' && isKnown(send.life, known))
        observations.violate('PA25', `send ${send.id} of ${name} is made, and its circuit is open`)
    },
  }
}
