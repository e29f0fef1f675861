// The buckets of hosts that refused calls with a 429, per tenant. A closed host is stored, so that a restart does not
// go on calling; decisions use the memory.

import { type HostBucket, hostAllows } from '../../core/flow-control/rate/index.ts'
import { messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { stringifyJson } from '../../core/foundation/json/index.ts'
import { DAY, type Instant } from '../../core/foundation/time/index.ts'
import type { StoredRecord } from '../../ports/store.ts'
import type { EngineBase } from '../commit/index.ts'
import type { Item } from '../leases/index.ts'
import type { Decisions } from '../settlement/index.ts'
import { nameOf } from './consumer-keys.ts'

interface Known {
  readonly tenant: TenantId
  readonly host: string
  bucket: HostBucket
  /** As stored; null: it is not. */
  keptUntil: Instant | null
  isWriting: boolean
}

export interface Hosts {
  isQuiet(): boolean
  allows(tenant: TenantId, host: string): 'all' | 'one' | 'none'
  /** When it opens; null: it is open, or a probe is in progress. */
  opensAt(tenant: TenantId, host: string): Instant | null
  /** Before a call; false: not now. */
  enter(item: Item, host: string): boolean
  limited(item: Item, host: string, retryAfterMs: number | null): void
  answered(item: Item, host: string): void
  /** No call was made. */
  leave(item: Item, host: string): void
  adopt(tenant: TenantId, records: readonly StoredRecord[]): void
  closedUntil(tenant: TenantId, host: string): Instant | null
}

/** No refusal closes a host for longer, jitter included. */
const KEPT_MS_MAX = 2 * DAY

/** A record that is off by less is not written again. */
const SLACK_MS = 1_000

export function makeHosts(
  deps: Pick<EngineBase, 'log' | 'random' | 'time' | 'commits' | 'wake'> & {
    readonly decisions: Pick<Decisions, 'stepHost'>
  },
): Hosts {
  const { log, random, time, commits } = deps
  const { stepHost } = deps.decisions
  const all = new Map<string, Known>()

  const find = (tenant: TenantId, host: string): Known | undefined =>
    all.size === 0 ? undefined : all.get(nameOf(tenant, host))

  const keep = (known: Known) => {
    const { bucket } = known
    // A merely suspected host is open again after the next call: nothing is written for it.
    const until = bucket === null || bucket.suspectedUntil !== undefined ? null : bucket.closedUntil
    const isKept =
      until === null
        ? known.keptUntil === null
        : known.keptUntil !== null && Math.abs(known.keptUntil - until) < SLACK_MS
    if (isKept && bucket === null && !known.isWriting) all.delete(nameOf(known.tenant, known.host))
    if (isKept || known.isWriting) return
    known.isWriting = true
    void write(known, until).then(
      () => {
        known.isWriting = false
        known.keptUntil = until
        keep(known)
      },
      (error: unknown) => {
        // The memory knows it; only a restart would not.
        known.isWriting = false
        log.warn('bucket.not-kept', { tenant: known.tenant, host: known.host, error: messageOf(error) })
      },
    )
  }

  const write = ({ tenant, host }: Known, until: Instant | null) =>
    commits.once(
      tenant,
      [],
      until === null
        ? [{ w: 'record.delete', kind: 'bucket', key: host }]
        : [{ w: 'record.put', kind: 'bucket', key: host, version: 1, body: stringifyJson({ until }) }],
    )

  return {
    isQuiet: () => all.size === 0,
    allows(tenant, host) {
      const known = find(tenant, host)
      return known === undefined ? 'all' : hostAllows(known.bucket, time.now())
    },
    opensAt(tenant, host) {
      const bucket = find(tenant, host)?.bucket ?? null
      return bucket === null || bucket.triedBy !== null ? null : bucket.closedUntil
    },
    enter({ work }, host) {
      const known = find(work.tenant, host)
      if (known === undefined || known.bucket === null || known.bucket.triedBy === work.id) return true
      if (hostAllows(known.bucket, time.now()) === 'none') return false
      known.bucket = stepHost(known.bucket, { type: 'tried', by: work.id })
      return true
    },
    limited({ work }, host, retryAfterMs) {
      const { tenant } = work
      const name = nameOf(tenant, host)
      const known: Known = all.get(name) ?? { tenant, host, bucket: null, keptUntil: null, isWriting: false }
      all.set(name, known)
      const before = known.bucket
      const at = time.now()
      const event = { type: 'refused', at, retryAfterMs, jitter: random.unit(), by: work.id } as const
      known.bucket = stepHost(before, event)
      const until = known.bucket?.closedUntil ?? at
      if (until > at && (before === null || before.closedUntil <= at)) {
        log.info('bucket.closed', { tenant, host, forMs: until - at })
      }
      keep(known)
      deps.wake(Math.max(0, until - at))
    },
    answered({ work }, host) {
      const known = find(work.tenant, host)
      if (known === undefined || known.bucket === null) return
      known.bucket = stepHost(known.bucket, { type: 'answered', at: time.now(), by: work.id })
      if (known.bucket !== null) return
      log.info('bucket.opened', { tenant: work.tenant, host })
      keep(known)
      deps.wake()
    },
    leave({ work }, host) {
      const known = find(work.tenant, host)
      if (known === undefined || known.bucket?.triedBy !== work.id) return
      known.bucket = stepHost(known.bucket, { type: 'let-go', by: work.id })
      deps.wake()
    },
    adopt(tenant, records) {
      for (const { key: host, body } of records) {
        const { until } = JSON.parse(body) as { readonly until: Instant }
        // Written by a clock that was ahead: it must not keep the host closed forever.
        if (until > time.now() + KEPT_MS_MAX) continue
        const name = nameOf(tenant, host)
        const known = all.get(name)
        if (known !== undefined) {
          // Another node was refused later than this one.
          if (known.bucket === null || known.bucket.closedUntil >= until) continue
          known.bucket = { closedUntil: until, triedBy: known.bucket.triedBy }
        } else if (until > time.now()) {
          const bucket = { closedUntil: until, triedBy: null }
          all.set(name, { tenant, host, bucket, keptUntil: until, isWriting: false })
        }
      }
    },
    closedUntil: (tenant, host) => find(tenant, host)?.bucket?.closedUntil ?? null,
  }
}
