// Sessions of the console and the one-time links that become one.
//
// Both carry the permissions of a key and end with it: a session names its key, and the node's own admin key is bound into the
// hash, so that another admin key opens no old session and no guess at it can be tested on what is stored.

import {
  formatToken,
  hashSecret,
  matchesHash,
  type Token,
  type TokenKind,
} from '../../core/access/callers/index.ts'
import { makeCache } from '../../core/foundation/cache/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { HOUR, type Instant } from '../../core/foundation/time/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Random } from '../../ports/random.ts'
import type { Guard, Store, TenantReads, Write } from '../../ports/store.ts'
import { type Credential, type GrantRecord, isExpired } from './access-records.ts'
import { REMEMBERED_MS } from './api-keys.ts'
import { makeId, makeSecret } from './new-secrets.ts'

const SESSION_MS = 12 * HOUR
const LINK_MS = HOUR
const SESSIONS_REMEMBERED_MAX = 10_000
/** Ended ones are deleted a page at a time. */
const SWEEP_MAX = 200
/** Of one key, at once: the oldest ends for the next. */
const SESSIONS_MAX = 20
const TRIM_PAGES_MAX = 25

export interface Grant {
  readonly tenant: TenantId
  readonly id: string
  readonly credential: Credential
  readonly expiresAt: Instant
  /** When sessions that come of it must end; null: with its key. */
  readonly endsAt: Instant | null
}

export interface Sessions {
  /** `endsAt`: when its key ends, if it does. `instead` is used up by the same commit; null if it was used already. */
  make(
    kind: 'session' | 'link',
    tenant: TenantId,
    credential: Credential,
    options?: { readonly endsAt?: Instant | null; readonly instead?: Grant },
  ): Promise<{ readonly grant: Grant; readonly token: string } | null>
  /** null: unknown, wrong or over. */
  check(token: Token): Promise<Grant | null>
  end(tenant: TenantId, id: string): Promise<void>
  /** Ends the oldest sessions of a credential that has too many. */
  trim(tenant: TenantId, credential: Credential): Promise<void>
  /** Deletes ended ones; returns how many. */
  sweep(tenant: TenantId): Promise<number>
}

export function makeSessions(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  /** Bound into what the node's own admin gets. */
  readonly nodeBound: string
}): Sessions {
  const { store, clock, random } = deps
  const cache = makeCache<GrantRecord>({ entriesMax: SESSIONS_REMEMBERED_MAX, ageMsMax: REMEMBERED_MS })
  const boundOf = ({ kind }: Credential) => (kind === 'node' ? deps.nodeBound : '')

  const load = async ({ kind, tenant, id }: Token): Promise<GrantRecord | null> => {
    const place = `${tenant}/${rowOf(kind, id)}`
    const known = cache.get(place, clock.monotonic())
    if (known !== undefined) return known
    const keep = cache.reading()
    const row = await store.forTenant(tenant).record('session', rowOf(kind, id))
    if (row === null) return null
    const record = JSON.parse(row.body) as GrantRecord
    // A link is used once: there is nothing to cache.
    if (kind === 'session') keep(place, record, clock.monotonic())
    return record
  }

  return {
    async make(kind, tenant, credential, { endsAt = null, instead } = {}) {
      const now = clock.now()
      const id = makeId(now, random)
      const secret = makeSecret(random)
      const fullUntil = now + (kind === 'session' ? SESSION_MS : LINK_MS)
      const expiresAt = endsAt === null ? fullUntil : Math.min(endsAt, fullUntil)
      const hash = hashSecret(secret, boundOf(credential))
      const record: GrantRecord = { form: 1, hash, credential, createdAt: now, expiresAt, endsAt }
      const row = rowOf(kind, id)
      const guards: Guard[] = [{ g: 'version', of: 'session', key: row, version: 0 }]
      const writes: Write[] = [
        { w: 'record.put', kind: 'session', key: row, version: 1, body: JSON.stringify(record) },
      ]
      if (instead !== undefined) {
        const used = rowOf('link', instead.id)
        guards.push({ g: 'version', of: 'session', key: used, version: 1 })
        writes.push({ w: 'record.delete', kind: 'session', key: used })
      }
      const result = await store.commit({ tenant, guards, writes })
      if (!result.ok) return null
      return {
        grant: { tenant, id, credential, expiresAt, endsAt },
        token: formatToken({ kind, tenant, id, secret }),
      }
    },
    async check(token) {
      const record = await load(token)
      const isRight = matchesHash(
        token.secret,
        record?.hash ?? NO_HASH,
        record === null ? '' : boundOf(record.credential),
      )
      if (record === null || !isRight || isExpired(record.expiresAt, clock.now())) return null
      const { credential, expiresAt, endsAt = null } = record
      return { tenant: token.tenant, id: token.id, credential, expiresAt, endsAt }
    },
    async end(tenant, id) {
      const row = rowOf('session', id)
      await store.commit({ tenant, guards: [], writes: [{ w: 'record.delete', kind: 'session', key: row }] })
      cache.forget(`${tenant}/${row}`)
    },
    async trim(tenant, credential) {
      const now = clock.now()
      const own: { readonly key: string; readonly createdAt: Instant }[] = []
      let cursor: string | null = null
      let pages = 0
      do {
        const page: Awaited<ReturnType<TenantReads['records']>> = await store
          .forTenant(tenant)
          .records({ kind: 'session', prefix: rowOf('session', ''), cursor, limit: SWEEP_MAX })
        for (const { key, body } of page.items) {
          const record = JSON.parse(body) as GrantRecord
          const isOwn = JSON.stringify(record.credential) === JSON.stringify(credential)
          if (isOwn && !isExpired(record.expiresAt, now)) own.push({ key, createdAt: record.createdAt })
        }
        cursor = page.nextCursor
        pages += 1
      } while (cursor !== null && pages < TRIM_PAGES_MAX)
      const over = own.sort((a, b) => a.createdAt - b.createdAt).slice(0, -SESSIONS_MAX)
      if (over.length === 0) return
      const writes = over.map(({ key }): Write => ({ w: 'record.delete', kind: 'session', key }))
      await store.commit({ tenant, guards: [], writes })
      for (const { key } of over) cache.forget(`${tenant}/${key}`)
    },
    async sweep(tenant) {
      const { items } = await store
        .forTenant(tenant)
        .records({ kind: 'session', cursor: null, limit: SWEEP_MAX })
      const now = clock.now()
      const over = items.filter(({ body }) => isExpired((JSON.parse(body) as GrantRecord).expiresAt, now))
      if (over.length === 0) return 0
      const writes = over.map(({ key }): Write => ({ w: 'record.delete', kind: 'session', key }))
      await store.commit({ tenant, guards: [], writes })
      return over.length
    },
  }
}

const NO_HASH = hashSecret('')

/** Links and sessions are records of one kind. */
function rowOf(kind: TokenKind, id: string): string {
  return `${kind}:${id}`
}
