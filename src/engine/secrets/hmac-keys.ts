// The key of `hmac(…)`, one per tenant: 32 random bytes that are made once, by the first deployment that needs them, and never
// change. They are in the store as an encrypted record (see src/engine/commit/encrypted-store.ts), and in memory as a function
// that digests.
//
// Invariants: HK1 the first commit wins, and every node uses the key in the store, not the one it generated itself. HK4 if a
// definition that was ever stored needs a key that is missing or cannot be decrypted, no other is made: jobs wait, and
// deployments are refused.

import { HMAC_LANGUAGE } from '../../core/definitions/documents/index.ts'
import { isEncrypted } from '../../core/events/sensitive/index.ts'
import { HMAC_KEY_BYTES, type Hmac, makeHmac, mayUseHmac } from '../../core/expression/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { parseJson, stringifyJson } from '../../core/foundation/json/index.ts'
import type { Random } from '../../ports/random.ts'
import type { Page, Store, StoredRecord } from '../../ports/store.ts'
import { isUnreadable } from '../commit/index.ts'

export interface HmacKeys {
  /** null: it was not loaded, or cannot be. */
  known(tenant: TenantId): Hmac | null
  /** Why deployed definitions cannot use it; null: they can, or none needs it. */
  problem(tenant: TenantId): string | null
  /** For stored definitions that call `hmac`: it must exist. null: `problem` says why it does not. */
  load(tenant: TenantId): Promise<Hmac | null>
  /** For previews: the key if there is one. */
  peek(tenant: TenantId): Promise<Hmac | null>
  /** For definitions that are about to be deployed: makes the key if the tenant never had one. Throws `secret_unreadable`. */
  ensure(tenant: TenantId): Promise<Hmac>
}

const NAME = 'key'
const PAGE = 100
const MISSING =
  'the key of `hmac` is missing in the store, and another one would change idempotency keys: restore the record from a backup'

export function makeHmacKeys(deps: {
  readonly store: Pick<Store, 'commit' | 'forTenant'>
  /** Omitted: this process makes no keys. */
  readonly random?: Random
}): HmacKeys {
  const { store, random } = deps
  const keys = new Map<TenantId, Hmac>()
  const problems = new Map<TenantId, string>()

  /** null: the store has none. Throws `secret_unreadable`. */
  const read = async (tenant: TenantId): Promise<Hmac | null> => {
    const known = keys.get(tenant)
    if (known !== undefined) return known
    const record = await store.forTenant(tenant).record('hmac', NAME)
    if (record === null) return null
    const hmac = makeHmac(bytesOf(record.body))
    keys.set(tenant, hmac)
    problems.delete(tenant)
    return hmac
  }

  /** Refused: another node was first. Either way the key in the store counts. */
  const make = async (tenant: TenantId, from: Random): Promise<Hmac | null> => {
    const body = stringifyJson({ key: Buffer.from(from.bytes(HMAC_KEY_BYTES)).toString('base64url') })
    await store.commit({
      tenant,
      guards: [{ g: 'version', of: 'hmac', key: NAME, version: 0 }],
      writes: [{ w: 'record.put', kind: 'hmac', key: NAME, version: 1, body }],
    })
    return read(tenant)
  }

  /** Stored documents are never deleted, and each was stored after the key: one that calls `hmac` shows that the tenant had a key. */
  const hasStoredCaller = async (tenant: TenantId): Promise<boolean> => {
    const reads = store.forTenant(tenant)
    for (let cursor: string | null = null; ; ) {
      const page: Page<StoredRecord> = await reads.records({ kind: 'definition', cursor, limit: PAGE })
      if (page.items.some(mayHaveUsedKey)) return true
      cursor = page.nextCursor
      if (cursor === null) return false
    }
  }

  const load: HmacKeys['load'] = async (tenant) => {
    try {
      const hmac = await read(tenant)
      if (hmac === null) problems.set(tenant, MISSING)
      return hmac
    } catch (error) {
      if (!isUnreadable(error)) throw error
      problems.set(tenant, error.message)
      return null
    }
  }

  return {
    known: (tenant) => keys.get(tenant) ?? null,
    problem: (tenant) => problems.get(tenant) ?? null,
    load,
    async peek(tenant) {
      try {
        return await read(tenant)
      } catch (error) {
        if (isUnreadable(error)) return null
        throw error
      }
    },
    async ensure(tenant) {
      const found = await read(tenant)
      if (found !== null) return found
      if (problems.has(tenant) || random === undefined) throw new AppError('secret_unreadable', MISSING)
      const isLost = await hasStoredCaller(tenant)
      // Another node may have made the key and stored its definitions since the first read.
      const made = isLost ? await read(tenant) : await make(tenant, random)
      if (made === null) throw new AppError('secret_unreadable', MISSING)
      return made
    },
  }
}

/** A document that cannot be decrypted may call `hmac`. */
function mayHaveUsedKey({ version, body }: StoredRecord): boolean {
  return version >= HMAC_LANGUAGE && (isEncrypted(body) || mayUseHmac(parseJson(body)))
}

function bytesOf(body: string): Uint8Array {
  const { key } = parseJson(body) as { readonly key?: unknown }
  const bytes = Buffer.from(typeof key === 'string' ? key : '', 'base64url')
  if (bytes.length === HMAC_KEY_BYTES) return bytes
  throw new AppError(
    'secret_unreadable',
    'the key of `hmac` in the store has another form than this version knows',
  )
}
