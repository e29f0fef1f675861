// Checks a subscription that comes through the API: the same language, as fields of a request instead of a file. A
// finding names its field; a change of single fields makes a whole document that is checked like any other.

import type { SubscriptionDocument } from '../core/definitions/documents/index.ts'
import { checkGiven, type FieldFinding } from './check-given.ts'
import type { CompileDeps } from './compile-deps.ts'
import type { GivenFields } from './given-fields.ts'

export type CheckedSubscription =
  | {
      readonly ok: true
      readonly document: SubscriptionDocument
      /** What a later change starts from. */
      readonly written: GivenFields
      /** Warnings and notes. */
      readonly warnings: readonly FieldFinding[]
    }
  /** Errors first, followed by warnings. */
  | { readonly ok: false; readonly findings: readonly FieldFinding[] }

/** What is known besides it, of the tenant and of the node. Without `outbound`, the caller judges the address. */
export type SubscriptionSurroundings = Pick<
  CompileDeps,
  | 'profiles'
  | 'secrets'
  | 'variables'
  | 'hasEnvironment'
  | 'isEnvReadable'
  | 'deployedDocuments'
  | 'emits'
  | 'outbound'
  | 'isProduction'
  | 'environment'
>

/** `written`: the fields of a subscription, with or without `kind`. A null field counts as omitted. */
export function checkSubscription(
  written: unknown,
  surroundings: SubscriptionSurroundings,
): CheckedSubscription {
  const checked = checkGiven('Subscription', written, surroundings)
  if (!checked.ok) return checked
  const { document, written: kept, warnings } = checked
  return { ok: true, document: document as SubscriptionDocument, written: kept, warnings }
}
