// Starts and stops the engine. Starting fences and recovers what a crash left before anything new is accepted; stopping accepts
// nothing new, finishes what runs, and gives the rest to other nodes. The order of both is what this file is about.

import type { TenantId } from '../core/foundation/ids/index.ts'
import type { Role } from '../core/queue/node-role/index.ts'
import { followTenants } from './commit/index.ts'
import type { EngineConfig, EngineDeps } from './config.ts'
import type { ComposedCredentials, HealthWorker } from './connections/index.ts'
import type { Definitions } from './definitions/index.ts'
import type { FlowControl } from './flow-control/index.ts'
import type { Ingest } from './ingest/index.ts'
import type { JobSlots, Lease } from './leases/index.ts'
import type { Outbox } from './outbox/index.ts'
import type { Queue } from './queue/index.ts'

interface Loop {
  start(): void
  stop(): Promise<void>
}

export interface EngineLoops extends Pick<EngineDeps, 'store' | 'clock' | 'log'> {
  readonly lease: Lease
  readonly jobSlots: JobSlots
  readonly definitions: Definitions
  readonly flowControl: FlowControl
  readonly connections: { start(): Promise<void>; stop(): void }
  readonly credentials: ComposedCredentials
  readonly health: HealthWorker
  readonly subscriptions: { start(): Promise<void>; stop(): Promise<void> }
  readonly ingest: Ingest
  /** The jobs that wait for others of their batch. */
  readonly gathering: { flush(): void }
  readonly queue: Queue
  readonly nodesFeed: { start(): void; stop(): void } | null
  readonly bulk: Loop
  readonly orphans: Loop
  readonly retention: Loop
  readonly sweep: Loop
  readonly outbox: Outbox
  tenants(): readonly TenantId[]
  /** Whether events are accepted and jobs are leased on insert. */
  setOpen(isOpen: boolean): void
}

/** For giving the rest to other nodes: a store that does not answer must not keep a node from stopping. */
const LEAVE_MS_MAX = 5_000

export function makeLifecycle(
  parts: EngineLoops,
  config: Pick<EngineConfig, 'roles' | 'followMs'>,
): { start(): Promise<void>; drain(withinMs: number): Promise<{ readonly left: number }> } {
  const {
    clock,
    lease,
    jobSlots,
    definitions,
    flowControl,
    connections,
    credentials,
    health,
    subscriptions,
  } = parts
  const { nodesFeed, bulk, orphans, retention, sweep, outbox, tenants } = parts
  const { claims, nodeWakes } = parts.queue
  const { busConsumers, schedules, rejections, duplicates, backlog } = parts.ingest
  const listAll = () => parts.store.system('definitions').tenants()
  const following = { clock, log: parts.log, followMs: config.followMs }
  const has = (role: Role) => config.roles.has(role)
  let unfollow: readonly (() => void)[] = []

  const atMost = async (withinMs: number, work: Promise<void>): Promise<void> => {
    let cancel: () => void = () => {}
    const late = new Promise<void>((resolve) => {
      cancel = clock.after(withinMs, resolve)
    })
    await Promise.race([work, late])
    cancel()
  }

  return {
    async start() {
      await lease.start()
      await subscriptions.start()
      for (const tenant of tenants()) await flowControl.learn(tenant, null)
      for (const tenant of tenants()) await credentials.learn(tenant)
      await connections.start()
      parts.setOpen(true)
      nodeWakes?.start()
      nodesFeed?.start()
      if (has('work') || has('deliver')) claims.start()
      if (has('work')) bulk.start()
      if (has('schedule')) for (const loop of [schedules, orphans, retention, sweep, health]) loop.start()
      busConsumers.start()
      outbox.start()
      credentials.start()
      unfollow = [
        followTenants(following, 'pace.not-followed', tenants, (tenant) => flowControl.learn(tenant, null)),
        followTenants(following, 'definitions.not-followed', listAll, (tenant) =>
          definitions.refresh(tenant),
        ),
      ]
    },

    async drain(withinMs) {
      parts.setOpen(false)
      // Claims first: a job claimed now would have to be given back. Every part gets its signal to stop before the first wait.
      const claiming = claims.stop()
      jobSlots.stop()
      nodeWakes?.stop()
      nodesFeed?.stop()
      backlog.stop()
      for (const stop of unfollow) stop()
      connections.stop()
      parts.gathering.flush()
      const ending = [schedules, busConsumers, bulk, subscriptions, orphans, credentials, health].map((one) =>
        one.stop(),
      )
      const idle = async () => {
        await Promise.all([claiming, ...ending])
        await jobSlots.idle()
        await rejections.flush()
        await duplicates.flush()
        await retention.stop()
        await sweep.stop()
        // The outbox last: what ended until now has something to publish.
        await outbox.drain()
      }
      await atMost(withinMs, idle())
      rejections.stop()
      duplicates.stop()
      void retention.stop()
      void sweep.stop()
      outbox.stop()
      const left = jobSlots.running()
      await atMost(LEAVE_MS_MAX, lease.leave())
      return { left }
    },
  }
}
