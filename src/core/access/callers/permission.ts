// What a key may do beside its role: words that definitions choose, such as `triage.approve`, and that keys are granted.
// A role says how far somebody reaches into the system; a permission, which step of a business somebody may take.

import type { Role } from './role.ts'

/** As a piece of a JSON Schema and of an expression: letters, digits and `_ . : -`, a letter or digit first. */
export const PERMISSION_NAME = '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$'
export const PERMISSIONS_MAX = 100

const NAME = new RegExp(PERMISSION_NAME)

export function isPermissionName(text: string): boolean {
  return NAME.test(text)
}

export interface Holder {
  readonly role: Role
  readonly permissions: readonly string[]
}

/** An admin grants permissions, and so has all of them. */
export function hasPermission({ role, permissions }: Holder, permission: string): boolean {
  return role === 'admin' || permissions.includes(permission)
}

/** The first that is missing; null: none. */
export function missingPermission(holder: Holder, needed: readonly string[]): string | null {
  return needed.find((permission) => !hasPermission(holder, permission)) ?? null
}
