// Composes the ground of the engine: the commit path, the node's slots and lease, the registry and planning. Every other part uses it.

import { makeIds } from '../core/foundation/ids/index.ts'
import { roleOfConsumer } from '../core/queue/node-role/index.ts'
import {
  type EngineBase,
  type EngineSignals,
  makeCommits,
  makeEngineSignals,
  makeStoreTime,
  makeUnitOfWork,
} from './commit/index.ts'
import type { EngineConfig, EngineDeps } from './config.ts'
import { makeRegistry, type Registry } from './definitions/index.ts'
import { type JobSlots, type Lease, makeJobSlots, makeLease } from './leases/index.ts'
import { composeOutbox, type Outbox } from './outbox/index.ts'
import { composePlanning, type Planning } from './planning/index.ts'
import type { Decisions } from './settlement/index.ts'

export interface Ground extends EngineBase {
  readonly signals: EngineSignals
  readonly decisions: Decisions
  readonly registry: Registry
  readonly jobSlots: JobSlots
  readonly lease: Lease
}

export function composeGround(
  given: EngineDeps,
  config: EngineConfig,
  decisions: Decisions,
  /** Whether events are accepted and jobs are leased on insert. */
  isOpen: () => boolean,
): {
  readonly ground: Ground
  readonly planning: Planning
  readonly outbox: Outbox
  /** Whether this node runs jobs of the consumer at all. */
  runs(consumer: string): boolean
} {
  const { clock, random, log, code } = given
  const { roles, systemEvents } = config
  const ids = makeIds({ now: () => clock.now(), bytes: (length) => random.bytes(length) })
  const time = makeStoreTime(clock)
  const signals = makeEngineSignals()
  const wake = signals.wake.send
  const runs = (consumer: string) => roles.has(roleOfConsumer(consumer))

  const outbox = composeOutbox({ ...given, ids, time }, config)
  const { store } = outbox
  const commits = makeCommits({
    store,
    clock,
    log,
    time,
    onLost: signals.lost.send,
    onApplied: signals.applied.send,
  })
  const jobSlots = makeJobSlots(config)
  const lease = makeLease({ store, clock, log, time }, config, wake)
  const registry = makeRegistry({ ...config, store, random })
  const { vars } = registry
  const planning = composePlanning({
    log,
    time,
    ids,
    code,
    vars,
    wake,
    registry,
    jobSlots,
    runs,
    owner: () => (isOpen() ? lease.owner() : null),
    suspect: signals.lost.send,
  })
  const unitOfWork = makeUnitOfWork({ commits, leasedOnInsert: planning.leasedOnInsert })
  return {
    ground: {
      ...given,
      store,
      ids,
      time,
      vars,
      commits,
      unitOfWork,
      plan: planning.plan,
      systemEvents,
      now: () => time.now(),
      wake,
      signals,
      decisions,
      registry,
      jobSlots,
      lease,
    },
    planning,
    outbox,
    runs,
  }
}
