// Wake-ups between nodes that share a store: this one tells of work that it leaves to others and of what it changed that they go by, and
// looks at once when it hears the same. Whatever goes missing is found by the next look that everybody takes anyway.
//
// Invariant: WK12 what is told costs the store nothing, and comes no more often than every few milliseconds.

import { messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Commit, CommitResult } from '../../ports/store.ts'
import { FOLLOWED, type Followed, type Wake } from '../../ports/wakes.ts'
import type { EngineDeps } from '../config.ts'
import { makePaced } from '../flow-control/index.ts'

export interface NodeWakes {
  /** Reads from a commit what others should hear. */
  applied(commit: Commit, result: Extract<CommitResult, { ok: true }>): void
  /** Work is due for which this node has no slot. */
  leaveWork(): void
  /** What others go by is another: records of the kind; null: definitions, controls, anything. */
  changed(tenant: TenantId, kind: Followed | null): void
  start(): void
  stop(): void
}

/** No more than one of a kind within this. */
const WORK_EVERY_MS = 20
const CHANGED_EVERY_MS = 100
/** So that many nodes do not all ask at once. */
const SPREAD_MS = 15

export function makeNodeWakes(
  deps: Pick<EngineDeps, 'clock' | 'random' | 'log' | 'wakes'> & {
    /** Whether this node takes the work of a consumer at once. */
    takes(consumer: string): boolean
    /** The claim loop looks after so long. */
    wake(delayMs: number): void
    /** Reads what others may have changed; null: anything. */
    learn(tenant: TenantId, kinds: ReadonlySet<Followed> | null): Promise<void>
  },
): NodeWakes {
  const { clock, random, log, wakes } = deps
  let isStopped = false
  let unlisten = () => {}
  const learning = new Map<TenantId, { again: Kinds | undefined }>()
  const tellWork = makePaced(clock, WORK_EVERY_MS, () => wakes.tell({ wake: 'work' }))
  const tellers = new Map<TenantId, { kinds: Kinds | undefined; tell(): void }>()

  const tellChanged = (tenant: TenantId, kind: Followed | null) => {
    const teller = tellers.get(tenant) ?? makeTeller(tenant)
    teller.kinds = together(teller.kinds, kind === null ? null : new Set([kind]))
    teller.tell()
  }

  const makeTeller = (tenant: TenantId) => {
    const teller = {
      kinds: undefined as Kinds | undefined,
      tell: makePaced(clock, CHANGED_EVERY_MS, () => {
        const { kinds } = teller
        teller.kinds = undefined
        wakes.tell({ wake: 'definitions', tenant, ...(kinds == null ? {} : { kinds: [...kinds].sort() }) })
      }),
    }
    tellers.set(tenant, teller)
    return teller
  }

  const spreadMs = () => Math.round(SPREAD_MS * random.unit())

  /** One look at a time per tenant; one that is asked for meanwhile follows it. */
  const learn = (tenant: TenantId, kinds: Kinds) => {
    const known = learning.get(tenant)
    if (known !== undefined) {
      known.again = together(known.again, kinds)
      return
    }
    const mine: { again: Kinds | undefined } = { again: kinds }
    learning.set(tenant, mine)
    clock.after(spreadMs(), () => {
      const asked = mine.again ?? null
      mine.again = undefined
      deps
        .learn(tenant, asked)
        .catch((error: unknown) => log.warn('definitions.not-followed', { error: messageOf(error) }))
        .finally(() => {
          learning.delete(tenant)
          if (mine.again !== undefined && !isStopped) learn(tenant, mine.again)
        })
    })
  }

  const hear = (wake: Wake) => {
    if (wake.wake === 'work') deps.wake(spreadMs())
    else if (wake.wake === 'definitions')
      learn(wake.tenant, wake.kinds === undefined ? null : new Set(wake.kinds))
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
            if (isTold(write.kind)) tellChanged(tenant, write.kind)
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

/** null: anything. */
type Kinds = ReadonlySet<Followed> | null

function together(one: Kinds | undefined, other: Kinds): Kinds {
  if (one === undefined) return other
  return one === null || other === null ? null : new Set([...one, ...other])
}

/** Draws change the records of rates all the time: only a refusal is told, by who heard it. */
function isTold(kind: string): kind is Exclude<Followed, 'rate'> {
  return kind !== 'rate' && FOLLOWED.some((followed) => followed === kind)
}
