// Decides who the caller is and what the caller may do: keys, sessions, tenants, idempotency keys.

export { type Access, type Caller, makeAccess } from './access.ts'
export type { KeyRow } from './api-keys.ts'
export { type Decided, decidedText, ENGINE_OWNER } from './decided-by.ts'
export { type Begun, type Idempotency, makeIdempotency } from './idempotency-keys.ts'
export type { TenantRow } from './tenants.ts'
