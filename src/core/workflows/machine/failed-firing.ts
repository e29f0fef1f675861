// A firing whose action failed for good, was cancelled, or has an unknown outcome.

import type { OnFailureDocument } from '../../definitions/documents/index.ts'
import type { WorkId } from '../../foundation/ids/index.ts'
import { toStorable } from '../../foundation/json/index.ts'
import type { Failed, Firing } from '../instance/index.ts'
import { giveUp, keepDid, shortOf } from './firing.ts'
import { type Draft, entryOf, removeFiring, replaceFiring } from './instance-draft.ts'
import { beginRollBack } from './roll-back.ts'
import { putTokens, takeTokens } from './token-moves.ts'

const ERROR_LENGTH_MAX = 2_000

export interface Fault {
  readonly class: string
  readonly reason: string
  readonly error: string
  readonly work?: WorkId
  readonly did?: Firing['did']
}

export function failFiring(draft: Draft, firing: Firing, fault: Fault): void {
  const { number, type, name, held, stays, state } = firing
  const error = toStorable(fault.error, ERROR_LENGTH_MAX)
  const entry = {
    type: 'failed' as const,
    ...entryOf(firing),
    error,
    ...(fault.work === undefined ? {} : { workId: fault.work }),
    ...(firing.child === undefined ? {} : { child: firing.child }),
  }
  const did = fault.did ?? firing.did
  // Its tokens are gone; if it did nothing there is nothing to undo.
  if (state === 'interrupted' && type !== 'undo') {
    draft.history.push(entry)
    giveUp(draft, did === undefined ? firing : { ...firing, did })
    return
  }
  const failed: Failed = { name, class: fault.class, reason: fault.reason, error, at: draft.env.now }
  draft.now.failure = failed
  const policy = type === 'undo' || draft.now.rollBack !== null ? null : policyOf(draft, firing)
  if (policy === null) {
    const shortened = did === undefined ? {} : { did: { ...did, result: shortOf(did.result) } }
    replaceFiring(draft, number, (one) => ({ ...one, ...shortened, state: 'failed' }))
    draft.history.push(entry)
    return
  }
  removeFiring(draft, number)
  if (policy.undo !== undefined) {
    draft.history.push(entry)
    if (did !== undefined) keepDid(draft, firing, did)
    beginRollBack(draft, { through: policy.through ?? null, to: policy.to }, { name, error })
    return
  }
  takeTokens(draft, held, stays)
  draft.history.push({ ...entry, took: held, put: [policy.to] })
  if (did !== undefined) giveUp(draft, { ...firing, did })
  putTokens(draft, [policy.to])
}

/** null: it waits for an operator, who replays its dead letter. */
function policyOf({ workflow }: Draft, { type, name, held }: Firing): OnFailureDocument | null {
  const own = type === 'fire' ? workflow.transitions.get(name)?.document.onFailure : undefined
  const policy = own ?? workflow.document.onFailure ?? 'none'
  if (policy === 'none') return null
  // The entry action of a final place may fail; its token stays there anyway.
  const isFinal = held.some((place) => workflow.places.get(place)?.type === 'final')
  return isFinal && policy.undo === undefined ? null : policy
}

export function parkFiring(draft: Draft, firing: Firing, error: string, work: WorkId): void {
  replaceFiring(draft, firing.number, (one) =>
    one.state === 'interrupted' ? { ...one, inDoubt: true } : { ...one, state: 'parked' },
  )
  const text = toStorable(error, ERROR_LENGTH_MAX)
  draft.history.push({ type: 'noted', ...entryOf(firing), error: text, workId: work })
}

export function resumeFiring(draft: Draft, firing: Firing): void {
  replaceFiring(draft, firing.number, (one) => {
    if (one.state !== 'interrupted') return one.state === 'waiting' ? one : { ...one, state: 'running' }
    const { inDoubt, ...rest } = one
    return rest
  })
  draft.history.push({ type: 'retried', ...entryOf(firing) })
}

/**
 * An interrupted firing is over. Otherwise an operator cancelled it, and an operator decides how to continue: automatically it
 * would only start again.
 */
export function callOffFiring(draft: Draft, firing: Firing, work: WorkId): void {
  if (firing.state === 'interrupted') {
    giveUp(draft, firing)
    draft.history.push({ type: 'noted', ...entryOf(firing), workId: work, comment: 'called off' })
    return
  }
  const error = 'its item was called off'
  replaceFiring(draft, firing.number, (one) => ({ ...one, state: 'failed' }))
  draft.now.failure = { name: firing.name, class: 'cancelled', reason: 'cancelled', error, at: draft.env.now }
  draft.history.push({ type: 'failed', ...entryOf(firing), error, workId: work })
}
