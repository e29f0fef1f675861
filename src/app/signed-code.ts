// The code of the store, opened with its signatures: what a former version left unsigned is signed once, and refused
// code is logged.

import { type BundleCode, makeBundleSignatures } from '../adapters/code-bundle/index.ts'
import { codeHashesOf, type DefinitionDocument } from '../core/definitions/documents/index.ts'
import { isSealed } from '../core/events/sensitive/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import { parseJson } from '../core/foundation/json/index.ts'
import type { MasterKeys } from '../core/secrets/index.ts'
import type { Log } from '../ports/log.ts'
import type { Page, Store, StoredRecord } from '../ports/store.ts'

const PAGE = 100

/** `keys` null: nodes of this store have different master keys, and could not verify each other's signatures. */
export async function openSignedCode(
  code: BundleCode,
  deps: {
    readonly store: Store
    readonly keys: MasterKeys | null
    readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  },
): Promise<void> {
  const { store, keys, log } = deps
  if (keys === null) {
    await code.open({ store, tenant: DEFAULT_TENANT })
    return
  }
  const shelf = { store, tenant: DEFAULT_TENANT, signatures: makeBundleSignatures(keys) }
  const { signed, renewed } = await code.open(shelf, { pinned: () => pinnedHashes(store) })
  if (signed.length > 0) log.warn('code.signed', { count: signed.length, codeHashes: signed })
  if (renewed > 0) log.info('code.renewed', { count: renewed, keyId: keys.current.id })
  for (const [codeHash, error] of code.refused()) log.error('code.refused', { codeHash, error })
}

/** Of every stored version of every definition: queued jobs depend on old ones, too. */
async function pinnedHashes(store: Store): Promise<ReadonlySet<string>> {
  const hashes = new Set<string>()
  for (const tenant of await store.system('definitions').tenants()) {
    let cursor: string | null = null
    do {
      const page: Page<StoredRecord> = await store
        .forTenant(tenant)
        .records({ kind: 'definition', cursor, limit: PAGE })
      for (const { body } of page.items) {
        if (isSealed(body)) continue
        for (const hash of codeHashesOf(parseJson(body) as unknown as DefinitionDocument)) hashes.add(hash)
      }
      cursor = page.nextCursor
    } while (cursor !== null)
  }
  return hashes
}
