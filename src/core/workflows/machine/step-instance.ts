// The workflow machine: an instance and an input give the new instance, its history entries, and the effects to perform. Only
// this code decides how an instance changes. No clock, no randomness, no I/O.
//
// Invariants: WF3 a refused input changes nothing. WF5 after every input the instance advances automatically as far as it can.
// WF6 the outcome of a job is never refused while its firing exists; only its result may not fit.

import { ExpressionError } from '../../expression/index.ts'
import { unreachable } from '../../foundation/errors/index.ts'
import type { Firing, Instance } from '../instance/index.ts'
import { advance, canMove } from './advance-instance.ts'
import { applyAssigned, computeAssigned, learnedEffects } from './assign.ts'
import { admitInstance, createInstance } from './begin-instance.ts'
import { callOffFiring, failFiring, parkFiring, resumeFiring } from './failed-firing.ts'
import { endFiring, fireTransition, spendStay } from './firing.ts'
import {
  type Draft,
  entryOf,
  findFiring,
  openDraft,
  recordedEntries,
  replaceFiring,
} from './instance-draft.ts'
import { finish } from './instance-end.ts'
import { Refusal, refuse } from './machine-refusal.ts'
import type { InstanceInput, StepEnv, StepInstance, Stepped, Transition, Workflow } from './machine-types.ts'
import { migrateInstance } from './migrate-instance.ts'
import { cancelByOperator, editByOperator, fireByOperator, moveByOperator } from './operator-input.ts'
import { replaceInstance, takeOver } from './replace-instance.ts'
import { findHeld } from './token-moves.ts'

type Input<Type extends InstanceInput['type']> = Extract<InstanceInput, { readonly type: Type }>

export const stepInstance: StepInstance = (workflow, instance, input, env) => {
  try {
    const draft = decide(workflow, instance, input, env)
    return close(draft, instance)
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, refused: error.refused }
    if (error instanceof ExpressionError) {
      return { ok: false, refused: { code: 'mapping', message: error.message } }
    }
    throw error
  }
}

/** Inputs whose caller receives a refusal. The outcome of a job cannot be refused. */
const TOLD: ReadonlySet<InstanceInput['type']> = new Set([
  'create',
  'update',
  'ended',
  'fire',
  'move',
  'edit',
  'migrate',
  'replace',
  'takeOver',
])

function decide(workflow: Workflow, instance: Instance | null, input: InstanceInput, env: StepEnv): Draft {
  let draft: Draft
  if (input.type === 'create') draft = createInstance(workflow, input, env)
  else if (input.type === 'takeOver') draft = takeOver(input, env)
  else {
    if (instance === null) refuse('gone', 'there is no such instance')
    if (instance.state !== 'active' && !isLate(instance, input)) {
      refuse('not_active', `the instance is ${instance.state}`)
    }
    draft = openDraft(workflow, instance, env)
    apply(draft, input)
  }
  advance(draft, { ofLoop: TOLD.has(input.type), ofTrouble: input.type === 'create' })
  finish(draft, instance?.attention ?? null)
  return draft
}

/** Whatever was under way when it was cancelled records how it ended. */
function isLate({ firings }: Instance, input: InstanceInput): boolean {
  return 'firing' in input && firings.some(({ number }) => number === input.firing)
}

function close(draft: Draft, before: Instance | null): Stepped {
  const { now, next, effects } = draft
  const history = recordedEntries(draft)
  next.history += history.length
  const instance: Instance = { ...now, revision: (before?.revision ?? 0) + 1, next }
  return { ok: true, instance, history, effects }
}

function apply(draft: Draft, input: Exclude<InstanceInput, { readonly type: 'create' | 'takeOver' }>) {
  switch (input.type) {
    case 'admitted':
      return admitInstance(draft, input)
    case 'update':
      return update(draft, input)
    case 'ended': {
      const firing = firingOf(draft, input)
      if (firing.state === 'waiting') refuse('gone', `firing ${firing.number} waits for an instance`)
      return endFiring(draft, firing, input)
    }
    case 'started':
      return waitForChild(draft, firingOf(draft, input), input)
    case 'failed':
      return failFiring(draft, firingOf(draft, input), input)
    case 'parked':
      return parkFiring(draft, firingOf(draft, input), input.error, input.work)
    case 'resumed':
      return resumeFiring(draft, firingOf(draft, input))
    case 'calledOff':
      return callOffFiring(draft, firingOf(draft, input), input.work)
    case 'childEnded':
      return endChild(draft, firingOf(draft, input), input)
    case 'timer':
      return endStay(draft, input)
    case 'lockExpired':
      return expireLock(draft)
    case 'fire':
      return fireByOperator(draft, input)
    case 'move':
      return moveByOperator(draft, input)
    case 'edit':
      return editByOperator(draft, input)
    case 'cancel':
      return cancelByOperator(draft, input)
    case 'migrate':
      return migrateInstance(draft, input)
    case 'replace':
      return replaceInstance(draft, input)
    default:
      return unreachable(input)
  }
}

