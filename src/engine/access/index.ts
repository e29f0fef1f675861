export { type Access, type AccessDeps, type Caller, makeAccess, type SignedIn } from './access.ts'
export type { KeyRow, Keys, NewKey } from './keys.ts'
export type { TenantRow, Tenants } from './tenants.ts'
