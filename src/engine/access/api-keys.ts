// API keys: created once and shown once, found by their id, checked by their hash, ended by deleting them.
//
// A key is read from the store at most every few seconds. Revoking removes it from this node's cache at once; other nodes
// notice when their cached entry expires. The use of a key is recorded at most once a minute, in the background.

import {
  formatToken,
  hashSecret,
  holdToLimit,
  matchesHash,
  type Role,
  TENANT_LIMITS,
  type TenantLimits,
  type Token,
} from '../../core/access/callers/index.ts'
import { makeCache } from '../../core/foundation/cache/index.ts'
import { AppError, messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { type Instant, MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import { type Page, type PageRequest, type Store, StoreError } from '../../ports/store.ts'
import { isExpired, type KeyRecord } from './access-records.ts'
import { makeId, makeSecret } from './new-secrets.ts'

export interface KeyRow {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly permissions: readonly string[]
  readonly createdAt: Instant
  readonly createdBy: string
  readonly expiresAt: Instant | null
  readonly lastUsedAt: Instant | null
  readonly isExpired: boolean
}

export interface NewKey {
  readonly name: string
  readonly role: Role
  /** Beside the role; omitted: none. */
  readonly permissions?: readonly string[]
  /** null: it never expires. */
  readonly expiresInMs: number | null
}

export interface Keys {
  list(tenant: TenantId, page: PageRequest): Promise<Page<KeyRow>>
  /** The key's text is in the response and nowhere else. */
  make(tenant: TenantId, key: NewKey, by: string): Promise<KeyRow & { readonly key: string }>
  revoke(tenant: TenantId, id: string, by: string): Promise<void>
  /** null: unknown, wrong or expired; the caller does not learn which. */
  check(token: Token): Promise<KeyRow | null>
  /** A key that a session or link depends on, while it is valid. */
  find(tenant: TenantId, id: string): Promise<KeyRow | null>
}

export const REMEMBERED_MS = 5 * SECOND
const KEYS_REMEMBERED_MAX = 10_000
const COUNT_PAGE = 200

interface StoredKey {
  version: number
  record: KeyRecord
  /** When this node last tried to record that the key was used. */
  notedAt: Instant | null
}

export function makeKeys(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly limits?: TenantLimits
}): Keys {
  const { store, clock, random, log, limits = TENANT_LIMITS } = deps
  const cache = makeCache<StoredKey>({ entriesMax: KEYS_REMEMBERED_MAX, ageMsMax: REMEMBERED_MS })

  /** Looking up a missing key again costs the store nothing. */
  const unknown = makeCache<true>({ entriesMax: KEYS_REMEMBERED_MAX, ageMsMax: REMEMBERED_MS })

  const load = async (tenant: TenantId, id: string): Promise<StoredKey | null> => {
    const place = `${tenant}/${id}`
    const known = cache.get(place, clock.monotonic())
    if (known !== undefined) return known
    if (unknown.get(place, clock.monotonic()) === true) return null
    const keep = cache.reading()
    const keepUnknown = unknown.reading()
    const row = await store.forTenant(tenant).record('key', id)
    if (row === null) {
      keepUnknown(place, true, clock.monotonic())
      return null
    }
    const stored = { version: row.version, record: parse(row.body), notedAt: null }
    keep(place, stored, clock.monotonic())
    return stored
  }

  const good = async (tenant: TenantId, id: string): Promise<StoredKey | null> => {
    const stored = await load(tenant, id)
    return stored === null || isExpired(stored.record.expiresAt, clock.now()) ? null : stored
  }

  const noteUse = (tenant: TenantId, id: string, stored: StoredKey) => {
    const now = clock.now()
    const latest = Math.max(stored.record.lastUsedAt ?? 0, stored.notedAt ?? 0)
    if (now - latest < MINUTE) return
    stored.notedAt = now
    const { version } = stored
    const record: KeyRecord = { ...stored.record, lastUsedAt: now }
    // Guarded: a key that is revoked meanwhile must not come back because it was used.
    const noted = store.commit({
      tenant,
      guards: [{ g: 'version', of: 'key', key: id, version }],
      writes: [{ w: 'record.put', kind: 'key', key: id, version: version + 1, body: JSON.stringify(record) }],
    })
    noted.then(
      ({ ok }) => {
        if (!ok || stored.version !== version) return
        stored.version = version + 1
        stored.record = record
      },
      (error) => {
        if (error instanceof StoreError && error.code === 'closed') return
        log.warn('access.use-not-noted', { key: id, tenant, error: messageOf(error) })
      },
    )
  }

  /** Counted up to the limit; expired ones too, since they are stored until they are revoked. */
  const countKeys = async (tenant: TenantId): Promise<number> => {
    let count = 0
    let cursor: string | null = null
    do {
      const page: Page<unknown> = await store
        .forTenant(tenant)
        .records({ kind: 'key', cursor, limit: COUNT_PAGE })
      count += page.items.length
      cursor = page.nextCursor
    } while (cursor !== null && count <= limits.keys)
    return count
  }

  return {
    async list(tenant, page) {
      const { items, nextCursor } = await store.forTenant(tenant).records({ ...page, kind: 'key' })
      const now = clock.now()
      return { items: items.map(({ key, body }) => show(key, parse(body), now)), nextCursor }
    },
    async make(tenant, { name, role, permissions = [], expiresInMs }, by) {
      holdToLimit('keys', (await countKeys(tenant)) + 1, limits)
      const now = clock.now()
      const id = makeId(now, random)
      const secret = makeSecret(random)
      const record: KeyRecord = {
        form: 1,
        name,
        role,
        permissions: [...new Set(permissions)].sort(),
        hash: hashSecret(secret),
        createdAt: now,
        createdBy: by,
        expiresAt: expiresInMs === null ? null : now + expiresInMs,
        lastUsedAt: null,
      }
      const result = await store.commit({
        tenant,
        guards: [{ g: 'version', of: 'key', key: id, version: 0 }],
        writes: [{ w: 'record.put', kind: 'key', key: id, version: 1, body: JSON.stringify(record) }],
      })
      if (!result.ok) throw new AppError('conflict', 'a key of the same id was made at the same moment')
      unknown.forget(`${tenant}/${id}`)
      log.info('access.key-created', {
        tenant,
        key: id,
        name,
        role,
        permissions: record.permissions ?? [],
        by,
      })
      return { ...show(id, record, now), key: formatToken({ kind: 'key', tenant, id, secret }) }
    },
    async revoke(tenant, id, by) {
      const row = await store.forTenant(tenant).record('key', id)
      if (row === null) throw new AppError('not_found', 'there is no key with this id')
      await store.commit({ tenant, guards: [], writes: [{ w: 'record.delete', kind: 'key', key: id }] })
      cache.forget(`${tenant}/${id}`)
      log.info('access.key-revoked', { tenant, key: id, name: parse(row.body).name, by })
    },
    async check({ tenant, id, secret }) {
      const stored = await load(tenant, id)
      // Compared also if there is nothing to compare with: the duration must not tell.
      const isRight = matchesHash(secret, stored?.record.hash ?? NO_HASH)
      if (stored === null || !isRight || isExpired(stored.record.expiresAt, clock.now())) return null
      noteUse(tenant, id, stored)
      return show(id, stored.record, clock.now())
    },
    async find(tenant, id) {
      const stored = await good(tenant, id)
      if (stored === null) return null
      noteUse(tenant, id, stored)
      return show(id, stored.record, clock.now())
    },
  }
}

/** The form of a hash, of a secret that does not exist. */
const NO_HASH = hashSecret('')

function parse(body: string): KeyRecord {
  return JSON.parse(body) as KeyRecord
}

function show(id: string, record: KeyRecord, now: Instant): KeyRow {
  const { name, role, permissions = [], createdAt, createdBy, expiresAt, lastUsedAt } = record
  const expired = isExpired(expiresAt, now)
  return { id, name, role, permissions, createdAt, createdBy, expiresAt, lastUsedAt, isExpired: expired }
}
