// The code of the store with its signatures: what a former version left unsigned is signed once, what is refused is logged, and an
// operator signs a refused bundle after looking at it.

import { type BundleCode, makeBundleSignatures } from '../adapters/code-bundle/index.ts'
import { codeHashesOf, type DefinitionDocument, definitionId } from '../core/definitions/documents/index.ts'
import { isEncrypted } from '../core/events/sensitive/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import { parseJson } from '../core/foundation/json/index.ts'
import type { MasterKeys } from '../core/secrets/index.ts'
import type { RefusedCode } from '../http/index.ts'
import type { Log } from '../ports/log.ts'
import type { Page, Store, StoredRecord } from '../ports/store.ts'

const PAGE = 100

export interface SignedCode {
  /** Once, before anything is claimed. */
  open(): Promise<void>
  /** Definitions that pin these bundles are deployed. */
  learn(codeHashes: readonly string[]): Promise<void>
  /** How many bundles that something uses are refused: their jobs wait. */
  refusedInUse(): number
  /** What operators do about it. */
  readonly api: RefusedCode
}

/** `keys` null: nodes of this store have different master keys, and could not verify what others signed. */
export function makeSignedCode(
  code: BundleCode,
  deps: {
    readonly store: Store
    readonly keys: MasterKeys | null
    readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  },
): SignedCode {
  const { store, keys, log } = deps
  /** Bundles that a stored definition pins, as far as this node has looked. */
  const pinned = new Set<string>()
  const isUsed = (hash: string) => pinned.has(hash) || code.wasAskedFor(hash)

  const open = async () => {
    if (keys === null) {
      await code.open({ store, tenant: DEFAULT_TENANT })
      return
    }
    const shelf = { store, tenant: DEFAULT_TENANT, signatures: makeBundleSignatures(keys) }
    const { signed, renewed } = await code.open(shelf, {
      pinned: async () => new Set((await findUsers(store)).keys()),
    })
    if (signed.length > 0) log.warn('code.signed', { count: signed.length, codeHashes: signed })
    if (renewed > 0) log.info('code.renewed', { count: renewed, keyId: keys.current.id })
    for (const [codeHash, error] of code.refused()) log.error('code.refused', { codeHash, error })
    if (code.refused().size > 0) for (const hash of (await findUsers(store)).keys()) pinned.add(hash)
  }

  const api: RefusedCode = {
    async list() {
      const users = await findUsers(store)
      const items = await Promise.all(
        [...code.refused().keys()].map(async (codeHash) => {
          const shown = await code.show(codeHash)
          if (shown === null || shown.refused === null) return []
          const { file, bytes, refused: why } = shown
          return [{ codeHash, file, bytes, why, usedBy: [...(users.get(codeHash) ?? [])].sort() }]
        }),
      )
      return items.flat()
    },
    async one(codeHash) {
      const shown = await code.show(codeHash)
      if (shown === null || shown.refused === null) return null
      const { file, bytes, text, refused: why } = shown
      const usedBy = [...((await findUsers(store)).get(codeHash) ?? [])].sort()
      return { codeHash, file, bytes, why, usedBy, text }
    },
    async sign(codeHash, { actor, reason }) {
      const shown = await code.show(codeHash)
      if (shown === null) throw new AppError('not_found', 'the store has no code with this hash')
      if (shown.refused === null) return
      const why = await code.sign(codeHash)
      if (why !== null) throw new AppError('conflict', `this code cannot be signed: ${why}`)
      log.warn('code.signed-by-operator', { codeHash, file: shown.file, by: actor, reason })
    },
  }

  return {
    open,
    async learn(codeHashes) {
      for (const hash of codeHashes) pinned.add(hash)
      await code.learn(codeHashes)
    },
    refusedInUse: () => [...code.refused().keys()].filter(isUsed).length,
    api,
  }
}

/** By hash, which definitions pin a bundle, of every stored version of every definition: queued jobs depend on old ones, too. */
async function findUsers(store: Store): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const users = new Map<string, Set<string>>()
  for (const tenant of await store.system('definitions').tenants()) {
    let cursor: string | null = null
    do {
      const page: Page<StoredRecord> = await store
        .forTenant(tenant)
        .records({ kind: 'definition', cursor, limit: PAGE })
      for (const { body } of page.items) {
        if (isEncrypted(body)) continue
        const document = parseJson(body) as unknown as DefinitionDocument
        for (const hash of codeHashesOf(document)) {
          const names = users.get(hash) ?? new Set()
          users.set(hash, names.add(`${tenant}/${definitionId(document)}`))
        }
      }
      cursor = page.nextCursor
    } while (cursor !== null)
  }
  return users
}
