// What the failures of one escalation have in common.

import { hashText } from '../../foundation/hash/index.ts'
import { causeOf } from '../dead-letter/index.ts'
import type { FailureClass } from '../failure/index.ts'

/**
 * The same for failures that differ only in their events' content. Jobs for events about failures are separate: their
 * escalations are not announced, and must not hide those that are.
 */
export function causeHash(of: {
  readonly consumer: string
  readonly class: FailureClass
  readonly reason: string
  readonly error: string
  readonly isCanonical: boolean
}): string {
  return hashText(
    JSON.stringify([of.consumer, of.class, of.reason, causeOf(of.error), ...(of.isCanonical ? [true] : [])]),
  )
}
