// A firing whose step failed permanently: which one is meant, which jobs and which dead letter belong to it, and how it
// goes on without the dead letter.

import type { DeadLetter } from '../../../core/failures/dead-letter/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { WorkId } from '../../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import type { Firing, Instance } from '../../../core/workflows/instance/index.ts'
import {
  type InstanceEffect,
  parseStepName,
  partName,
  type StepEnv,
  type Stepped,
  stepInstance,
  stepName,
} from '../../../core/workflows/machine/index.ts'
import type { Guard, TenantReads } from '../../../ports/store.ts'
import type { Loaded, SteppedOk } from './instance-types.ts'

/** Dead letters of one event: an instance has a handful, whatever was replayed. */
const LETTERS_MAX = 500

/** `number` null: there is exactly one. */
export function failedFiring({ firings }: Instance, number: number | null): Firing {
  const failed = firings.filter(({ state }) => state === 'failed')
  if (number === null) {
    const [only, ...others] = failed
    if (only === undefined) throw nothingFailed(firings)
    if (others.length === 0) return only
    const names = failed.map((one) => `${one.number} (${one.name})`).join(', ')
    throw new AppError('invalid_request', `several firings failed; say which in \`firing\`: ${names}`)
  }
  const firing = firings.find((one) => one.number === number)
  if (firing === undefined) throw new AppError('firing_gone', `no firing ${number} is open`)
  if (firing.state !== 'failed') throw notFailed(firing)
  return firing
}

function nothingFailed(firings: readonly Firing[]): AppError {
  const parked = firings.find(({ state }) => state === 'parked')
  return parked === undefined ? new AppError('firing_gone', 'no firing of it has failed') : notFailed(parked)
}

function notFailed({ number, name, state }: Firing): AppError {
  if (state === 'parked')
    return new AppError('in_doubt', `the outcome of ${name} (firing ${number}) is unknown`)
  return new AppError('firing_gone', `firing ${number} (${name}) is ${state}, it has not failed`)
}

/** All jobs of the firing, in order of creation. */
export async function itemsOfFiring(
  reads: Pick<TenantReads, 'workOfInstance'>,
  { id }: Instance,
  { number }: Pick<Firing, 'number'>,
): Promise<readonly WorkRow[]> {
  const items = await reads.workOfInstance(id, { all: true })
  return items.filter(
    // A failed child left its dead letter with the signal that reported it.
    ({ kind, step }) =>
      (kind === 'step' || kind === 'signal') && step !== null && parseStepName(step)?.number === number,
  )
}

async function deadLettersOf(
  reads: Pick<TenantReads, 'deadLetters'>,
  consumer: string,
  { eventId }: Instance,
): Promise<readonly DeadLetter[]> {
  const { items } = await reads.deadLetters({ consumer, eventId, cursor: null, limit: LETTERS_MAX })
  return items
}

/**
 * Guards that a failed firing is not replayed while the instance goes on without it: a replay changes its
 * dead letter. Earlier replays are among the jobs that are read after this.
 */
export async function guardDeadLetters(
  reads: Pick<TenantReads, 'deadLetters' | 'workOfInstance'>,
  consumer: string,
  instance: Instance,
  firing: Pick<Firing, 'number'>,
): Promise<readonly Guard[]> {
  const deadLetters = await deadLettersOf(reads, consumer, instance)
  const items = await itemsOfFiring(reads, instance, firing)
  const own = new Set<string>(items.map(({ id }) => id))
  return deadLetters
    .filter(({ workId, state }) => own.has(workId) && state !== 'resolved' && state !== 'discarded')
    .map(({ id, version }) => ({ g: 'version', of: 'deadLetter', key: id, version }))
}

/** The dead letter by which a replay continues; null: none can be replayed. Throws AppError if one is being replayed. */
export async function deadLetterOfItems(
  reads: Pick<TenantReads, 'deadLetters' | 'workOfInstance'>,
  consumer: string,
  instance: Instance,
  items: readonly WorkRow[],
): Promise<DeadLetter | null> {
  const deadLetters = await deadLettersOf(reads, consumer, instance)
  // A dead letter names the job that replays it, which may be newer than the jobs that were read.
  const number = parseStepName(items[0]?.step ?? '')?.number
  const all = number === undefined ? items : await itemsOfFiring(reads, instance, { number })
  const own = new Set<string>(all.map(({ id }) => id))
  const ownDeadLetters = deadLetters.filter((deadLetter) => own.has(deadLetter.workId))
  // A second job would do the same in parallel.
  if (ownDeadLetters.some(({ state }) => state === 'replaying'))
    throw new AppError('conflict', 'its dead letter is being replayed: it goes on already')
  return ownDeadLetters.find(({ state }) => state === 'open' || state === 'ready_to_replay') ?? null
}

/** The firing runs again, on an operator's request. */
export function resumeFiring(
  { workflow, instance }: Loaded,
  { number }: Firing,
  env: StepEnv,
  { actor, reason }: { readonly actor: string; readonly reason: string },
): Stepped {
  const stepped = stepInstance(workflow, instance, { type: 'resumed', firing: number }, env)
  if (!stepped.ok) return stepped
  const history = stepped.history.map((entry) =>
    entry.type === 'retried' ? { ...entry, actor, comment: reason } : entry,
  )
  return { ...stepped, history }
}

/** With its own job, if no dead letter brings one. */
export function withItem(stepped: SteppedOk, { type, number, name }: Firing, work: WorkId): SteppedOk {
  const effect: InstanceEffect = {
    type: 'work',
    id: work,
    kind: 'step',
    step: stepName(type, number, name),
    part: partName(type, name),
    delayMs: 0,
    lane: null,
  }
  return { ...stepped, effects: [...stepped.effects, effect] }
}
