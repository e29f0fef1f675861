// Whether a user may see the instances of a workflow at all, and do what one of its transitions or triggers requires a
// permission for. Events, timers and other workflows are not checked here: the definition allowed them.
//
// Invariants: HD2 a user without a permission that the workflow requires sees and changes none of its instances. HD3 a
// user's action is checked before the machine runs. HD12 of restricted instances only admins
// get values.

import {
  type Holder,
  hasPermission,
  missingPermission,
  type Role,
} from '../../../core/access/callers/index.ts'
import { enforcedClassification, type WorkflowDocument } from '../../../core/definitions/documents/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'

type Secured = Pick<WorkflowDocument, 'name' | 'security'>

export function maySee(holder: Holder, { security }: Pick<Secured, 'security'>): boolean {
  return missingPermission(holder, security?.required ?? []) === null
}

/** Whether a user reads values that are encrypted: of restricted instances only admins do, of others all but viewers. */
export function seesClear({ role }: { readonly role: Role }, document: Pick<Secured, 'security'>): boolean {
  return enforcedClassification(document) === 'restricted' ? role === 'admin' : role !== 'viewer'
}

export function assertSees(holder: Holder, { name, security }: Secured): void {
  const missing = missingPermission(holder, security?.required ?? [])
  if (missing !== null)
    throw permissionNeeded(missing, `the instances of ${name} need the permission ${missing}`)
}

/** `what`: the requested action, as the beginning of a sentence. */
export function assertPermitted(holder: Holder, permission: string | undefined, what: string): void {
  if (permission === undefined || hasPermission(holder, permission)) return
  throw permissionNeeded(permission, `${what} needs the permission ${permission}`)
}

function permissionNeeded(needed: string, detail: string): AppError {
  return new AppError('permission_needed', detail, { details: { needed } })
}
