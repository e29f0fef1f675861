// One firing: begun, ended, interrupted. Without an action it begins and ends at once.

import { ExpressionError } from '../../expression/index.ts'
import type { WorkId } from '../../foundation/ids/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { DoneStep, Firing } from '../instance/index.ts'
import { applyAssigned, computeAssigned, learnedEffects } from './assign.ts'
import { announce, type Draft, entryOf, keepsValues, removeFiring, replaceFiring } from './instance-draft.ts'
import { refuse } from './machine-refusal.ts'
import type { Transition } from './machine-types.ts'
import { encodedSize } from './nested-data.ts'
import { addStep, forgetStays, type Inputs, putTokens, staysOf, takeTokens } from './token-moves.ts'
import { partName, stepName } from './workflow-names.ts'
import { stepScope, withResult } from './workflow-scope.ts'

/** Who fired it, and with which input. */
export interface By {
  readonly actor?: string
  readonly input?: JsonValue
  readonly comment?: string
}

const NO_ACTOR: By = {}
/** For a stored result, in characters of JSON. */
const RESULT_SIZE_MAX = 16 * 1_024
const DONE_MAX = 1_000

/** Throws ExpressionError and Refusal, with nothing changed. */
export function fireTransition(
  draft: Draft,
  transition: Transition,
  inputs: Inputs,
  by: By = NO_ACTOR,
): void {
  const { name } = transition.document
  if (transition.hasAction) {
    for (const firing of inputs.interrupts) interrupt(draft, firing)
    begin(draft, transition, inputs, by)
    return
  }
  const scope = by === NO_ACTOR ? draft.scope : { ...draft.scope, actor: by.actor, input: by.input ?? null }
  const targets = targetsOf(transition, scope)
  const assigned = computeAssigned(draft, transition.out(scope))
  for (const firing of inputs.interrupts) interrupt(draft, firing)
  takeTokens(draft, inputs.places, staysOf(draft, inputs))
  const number = transition.canUndo ? draft.next.firing++ : null
  draft.history.push({
    type: 'fired',
    name,
    ...(number === null ? {} : { firing: number }),
    took: inputs.places,
    put: targets,
    ...applyAssigned(draft, assigned),
    ...shownBy(draft, by),
  })
  learnedEffects(draft, assigned)
  if (number !== null) keepDone(draft, { number, type: 'fire', name, key: null, result: null })
  announce(draft, `fired.${name}`, { transition: name })
  putTokens(draft, targets)
}

function targetsOf(transition: Transition, scope: Draft['scope']): readonly string[] {
  const targets = transition.targets(scope)
  return targets ?? refuse('mapping', `no branch of \`choose\` of ${transition.document.name} holds`)
}

function begin(draft: Draft, { document: { name } }: Transition, inputs: Inputs, by: By): void {
  const number = draft.next.firing++
  const { actor, input } = by
  const firing: Firing = {
    number,
    type: 'fire',
    name,
    held: inputs.places,
    stays: staysOf(draft, inputs),
    state: 'running',
    beganAt: draft.env.now,
    ...(actor === undefined ? {} : { actor }),
    ...(input === undefined ? {} : { input }),
  }
  const key = ownKey(draft, firing)
  draft.now.firings = [...draft.now.firings, key === null ? firing : { ...firing, key }]
  draft.history.push({ type: 'began', name, firing: number, ...shownBy(draft, by) })
  addStep(draft, stepName('fire', number, name), partName('fire', name))
}

/** null: it has no formula of its own, or the formula gives nothing now; then it is evaluated again when its action runs. */
function ownKey({ workflow, now, env }: Draft, firing: Firing): string | null {
  const { name } = firing
  if (workflow.transitions.get(name)?.document.key == null) return null
  try {
    const scope = stepScope(workflow, now, firing, env.scope)
    return workflow.parts.get(partName('fire', name))?.keyOf(scope) ?? null
  } catch (error) {
    if (error instanceof ExpressionError) return null
    throw error
  }
}

function shownBy(draft: Draft, by: By): By {
  if (by === NO_ACTOR || by.input === undefined || (keepsValues(draft) && isShort(by.input))) return by
  const { input, ...rest } = by
  return rest
}

function isShort(value: JsonValue): boolean {
  return encodedSize(value, RESULT_SIZE_MAX) <= RESULT_SIZE_MAX
}

interface Ending {
  readonly result: JsonValue
  readonly key: string | null
  readonly work?: WorkId
  readonly others?: true
}