function firingOf(draft: Draft, { firing: number }: { readonly firing: number }): Firing {
  return findFiring(draft, number) ?? refuse('gone', `firing ${number} is over`)
}

function update(draft: Draft, { assignments, fire, trigger }: Input<'update'>): void {
  const assigned = computeAssigned(draft, assignments)
  const { eventId } = draft.env
  draft.history.push({ type: 'updated', name: trigger, ...applyAssigned(draft, assigned), eventId })
  learnedEffects(draft, assigned)
  if (fire === null) return
  const why = fireIfPossible(draft, fire)
  if (why !== null) draft.history.push({ type: 'noted', name: fire, error: why })
}

/** null: it fired. A mismatch with its `out` or `choose` is thrown. */
function fireIfPossible(draft: Draft, name: string): string | null {
  const transition = draft.workflow.transitions.get(name)
  if (transition === undefined) return `the workflow has no transition ${name}`
  if (!canMove(draft)) return draft.now.rollBack === null ? 'it may not move yet' : 'it is rolling back'
  const inputs = findHeld(draft.workflow, draft.now, transition, null)
  if (inputs === null) return 'its tokens are not there'
  if (!transition.when(draft.scope)) return 'its condition does not hold'
  fireTransition(draft, transition, inputs)
  return null
}

function endStay(draft: Draft, { stay: number }: Input<'timer'>): void {
  const { now, workflow } = draft
  const stay = now.stays.find((one) => one.number === number)
  if (stay === undefined) refuse('gone', `stay ${number} is over`)
  const entry = { type: 'timed_out' as const, name: stay.place }
  const transition = workflow.transitions.get(workflow.places.get(stay.place)?.timeout?.fire ?? '')
  const at = draft.history.push(entry) - 1
  const why =
    transition === undefined ? 'its workflow has no time-out there' : fireTimedOut(draft, transition, stay)
  if (why !== null) draft.history[at] = { ...entry, error: why }
  spendStay(draft, number)
}

function fireTimedOut(draft: Draft, transition: Transition, stay: Instance['stays'][number]): string | null {
  if (!canMove(draft)) return 'it may not move'
  try {
    const inputs = findHeld(draft.workflow, draft.now, transition, stay)
    if (inputs === null) return `${transition.document.name}: its tokens are not there`
    if (!transition.when(draft.scope)) return `${transition.document.name}: its condition does not hold`
    fireTransition(draft, transition, inputs)
    return null
  } catch (error) {
    if (!(error instanceof ExpressionError || error instanceof Refusal)) throw error
    draft.trouble = `${transition.document.name}: ${error.message}`
    return draft.trouble
  }
}

function waitForChild(draft: Draft, firing: Firing, { child }: Input<'started'>): void {
  replaceFiring(draft, firing.number, (one) => ({
    ...one,
    child,
    state: one.state === 'interrupted' ? one.state : 'waiting',
  }))
  draft.history.push({ type: 'noted', ...entryOf(firing), child })
}

function endChild(draft: Draft, firing: Firing, { state, data }: Input<'childEnded'>) {
  const instance = firing.child ?? null
  const result = { instance, state, data }
  const fail = (error: string, reason: string, did?: Firing['did']) =>
    failFiring(draft, firing, { class: 'validation', reason, error, ...(did === undefined ? {} : { did }) })
  if (state !== 'completed') return fail(`the instance ${instance} that it started is ${state}`, 'rejected')
  try {
    endFiring(draft, firing, { result, key: null })
  } catch (error) {
    if (!(error instanceof ExpressionError || error instanceof Refusal)) throw error
    fail(error.message, 'mapping', { key: null, result })
  }
}

function expireLock(draft: Draft): void {
  const { now, effects, history } = draft
  if (now.admission.ttl === null) refuse('gone', 'the instance holds no lock')
  now.admission = { ...now.admission, ttl: null }
  const error = 'the instance holds its lock for longer than its time'
  history.push({ type: 'noted', name: 'lock', error })
  effects.push({ type: 'escalate', reason: 'lock_expired', error })
  draft.hasLockExpired = true
}
