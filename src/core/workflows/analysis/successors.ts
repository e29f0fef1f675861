// The successors of a marking. As at run time: automatic steps are evaluated in the order written; one that needs neither an
// action nor a condition happens immediately, before anything else; one with an action holds its tokens, so that later ones do
// not get them, while events, users and time-outs may interrupt it.

import { areExhaustive, negated } from './conditions.ts'
import { TOKENS_MAX } from './markings.ts'
import type { Net, NetStep, Outcome, RollBackWay } from './net.ts'

/** The label of an arc in the graph of markings. */
export interface Label {
  /** null: a rollback is over. */
  readonly step: NetStep | null
  readonly outcome: Outcome | null
  readonly rollBack: RollBackWay | null
  /** What must hold for it; empty: nothing. */
  readonly conditions: readonly string[]
  /** No action, no user, no time: it happens in the same commit. */
  readonly isImmediate: boolean
}

/** What the search observes for each step, by its index. */
export interface Sightings {
  readonly hasFired: Uint8Array
  /** The first marking in which its tokens were available; -1: none. */
  readonly tokensAt: Int32Array
  /** The step that took its tokens first, where it had them; -1: none. */
  readonly blockedBy: Int32Array
  /** By place: its time-out could fire its transition. */
  readonly canTimeOut: Uint8Array
  /** By place: a token stayed there, rather than being taken immediately. */
  readonly hasStayed: Uint8Array
}

export const END = 1
/** A step happens immediately: this marking is never observable. */
const PASSING = 2
/** Only conditions let it continue. */
export const CONDITIONAL = 4
/** A place got more tokens than can be counted. */
export const OVERFLOW = 8

export interface Successors {
  readonly labels: readonly Label[]
  /** Fills `next` and calls `emit` for each; returns the flags of the marking. `number` < 0: nothing is noted. */
  expand(bytes: Uint8Array, base: number, number: number, emit: (label: number) => void): number
  readonly sightings: Sightings
}

interface Taking {
  readonly step: NetStep
  readonly places: readonly number[]
  readonly counts: readonly number[]
  readonly isImmediate: boolean
  /** Index of the label of its first outcome. */
  readonly label: number
}

const CANNOT = -2
const WITHOUT_ANY = -1

