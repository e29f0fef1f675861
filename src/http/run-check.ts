// Where a check runs: large ones, and all that come as files, off this thread; a few small fields are checked sooner than they are sent.

import { setImmediate } from 'node:timers/promises'
import type { CheckAnswers, CheckJob, CheckResults } from '../definitions/index.ts'
import type { HttpApi, RunCheck } from './api.ts'

/** On this thread, behind what else it has to do. */
export const runHere: RunCheck = async (job, answer) => {
  await setImmediate()
  // Zod and the language load with the first check.
  const { runCheck } = await import('../definitions/language.ts')
  return (await runCheck(job, answer)) as never
}

/** In characters, with every value counted as four more. */
const SMALL_MAX = 16_384

const NO_ANSWERS: CheckAnswers = { functions: new Map(), held: new Set() }

/** A document that comes as fields of a request. */
export function checkFields<Job extends CheckJob & { readonly job: 'subscription' | 'integration' }>(
  { runCheck = runHere }: Pick<HttpApi, 'runCheck'>,
  job: Job,
): Promise<CheckResults[Job['job']]> {
  const run = sizeOf(job.written, SMALL_MAX) < SMALL_MAX ? runHere : runCheck
  return run(job, async () => NO_ANSWERS)
}

/** Stops at `max`. */
function sizeOf(value: unknown, max: number): number {
  if (typeof value === 'string') return value.length + 4
  if (typeof value !== 'object' || value === null) return 4
  let size = 4
  for (const [name, inner] of Object.entries(value)) {
    if (size >= max) return size
    size += name.length + sizeOf(inner, max - size)
  }
  return size
}
