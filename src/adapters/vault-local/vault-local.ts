// Secrets in our own store, sealed. `{ ref: name }` of a definition names one.
//
// A value is opened when it is asked for and remembered for a few seconds, because every webhook asks. A change here is seen
// here at once; other nodes see it when what they remember is too old. Values leave by `resolve` alone.
//
// Invariants: a refused or failed change leaves what was. Setting a secret replaces its value; a pending one waits beside it
// and is not resolved before it is promoted. A former value is resolved behind the one in use until its time is over, by the
// clock of the node that asks, and however long that node has remembered it.

import { makeCache } from '../../core/cache/index.ts'
import { AppError } from '../../core/errors/index.ts'
import type { TenantId } from '../../core/ids/index.ts'
import type { MasterKeys } from '../../core/secret/index.ts'
import { type Instant, SECOND } from '../../core/time/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import type { PageRequest, Store, StoredRecord } from '../../ports/store.ts'
import type { SecretRow, SecretVault } from '../../ports/vault.ts'
import { type Binding, type Envelope, EnvelopeError, openValue, sealValue, wrapAnew } from './seal.ts'

interface Version {
  readonly version: number
  readonly envelope: Envelope
}

/** One that was in use before, and stays valid for a while. */
interface Former extends Version {
  readonly until: Instant
}

interface SecretRecord {
  readonly form: 1
  /** The latest one first. Left out: there is none. */
  readonly former?: readonly Former[]
  /** null: only a pending one was ever set. */
  readonly current: Version | null
  readonly pending: Version | null
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
const FORMER_MAX = 5

/** What is remembered of a secret: opened, the one in use first. */
interface Opened {
  readonly current: string | null
  readonly former: readonly { readonly value: string; readonly until: Instant }[]
}

const NOTHING: Opened = { current: null, former: [] }

export function makeLocalVault(deps: LocalVaultDeps): SecretVault {
  const { store, clock, random, log, keys } = deps
  /** Also that one is not set, so that a source without its secret does not ask the store for every request. */
  const values = makeCache<Opened>({ entriesMax: VALUES_REMEMBERED_MAX, ageMsMax: REMEMBERED_MS })

  const loading = new Map<string, Promise<Opened>>()

  const read = (tenant: TenantId, name: string) => store.forTenant(tenant).record('secret', name)

  const load = async (tenant: TenantId, name: string): Promise<Opened> => {
    const keep = values.reading()
    const row = await read(tenant, name)
    const opened = row === null ? NOTHING : openAll(parse(row.body), tenant, name)
    keep(placeOf(tenant, name), opened, clock.monotonic())
    return opened
  }

  /** Many deliveries to one endpoint begin together: the first asks for all of them. */
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

  /** Whoever asks from now on gets what is there now, and not what was read before. */
  const forget = (tenant: TenantId, name: string) => {
    values.forget(placeOf(tenant, name))
    loading.delete(placeOf(tenant, name))
  }

  const openAll = (record: SecretRecord, tenant: TenantId, name: string): Opened => {
    const current = record.current === null ? null : open(record.current, tenant, name)
    const former = inOverlap(record, clock.now()).flatMap((version) => {
      try {
        return { value: open(version, tenant, name), until: version.until }
      } catch {
        // The log has it. The one in use is good, and whoever has it goes on.
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

  /** One change, guarded by the version that it was made from. */
  const change = async (
    tenant: TenantId,
    name: string,
    by: string,
    decide: (
      before: SecretRecord | null,
      now: Instant,
    ) => Pick<SecretRecord, 'current' | 'pending' | 'former'>,
  ): Promise<SecretRecord> => {
    const row = await read(tenant, name)
    const now = clock.now()
    const { former = [], ...next } = decide(row === null ? null : parse(row.body), now)
    const kept = former.length === 0 ? {} : { former }
    const record: SecretRecord = { form: 1, ...next, ...kept, updatedAt: now, updatedBy: by }
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
  })

  return {
    async resolve(tenant, refs) {
      const found: string[] = []
      for (const ref of refs) {
        if (!('ref' in ref)) continue
        const known = values.get(placeOf(tenant, ref.ref), clock.monotonic())
        const { current, former } = known === undefined ? await loadOnce(tenant, ref.ref) : known
        if (current !== null) found.push(current)
        for (const { value, until } of former) if (clock.now() < until) found.push(value)
      }
      return found
    },
    async list(tenant, page) {
      const { items, nextCursor } = await store.forTenant(tenant).records({ ...page, kind: 'secret' })
      return { items: items.map(({ key, body }) => show(key, parse(body), clock.now())), nextCursor }
    },
    async find(tenant, name) {
      const row = await read(tenant, name)
      return row === null ? null : show(name, parse(row.body), clock.now())
    },
    async names(tenant) {
      const names = new Set<string>()
      for await (const { key, body } of allSecrets(store, tenant)) {
        if (parse(body).current !== null) names.add(key)
      }
      return names
    },
    async set(tenant, name, value, { isPending, by, overlapMs = 0 }) {
      let version = 0
      await change(tenant, name, by, (before, now) => {
        version = latest(before) + 1
        const sealed = seal(value, { tenant, name, version })
        return isPending
          ? { current: before?.current ?? null, pending: sealed, former: inOverlap(before, now) }
          : { current: sealed, pending: null, former: follow(before, now, overlapMs) }
      })
      log.info('access.secret-set', { tenant, name, version, isPending, overlapMs, by })
      return { version }
    },
    async promote(tenant, name, by, overlapMs = 0) {
      const { current } = await change(tenant, name, by, (before, now) => {
        if (before?.pending == null)
          throw new AppError('not_found', `the secret ‘${name}’ has no pending value`)
        return { current: before.pending, pending: null, former: follow(before, now, overlapMs) }
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
            // Refused: somebody set it meanwhile, with a key of their own; the next start looks again.
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

/** null: the current master key has sealed all of it. */
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

/** Those whose time is not over. */
function inOverlap(record: SecretRecord | null, now: Instant): readonly Former[] {
  return (record?.former ?? []).filter(({ until }) => now < until)
}

/** What stays valid beside a new value. Without an overlap it is alone: whoever must cut a secret off cuts off all of it. */
function follow(before: SecretRecord | null, now: Instant, overlapMs: number): readonly Former[] {
  if (overlapMs <= 0) return []
  const last = before?.current == null ? [] : [{ ...before.current, until: now + overlapMs }]
  return [...last, ...inOverlap(before, now)].slice(0, FORMER_MAX)
}

async function* allSecrets(store: Store, tenant: TenantId): AsyncGenerator<StoredRecord> {
  let request: PageRequest | null = { cursor: null, limit: PAGE }
  while (request !== null) {
    const { items, nextCursor } = await store.forTenant(tenant).records({ ...request, kind: 'secret' })
    yield* items
    request = nextCursor === null ? null : { cursor: nextCursor, limit: PAGE }
  }
}

function latest(record: SecretRecord | null): number {
  return Math.max(record?.current?.version ?? 0, record?.pending?.version ?? 0)
}

function parse(body: string): SecretRecord {
  return JSON.parse(body) as SecretRecord
}

function placeOf(tenant: TenantId, name: string): string {
  return `${tenant}/${name}`
}

function show(name: string, record: SecretRecord, now: Instant): SecretRow {
  const { current, pending, updatedAt, updatedBy } = record
  const version = current?.version ?? null
  const oldUntil = inOverlap(record, now).map(({ until }) => until)
  return { name, version, hasPending: pending !== null, oldUntil, updatedAt, updatedBy }
}
