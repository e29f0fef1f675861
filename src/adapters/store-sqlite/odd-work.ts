// Most items have no lane, no element and no generation: they cross between threads and into the database by a shorter way.

import type { Write } from '../../ports/store.ts'

/** Whether the item says more than most do. */
export function isOdd({ work, inPlaceOf }: Extract<Write, { w: 'work.add' }>): boolean {
  return (
    work.lane !== undefined ||
    work.element !== undefined ||
    (work.generation ?? 1) !== 1 ||
    inPlaceOf !== undefined
  )
}
