// Records refused requests for operators: the newest per source, and counters per reason.
//
// A flood of refusals must cost the store nothing: they collect in memory, bounded, and every few seconds each affected
// source gets one write, merged under the version of its record. Undefined sources share one record per tenant;
// requests to unknown tenants are only counted, in one log line.

import { AppError, messageOf } from '../../core/foundation/errors/index.ts'
import type { Ids, TenantId } from '../../core/foundation/ids/index.ts'
import { toStorable } from '../../core/foundation/json/index.ts'
import { SECOND } from '../../core/foundation/time/index.ts'
import {
  compareRejections,
  EMPTY_LOG,
  mergeLogs,
  RECENT_MAX,
  type ReasonCount,
  type Rejection,
  type RejectionLog,
} from '../../core/ingest/rejection/index.ts'
import { type EngineBase, retrying } from '../commit/index.ts'

export interface RefusedRequest {
  readonly tenant: string
  readonly source: string
  readonly address: string
}

export interface SourceCount extends ReasonCount {
  /** null: undefined sources. */
  readonly source: string | null
}

export interface RejectionPage {
  readonly items: readonly Rejection[]
  readonly counts: readonly SourceCount[]
  readonly nextCursor: string | null
}

export interface Rejections {
  note(request: RefusedRequest, error: Pick<AppError, 'code' | 'status' | 'message'>): void
  /** Newest first: of all nodes as far as written, and of this node up to now. */
  list(
    tenant: TenantId,
    query: {
      readonly source?: string
      readonly reason?: string
      readonly cursor: string | null
      readonly limit: number
    },
  ): Promise<RejectionPage>
  /** Writes the collected refusals; what cannot be written stays for the next time. */
  flush(): Promise<void>
  stop(): void
}

const FLUSH_EVERY_MS = 5 * SECOND
const TRIES_MAX = 3
/** More sources than any installation has; a page reads no more than this. */
const RECORDS_MAX = 500
const RECORDS_PAGE = 100
const DETAIL_LENGTH_MAX = 200
const NAME_LENGTH_MAX = 128
const UNDEFINED = 'not-defined'
const ofSource = (name: string) => `source:${name}`

interface Gathered {
  readonly tenant: TenantId
  readonly key: string
  recent: Rejection[]
  readonly counts: Map<string, { count: number; latestAt: number }>
}

