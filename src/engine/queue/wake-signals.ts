// Wake-up signals between nodes that share a store: this node announces jobs that it leaves to others and shared state
// that it changed, and looks at once when it receives such a signal. The regular polling of every node finds whatever a
// lost signal announced.
//
// Invariant: WK12 signals cost the store nothing, and are sent at most every few milliseconds.

import { messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Commit, CommitResult } from '../../ports/store.ts'
import { FOLLOWED, type Followed, type Wake } from '../../ports/wakes.ts'
import type { EngineDeps } from '../config.ts'
import { makeThrottled } from '../flow-control/index.ts'

export interface NodeWakes {
  /** Derives the signals for other nodes from a commit. */
  applied(commit: Commit, result: Extract<CommitResult, { ok: true }>): void
  /** Jobs are due for which this node has no slot. */
  leaveWork(): void
  /** Shared state changed: records of the kind; null: definitions, controls, anything. */
  changed(tenant: TenantId, kind: Followed | null): void
  start(): void
  stop(): void
}

/** At most one signal of a kind within this time. */
const WORK_EVERY_MS = 20
const CHANGED_EVERY_MS = 100
/** Jitter, so that many nodes do not all ask at once. */
const JITTER_MS = 15

export function makeNodeWakes(
  deps: Pick<EngineDeps, 'clock' | 'random' | 'log' | 'wakes'> & {
    /** Whether this node takes jobs of the consumer at once. */
    takes(consumer: string): boolean
    /** The claim loop looks after this delay. */
    wake(delayMs: number): void
    /** Reads what other nodes may have changed; null: anything. */
    learn(tenant: TenantId, kinds: ReadonlySet<Followed> | null): Promise<void>
  },
): NodeWakes {
  const { clock, random, log, wakes } = deps
  let isStopped = false
  let unlisten = () => {}
  const learning = new Map<TenantId, { again: Kinds | undefined }>()
  const notifyWork = makeThrottled(clock, WORK_EVERY_MS, () => wakes.send({ wake: 'work' }))
  const senders = new Map<TenantId, { kinds: Kinds | undefined; send(): void }>()

  const notifyChanged = (tenant: TenantId, kind: Followed | null) => {
    const sender = senders.get(tenant) ?? makeSender(tenant)
    sender.kinds = together(sender.kinds, kind === null ? null : new Set([kind]))
    sender.send()
  }

  const makeSender = (tenant: TenantId) => {
    const sender = {
      kinds: undefined as Kinds | undefined,
      send: makeThrottled(clock, CHANGED_EVERY_MS, () => {
        const { kinds } = sender
        sender.kinds = undefined
        wakes.send({ wake: 'definitions', tenant, ...(kinds == null ? {} : { kinds: [...kinds].sort() }) })
      }),
    }
    senders.set(tenant, sender)
    return sender
  }

  const jitterMs = () => Math.round(JITTER_MS * random.unit())

  /** One read at a time per tenant; a request made meanwhile follows it. */
  const learn = (tenant: TenantId, kinds: Kinds) => {
    const known = learning.get(tenant)
    if (known !== undefined) {
      known.again = together(known.again, kinds)
      return
    }
    const mine: { again: Kinds | undefined } = { again: kinds }
    learning.set(tenant, mine)
    clock.after(jitterMs(), () => {
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
    if (wake.wake === 'work') deps.wake(jitterMs())
    else if (wake.wake === 'definitions')
      learn(wake.tenant, wake.kinds === undefined ? null : new Set(wake.kinds))
  }

  return {
    applied({ tenant, writes }, { leased }) {
      for (const write of writes) {
        switch (write.w) {
          case 'work.add':
            if (write.delayMs <= 0 && !leased.includes(write.work.id) && !deps.takes(write.work.consumer))
              notifyWork()
            break
          case 'record.put':
          case 'record.delete':
            if (isTold(write.kind)) notifyChanged(tenant, write.kind)
            break
          default:
        }
      }
    },
    leaveWork: notifyWork,
    changed: notifyChanged,
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

/** Rate permits change the rate records all the time: only a refusal is announced, by the node that received it. */
function isTold(kind: string): kind is Exclude<Followed, 'rate'> {
  return kind !== 'rate' && FOLLOWED.some((followed) => followed === kind)
}
