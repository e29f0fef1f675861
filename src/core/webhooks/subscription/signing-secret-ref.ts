// The signing secret of a subscription: the one that it names, or the one that was generated for it.

import type { SecretRef, SubscriptionDocument } from '../../definitions/documents/index.ts'

/** The name of its generated secret in the vault. */
export function generatedSecret(name: string): string {
  return `webhooks.${name}`
}

export function secretRefOf({ name, secret }: Pick<SubscriptionDocument, 'name' | 'secret'>): SecretRef {
  return secret ?? { ref: generatedSecret(name) }
}
