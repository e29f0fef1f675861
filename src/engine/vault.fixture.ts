// A vault in memory for tests: what is set is there, former values for as long as they were said to overlap.

import { AppError } from '../core/errors/index.ts'
import type { TenantId } from '../core/ids/index.ts'
import type { SecretRow, SecretVault, Vault } from '../ports/vault.ts'

export type MemoryVault = Vault & Pick<SecretVault, 'find' | 'names' | 'remove' | 'set'>

interface Entry {
  readonly version: number
  readonly value: string
  readonly by: string
  readonly at: number
  readonly old: readonly { readonly value: string; readonly until: number }[]
}

/** `others`: what any name stands for that was not set. */
export function makeMemoryVault(now: () => number, others: readonly string[] = []): MemoryVault {
  const entries = new Map<string, Entry>()
  const placeOf = (tenant: TenantId, name: string) => `${tenant}/${name}`
  const oldOf = ({ old }: Entry) => old.filter(({ until }) => until > now())
  return {
    async resolve(tenant, refs) {
      // Documents that tests write by hand often name none.
      if (refs.length === 0) return others
      return refs.flatMap((ref) => {
        const entry = 'ref' in ref ? entries.get(placeOf(tenant, ref.ref)) : undefined
        return entry === undefined ? others : [entry.value, ...oldOf(entry).map(({ value }) => value)]
      })
    },
    async find(tenant, name): Promise<SecretRow | null> {
      const entry = entries.get(placeOf(tenant, name))
      if (entry === undefined) return null
      const { version, by, at } = entry
      const oldUntil = oldOf(entry).map(({ until }) => until)
      return { name, version, hasPending: false, oldUntil, updatedAt: at, updatedBy: by }
    },
    async names(tenant) {
      const prefix = placeOf(tenant, '')
      return new Set(
        [...entries.keys()].flatMap((key) => (key.startsWith(prefix) ? key.slice(prefix.length) : [])),
      )
    },
    async set(tenant, name, value, { by, overlapMs = 0 }) {
      const before = entries.get(placeOf(tenant, name))
      const version = (before?.version ?? 0) + 1
      const old =
        before === undefined || overlapMs === 0
          ? []
          : [{ value: before.value, until: now() + overlapMs }, ...oldOf(before)]
      entries.set(placeOf(tenant, name), { version, value, by, at: now(), old })
      return { version }
    },
    async remove(tenant, name) {
      if (!entries.delete(placeOf(tenant, name)))
        throw new AppError('not_found', `there is no secret ${name}`)
    },
  }
}
