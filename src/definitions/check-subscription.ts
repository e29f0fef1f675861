// A subscription that comes through the API: the same language, as fields of a request instead of a file. What is found
// names the field that it is about; and a change of single fields makes a whole that is checked like any other.

import type { SubscriptionDocument } from '../core/definitions/documents/index.ts'
import { checkGiven, type FieldFinding, type GivenFields, patchFields } from './check-given.ts'
import type { CompileDeps } from './compile.ts'

/** As it was written, field by field. */
export type WrittenSubscription = GivenFields

export type CheckedSubscription =
  | {
      readonly ok: true
      readonly document: SubscriptionDocument
      /** What a later change begins with. */
      readonly written: WrittenSubscription
      /** Warnings and notes. */
      readonly warnings: readonly FieldFinding[]
    }
  /** Errors first, and with them what is only doubtful. */
  | { readonly ok: false; readonly findings: readonly FieldFinding[] }

/** What is known beside it, of the tenant and of the node. Without `outbound`, whoever asks judges the address. */
export type SubscriptionSurroundings = Pick<
  CompileDeps,
  | 'profiles'
  | 'secrets'
  | 'variables'
  | 'hasEnvironment'
  | 'isEnvReadable'
  | 'inForce'
  | 'emits'
  | 'outbound'
  | 'isProduction'
  | 'environment'
>

/** `written`: the fields of a subscription, with or without `kind`. One that is null is as if it were left out. */
export function checkSubscription(
  written: unknown,
  surroundings: SubscriptionSurroundings,
): CheckedSubscription {
  const checked = checkGiven('Subscription', '`name`, `url` and `on`', written, surroundings)
  if (!checked.ok) return checked
  const { document, written: kept, warnings } = checked
  return { ok: true, document: document as SubscriptionDocument, written: kept, warnings }
}

/** A field that is given stands instead of what was written, whole; null takes it back. */
export function patchSubscription(
  written: WrittenSubscription,
  changes: WrittenSubscription,
): WrittenSubscription {
  return patchFields(written, changes)
}
