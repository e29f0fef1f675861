// Secrets in Millrace's own store, encrypted. `{ ref: name }` of a definition names one.
//
// A value is decrypted when it is requested and cached for a few seconds, because every webhook needs it. A change here
// is seen here at once; other nodes see it when their cached value expires, or when they are notified of a later
// version. Values leave by `resolve`, `current` and `pending` alone.
//
// Invariants: a refused or failed change leaves the stored state as it was. Setting a secret replaces its value; a
// pending one waits beside it and is not resolved before it is promoted. A former value is resolved after the one in
// use until its time is over, by the clock of the node that asks, and however long that node has cached it.

import { makeCache } from '../../core/foundation/cache/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { type Instant, SECOND } from '../../core/foundation/time/index.ts'
import {
  expectPending,
  expectVersion,
  fingerprintOf,
  inOverlap,
  type MasterKeys,
  nextVersion,
  promoteVersion,
  type SecretVersions,
  setVersion,
} from '../../core/secrets/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import type { PageRequest, Store, StoredRecord } from '../../ports/store.ts'
import type { SecretRow, SecretValue, SecretVault } from '../../ports/vault.ts'
import { type Binding, type Envelope, EnvelopeError, openValue, sealValue, wrapAnew } from './envelope.ts'

interface Version {
  readonly version: number
  readonly envelope: Envelope
  /** Omitted: an earlier release set the secret, and the fingerprint is computed from the value. */
  readonly fingerprint?: string
}

interface SecretRecord extends SecretVersions<Version> {
  readonly form: 1
  readonly updatedAt: Instant
  readonly updatedBy: string
}

export interface LocalVaultDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly keys: MasterKeys
}

const REMEMBERED_MS = 5 * SECOND
const VALUES_REMEMBERED_MAX = 10_000
const PAGE = 200

/** A cached secret: decrypted, the value in use first. */
interface Opened {
  readonly current: SecretValue | null
  readonly former: readonly { readonly value: string; readonly until: Instant }[]
}

