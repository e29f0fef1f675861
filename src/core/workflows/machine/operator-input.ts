// Operator actions on an instance: fire, move tokens, edit data, cancel. Each records who and why, and is refused completely or
// not at all.

import { ExpressionError } from '../../expression/index.ts'
import type { Marking } from '../instance/index.ts'
import { canMove } from './advance-instance.ts'
import { applyAssigned, computeAssigned, learnedEffects } from './assign.ts'
import { rulesOf } from './explain-transition.ts'
import { type By, fireTransition, interrupt } from './firing.ts'
import type { Draft } from './instance-draft.ts'
import { endInstance } from './instance-end.ts'
import { refuse } from './machine-refusal.ts'
import type { InstanceInput } from './machine-types.ts'
import { findHeld, freeIn, putTokens, staysOf, takeTokens } from './token-moves.ts'

type Input<Type extends InstanceInput['type']> = Extract<InstanceInput, { readonly type: Type }>

export function fireByOperator(
  draft: Draft,
  { transition: name, actor, input, comment }: Input<'fire'>,
): void {
  const { workflow, now } = draft
  const transition = workflow.transitions.get(name)
  if (transition === undefined) refuse('unknown_transition', `the workflow has no transition ${name}`)
  const scope = { ...draft.scope, actor, input }
  const rules = rulesOf(workflow, now, transition, scope, { actor, seen: scope })
  const broken = rules.find(({ holds }) => !holds)
  if (broken !== undefined) {
    const code = broken.rule === 'notBy' ? 'not_allowed' : 'cannot_fire'
    refuse(code, `${name} cannot fire: ${broken.message}`, rules)
  }
  const inputs = findHeld(workflow, now, transition, null)
  if (inputs === null) refuse('cannot_fire', `${name} cannot fire: its tokens are not there`, rules)
  const fault = transition.inputFault(input)
  if (fault !== null) refuse('invalid_input', `the input does not fit: ${fault}`)
  const by: By = { actor, input, ...(comment === null ? {} : { comment }) }
  fireTransition(draft, transition, inputs, by)
}

const MOVED_MAX = 100

export function moveByOperator(draft: Draft, { from, to, actor, reason }: Input<'move'>): void {
  const { now, workflow } = draft
  if (!canMove(draft)) {
    const why = now.rollBack === null ? 'waits for its lock or its place' : 'is rolling back'
    refuse('cannot_fire', `the instance ${why}: no token can be moved`)
  }
  const [took, put] = [placesOf(draft, from), placesOf(draft, to)]
  if (took.length + put.length === 0) refuse('invalid_input', 'say which tokens move')
  for (const place of took) {
    if (workflow.places.get(place)?.type !== 'final') continue
    refuse('cannot_fire', `tokens in the final place ${place} stay there`)
  }
  for (const place of took) {
    while (freeIn(now, place) < took.filter((one) => one === place).length) {
      const holder = now.firings.find(({ held }) => held.includes(place))
      if (holder === undefined) refuse('cannot_fire', `${place} has not that many tokens`)
      interrupt(draft, holder)
    }
  }
  takeTokens(draft, took, staysOf(draft, { places: took, interrupts: [] }))
  draft.history.push({ type: 'moved', took, put, actor, comment: reason })
  putTokens(draft, put)
}

function placesOf({ workflow }: Draft, marking: Marking): readonly string[] {
  const places: string[] = []
  for (const [place, tokens] of Object.entries(marking)) {
    if (!workflow.places.has(place)) refuse('unknown_place', `the workflow has no place ${place}`)
    if (!Number.isInteger(tokens) || tokens < 1 || places.length + tokens > MOVED_MAX) {
      refuse('invalid_input', `tokens are counted from 1 to ${MOVED_MAX}`)
    }
    for (let count = 0; count < tokens; count += 1) places.push(place)
  }
  return places
}

export function editByOperator(draft: Draft, { changes, actor, reason }: Input<'edit'>): void {
  try {
    const assigned = computeAssigned(draft, changes)
    if (assigned === null) refuse('invalid_input', 'say what changes')
    draft.history.push({ type: 'edited', ...applyAssigned(draft, assigned), actor, comment: reason })
    learnedEffects(draft, assigned)
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    refuse('invalid_input', error.message)
  }
}

/** Nothing is undone. What is still under way is cancelled, and recorded if it ends anyway. */
export function cancelByOperator(draft: Draft, { actor, reason }: Input<'cancel'>): void {
  const { now } = draft
  const doubtful = now.firings.find(({ state, inDoubt }) => state === 'parked' || inDoubt === true)
  if (doubtful !== undefined) {
    const message = `nobody knows whether ${doubtful.name} took effect: say so first`
    refuse('in_doubt', message)
  }
  for (const firing of now.firings)
    if (firing.state !== 'interrupted') interrupt(draft, firing, { isUndone: false })
  now.rollBack = null
  draft.history.push({ type: 'cancelled', state: 'cancelled', actor, comment: reason })
  endInstance(draft, 'cancelled')
}
