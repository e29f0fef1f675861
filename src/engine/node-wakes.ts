// Wake-ups between nodes that share a store: this one tells of work that it leaves to others and of what it changed that they go by, and
// looks at once when it hears the same. Whatever goes missing is found by the next look that everybody takes anyway.
//
// Invariant: WK12 what is told costs the store nothing, and comes no more often than every few milliseconds.

import { messageOf } from '../core/errors/index.ts'
import type { TenantId } from '../core/ids/index.ts'
import type { Commit, CommitResult, RecordKind } from '../ports/store.ts'
import type { Wake } from '../ports/wakes.ts'
import type { EngineDeps } from './deps.ts'
import { makePaced } from './paced.ts'

export interface NodeWakes {
  /** Reads from a commit what others should hear. */
  applied(commit: Commit, result: Extract<CommitResult, { ok: true }>): void
  /** Work is due for which this node has no slot. */
  leaveWork(): void
  /** What others go by is another: definitions, controls, circuits, buckets. */
  changed(tenant: TenantId): void
  start(): void
  stop(): void
}

/** No more than one of a kind within this. */
const WORK_EVERY_MS = 20
const CHANGED_EVERY_MS = 100
/** So that many nodes do not all ask at once. */
const SPREAD_MS = 15

/** What every node keeps a copy of. */
const FOLLOWED: ReadonlySet<RecordKind> = new Set([
  'subscription',
  'circuit',
  'bucket',
  'connection',
  'credential',
])

export function makeNodeWakes(
  deps: Pick<EngineDeps, 'clock' | 'random' | 'log' | 'wakes'> & {
    /** Whether this node takes the work of a consumer at once. */
    takes(consumer: string): boolean
    /** The claim loop looks after so long. */
    wake(delayMs: number): void
    /** Reads what others may have changed. */
    learn(tenant: TenantId): Promise<void>
  },
): NodeWakes {
  const { clock, random, log, wakes } = deps
  let isStopped = false
  let unlisten = () => {}
  const learning = new Map<TenantId, { isAgain: boolean }>()
  const tellWork = makePaced(clock, WORK_EVERY_MS, () => wakes.tell({ wake: 'work' }))
  const tellers = new Map<TenantId, () => void>()

  const tellChanged = (tenant: TenantId) => {
    let teller = tellers.get(tenant)
    if (teller === undefined) {
      teller = makePaced(clock, CHANGED_EVERY_MS, () => wakes.tell({ wake: 'definitions', tenant }))
      tellers.set(tenant, teller)
    }
    teller()
  }

  const spreadMs = () => Math.round(SPREAD_MS * random.unit())

  /** One look at a time per tenant; one that is asked for meanwhile follows it. */
  const learn = (tenant: TenantId) => {
    const known = learning.get(tenant)
    if (known !== undefined) {
      known.isAgain = true
      return
    }
    const mine = { isAgain: false }
    learning.set(tenant, mine)
    clock.after(spreadMs(), () => {
      mine.isAgain = false
      deps
        .learn(tenant)
        .catch((error: unknown) => log.warn('definitions.not-followed', { error: messageOf(error) }))
        .finally(() => {
          learning.delete(tenant)
          if (mine.isAgain && !isStopped) learn(tenant)
        })
    })
  }

  const hear = (wake: Wake) => {
    if (wake.wake === 'work') deps.wake(spreadMs())
    else if (wake.wake === 'definitions') learn(wake.tenant)
  }

  return {
    applied({ tenant, writes }, { leased }) {
      for (const write of writes) {
        switch (write.w) {
          case 'work.add':
            if (write.delayMs <= 0 && !leased.includes(write.work.id) && !deps.takes(write.work.consumer))
              tellWork()
            break
          case 'record.put':
          case 'record.delete':
            if (FOLLOWED.has(write.kind)) tellChanged(tenant)
            break
          default:
        }
      }
    },
    leaveWork: tellWork,
    changed: tellChanged,
    start() {
      unlisten = wakes.listen((wake) => {
        if (!isStopped) hear(wake)
      })
    },
    stop() {
      isStopped = true
      unlisten()
    },
  }
}
