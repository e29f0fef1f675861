// Secrets by reference: values are resolved when they are needed and kept nowhere else.

import type { SecretRef } from '../core/definition/index.ts'
import type { TenantId } from '../core/ids/index.ts'

export interface Vault {
  /** The values of a reference, the preferred one first; more than one while a secret is being rotated. Empty: not set. */
  resolve(tenant: TenantId, refs: readonly SecretRef[]): Promise<readonly string[]>
}
