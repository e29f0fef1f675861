// A firing whose step failed for good: which one is meant, which items and which letter belong to it, and how it goes on when the
// letter is gone.

import type { DeadLetter } from '../../core/failures/dead-letter/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import type { WorkId } from '../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Firing, Instance } from '../../core/workflows/instance/index.ts'
import {
  type InstanceEffect,
  parseStepName,
  partName,
  type StepEnv,
  type Stepped,
  stepInstance,
  stepName,
} from '../../core/workflows/machine/index.ts'
import type { Guard, TenantReads } from '../../ports/store.ts'
import type { Loaded, SteppedOk } from './instance-types.ts'

/** Letters of one event: a case has a handful, whatever was replayed of it. */
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
    return new AppError('in_doubt', `nobody knows whether ${name} (firing ${number}) took effect`)
  return new AppError('firing_gone', `firing ${number} (${name}) is ${state}, it has not failed`)
}

/** All items of the firing, by birth. */
export async function itemsOfFiring(
  reads: Pick<TenantReads, 'workOfInstance'>,
  { id }: Instance,
  { number }: Pick<Firing, 'number'>,
): Promise<readonly WorkRow[]> {
  const items = await reads.workOfInstance(id, { all: true })
  return items.filter(
    // A child that ended badly left its letter with the signal that told of it.
    ({ kind, step }) =>
      (kind === 'step' || kind === 'signal') && step !== null && parseStepName(step)?.number === number,
  )
}

async function lettersOf(
  reads: Pick<TenantReads, 'deadLetters'>,
  consumer: string,
  { eventId }: Instance,
): Promise<readonly DeadLetter[]> {
  const { items } = await reads.deadLetters({ consumer, eventId, cursor: null, limit: LETTERS_MAX })
  return items
}

/**
 * That nobody replays a firing that failed while the instance goes on without it: whoever does changes its letter. What was replayed before is
 * among the items that are looked at after this.
 */
export async function guardLetters(
  reads: Pick<TenantReads, 'deadLetters' | 'workOfInstance'>,
  consumer: string,
  instance: Instance,
  firing: Pick<Firing, 'number'>,
): Promise<readonly Guard[]> {
  const letters = await lettersOf(reads, consumer, instance)
  const items = await itemsOfFiring(reads, instance, firing)
  const own = new Set<string>(items.map(({ id }) => id))
  return letters
    .filter(({ workId, state }) => own.has(workId) && state !== 'resolved' && state !== 'discarded')
    .map(({ id, version }) => ({ g: 'version', of: 'deadLetter', key: id, version }))
}

/** The letter by which a replay goes on; null: there is none that could be replayed. Throws AppError where one is being replayed. */
export async function letterOfItems(
  reads: Pick<TenantReads, 'deadLetters' | 'workOfInstance'>,
  consumer: string,
  instance: Instance,
  items: readonly WorkRow[],
): Promise<DeadLetter | null> {
  const letters = await lettersOf(reads, consumer, instance)
  // A letter names the item that replays it, which may be younger than the items that were looked at.
  const number = parseStepName(items[0]?.step ?? '')?.number
  const all = number === undefined ? items : await itemsOfFiring(reads, instance, { number })
  const own = new Set<string>(all.map(({ id }) => id))
  const kept = letters.filter((letter) => own.has(letter.workId))
  // A second item would do the same beside it.
  if (kept.some(({ state }) => state === 'replaying'))
    throw new AppError('conflict', 'its dead letter is being replayed: it goes on already')
  return kept.find(({ state }) => state === 'open' || state === 'ready_to_replay') ?? null
}

/** The firing is under way again, because somebody wants it so. */
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

/** With an item of its own, where no letter brings one. */
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
