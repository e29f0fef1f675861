// The ids of integration runs. They derive from the job that a run belongs to, so that a second node that takes over the job
// writes the same row; and they contain its time, so that runs are stored and listed in the order of their jobs.

import { createHash } from 'node:crypto'
import type { RunId, WorkId } from '../../foundation/ids/index.ts'

const PREFIX = 'run_'
/** Time and counter of a UUIDv7: `0198c0de-1234-7001`. */
const TIME_LENGTH = 18

/** The job's id under another prefix, for a job that is a single operation. */
export function runIdOf(work: WorkId): RunId {
  return `${PREFIX}${work.slice('wrk_'.length)}` as RunId
}

/** For one effect of a function: the time of its job, and a hash of the effect's name in place of the random part. */
export function runIdOfEffect(work: WorkId, name: string): RunId {
  const time = work.slice('wrk_'.length, 'wrk_'.length + TIME_LENGTH)
  const hash = createHash('sha256').update(`${work}\n${name}`).digest('hex')
  const variant = '89ab'[Number.parseInt(hash.slice(0, 1), 16) & 3]
  return `${PREFIX}${time}-${variant}${hash.slice(1, 4)}-${hash.slice(4, 16)}` as RunId
}
