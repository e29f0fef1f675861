// A workflow document as a net of numbers, for the search: what each step takes, what it gives, and when it may fire. A firing
// is one step here, begin and end together. Decisions of actions, users and the clock are choices of the net. So is a `when`,
// but its condition is remembered.

import type {
  OnFailureDocument,
  PlaceDocument,
  TransitionDocument,
  WorkflowDocument,
} from '../../definitions/documents/index.ts'
import { conditionText, negated } from './conditions.ts'

/** One possible result of a step. */
export interface Outcome {
  readonly way: 'done' | 'failed'
  /** Places that get a token, one for each time they are listed. */
  readonly adds: readonly number[]
  /** Drops every other token too, except those in final places. */
  readonly isRollBack: boolean
  /** Of the branch of `choose`; empty: it needs none. */
  readonly conditions: readonly string[]
}

export interface NetStep {
  readonly index: number
  /** Of the transition, or of the place whose `onEnter` this is. */
  readonly name: string
  readonly kind: 'automatic' | 'outside' | 'enter'
  readonly from: readonly number[]
  /** One of these in addition, the first that has a token. */
  readonly any: readonly number[]
  readonly hasAction: boolean
  /** As written; null: always. */
  readonly when: string | null
  readonly outcomes: readonly Outcome[]
  /** Only the time-outs of these places fire it; null: others may too. */
  readonly timers: readonly number[] | null
  /** It takes from a final place, or nothing fires it. */
  readonly isImpossible: boolean
}

/** Where a rollback goes when it is over; while it lasts its place has a token and nothing else fires. */
export interface RollBackWay {
  readonly place: number
  readonly through: number
  readonly to: number
}

export interface Net {
  readonly document: WorkflowDocument
  readonly places: readonly string[]
  /** With a hidden place per rollback path after those of the document. */
  readonly size: number
  readonly start: number
  readonly isEnd: readonly boolean[]
  /** A token stays there, whatever happens. */
  readonly isFinal: readonly boolean[]
  /** A token that enters is held until its `onEnter` is done. */
  readonly holds: readonly boolean[]
  /** Automatic ones first, in the order of evaluation. */
  readonly steps: readonly NetStep[]
  readonly automatic: readonly NetStep[]
  readonly outside: readonly NetStep[]
  readonly enters: readonly NetStep[]
  readonly rollBacks: readonly RollBackWay[]
  readonly hasConditions: boolean
  /** Data may change from outside while nothing fires, and a condition may then hold. */
  readonly hasUpdates: boolean
}

