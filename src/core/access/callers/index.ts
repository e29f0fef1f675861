// Decides what a caller may do: roles, permissions, tokens, tenants, tenant limits and the audit trail.

export { AUDIT_MESSAGES, isAuditMessage } from './audit.ts'
export {
  type Holder,
  hasPermission,
  isPermissionName,
  missingPermission,
  PERMISSION_NAME,
  PERMISSIONS_MAX,
} from './permission.ts'
export { isAllowed, ROLES, type Role } from './role.ts'
export { isTenantName, TENANT_NAME } from './tenant.ts'
export { holdToLimit, TENANT_LIMITS, type TenantLimits } from './tenant-limits.ts'
export {
  formatToken,
  hashSecret,
  ID_BYTES,
  matchesHash,
  parseToken,
  SECRET_BYTES,
  type Token,
  type TokenKind,
} from './token.ts'
