// Most jobs have no lane, no element, no generation and no instance: they take a shorter path between threads and into
// the database.

import type { Write } from '../../../ports/store.ts'

/** Whether the job has more properties than most. */
export function isOdd(write: Extract<Write, { w: 'work.add' }>): boolean {
  return write.work.instance !== undefined || write.work.step !== undefined || isOneOfSeveral(write)
}

/** Whether it is one of several: in a lane, of a list, or of a key that is executed again. */
export function isOneOfSeveral({ work, inPlaceOf }: Extract<Write, { w: 'work.add' }>): boolean {
  return (
    work.lane !== undefined ||
    work.element !== undefined ||
    (work.generation ?? 1) !== 1 ||
    inPlaceOf !== undefined
  )
}
