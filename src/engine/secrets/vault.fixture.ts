// A vault in memory for tests: current values, and former ones for as long as they overlap. It has no cache: all nodes see a
// change at once.

import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import {
  expectPending,
  expectVersion,
  fingerprintOf,
  inOverlap,
  nextVersion,
  promoteVersion,
  type SecretVersions,
  setVersion,
} from '../../core/secrets/index.ts'
import type { SecretRow, SecretValue, SecretVault } from '../../ports/vault.ts'

interface Entry extends SecretVersions<SecretValue> {
  readonly by: string
  readonly at: number
}

/** `others`: the values of any name that was not set. */
export function makeMemoryVault(now: () => number, others: readonly string[] = []): SecretVault {
  const entries = new Map<string, Entry>()
  const placeOf = (tenant: TenantId, name: string) => `${tenant}/${name}`
  const find = (tenant: TenantId, name: string) => entries.get(placeOf(tenant, name)) ?? null
  const keep = (tenant: TenantId, name: string, by: string, versions: SecretVersions<SecretValue>) => {
    entries.set(placeOf(tenant, name), { ...versions, by, at: now() })
  }
  const makeValue = (tenant: TenantId, name: string, version: number, value: string): SecretValue => ({
    version,
    value,
    fingerprint: fingerprintOf(tenant, name, value),
  })
  const show = (name: string, entry: Entry): SecretRow => ({
    name,
    version: entry.current?.version ?? null,
    fingerprint: entry.current?.fingerprint ?? null,
    hasPending: entry.pending !== null,
    pendingFingerprint: entry.pending?.fingerprint ?? null,
    oldUntil: inOverlap(entry, now()).map(({ until }) => until),
    updatedAt: entry.at,
    updatedBy: entry.by,
  })
  const namesOf = (tenant: TenantId) =>
    [...entries.keys()]
      .flatMap((key) => (key.startsWith(`${tenant}/`) ? [key.slice(tenant.length + 1)] : []))
      .sort()

  return {
    async resolve(tenant, refs) {
      // Documents that tests write by hand often name none.
      if (refs.length === 0) return others
      return refs.flatMap((ref) => {
        const entry = 'ref' in ref ? find(tenant, ref.ref) : null
        if (entry === null) return others
        const former = inOverlap(entry, now()).map(({ value }) => value)
        return entry.current === null ? former : [entry.current.value, ...former]
      })
    },
    async list(tenant, { cursor, limit }) {
      const names = namesOf(tenant).filter((name) => cursor === null || name > cursor)
      const page = names.slice(0, limit)
      const items = page.map((name) => show(name, find(tenant, name) as Entry))
      return { items, nextCursor: names.length > limit ? (page.at(-1) ?? null) : null }
    },
    async find(tenant, name) {
      const entry = find(tenant, name)
      return entry === null ? null : show(name, entry)
    },
    async names(tenant) {
      return new Set(namesOf(tenant).filter((name) => find(tenant, name)?.current != null))
    },
    async current(tenant, name) {
      const entry = find(tenant, name)
      if (entry !== null) return entry.current
      const [value] = others
      return value === undefined ? null : makeValue(tenant, name, 1, value)
    },
    async pending(tenant, name) {
      return find(tenant, name)?.pending ?? null
    },
    async set(tenant, name, value, { isPending, by, overlapMs = 0, expectedVersion }) {
      const before = find(tenant, name)
      expectVersion(name, before, expectedVersion)
      const version = nextVersion(before)
      const next = makeValue(tenant, name, version, value)
      keep(tenant, name, by, setVersion(before, next, { isPending, overlapMs, now: now() }))
      return { version }
    },
    async promote(tenant, name, by, overlapMs = 0, { expectedPendingFingerprint } = {}) {
      const before = find(tenant, name)
      expectPending(name, before?.pending?.fingerprint ?? null, expectedPendingFingerprint)
      const next = promoteVersion(before, { overlapMs, now: now() })
      if (next === null) throw new AppError('not_found', `the secret ‘${name}’ has no pending value`)
      keep(tenant, name, by, next)
      return { version: next.current?.version ?? 0 }
    },
    async remove(tenant, name) {
      if (!entries.delete(placeOf(tenant, name)))
        throw new AppError('not_found', `there is no secret ${name}`)
    },
    rewrap: async () => ({ rewrapped: 0, unreadable: [] }),
  }
}
