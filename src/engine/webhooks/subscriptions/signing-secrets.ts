// The signing secrets of subscriptions, as far as they are made here: generated into the vault, shown once, rotated with an
// overlap.
//
// Invariant: SU10 a value is in the vault and in one response, and nowhere else: no record, event or log line contains it.

import type { SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { DAY, type Instant } from '../../../core/foundation/time/index.ts'
import { newSecret, parseSecret, publicKeyOf, SECRET_BYTES } from '../../../core/webhooks/signing/index.ts'
import { generatedSecret, secretRefOf } from '../../../core/webhooks/subscription/index.ts'
import type { Random } from '../../../ports/random.ts'
import type { SecretVault, Vault } from '../../../ports/vault.ts'
import { placeOfSecret } from '../../secrets/index.ts'
import type { ShownSecret, SubscriptionSecret } from './subscription-types.ts'

export type SecretKeeper = Pick<SecretVault, 'find' | 'names' | 'remove' | 'set'>

const OVERLAP_MS = 1 * DAY
const OVERLAP_MS_MAX = 7 * DAY

export interface SigningSecrets {
  /** Generates one and stores it in the vault; the former one is invalid at once. */
  generate(tenant: TenantId, document: SubscriptionDocument, by: string): Promise<ShownSecret>
  rotate(
    tenant: TenantId,
    document: SubscriptionDocument,
    request: { readonly overlapMs?: number; readonly secret?: string },
    by: string,
  ): Promise<ShownSecret & { readonly overlapMs: number }>
  /** What a rotation would store in the vault; throws what the rotation would throw. */
  plan(
    document: SubscriptionDocument,
    request: { readonly overlapMs?: number; readonly secret?: string },
  ): { readonly name: string; readonly secret: string; readonly overlapMs: number }
  /** The value that it signs with now; null: it is not set. */
  current(tenant: TenantId, document: SubscriptionDocument): Promise<ShownSecret | null>
  /** Does nothing if there is none, or if it was made after `madeBefore`: then it belongs to another subscription. */
  forget(tenant: TenantId, name: string, by: string, madeBefore?: Instant): Promise<void>
  /** The names of all secrets in the vault. */
  names(tenant: TenantId): Promise<ReadonlySet<string>>
  show(tenant: TenantId, document: SubscriptionDocument, isUnseen: boolean): Promise<SubscriptionSecret>
  /** null: it does not sign by keys, and did not until a moment ago: keys in the overlap sign beside the others. */
  publicKeys(
    tenant: TenantId,
    document: SubscriptionDocument,
  ): Promise<readonly { readonly id: string; readonly algorithm: 'ed25519'; readonly key: string }[] | null>
}

export function makeSigningSecrets(deps: {
  readonly vault: Vault
  readonly secrets: SecretKeeper
  readonly random: Pick<Random, 'bytes'>
}): SigningSecrets {
  const { vault, secrets, random } = deps

  const make = ({ signing }: SubscriptionDocument) => newSecret(signing, random.bytes(SECRET_BYTES))

  const resolve = (tenant: TenantId, document: SubscriptionDocument) =>
    vault.resolve(tenant, [secretRefOf(document)])

  const plan: SigningSecrets['plan'] = (document, { overlapMs = OVERLAP_MS, secret: given }) => {
    const ref = secretRefOf(document)
    if (!('ref' in ref)) throw new AppError('secret_in_environment', `it signs with ${placeOfSecret(ref)}`)
    if (!Number.isSafeInteger(overlapMs) || overlapMs < 0 || overlapMs > OVERLAP_MS_MAX) {
      throw new AppError('overlap_invalid', 'an overlap is from 0 s to 7 days')
    }
    if (given !== undefined) {
      const parsed = parseSecret(document.signing, given)
      if (!parsed.ok) throw new AppError('signing_secret_invalid', parsed.message)
    }
    return { name: ref.ref, secret: given ?? make(document), overlapMs }
  }

  return {
    plan,
    async generate(tenant, document, by) {
      const secret = make(document)
      const set = { isPending: false, by }
      const { version } = await secrets.set(tenant, generatedSecret(document.name), secret, set)
      return { secret, version }
    },
    async rotate(tenant, document, request, by) {
      const { name, secret, overlapMs } = plan(document, request)
      const { version } = await secrets.set(tenant, name, secret, { isPending: false, by, overlapMs })
      return { secret, version, overlapMs }
    },
    async current(tenant, document) {
      const [secret] = await resolve(tenant, document)
      if (secret === undefined) return null
      const row = await secrets.find(tenant, generatedSecret(document.name))
      return { secret, version: row?.version ?? 0 }
    },
    async forget(tenant, name, by, madeBefore) {
      const row = madeBefore === undefined ? null : await secrets.find(tenant, generatedSecret(name))
      if (row !== null && madeBefore !== undefined && row.updatedAt > madeBefore) return
      try {
        await secrets.remove(tenant, generatedSecret(name), by)
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'not_found') throw error
      }
    },
    names: (tenant) => secrets.names(tenant),
    async show(tenant, document, isUnseen) {
      const ref = secretRefOf(document)
      if (!('ref' in ref)) {
        const at =
          'env' in ref
            ? ({ from: 'environment', name: ref.env } as const)
            : ({ from: 'file', name: ref.file } as const)
        return { ...at, version: null, oldUntil: [], isUnseen: false }
      }
      const row = await secrets.find(tenant, ref.ref)
      return {
        from: document.secret === null ? 'generated' : 'vault',
        name: ref.ref,
        version: row?.version ?? null,
        oldUntil: row?.oldUntil ?? [],
        isUnseen: document.secret === null && isUnseen,
      }
    },
    async publicKeys(tenant, document) {
      const keys = (await resolve(tenant, document)).flatMap((secret) => publicKeyOf(secret) ?? [])
      if (document.signing !== 'ed25519' && keys.length === 0) return null
      // Derived from the key itself, so that a receiver that caches keys recognizes it.
      return [...new Set(keys)].map((key) => ({ id: key.slice(-12), algorithm: 'ed25519', key }))
    },
  }
}