export function makeLocalVault(deps: LocalVaultDeps): SecretVault {
  const { store, clock, random, log, keys } = deps
  /**
   * Also caches that a secret is not set, so that a source without its secret does not read the store for every
   * request.
   */
  const values = makeCache<Opened>({ entriesMax: VALUES_REMEMBERED_MAX, ageMsMax: REMEMBERED_MS })

  const loading = new Map<string, Promise<Opened>>()
  /**
   * A later version was requested and not found: a secret that was removed and set again restarts its numbers, and is
   * not read for every call.
   */
  const vain = new WeakMap<Opened, number>()

  const read = (tenant: TenantId, name: string) => store.forTenant(tenant).record('secret', name)

  const load = async (tenant: TenantId, name: string): Promise<Opened> => {
    const keep = values.reading()
    const row = await read(tenant, name)
    // A separate object for each: `vain` tells them apart.
    const opened: Opened =
      row === null ? { current: null, former: [] } : openAll(parse(row.body), tenant, name)
    keep(placeOf(tenant, name), opened, clock.monotonic())
    return opened
  }

  /** Many deliveries to one endpoint start together: the first reads for all of them. */
  const loadOnce = (tenant: TenantId, name: string): Promise<Opened> => {
    const place = placeOf(tenant, name)
    const known = loading.get(place)
    if (known !== undefined) return known
    const asked = load(tenant, name).finally(() => {
      if (loading.get(place) === asked) loading.delete(place)
    })
    loading.set(place, asked)
    return asked
  }

  /** Callers from now on get the present value, and not the cached one. */
  const forget = (tenant: TenantId, name: string) => {
    values.forget(placeOf(tenant, name))
    loading.delete(placeOf(tenant, name))
  }

  const openAll = (record: SecretRecord, tenant: TenantId, name: string): Opened => {
    const current = record.current === null ? null : openWhole(record.current, tenant, name)
    const former = inOverlap(record, clock.now()).flatMap((version) => {
      try {
        return { value: open(version, tenant, name), until: version.until }
      } catch {
        // The failure is logged. The value in use is valid, and its holders continue.
        return []
      }
    })
    return { current, former }
  }

  const open = ({ version, envelope }: Version, tenant: TenantId, name: string): string => {
    try {
      return openValue(envelope, { tenant, name, version }, keys)
    } catch (error) {
      if (!(error instanceof EnvelopeError)) throw error
      log.error('vault.unreadable', { tenant, name, reason: error.reason, message: error.message })
      throw new AppError('secret_unreadable', `the secret ‘${name}’ cannot be opened: ${error.message}`)
    }
  }

  const openWhole = (version: Version, tenant: TenantId, name: string): SecretValue => {
    const value = open(version, tenant, name)
    return { version: version.version, value, fingerprint: fingerprintOf(tenant, name, value) }
  }

  /** null: it does not decrypt. The list does not say why; using the secret does. */
  const markOf = (version: Version | null, tenant: TenantId, name: string): string | null => {
    if (version === null || version.fingerprint !== undefined) return version?.fingerprint ?? null
    try {
      const binding = { tenant, name, version: version.version }
      return fingerprintOf(tenant, name, openValue(version.envelope, binding, keys))
    } catch (error) {
      if (error instanceof EnvelopeError) return null
      throw error
    }
  }

  const show = (tenant: TenantId, name: string, record: SecretRecord): SecretRow => ({
    name,
    version: record.current?.version ?? null,
    fingerprint: markOf(record.current, tenant, name),
    hasPending: record.pending !== null,
    pendingFingerprint: markOf(record.pending, tenant, name),
    oldUntil: inOverlap(record, clock.now()).map(({ until }) => until),
    updatedAt: record.updatedAt,
    updatedBy: record.updatedBy,
  })

  const opened = async (tenant: TenantId, name: string): Promise<Opened> =>
    values.get(placeOf(tenant, name), clock.monotonic()) ?? (await loadOnce(tenant, name))

  /** One change, guarded by the version that it was made from. */
  const change = async (
    tenant: TenantId,
    name: string,
    by: string,
    decide: (before: SecretRecord | null, now: Instant) => SecretVersions<Version>,
  ): Promise<SecretRecord> => {
    const row = await read(tenant, name)
    const now = clock.now()
    const next = decide(row === null ? null : parse(row.body), now)
    const record: SecretRecord = { form: 1, ...next, updatedAt: now, updatedBy: by }
    const version = row?.version ?? 0
    const result = await store.commit({
      tenant,
      guards: [{ g: 'version', of: 'secret', key: name, version }],
      writes: [
        { w: 'record.put', kind: 'secret', key: name, version: version + 1, body: JSON.stringify(record) },
      ],
    })
    if (!result.ok) throw new AppError('conflict', `somebody else changed the secret ‘${name}’ just now`)
    forget(tenant, name)
    return record
  }

  const seal = (value: string, binding: Binding): Version => ({
    version: binding.version,
    envelope: sealValue(value, binding, keys, random),
    fingerprint: fingerprintOf(binding.tenant, binding.name, value),
  })

  return {
    async resolve(tenant, refs) {
      const found: string[] = []
      for (const ref of refs) {
        if (!('ref' in ref)) continue
        const known = values.get(placeOf(tenant, ref.ref), clock.monotonic())
        const { current, former } = known === undefined ? await loadOnce(tenant, ref.ref) : known
        if (current !== null) found.push(current.value)
        for (const { value, until } of former) if (clock.now() < until) found.push(value)
      }
      return found
    },
    async list(tenant, page) {
      const { items, nextCursor } = await store.forTenant(tenant).records({ ...page, kind: 'secret' })
      return { items: items.map(({ key, body }) => show(tenant, key, parse(body))), nextCursor }
    },
    async find(tenant, name) {
      const row = await read(tenant, name)
      return row === null ? null : show(tenant, name, parse(row.body))
    },
    async current(tenant, name, { atLeast = 0 } = {}) {
      const known = await opened(tenant, name)
      if (Math.max(known.current?.version ?? 0, vain.get(known) ?? 0) >= atLeast) return known.current
      forget(tenant, name)
      const fresh = await loadOnce(tenant, name)
      vain.set(fresh, atLeast)
      return fresh.current
    },
    async pending(tenant, name) {
      const row = await read(tenant, name)
      const pending = row === null ? null : parse(row.body).pending
      return pending === null ? null : openWhole(pending, tenant, name)
    },
    async names(tenant) {
      const names = new Set<string>()
      for await (const { key, body } of allSecrets(store, tenant)) {
        if (parse(body).current !== null) names.add(key)
      }
      return names
    },
    async set(tenant, name, value, { isPending, by, overlapMs = 0, expectedVersion }) {
      let version = 0
      await change(tenant, name, by, (before, now) => {
        expectVersion(name, before, expectedVersion)
        version = nextVersion(before)
        return setVersion(before, seal(value, { tenant, name, version }), { isPending, overlapMs, now })
      })
      log.info('access.secret-set', { tenant, name, version, isPending, overlapMs, by })
      return { version }
    },
    async promote(tenant, name, by, overlapMs = 0, { expectedPendingFingerprint } = {}) {
      const { current } = await change(tenant, name, by, (before, now) => {
        expectPending(name, markOf(before?.pending ?? null, tenant, name), expectedPendingFingerprint)
        const next = promoteVersion(before, { overlapMs, now })
        if (next === null) throw new AppError('not_found', `the secret ‘${name}’ has no pending value`)
        return next
      })
      const version = current?.version ?? 0
      log.info('access.secret-promoted', { tenant, name, version, overlapMs, by })
      return { version }
    },
    async remove(tenant, name, by) {
      if ((await read(tenant, name)) === null) throw new AppError('not_found', `there is no secret ‘${name}’`)
      await store.commit({ tenant, guards: [], writes: [{ w: 'record.delete', kind: 'secret', key: name }] })
      forget(tenant, name)
      log.info('access.secret-removed', { tenant, name, by })
    },
    async rewrap(tenants) {
      let rewrapped = 0
      const unreadable: { tenant: TenantId; name: string }[] = []
      for (const tenant of tenants) {
        for await (const row of allSecrets(store, tenant)) {
          const record = parse(row.body)
          try {
            const next = wrapRecord(record, tenant, row.key, deps)
            if (next === null) continue
            const { ok } = await store.commit({
              tenant,
              guards: [{ g: 'version', of: 'secret', key: row.key, version: row.version }],
              writes: [
                {
                  w: 'record.put',
                  kind: 'secret',
                  key: row.key,
                  version: row.version + 1,
                  body: JSON.stringify(next),
                },
              ],
            })
            // Refused: it was set meanwhile, with the current key; the next start looks again.
            if (ok) rewrapped += 1
          } catch (error) {
            if (!(error instanceof EnvelopeError)) throw error
            unreadable.push({ tenant, name: row.key })
            log.error('vault.unreadable', {
              tenant,
              name: row.key,
              reason: error.reason,
              message: error.message,
            })
          }
        }
      }
      if (rewrapped > 0) log.info('vault.rewrapped', { count: rewrapped, keyId: keys.current.id })
      return { rewrapped, unreadable }
    },
  }
}