/** Names that the document does not define are left out; `check` refuses them elsewhere. */
export function makeNet(document: WorkflowDocument): Net {
  const places = document.places.map(({ name }) => name)
  const indexOf = new Map(places.map((name, index) => [name, index]))
  const known = (names: readonly string[]) => names.flatMap((name) => indexOf.get(name) ?? [])
  const rollBacks: RollBackWay[] = []
  const failureOf = (way: OnFailureDocument | undefined): readonly Outcome[] => {
    const to = way === undefined ? undefined : indexOf.get(way.to)
    if (way === undefined || to === undefined) return []
    const through = way.undo === undefined ? undefined : indexOf.get(way.through ?? '')
    const base = { way: 'failed' as const, isRollBack: way.undo !== undefined, conditions: [] }
    if (through === undefined) return [{ ...base, adds: [to] }]
    let rollBack = rollBacks.find((one) => one.through === through && one.to === to)
    if (rollBack === undefined) {
      rollBack = { place: places.length + rollBacks.length, through, to }
      rollBacks.push(rollBack)
    }
    return [{ ...base, adds: [through, rollBack.place] }]
  }

  const draft: Omit<NetStep, 'index'>[] = document.transitions.map((transition) => {
    const { fire, timers } = modeOf(document, transition)
    const isFinal = (name: string) => placeOf(document, name)?.type === 'final'
    const any = (transition.fromAny ?? []).filter((name) => !isFinal(name))
    const hasNoInput = transition.from.length === 0 && (transition.fromAny ?? []).length === 0
    return {
      name: transition.name,
      kind: fire === 'auto' ? 'automatic' : 'outside',
      from: known(transition.from),
      any: known(any),
      hasAction: transition.do !== undefined,
      when: conditionText(transition.when),
      outcomes: [
        ...doneOf(transition, known),
        ...(transition.do === undefined ? [] : failureOf(failureWay(document, transition))),
      ],
      timers: timers === null ? null : known(timers),
      isImpossible:
        hasNoInput ||
        transition.from.some(isFinal) ||
        (transition.fromAny !== undefined && any.length === 0) ||
        timers?.length === 0,
    }
  })
  const entering = document.places.flatMap(({ name, type, onEnter }, place): Omit<NetStep, 'index'>[] => {
    // The entry action of a final place may fail; its token stays there anyway.
    const outcomes = (onEnter === undefined ? [] : failureOf(document.onFailure)).filter(
      ({ isRollBack }) => isRollBack || type !== 'final',
    )
    if (outcomes.length === 0) return []
    const from = [place]
    const shared = { any: [], hasAction: true, when: null, timers: null, isImpossible: false }
    return [{ ...shared, name, kind: 'enter', from, outcomes }]
  })
  const of = (kind: NetStep['kind']) => [...draft, ...entering].filter((step) => step.kind === kind)
  const steps = [...of('automatic'), ...of('outside'), ...of('enter')].map((step, index) => ({
    ...step,
    index,
  }))
  return {
    document,
    places,
    size: places.length + rollBacks.length,
    start: indexOf.get(document.start) ?? -1,
    isEnd: document.places.map((place) => isEndPlace(document, place)),
    isFinal: document.places.map(({ type }) => type === 'final'),
    holds: document.places.map(({ onEnter }) => onEnter !== undefined),
    steps,
    automatic: steps.filter(({ kind }) => kind === 'automatic'),
    outside: steps.filter(({ kind }) => kind === 'outside'),
    enters: steps.filter(({ kind }) => kind === 'enter'),
    rollBacks,
    hasConditions: steps.some(
      ({ when, outcomes }) => when !== null || outcomes.some(({ conditions }) => conditions.length > 0),
    ),
    hasUpdates: document.triggers.some(
      ({ action, map }) => action !== 'create' && Object.keys(map).length > 0,
    ),
  }
}

export function placeOf({ places }: WorkflowDocument, name: string): PlaceDocument | undefined {
  return places.find((place) => place.name === name)
}

/** Final, or an error place that nothing leaves. */
export function isEndPlace({ transitions }: WorkflowDocument, { name, type }: PlaceDocument): boolean {
  if (type === 'final') return true
  return (
    type === 'error' &&
    !transitions.some(({ from, fromAny = [] }) => from.includes(name) || fromAny.includes(name))
  )
}

/** What happens to an instance whose action in this transition failed for good; undefined: it waits for an operator. */
export function failureWay(
  document: WorkflowDocument,
  { onFailure = document.onFailure }: TransitionDocument,
): OnFailureDocument | undefined {
  return onFailure === 'none' ? undefined : onFailure
}

/**
 * A transition that a `fire` names is never automatic. `timers` are the places whose time-out fires it where nothing else does.
 * One that waits for an event is fired by the caller that brings it, also through the API.
 */
export function modeOf(
  { places, triggers }: WorkflowDocument,
  { name, on }: TransitionDocument,
): { readonly fire: 'auto' | 'outside'; readonly timers: readonly string[] | null } {
  const timers = places.flatMap((place) => (place.timeout?.fire === name ? [place.name] : []))
  const isTriggered = triggers.some(({ fire }) => fire === name)
  if (on === 'auto' && timers.length === 0 && !isTriggered) return { fire: 'auto', timers: null }
  const hasOtherWay = on === 'manual' || on === 'event' || isTriggered
  return { fire: 'outside', timers: hasOtherWay ? null : timers }
}

function doneOf(
  { to, choose }: TransitionDocument,
  known: (names: readonly string[]) => readonly number[],
): readonly Outcome[] {
  const shared = { way: 'done' as const, isRollBack: false }
  if (choose === undefined || choose.length === 0) return [{ ...shared, adds: known(to), conditions: [] }]
  const isChoice = choose.length > 1 || choose[0]?.when !== null
  const earlier: string[] = []
  return choose.map((branch) => {
    const text = conditionText(branch.when)
    const conditions = text === null ? earlier.map(negated) : [text]
    if (text !== null) earlier.push(text)
    return { ...shared, adds: known(branch.to), conditions: isChoice ? conditions : [] }
  })
}
