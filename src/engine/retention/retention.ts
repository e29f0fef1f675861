// Retention: walks every tenant's events now and then and lets the store delete those whose time is up and that nothing needs
// any more (docs/spec/retention.md). It takes small steps with a pause after each, so that other callers of the store do not
// notice. Every node walks for itself: what one has deleted, another does not find.
//
// Invariants: N2 only final events are deleted; the store checks again in the transaction that deletes them.

import type { RouteDocument } from '../../core/definitions/documents/index.ts'
import { CANONICAL_SOURCE } from '../../core/events/canonical/index.ts'
import { messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { type KeepTimes, ledgerKeepMsOf, type Pruned } from '../../core/store/retention/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'

export interface Retention {
  start(): void
  /** Resolves when the step in progress is done. */
  stop(): Promise<void>
}

export interface RetentionConfig {
  /** From the end of one walk over all tenants to the next; 0: never. */
  readonly retentionEveryMs: number
}

/** One step. With the pause it bounds the rate: 2,000 events a second at most, a tenth of what a store writes. */
const SCAN_MAX = 200
const PAUSE_MS = 100
/** A walk may take hours: the times of the other tenants are read this often meanwhile. */
const TIMES_MS = 1_000

export function makeRetention(
  deps: {
    readonly store: Pick<Store, 'prune'>
    readonly clock: Clock
    readonly log: Log
    /** Whose times are known here; read at the start of each tenant's walk and once a second. */
    tenants(): Promise<readonly TenantId[]>
    /**
     * Whether the tenant's times are no longer known, for example because a newer version deployed definitions that this one
     * cannot use.
     */
    hasUnusable(tenant: TenantId): boolean
    keepTimes(tenant: TenantId): KeepTimes
    /** Of the ledger, by consumer. */
    ledgerKeepTimes(tenant: TenantId): KeepTimes
    readonly factMs: number
  },
  config: RetentionConfig,
): Retention {
  const { store, clock, log } = deps
  let isStopped = false
  let cancel: () => void = () => {}
  let walking: Promise<void> = Promise.resolve()
  let left: TenantId[] = []
  let after: string | null = null
  let gone = none()
  let byTenant: Readonly<Record<string, KeepTimes>> = {}
  let known: readonly TenantId[] = []
  let timesAt = 0

  const report = (tenant: TenantId) => {
    if (Object.values(gone).some((count) => count > 0)) log.info('retention.pruned', { tenant, ...gone })
    gone = none()
  }

  /** One step of the walk; returns when the next one is due. */
  const step = async (): Promise<number> => {
    const tenant = left[0]
    if (tenant === undefined) {
      left = [...(await deps.tenants())]
      return left.length === 0 ? config.retentionEveryMs : 0
    }
    if (after === null || clock.monotonic() - timesAt >= TIMES_MS) {
      known = await deps.tenants()
      timesAt = clock.monotonic()
      byTenant = Object.fromEntries(
        known.filter((one) => !deps.hasUnusable(one)).map((one) => [one, deps.keepTimes(one)]),
      )
    }
    if (!known.includes(tenant) || deps.hasUnusable(tenant)) {
      // Nodes that know its times walk it.
      report(tenant)
      left.shift()
      after = null
      return left.length === 0 ? config.retentionEveryMs : 0
    }
    const { next, ...counts } = await store.prune({
      tenant,
      ...deps.keepTimes(tenant),
      ledger: deps.ledgerKeepTimes(tenant),
      factMs: deps.factMs,
      byTenant,
      after,
      scanMax: SCAN_MAX,
    })
    gone = add(gone, counts)
    after = next
    if (next !== null) return PAUSE_MS
    report(tenant)
    left.shift()
    return left.length === 0 ? config.retentionEveryMs : PAUSE_MS
  }

  const schedule = (delayMs: number) => {
    if (isStopped) return
    cancel = clock.after(delayMs, () => {
      walking = step()
        .catch((error) => {
          const tenant = left.shift()
          log.warn('retention.failed', { tenant: tenant ?? null, error: messageOf(error) })
          if (tenant !== undefined) report(tenant)
          // The other tenants follow before this one starts again: what it has passed already costs little.
          after = null
          return config.retentionEveryMs
        })
        .then(schedule)
    })
  }

  return {
    start() {
      if (config.retentionEveryMs > 0) schedule(config.retentionEveryMs)
    },
    async stop() {
      isStopped = true
      cancel()
      await walking
      if (left[0] !== undefined) report(left[0])
    },
  }
}

type Gone = Omit<Pruned, 'next'>

const none = (): Gone => ({
  events: 0,
  work: 0,
  attempts: 0,
  deadLetters: 0,
  dedup: 0,
  failures: 0,
  ledger: 0,
  lanes: 0,
  escalations: 0,
  instances: 0,
  history: 0,
  orphans: 0,
  runs: 0,
  facts: 0,
})

function add(a: Gone, b: Gone): Gone {
  return {
    events: a.events + b.events,
    work: a.work + b.work,
    attempts: a.attempts + b.attempts,
    deadLetters: a.deadLetters + b.deadLetters,
    dedup: a.dedup + b.dedup,
    failures: a.failures + b.failures,
    ledger: a.ledger + b.ledger,
    lanes: a.lanes + b.lanes,
    escalations: a.escalations + b.escalations,
    instances: a.instances + b.instances,
    history: a.history + b.history,
    orphans: a.orphans + b.orphans,
    runs: a.runs + b.runs,
    facts: a.facts + b.facts,
  }
}

/** By source, and for the events of its dispatch rules; for all others the default. */
export function keepTimesOf(
  sources: readonly { readonly name: string; readonly retentionMs?: number }[],
  otherwiseMs: number,
  canonicalMs: number = otherwiseMs,
): KeepTimes {
  const keepMs: Record<string, number> =
    canonicalMs === otherwiseMs ? {} : { [CANONICAL_SOURCE]: canonicalMs }
  for (const { name, retentionMs } of sources) {
    if (retentionMs === undefined) continue
    keepMs[name] = retentionMs
    keepMs[`source:${name}`] = retentionMs
  }
  return { keepMs, otherwiseMs }
}

/**
 * By consumer, as each route says or needs; for removed routes as the setting says. Events come from any source, so the source
 * with the longest retention determines how long an event can come again.
 */
export function ledgerKeepTimesOf(
  routes: readonly RouteDocument[],
  { keepMs, otherwiseMs }: KeepTimes,
  goneMs: number,
): KeepTimes {
  const horizonMs = Math.max(otherwiseMs, ...Object.values(keepMs))
  const byConsumer = routes.map((route) => [`route:${route.name}`, ledgerKeepMsOf(route, horizonMs)] as const)
  return { keepMs: Object.fromEntries(byConsumer), otherwiseMs: goneMs }
}