/** Its action succeeded. Throws ExpressionError and Refusal, with nothing changed. */
export function endFiring(draft: Draft, firing: Firing, { result, key, work, others }: Ending): void {
  const { number, type, name, held, stays, actor, input, child } = firing
  const short = shortOf(result)
  const ending = {
    ...entryOf(firing),
    ...(work === undefined ? {} : { workId: work }),
    ...(child === undefined ? {} : { child }),
    ...(short !== null && keepsValues(draft) ? { result: short } : {}),
  }
  if (type === 'undo') {
    removeFiring(draft, number)
    markUndone(draft, firing)
    draft.history.push({ type: 'undone', ...ending })
    return
  }
  if (firing.state === 'interrupted') {
    removeFiring(draft, number)
    draft.history.push({ type: 'late', ...ending })
    if (others === undefined) endLate(draft, firing, { key, result: short })
    return
  }
  if (type === 'enter') {
    removeFiring(draft, number)
    draft.history.push({ type: 'ended', ...ending })
    keepDone(draft, { number, type, name, key, result: short })
    return
  }
  const transition = draft.workflow.transitions.get(name)
  if (transition === undefined) refuse('unknown_transition', `the workflow has no transition ${name}`)
  const by = { ...(actor === undefined ? {} : { actor }), ...(input === undefined ? {} : { input }) }
  const scope = withResult({ ...draft.scope, ...by }, result, key)
  const targets = targetsOf(transition, scope)
  const assigned = computeAssigned(draft, transition.out(scope))
  removeFiring(draft, number)
  takeTokens(draft, held, stays)
  draft.history.push({
    type: 'ended',
    ...ending,
    took: held,
    put: targets,
    ...applyAssigned(draft, assigned),
  })
  learnedEffects(draft, assigned)
  keepDone(draft, { number, type, name, key, result: short, ...(others === undefined ? {} : { others }) })
  announce(draft, `fired.${name}`, { transition: name })
  putTokens(draft, targets)
}

/** What it did is stored although its result could not be applied, so that a rollback finds it. */
export function keepDid(draft: Draft, { number, type, name }: Firing, did: NonNullable<Firing['did']>): void {
  const canUndo = type === 'fire' && draft.workflow.transitions.get(name)?.canUndo === true
  draft.history.push({ type: 'late', name, firing: number })
  if (canUndo) keepDone(draft, { number, type: 'fire', name, key: did.key, result: shortOf(did.result) })
}

export function shortOf(result: JsonValue): JsonValue {
  return isShort(result) ? result : null
}

/** It ends without having moved a token; what it did before is undone. */
export function giveUp(draft: Draft, firing: Firing): void {
  removeFiring(draft, firing.number)
  if (firing.did === undefined) return
  draft.history.push({ type: 'late', ...entryOf(firing) })
  const { key, result } = firing.did
  endLate(draft, firing, { key, result: shortOf(result) })
}

/** It did something after its tokens were gone: that is undone where possible. */
function endLate(
  draft: Draft,
  { number, type, name }: Firing,
  { key, result }: NonNullable<Firing['did']>,
): void {
  const canUndo = type === 'fire' && draft.workflow.transitions.get(name)?.canUndo === true
  if (!canUndo || draft.now.state !== 'active') return
  const step = keepDone(draft, { number, type: 'fire', name, key, result })
  const { rollBack } = draft.now
  if (rollBack === null) beginUndo(draft, step)
  else draft.now.rollBack = { ...rollBack, left: [number, ...rollBack.left] }
}

export function beginUndo(draft: Draft, { number: of, name }: Pick<DoneStep, 'number' | 'name'>): void {
  const number = draft.next.firing++
  const { now } = draft.env
  const firing: Firing = {
    number,
    type: 'undo',
    name,
    held: [],
    stays: [],
    state: 'running',
    beganAt: now,
    of,
  }
  draft.now.firings = [...draft.now.firings, firing]
  draft.history.push({ type: 'began', name, part: 'undo', firing: number })
  addStep(draft, stepName('undo', number, name), partName('undo', name))
}

function markUndone(draft: Draft, { of }: Firing): void {
  const { now } = draft
  now.done = now.done.map((step) => (step.number === of ? { ...step, undone: true } : step))
  if (now.rollBack === null) return
  now.rollBack = { ...now.rollBack, left: now.rollBack.left.filter((number) => number !== of) }
}

/**
 * Of steps that will not be undone the last of each name is enough: it is what `steps` shows, and the history has the others.
 */
function keepDone(draft: Draft, step: Omit<DoneStep, 'endedAt' | 'undone'>): DoneStep {
  const added: DoneStep = { ...step, endedAt: draft.env.now, undone: false }
  const { workflow, now } = draft
  const isNeeded = ({ type, name, undone, others }: DoneStep) =>
    type === 'fire' && !undone && others === undefined && workflow.transitions.get(name)?.canUndo === true
  let done = now.done.filter((one) => one.name !== added.name || one.type !== added.type || isNeeded(one))
  if (done.length >= DONE_MAX) {
    const drop = Math.max(
      0,
      done.findIndex((one) => !isNeeded(one)),
    )
    done = done.filter((_, index) => index !== drop)
  }
  now.done = [...done, added]
  return added
}

/** Its tokens are free again; whatever it still does arrives late. */
export function interrupt(draft: Draft, firing: Firing, { isUndone = true } = {}) {
  const { number, state } = firing
  draft.history.push({ type: 'interrupted', ...entryOf(firing) })
  draft.effects.push({ type: 'callOff', firing: number })
  // A dead job has nothing under way.
  if (state === 'failed') return isUndone ? giveUp(draft, firing) : removeFiring(draft, number)
  const isInDoubt = state === 'parked' || firing.inDoubt === true
  replaceFiring(draft, number, (one) => ({
    ...one,
    held: [],
    stays: [],
    state: 'interrupted',
    ...(isInDoubt ? { inDoubt: true as const } : {}),
  }))
}

/** The timer of a stay is used up, whichever firing holds its token. */
export function spendStay(draft: Draft, stay: number): void {
  const { now } = draft
  forgetStays(draft, [stay])
  if (!now.firings.some(({ stays }) => stays.includes(stay))) return
  now.firings = now.firings.map((one) => ({ ...one, stays: one.stays.filter((number) => number !== stay) }))
}
