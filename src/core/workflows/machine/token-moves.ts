// Tokens: how many are free, which ones a transition would take, taking them and putting them.
//
// Invariants: WF1 a firing takes and puts exactly the tokens in its entry of the history. WF2 no token is taken out of a final
// place. WF4 a token that a firing holds stays in the marking until the firing ends.

import type { Firing, Instance, Stay } from '../instance/index.ts'
import { announce, type Draft } from './instance-draft.ts'
import type { Transition, Workflow } from './machine-types.ts'
import { partName, stepName } from './workflow-names.ts'

export function tokensIn(marking: Instance['marking'], place: string): number {
  return Object.hasOwn(marking, place) ? (marking[place] as number) : 0
}

export function freeIn({ marking, firings }: Pick<Instance, 'marking' | 'firings'>, place: string): number {
  let free = tokensIn(marking, place)
  for (const { held } of firings) {
    for (const one of held) if (one === place) free -= 1
  }
  return free
}

/** What a transition would take, and the firings that would thereby lose their tokens. */
export interface Inputs {
  readonly places: readonly string[]
  readonly interrupts: readonly Firing[]
  /** The stay whose token it takes, where it must be that one. */
  readonly stay?: Stay
}

type Marked = Pick<Instance, 'marking' | 'firings'>

function isFinal(workflow: Workflow, place: string): boolean {
  return workflow.places.get(place)?.type === 'final'
}

/** Free tokens only; null: not enough of them. */
export function findFree(
  workflow: Workflow,
  now: Marked,
  { document }: Transition,
): readonly string[] | null {
  const { from, fromAny } = document
  const [only] = from
  if (from.length === 1 && fromAny === undefined && only !== undefined) {
    return tokensIn(now.marking, only) > 0 && freeIn(now, only) > 0 && !isFinal(workflow, only) ? from : null
  }
  return findInputs(workflow, now, document, false, null)?.places ?? null
}

/**
 * For inputs that may interrupt. `stay`: that exact token is among them; null also where the transition does not take from its
 * place.
 */
export function findHeld(
  workflow: Workflow,
  now: Marked,
  { document }: Transition,
  stay: Stay | null,
): Inputs | null {
  return findInputs(workflow, now, document, true, stay)
}

function findInputs(
  workflow: Workflow,
  now: Marked,
  { from, fromAny }: Pick<Transition['document'], 'from' | 'fromAny'>,
  mayInterrupt: boolean,
  stay: Stay | null,
): Inputs | null {
  const places: string[] = []
  const interrupts: Firing[] = []
  const left = (place: string): number => {
    if (isFinal(workflow, place)) return 0
    let count = freeIn(now, place)
    for (const { held } of interrupts) for (const one of held) if (one === place) count += 1
    for (const taken of places) if (taken === place) count -= 1
    return count
  }
  const holder = (place: string): Firing | undefined =>
    mayInterrupt && !isFinal(workflow, place)
      ? now.firings.find((firing) => firing.held.includes(place) && !interrupts.includes(firing))
      : undefined
  const take = (place: string): boolean => {
    if (left(place) <= 0) {
      const firing = holder(place)
      if (firing === undefined) return false
      interrupts.push(firing)
    }
    places.push(place)
    return true
  }
  if (stay !== null) {
    const firing = now.firings.find(({ stays }) => stays.includes(stay.number))
    if (firing !== undefined) interrupts.push(firing)
  }
  for (const place of from) if (!take(place)) return null
  const found: Inputs = { places, interrupts, ...(stay === null ? {} : { stay }) }
  if (fromAny === undefined) return stay === null || places.includes(stay.place) ? found : null
  const wanted =
    stay !== null && !from.includes(stay.place) ? fromAny.filter((one) => one === stay.place) : fromAny
  const place = wanted.find((one) => left(one) > 0) ?? wanted.find((one) => holder(one) !== undefined)
  return place !== undefined && take(place) ? found : null
}

/** The stays of tokens that a firing is about to hold: of each place the oldest that is free. */
export function staysOf({ now }: Draft, { places, stay: wanted }: Inputs): readonly number[] {
  if (now.stays.length === 0) return []
  const taken: number[] = []
  for (const place of places) {
    if (wanted !== undefined && wanted.place === place && !taken.includes(wanted.number)) {
      taken.push(wanted.number)
      continue
    }
    const stay = now.stays.find(
      (one) =>
        one.place === place &&
        !taken.includes(one.number) &&
        !now.firings.some(({ stays }) => stays.includes(one.number)),
    )
    if (stay !== undefined) taken.push(stay.number)
  }
  return taken
}

export function dropStays(draft: Draft, numbers: readonly number[]): void {
  if (numbers.length === 0) return
  for (const { number, timer } of draft.now.stays) {
    if (numbers.includes(number)) draft.effects.push({ type: 'drop', work: timer })
  }
  forgetStays(draft, numbers)
}

export function forgetStays(draft: Draft, numbers: readonly number[]): void {
  draft.now.stays = draft.now.stays.filter(({ number }) => !numbers.includes(number))
}

export function takeTokens(draft: Draft, places: readonly string[], stays: readonly number[]): void {
  for (const place of places) addTokens(draft, place, -1)
  dropStays(draft, stays)
}

export function addTokens({ now: { marking } }: Draft, place: string, count: number): void {
  const tokens = tokensIn(marking, place) + count
  if (tokens <= 0) delete marking[place]
  else if (Object.hasOwn(marking, place)) marking[place] = tokens
  else
    Object.defineProperty(marking, place, {
      value: tokens,
      enumerable: true,
      configurable: true,
      writable: true,
    })
}

/** After the entry of the history that says where they went. */
export function putTokens(draft: Draft, places: readonly string[]): void {
  for (const place of places) {
    addTokens(draft, place, 1)
    announce(draft, `entered.${place}`, { place })
    enterPlace(draft, place)
  }
}

/** What begins with a token's stay: its timer, and the entry action of the place. */
export function enterPlace(draft: Draft, place: string): void {
  const document = draft.workflow.places.get(place)
  if (document === undefined || (document.timeout === undefined && document.onEnter === undefined)) return
  const stays = document.timeout === undefined ? [] : [beginStay(draft, place, document.timeout.afterMs)]
  if (document.onEnter === undefined) return
  const number = draft.next.firing++
  const firing: Firing = {
    number,
    type: 'enter',
    name: place,
    held: [place],
    stays,
    state: 'running',
    beganAt: draft.env.now,
  }
  draft.now.firings = [...draft.now.firings, firing]
  draft.history.push({ type: 'began', name: place, part: 'enter', firing: number })
  addStep(draft, stepName('enter', number, place), partName('enter', place))
}

export function beginStay(draft: Draft, place: string, afterMs: number): number {
  const number = draft.next.stay++
  const timer = draft.env.newWork()
  draft.now.stays = [...draft.now.stays, { number, place, timer }]
  const step = stepName('stay', number, place)
  draft.effects.push({
    type: 'work',
    id: timer,
    kind: 'timer',
    step,
    part: null,
    delayMs: afterMs,
    lane: null,
  })
  return number
}

export function addStep(draft: Draft, step: string, part: string): void {
  const id = draft.env.newWork()
  draft.effects.push({ type: 'work', id, kind: 'step', step, part, delayMs: 0, lane: null })
}
