// Roles of callers: a viewer reads, an operator acts on events and jobs, an admin manages access. The node's own admin is an
// admin of the first tenant who may also create tenants.

export const ROLES = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** `node`: the node's own admin. */
export function isAllowed(
  caller: { readonly role: Role; readonly isNodeAdmin: boolean },
  needed: Role | 'node',
): boolean {
  if (needed === 'node') return caller.isNodeAdmin
  return ROLES.indexOf(caller.role) >= ROLES.indexOf(needed)
}