export function makeSuccessors(net: Net, next: Uint8Array): Successors {
  const labels: Label[] = []
  const takings: readonly Taking[] = net.steps.map((step) => {
    const needs = new Map<number, number>()
    for (const place of step.from) needs.set(place, (needs.get(place) ?? 0) + 1)
    const label = labels.length
    const waits = [...step.from, ...step.any].some((place) => net.holds[place] === true)
    const isImmediate = step.kind === 'automatic' && !step.hasAction && !waits
    for (const outcome of step.outcomes) {
      const conditions = [...(step.when === null ? [] : [step.when]), ...outcome.conditions]
      labels.push({ step, outcome, rollBack: null, conditions, isImmediate })
    }
    return { step, places: [...needs.keys()], counts: [...needs.values()], isImmediate, label }
  })
  const rollBackLabel = labels.length
  for (const rollBack of net.rollBacks) {
    labels.push({ step: null, outcome: null, rollBack, conditions: [], isImmediate: false })
  }
  const live = takings.filter(({ step }) => !step.isImpossible)
  const automatic = live.filter(({ step }) => step.kind === 'automatic')
  const outside = live.filter(({ step }) => step.kind !== 'automatic')
  const timeouts = net.document.places.flatMap(({ timeout }, place) => {
    const taking = takings.find(({ step }) => step.kind !== 'enter' && step.name === timeout?.fire)
    return taking === undefined ? [] : [{ place, taking }]
  })

  const sightings: Sightings = {
    hasFired: new Uint8Array(net.steps.length),
    tokensAt: new Int32Array(net.steps.length).fill(-1),
    blockedBy: new Int32Array(net.steps.length).fill(-1),
    canTimeOut: new Uint8Array(net.places.length),
    hasStayed: new Uint8Array(net.places.length),
  }

  /** The place of `any` that it takes from. */
  const canTake = ({ step, places, counts }: Taking, from: Uint8Array, base: number): number => {
    for (let at = 0; at < places.length; at += 1) {
      if ((from[base + (places[at] as number)] as number) < (counts[at] as number)) return CANNOT
    }
    if (step.any.length === 0) return WITHOUT_ANY
    for (const place of step.any) {
      const taken = places.indexOf(place)
      if ((from[base + place] as number) > (taken < 0 ? 0 : (counts[taken] as number))) return place
    }
    return CANNOT
  }

  /** Takes its inputs (-1) or returns them (1). */
  const move = ({ places, counts }: Taking, any: number, tokens: Uint8Array, sign: number): void => {
    for (let at = 0; at < places.length; at += 1) {
      const place = places[at] as number
      tokens[place] = (tokens[place] as number) + sign * (counts[at] as number)
    }
    if (any >= 0) tokens[any] = (tokens[any] as number) + sign
  }

  // Conditions of earlier steps that must fail, for a step that would not get its tokens otherwise.
  const passedLabels = new Map<string, number>()
  const labelPassing = (label: number, passed: readonly Taking[]): number => {
    if (passed.length === 0) return label
    const id = `${label}/${passed.map(({ step }) => step.index).join()}`
    const known = passedLabels.get(id)
    if (known !== undefined) return known
    const made = labels.length
    const of = labels[label] as Label
    // Those that its own condition negates anyway are left out.
    const own = (when: string) => of.conditions.some((one) => areExhaustive([one, when]))
    const failing = passed.flatMap(({ step: { when } }) =>
      when === null || own(when) ? [] : [negated(when)],
    )
    labels.push({ ...of, conditions: [...failing, ...of.conditions] })
    passedLabels.set(id, made)
    return made
  }

  const free = new Uint8Array(next.length)
  const passing: Taking[] = []
  let flags = 0

  const giveUp = (): void => {
    for (let place = 0; place < next.length; place += 1) if (net.isFinal[place] !== true) next[place] = 0
  }

  /** `next` is the marking itself before and after: only differences are written, since most places stay as they are. */
  const fire = (
    taking: Taking,
    any: number,
    bytes: Uint8Array,
    base: number,
    emit: (label: number) => void,
  ): void => {
    const passed =
      passing.length === 0 ? passing : passing.filter((one) => one !== taking && shares(one, taking))
    const { outcomes } = taking.step
    for (let at = 0; at < outcomes.length; at += 1) {
      const { adds, isRollBack } = outcomes[at] as Outcome
      if (isRollBack) giveUp()
      else move(taking, any, next, -1)
      let added = 0
      while (added < adds.length && next[adds[added] as number] !== TOKENS_MAX) {
        next[adds[added] as number] = (next[adds[added] as number] as number) + 1
        added += 1
      }
      if (added < adds.length) flags |= OVERFLOW
      else emit(labelPassing(taking.label + at, passed))
      if (isRollBack) copy(bytes, base, next)
      else {
        for (let back = 0; back < added; back += 1) {
          next[adds[back] as number] = (next[adds[back] as number] as number) - 1
        }
        move(taking, any, next, 1)
      }
    }
  }

  const note = (taking: Taking, number: number, blocker: Taking | null): void => {
    if (number < 0) return
    const { index } = taking.step
    if (sightings.tokensAt[index] === -1) sightings.tokensAt[index] = number
    if (blocker === null) sightings.hasFired[index] = 1
    else if (sightings.blockedBy[index] === -1) sightings.blockedBy[index] = blocker.step.index
  }

  const waiting: { taking: Taking; any: number }[] = []
  const unseen = new Set(net.places.keys())

  return {
    labels,
    sightings,
    expand(bytes, base, number, emit) {
      flags = 0
      for (let at = 0; at < net.rollBacks.length; at += 1) {
        const { place, through, to } = net.rollBacks[at] as RollBackWay
        if (bytes[base + place] === 0) continue
        copy(bytes, base, next)
        next[place] = 0
        next[through] = (next[through] as number) - 1
        if (next[to] === TOKENS_MAX) return OVERFLOW
        next[to] = (next[to] as number) + 1
        emit(rollBackLabel + at)
        return flags
      }
      if (isAtEnd(net, bytes, base)) return END
      copy(bytes, base, next)
      copy(bytes, base, free)
      passing.length = 0
      waiting.length = 0
      let forced: Taking | null = null
      let canGoOn = false
      for (const taking of automatic) {
        const first = taking.places[0]
        if (first !== undefined && next[first] === 0) continue
        if (forced !== null) {
          if (number >= 0 && canTake(taking, bytes, base) !== CANNOT) note(taking, number, forced)
          continue
        }
        const any = canTake(taking, free, 0)
        if (any === CANNOT) {
          if (number >= 0 && canTake(taking, bytes, base) !== CANNOT) {
            note(taking, number, waiting.find((one) => shares(one.taking, taking))?.taking ?? null)
          }
          continue
        }
        if (taking.isImmediate) {
          fire(taking, any, bytes, base, emit)
          note(taking, number, null)
          if (taking.step.when === null) forced = taking
          else passing.push(taking)
          continue
        }
        waiting.push({ taking, any })
        if (taking.step.when !== null) continue
        canGoOn = true
        for (let more = any; more !== CANNOT; more = canTake(taking, free, 0)) {
          move(taking, more, free, -1)
        }
      }
      if (forced !== null) {
        if (number >= 0) {
          for (const taking of outside) {
            if (mayCome(taking.step, bytes, base) && canTake(taking, bytes, base) !== CANNOT) {
              note(taking, number, forced)
            }
          }
        }
        return flags | PASSING
      }
      for (const { taking, any } of waiting) {
        note(taking, number, null)
        fire(taking, any, bytes, base, emit)
      }
      for (const taking of outside) {
        if (!mayCome(taking.step, bytes, base)) continue
        const any = canTake(taking, bytes, base)
        if (any === CANNOT) continue
        if (taking.step.kind === 'outside') canGoOn = true
        note(taking, number, null)
        fire(taking, any, bytes, base, emit)
      }
      if (number >= 0) {
        for (const place of unseen) {
          if (next[place] === 0) continue
          sightings.hasStayed[place] = 1
          unseen.delete(place)
        }
        for (const { place, taking } of timeouts) {
          if (bytes[base + place] !== 0 && canTake(taking, bytes, base) !== CANNOT) {
            sightings.canTimeOut[place] = 1
          }
        }
      }
      if (!canGoOn && waiting.length + passing.length > 0) flags |= CONDITIONAL
      return flags
    },
  }
}

function isAtEnd(net: Net, bytes: Uint8Array, base: number): boolean {
  let isMarked = false
  for (let place = 0; place < net.size; place += 1) {
    if (bytes[base + place] === 0) continue
    if (net.isEnd[place] !== true) return false
    isMarked = true
  }
  return isMarked
}

function copy(bytes: Uint8Array, base: number, to: Uint8Array): void {
  for (let byte = 0; byte < to.length; byte += 1) to[byte] = bytes[base + byte] as number
}

function mayCome({ timers }: NetStep, bytes: Uint8Array, base: number): boolean {
  return timers === null || timers.some((place) => bytes[base + place] !== 0)
}

function shares(one: Taking, other: Taking): boolean {
  const places = [...other.step.from, ...other.step.any]
  return (
    one.step.from.some((place) => places.includes(place)) ||
    one.step.any.some((place) => places.includes(place))
  )
}