/** null: the current master key has encrypted all of it. */
function wrapRecord(
  record: SecretRecord,
  tenant: TenantId,
  name: string,
  { keys, random }: Pick<LocalVaultDeps, 'keys' | 'random'>,
): SecretRecord | null {
  const wrap = <V extends Version | null>(version: V): V => {
    if (version === null || version.envelope.keyId === keys.current.id) return version
    const binding = { tenant, name, version: version.version }
    return { ...version, envelope: wrapAnew(version.envelope, binding, keys, random) }
  }
  const { former = [] } = record
  const [current, pending] = [wrap(record.current), wrap(record.pending)]
  const next = former.map(wrap)
  const isSame = current === record.current && pending === record.pending
  if (isSame && next.every((version, index) => version === former[index])) return null
  return { ...record, current, pending, ...(next.length === 0 ? {} : { former: next }) }
}

async function* allSecrets(store: Store, tenant: TenantId): AsyncGenerator<StoredRecord> {
  let request: PageRequest | null = { cursor: null, limit: PAGE }
  while (request !== null) {
    const { items, nextCursor } = await store.forTenant(tenant).records({ ...request, kind: 'secret' })
    yield* items
    request = nextCursor === null ? null : { cursor: nextCursor, limit: PAGE }
  }
}

function parse(body: string): SecretRecord {
  return JSON.parse(body) as SecretRecord
}

function placeOf(tenant: TenantId, name: string): string {
  return `${tenant}/${name}`
}
