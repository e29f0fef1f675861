// Secrets in a HashiCorp Vault: one entry of its KV engine per tenant and name. `{ ref: name }` of a definition names
// one.
//
// A value is cached for a few seconds, because every call needs it. While the vault is away (it does not respond, or is
// sealed) cached values stay usable for a bounded time and the log says so. The absence of a secret is never taken from
// the cache then, because an unset secret ends a job, and an unavailable vault delays it. A vault that denies access is
// not away: the token was withdrawn on purpose.
//
// Invariants: every change is checked against the entry that it was made from. Values leave by `resolve`, `current` and
// `pending` alone.

import { makeCache } from '../../core/foundation/cache/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { SECOND } from '../../core/foundation/time/index.ts'
import {
  expectPending,
  expectVersion,
  fingerprintOf,
  inOverlap,
  isSecretName,
  promoteVersion,
  type SecretVersions,
  setVersion,
} from '../../core/secrets/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { SecretRow, SecretValue, SecretVault } from '../../ports/vault.ts'
import { makeVaultClient } from './client.ts'
import { makeKvEngine } from './engine.ts'
import { type Entry, writeEntry } from './entry.ts'
import { makeTokens, type VaultLogin } from './login.ts'

export interface HashicorpVaultOptions {
  readonly url: string
  readonly login: VaultLogin
  readonly mount: string
  readonly prefix: string
  readonly namespace: string | null
  /** While the vault is away, cached values are used for this long. */
  readonly staleMs: number
  readonly timeoutMs?: number
}

const REMEMBERED_MS = 5 * SECOND
const VALUES_REMEMBERED_MAX = 10_000
/**
 * While the vault is away it is asked once per this time; a caller without a cached value gets the same error at once.
 */
const ASK_AGAIN_MS = 1 * SECOND
const READS_AT_ONCE = 8

interface Opened extends Pick<Entry, 'current' | 'former'> {
  readonly readAtMs: number
}

