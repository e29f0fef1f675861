// A sample without any failure, for a user who sends a first one and wants to see it arrive.

import { hasLongTitle, issueNumber } from './samples/index.ts'
import { fateOf } from './vendor.ts'

/** The first number from here on whose issue the vendor accepts at once. */
export function findTameNumber(from: number): number {
  for (let number = from; ; number += 1) {
    if (!hasLongTitle(number) && fateOf(String(issueNumber(number))) === 'ok') return number
  }
}