export function makeRejections(
  deps: Pick<EngineBase, 'store' | 'clock' | 'log'> & {
    readonly ids: Pick<Ids, 'uuid'>
    /** Called with every flush. */
    onFlush?(): void
    isTenant(tenant: string): boolean
    isSource(tenant: string, source: string): boolean
  },
): Rejections {
  const { store, clock, log, ids } = deps
  let gathered = new Map<string, Gathered>()
  let unknownTenants = 0
  let cancel: (() => void) | null = null
  let isStopped = false
  let flushing: Promise<void> = Promise.resolve()

  const schedule = () => {
    if (isStopped) return
    cancel ??= clock.after(FLUSH_EVERY_MS, () => void flush())
  }

  const gather = (tenant: TenantId, key: string): Gathered => {
    const id = `${tenant}/${key}`
    const known = gathered.get(id)
    if (known !== undefined) return known
    const fresh: Gathered = { tenant, key, recent: [], counts: new Map() }
    gathered.set(id, fresh)
    return fresh
  }

  const write = (tenant: TenantId, key: string, added: RejectionLog): Promise<boolean> => {
    const writeOnce = async (retry: () => Promise<boolean>): Promise<boolean> => {
      const record = await store.forTenant(tenant).record('rejection', key)
      const version = record?.version ?? 0
      const before = record === null ? EMPTY_LOG : (JSON.parse(record.body) as RejectionLog)
      const body = JSON.stringify(mergeLogs(before, added))
      const result = await store.commit({
        tenant,
        guards: [{ g: 'version', of: 'rejection', key, version }],
        writes: [{ w: 'record.put', kind: 'rejection', key, version: version + 1, body }],
      })
      return result.ok ? true : retry()
    }
    return retrying(TRIES_MAX, writeOnce, () => false)
  }

  const keepFor = (next: Gathered) => {
    const held = gather(next.tenant, next.key)
    const merged = mergeLogs(logOf(held), logOf(next))
    held.recent = [...merged.recent].reverse()
    for (const { reason, count, latestAt } of merged.counts) held.counts.set(reason, { count, latestAt })
  }

  const flushNow = async () => {
    const all = [...gathered.values()]
    gathered = new Map()
    deps.onFlush?.()
    if (unknownTenants > 0) log.info('ingest.unknown-tenants', { count: unknownTenants })
    unknownTenants = 0
    for (const one of all) {
      let isWritten = false
      try {
        isWritten = await write(one.tenant, one.key, logOf(one))
      } catch (error) {
        log.warn('rejections.not-written', { tenant: one.tenant, error: messageOf(error) })
      }
      if (isWritten) continue
      keepFor(one)
      schedule()
    }
  }

  const flush = () => {
    cancel?.()
    cancel = null
    flushing = flushing.then(flushNow)
    return flushing
  }

  const readLogs = async (tenant: TenantId, source: string | undefined) => {
    const logs = new Map<string, RejectionLog>()
    const reads = store.forTenant(tenant)
    if (source !== undefined) {
      for (const key of [ofSource(source), UNDEFINED]) {
        const record = await reads.record('rejection', key)
        if (record !== null) logs.set(key, JSON.parse(record.body) as RejectionLog)
      }
    } else {
      let cursor: string | null = null
      do {
        const page: Awaited<ReturnType<typeof reads.records>> = await reads.records({
          kind: 'rejection',
          cursor,
          limit: RECORDS_PAGE,
        })
        for (const { key, body } of page.items) logs.set(key, JSON.parse(body) as RejectionLog)
        cursor = page.nextCursor
      } while (cursor !== null && logs.size < RECORDS_MAX)
    }
    for (const one of gathered.values()) {
      if (one.tenant !== tenant) continue
      logs.set(one.key, mergeLogs(logs.get(one.key) ?? EMPTY_LOG, logOf(one)))
    }
    return logs
  }

  return {
    note({ tenant, source, address }, { code, status, message }) {
      schedule()
      if (!deps.isTenant(tenant)) {
        unknownTenants += 1
        return
      }
      const key = deps.isSource(tenant, source) ? ofSource(source) : UNDEFINED
      const held = gather(tenant as TenantId, key)
      const at = clock.now()
      held.recent.push({
        id: ids.uuid(),
        at,
        source: toStorable(source, NAME_LENGTH_MAX),
        reason: code,
        status,
        address: toStorable(address, NAME_LENGTH_MAX),
        detail: toStorable(message, DETAIL_LENGTH_MAX),
      })
      // Twice the stored number, so that not every refusal copies the whole list.
      if (held.recent.length > 2 * RECENT_MAX) held.recent = held.recent.slice(-RECENT_MAX)
      const count = held.counts.get(code)
      if (count === undefined) held.counts.set(code, { count: 1, latestAt: at })
      else {
        count.count += 1
        count.latestAt = Math.max(count.latestAt, at)
      }
    },
    async list(tenant, { source, reason, cursor, limit }) {
      // Refusals being written are, for a moment, neither in memory nor in the store.
      await flushing
      const logs = await readLogs(tenant, source)
      const wants = (one: { readonly reason: string }) => reason === undefined || one.reason === reason
      const all = [...logs.values()]
        .flatMap(({ recent }) => recent)
        .filter((one) => wants(one) && (source === undefined || one.source === source))
        .sort(compareRejections)
      const after = cursor === null ? all : all.filter(isAfter(cursor))
      const items = after.slice(0, limit)
      const last = items.at(-1)
      const hasMore = last !== undefined && after.length > items.length
      const counts = [...logs].flatMap(([key, one]) =>
        one.counts.filter(wants).map((count) => ({ source: nameOf(key), ...count })),
      )
      return {
        items,
        counts: counts.filter((one) => source === undefined || one.source === source),
        nextCursor: hasMore ? `${last.at}.${last.id}` : null,
      }
    },
    flush,
    stop() {
      isStopped = true
      cancel?.()
      cancel = null
    },
  }
}

function nameOf(key: string): string | null {
  return key === UNDEFINED ? null : key.slice(ofSource('').length)
}

const CURSOR = /^(\d{1,15})\.([0-9a-f-]{36})$/

function isAfter(cursor: string): (one: Rejection) => boolean {
  const parts = CURSOR.exec(cursor)
  if (parts === null) throw new AppError('invalid_cursor')
  const place = { at: Number(parts[1]), id: parts[2] as string }
  return (one) => compareRejections(one, place) > 0
}

function logOf({ recent, counts }: Gathered): RejectionLog {
  return {
    recent: recent.toSorted(compareRejections).slice(0, RECENT_MAX),
    counts: [...counts].map(([reason, count]) => ({ reason, ...count })),
  }
}
