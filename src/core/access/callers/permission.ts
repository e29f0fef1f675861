// Permissions of a key beside its role: names that definitions choose, such as `triage.approve`, and that keys are granted. A
// role limits how much of the system a user reaches; a permission allows one step of a business process.

import type { Role } from './role.ts'

/** As part of a JSON Schema and of an expression: letters, digits and `_ . : -`, a letter or digit first. */
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

/** The first missing permission; null: none is missing. */
export function missingPermission(holder: Holder, needed: readonly string[]): string | null {
  return needed.find((permission) => !hasPermission(holder, permission)) ?? null
}
