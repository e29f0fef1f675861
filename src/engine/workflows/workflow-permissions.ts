// Whether somebody may see the instances of a workflow at all, and do what one of its transitions or triggers asks a permission
// for. What events, timers and other workflows do is not asked here: the definition allowed it.
//
// Invariants: HD2 whoever lacks a permission that the workflow requires sees and changes none of its instances. HD3 a word of
// a person is checked before the machine hears of it.

import { type Holder, hasPermission, missingPermission } from '../../core/access/callers/index.ts'
import type { WorkflowDocument } from '../../core/definitions/documents/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'

type Secured = Pick<WorkflowDocument, 'name' | 'security'>

export function maySee(holder: Holder, { security }: Pick<Secured, 'security'>): boolean {
  return missingPermission(holder, security?.required ?? []) === null
}

export function assertSees(holder: Holder, { name, security }: Secured): void {
  const missing = missingPermission(holder, security?.required ?? [])
  if (missing !== null)
    throw permissionNeeded(missing, `the instances of ${name} need the permission ${missing}`)
}

/** `what`: what is asked, as the begin of a sentence. */
export function assertPermitted(holder: Holder, permission: string | undefined, what: string): void {
  if (permission === undefined || hasPermission(holder, permission)) return
  throw permissionNeeded(permission, `${what} needs the permission ${permission}`)
}

function permissionNeeded(needed: string, detail: string): AppError {
  return new AppError('permission_needed', detail, { details: { needed } })
}
