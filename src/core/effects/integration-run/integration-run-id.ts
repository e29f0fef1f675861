// The ids of runs. They follow from the work item that a run belongs to, so that a second node that takes the item over writes the
// same row; and they have its time, so that runs lie and are listed in the order of their work.

import { createHash } from 'node:crypto'
import type { RunId, WorkId } from '../../foundation/ids/index.ts'

const PREFIX = 'run_'
/** Time and counter of a UUIDv7: `0198c0de-1234-7001`. */
const TIME_LENGTH = 18

/** That of its work item under another prefix: of one that is a single operation. */
export function runIdOf(work: WorkId): RunId {
  return `${PREFIX}${work.slice('wrk_'.length)}` as RunId
}

/** Of one effect of a function: with the time of its work item, and the name in place of chance. */
export function runIdOfEffect(work: WorkId, name: string): RunId {
  const time = work.slice('wrk_'.length, 'wrk_'.length + TIME_LENGTH)
  const hash = createHash('sha256').update(`${work}\n${name}`).digest('hex')
  const variant = '89ab'[Number.parseInt(hash.slice(0, 1), 16) & 3]
  return `${PREFIX}${time}-${variant}${hash.slice(1, 4)}-${hash.slice(4, 16)}` as RunId
}