export function makeHashicorpVault(
  options: HashicorpVaultOptions,
  deps: { readonly clock: Clock; readonly log: Log },
): SecretVault & AsyncDisposable {
  const { clock, log } = deps
  const client = makeVaultClient(options)
  const tokens = makeTokens(options.login, { client, clock, log })
  const kv = makeKvEngine({ client, tokens, mount: options.mount, prefix: options.prefix })
  const ageMsMax = Math.max(options.staleMs, REMEMBERED_MS)
  const values = makeCache<Opened>({ entriesMax: VALUES_REMEMBERED_MAX, ageMsMax })
  const loading = new Map<string, Promise<Opened>>()
  /**
   * A later version was requested and not found: a secret that was removed and set again restarts its numbers, and is
   * not read for every call.
   */
  const vain = new WeakMap<Opened, number>()
  let away: { readonly error: AppError; readonly askAtMs: number } | null = null

  const noteAway = (error: unknown) => {
    if (!isAway(error)) return
    if (away === null)
      log.error('vault.away', { code: error.code, message: error.message, staleMs: options.staleMs })
    away = { error, askAtMs: clock.monotonic() + ASK_AGAIN_MS }
  }
  const noteBack = () => {
    if (away !== null) log.info('vault.back', {})
    away = null
  }

  /** Asks the vault, and notes whether it is available. */
  const reach = async <Value>(ask: () => Promise<Value>): Promise<Value> => {
    try {
      const value = await ask()
      noteBack()
      return value
    } catch (error) {
      // A conflict or a refusal is a response too.
      if (isAway(error)) noteAway(error)
      else noteBack()
      throw error
    }
  }

  const load = async (tenant: TenantId, name: string): Promise<Opened> => {
    const keep = values.reading()
    const { entry } = await reach(() => kv.read(tenant, name))
    const readAtMs = clock.monotonic()
    const opened = { current: entry?.current ?? null, former: entry?.former ?? [], readAtMs }
    keep(placeOf(tenant, name), opened, readAtMs)
    return opened
  }

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

  const opened = async (tenant: TenantId, name: string): Promise<Opened> => {
    if (!isSecretName(name)) return { current: null, former: [], readAtMs: 0 }
    const now = clock.monotonic()
    const known = values.get(placeOf(tenant, name), now)
    if (known !== undefined && now - known.readAtMs < REMEMBERED_MS) return known
    const usable = known?.current != null && now - known.readAtMs < options.staleMs ? known : null
    if (away !== null && now < away.askAtMs) {
      if (usable !== null) return usable
      throw new AppError(away.error.code, away.error.message)
    }
    const isAwayNow = away !== null
    // One caller asks for all, whatever they need.
    if (away !== null) away = { ...away, askAtMs: now + ASK_AGAIN_MS }
    const asked = loadOnce(tenant, name)
    if (usable === null) return asked
    // No caller waits for a vault that is known to be away if there is a cached value.
    if (isAwayNow) {
      asked.catch(() => {})
      return usable
    }
    return asked.catch((error) => {
      if (isAway(error)) return usable
      throw error
    })
  }

  const change = async (
    tenant: TenantId,
    name: string,
    by: string,
    decide: (before: Entry | null, version: number) => SecretVersions<SecretValue>,
  ): Promise<SecretVersions<SecretValue>> => {
    const place = placeOf(tenant, name)
    if (!isSecretName(name)) throw new AppError('invalid_request', `‘${name}’ is not a name of a secret`)
    const next = await reach(async () => {
      const before = await kv.read(tenant, name)
      const decided = decide(before.entry, before.kv + 1)
      await kv.write(tenant, name, writeEntry(decided, by, before.entry?.others ?? {}), before.kv)
      return decided
    }).finally(() => {
      // Whatever the outcome, neither the cached value nor a read under way is to be trusted.
      loading.delete(place)
    })
    values.forget(place)
    const readAtMs = clock.monotonic()
    values.reading()(place, { current: next.current, former: next.former ?? [], readAtMs }, readAtMs)
    return next
  }

  const show = (name: string, entry: Entry): SecretRow => ({
    name,
    version: entry.current?.version ?? null,
    fingerprint: entry.current?.fingerprint ?? null,
    hasPending: entry.pending !== null,
    pendingFingerprint: entry.pending?.fingerprint ?? null,
    oldUntil: inOverlap(entry, clock.now()).map(({ until }) => until),
    updatedAt: entry.updatedAt,
    updatedBy: entry.updatedBy,
  })

  /** Few at a time: a list must not delay calls that need secrets. An unreadable entry is left out, and logged. */
  const entriesOf = async (
    tenant: TenantId,
    names: readonly string[],
  ): Promise<readonly { readonly name: string; readonly entry: Entry }[]> => {
    const found: { name: string; entry: Entry }[] = []
    for (let from = 0; from < names.length; from += READS_AT_ONCE) {
      const some = names.slice(from, from + READS_AT_ONCE)
      const entries = await Promise.all(some.map((name) => readListed(tenant, name)))
      for (const [index, entry] of entries.entries()) {
        const name = some[index]
        if (entry !== null && name !== undefined) found.push({ name, entry })
      }
    }
    return found
  }

  const readListed = async (tenant: TenantId, name: string): Promise<Entry | null> => {
    try {
      return (await reach(() => kv.read(tenant, name))).entry
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'secret_unreadable') throw error
      log.error('vault.unreadable', { tenant, name, reason: 'not-text', message: error.message })
      return null
    }
  }

  const namesOf = async (tenant: TenantId) =>
    (await reach(() => kv.names(tenant))).filter((name) => isSecretName(name))

  return {
    async resolve(tenant, refs) {
      const found: string[] = []
      for (const ref of refs) {
        if (!('ref' in ref)) continue
        const { current, former = [] } = await opened(tenant, ref.ref)
        if (current !== null) found.push(current.value)
        for (const { value, until } of former) if (clock.now() < until) found.push(value)
      }
      return found
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
      if (!isSecretName(name)) return null
      return (await reach(() => kv.read(tenant, name))).entry?.pending ?? null
    },
    async list(tenant, { cursor, limit }) {
      const names = (await namesOf(tenant)).filter((name) => cursor === null || name > cursor)
      const page = names.slice(0, limit)
      const items = (await entriesOf(tenant, page)).flatMap(({ name, entry }) =>
        isBare(entry) ? [] : [show(name, entry)],
      )
      return { items, nextCursor: names.length > limit ? (page.at(-1) ?? null) : null }
    },
    async find(tenant, name) {
      if (!isSecretName(name)) return null
      const { entry } = await reach(() => kv.read(tenant, name))
      return entry === null || isBare(entry) ? null : show(name, entry)
    },
    async names(tenant) {
      const entries = await entriesOf(tenant, await namesOf(tenant))
      return new Set(entries.flatMap(({ name, entry }) => (entry.current === null ? [] : [name])))
    },
    async set(tenant, name, value, { isPending, by, overlapMs = 0, expectedVersion }) {
      let version = 0
      await change(tenant, name, by, (before, next) => {
        expectVersion(name, before, expectedVersion)
        version = next
        const held = { version, value, fingerprint: fingerprintOf(tenant, name, value) }
        return setVersion(before, held, { isPending, overlapMs, now: clock.now() })
      })
      log.info('access.secret-set', { tenant, name, version, isPending, overlapMs, by })
      return { version }
    },
    async promote(tenant, name, by, overlapMs = 0, { expectedPendingFingerprint } = {}) {
      const { current } = await change(tenant, name, by, (before) => {
        expectPending(name, before?.pending?.fingerprint ?? null, expectedPendingFingerprint)
        const next = promoteVersion(before, { overlapMs, now: clock.now() })
        if (next === null) throw new AppError('not_found', `the secret ‘${name}’ has no pending value`)
        return next
      })
      const version = current?.version ?? 0
      log.info('access.secret-promoted', { tenant, name, version, overlapMs, by })
      return { version }
    },
    async remove(tenant, name, by) {
      const { entry } = await reach(() => kv.read(tenant, name))
      if (entry === null) throw new AppError('not_found', `there is no secret ‘${name}’`)
      await reach(() => kv.remove(tenant, name))
      forget(tenant, name)
      log.info('access.secret-removed', { tenant, name, by })
    },
    // The vault encrypts its own entries.
    rewrap: async () => ({ rewrapped: 0, unreadable: [] }),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  }
}

/** The entry holds only other data. */
function isBare({ current, pending }: Entry): boolean {
  return current === null && pending === null
}

function isAway(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === 'vault_unavailable' || error.code === 'vault_sealed')
}

function placeOf(tenant: TenantId, name: string): string {
  return `${tenant}/${name}`
}
