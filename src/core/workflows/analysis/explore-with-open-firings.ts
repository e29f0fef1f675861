// The search with open firings. The plain search treats a firing as one step; while an action runs, though, it holds its
// tokens, and other inputs arrive: what they may take then, and which may interrupt, follows the machine of
// src/core/workflows/machine. Used only where it makes a difference, since there are more states than markings.

import { areExhaustive, negated } from './conditions.ts'
import type { TraceStep } from './marking-paths.ts'
import { makeMarkings, makeNumbers, TOKENS_MAX } from './markings.ts'
import type { Net, NetStep, Outcome } from './net.ts'

/** A state in which nothing can happen, or from which no end can be reached. */
export interface HeldStop {
  readonly way: 'still' | 'trapped'
  readonly trace: readonly TraceStep[]
}

export interface HeldSearch {
  readonly isComplete: boolean
  /** Every marking with nothing under way, in the format of `markingText`. */
  readonly atRest: ReadonlySet<string>
  readonly stops: readonly HeldStop[]
  /** By place and by step: 1 where it has had a token, has fired, was fired by its time-out, kept a token. */
  readonly marked: Uint8Array
  readonly fired: Uint8Array
  readonly timedOut: Uint8Array
  readonly stayed: Uint8Array
}

/** A holder of tokens: the action of a step that took these, or the entry action of a place. */
interface Holder {
  readonly at: number
  readonly held: readonly number[]
  readonly step: NetStep | null
  readonly isEnter: boolean
}

interface Happening {
  readonly fire: string | null
  readonly way: TraceStep['way'] | null
  readonly conditions: readonly string[]
}

const STOPS_MAX = 3
/** Of all states together, by their width: some seconds at worst. */
const LOOKS_MAX = 8_000_000
const ENDED = 1
const STILL = 2

/**
 * False: nothing competes for the tokens that an action or an entry action holds, so it makes no difference when a firing
 * began.
 */
export function needsHolding({ steps, holds, document, places }: Net): boolean {
  const takers = new Map<number, Set<NetStep>>()
  for (const step of steps) {
    if (step.kind === 'enter') continue
    for (const place of [...step.from, ...step.any]) {
      takers.set(place, (takers.get(place) ?? new Set()).add(step))
    }
  }
  const isAlone = (place: number) => (takers.get(place)?.size ?? 0) < 2
  const isVain = document.places.some(({ timeout }, place) => {
    const step = steps.find((one) => one.kind !== 'enter' && one.name === timeout?.fire)
    return step !== undefined && isUncertain(step, place)
  })
  if (isVain) return true
  return (
    steps.some((step) => {
      const inputs = [...step.from, ...step.any]
      const isHeld = step.hasAction || inputs.some((place) => holds[place] === true)
      if (step.kind === 'enter' || !isHeld) return false
      return step.any.length > 0 || !inputs.every(isAlone) || new Set(inputs).size < inputs.length
    }) && places.length > 0
  )
}

/** Its time-out fires once; without effect where other tokens are missing or its condition does not hold. */
function isUncertain({ from, when }: NetStep, place: number): boolean {
  return when !== null || from.some((one) => one !== place) || from.length > 1
}

export function markingText(marking: Readonly<Record<string, number>>): string {
  return Object.keys(marking)
    .sort()
    .map((place) => `${place}=${marking[place]}`)
    .join()
}

export function searchHeld(net: Net, statesMax: number): HeldSearch {
  const size = net.places.length
  const holders: Holder[] = []
  const addHolder = (held: readonly number[], step: NetStep | null, isEnter: boolean): Holder => {
    const holder = { at: size + holders.length, held, step, isEnter }
    holders.push(holder)
    return holder
  }
  const running = new Map<NetStep, readonly Holder[]>()
  for (const step of net.steps) {
    if (step.kind === 'enter' || !step.hasAction || step.isImpossible) continue
    const options = step.any.length === 0 ? [step.from] : step.any.map((any) => [...step.from, any])
    running.set(
      step,
      options.map((held) => addHolder(held, step, false)),
    )
  }
  const entering = net.holds.map((isHeld, place) =>
    isHeld ? addHolder([place], net.enters.find((one) => one.from.includes(place)) ?? null, true) : null,
  )
  const holdersOf = net.places.map((_, place) => holders.filter(({ held }) => held.includes(place)))
  const rollBackAt = size + holders.length
  const timeouts = net.document.places.flatMap(({ timeout }, place) => {
    const step = net.steps.find((one) => one.kind !== 'enter' && one.name === timeout?.fire)
    return step === undefined || step.isImpossible ? [] : [{ place, step }]
  })
  const uncertain = timeouts.filter(({ place, step }) => isUncertain(step, place))
  const spentAt = new Map(uncertain.map(({ place }, at) => [place, rollBackAt + net.rollBacks.length + at]))
  const width = rollBackAt + net.rollBacks.length + uncertain.length

  const countMax = Math.min(statesMax, Math.floor(LOOKS_MAX / width))
  const markings = makeMarkings(width)
  const { next, stride } = markings
  const [parents, labels] = [makeNumbers(), makeNumbers()]
  const [starts, targets, flags] = [makeNumbers(), makeNumbers(), makeNumbers()]
  const happenings: Happening[] = []
  const known = new Map<string, number>()
  const labelOf = (happening: Happening): number => {
    const id = `${happening.fire}\n${happening.way}\n${happening.conditions.join('\n')}`
    const found = known.get(id)
    if (found !== undefined) return found
    known.set(id, happenings.push(happening) - 1)
    return happenings.length - 1
  }
  const marked = new Uint8Array(size)
  const fired = new Uint8Array(net.steps.length)
  const timedOut = new Uint8Array(size)
  const stayed = new Uint8Array(size)
  const atRest = new Set<string>()
  let isOverflown = false
  let looked = 0

  const tokensAt = (tokens: Uint8Array, place: number): number => {
    let total = tokens[place] as number
    for (const { at, held } of holdersOf[place] as readonly Holder[]) {
      if (tokens[at] === 0) continue
      for (const one of held) if (one === place) total += tokens[at] as number
    }
    return total
  }
  const change = (tokens: Uint8Array, at: number, by: number): void => {
    const value = (tokens[at] as number) + by
    if (value > TOKENS_MAX) isOverflown = true
    else tokens[at] = value
  }
  const put = (tokens: Uint8Array, places: readonly number[]): void => {
    for (const place of places) {
      if (place >= size) change(tokens, rollBackAt + place - size, 1)
      else change(tokens, entering[place]?.at ?? place, 1)
    }
  }
  const release = (tokens: Uint8Array, { at, held }: Holder): void => {
    change(tokens, at, -1)
    for (const place of held) change(tokens, place, 1)
  }
  const isSome = (tokens: Uint8Array, from: readonly number[]): boolean =>
    from.every((place) => {
      let wanted = 0
      for (const one of from) if (one === place) wanted += 1
      return (tokens[place] as number) >= wanted
    })
  /** What an automatic step takes: free tokens only. */
  const freeInputs = ({ from, any }: NetStep, tokens: Uint8Array): readonly number[] | null => {
    if (any.length === 0) return isSome(tokens, from) ? from : null
    for (const one of any) if (isSome(tokens, [...from, one])) return [...from, one]
    return null
  }
  const automatic = net.automatic.filter(({ isImpossible }) => !isImpossible)
  const begin = (tokens: Uint8Array, step: NetStep, inputs: readonly number[]): void => {
    for (const place of inputs) change(tokens, place, -1)
    const own = running.get(step) ?? []
    const holder = step.any.length === 0 ? own[0] : own[step.any.indexOf(inputs.at(-1) as number)]
    if (holder !== undefined) change(tokens, holder.at, 1)
  }
  /** Steps that begin automatically. */
  const settle = (tokens: Uint8Array): void => {
    for (let isDone = false; !isDone; ) {
      isDone = true
      for (const step of automatic) {
        const inputs = freeInputs(step, tokens)
        if (inputs === null) continue
        if (!step.hasAction || step.when !== null) return
        begin(tokens, step, inputs)
        fired[step.index] = 1
        isDone = isOverflown
        break
      }
    }
  }
  const emit = (tokens: Uint8Array, happening: Happening): void => {
    if (!tokens.subarray(rollBackAt, rollBackAt + net.rollBacks.length).some((count) => count > 0)) {
      settle(tokens)
    }
    for (const [place, at] of spentAt) {
      const total = tokensAt(tokens, place)
      if ((tokens[at] as number) > total) tokens[at] = total
    }
    next.set(tokens)
    const before = markings.count()
    const target = markings.intern()
    targets.push(target)
    if (target !== before) return
    parents.push(looked)
    labels.push(labelOf(happening))
  }
  const outcome = (
    from: Uint8Array,
    { name, kind }: NetStep,
    { way, adds, isRollBack, conditions }: Outcome,
    needed: readonly string[],
  ): void => {
    const tokens = from.slice()
    if (isRollBack) giveUp(tokens)
    if (isRollBack && adds.length === 2) {
      // Neither its timer nor its entry action begins there.
      change(tokens, adds[0] as number, 1)
      change(tokens, rollBackAt + (adds[1] as number) - size, 1)
    } else put(tokens, adds)
    const shown = kind === 'enter' ? 'enterFailed' : way
    emit(tokens, { fire: name, way: shown, conditions: [...needed, ...conditions] })
  }
  const giveUp = (tokens: Uint8Array): void => {
    for (const holder of holders) while (tokens[holder.at] !== 0) release(tokens, holder)
    for (let place = 0; place < size; place += 1) if (net.isFinal[place] !== true) tokens[place] = 0
  }

  /** For an external input: free tokens first, else those of a holder. Each choice is tried. */
  const take = (
    tokens: Uint8Array,
    rest: readonly number[],
    any: readonly number[],
    taken: readonly number[],
    done: (tokens: Uint8Array, inputs: readonly number[]) => void,
  ): void => {
    const [place] = rest
    if (place === undefined) {
      if (any.length === 0) {
        done(tokens, taken)
        return
      }
      const free = any.find((one) => tokens[one] !== 0)
      const holding = any.find((one) =>
        (holdersOf[one] as readonly Holder[]).some(({ at }) => tokens[at] !== 0),
      )
      const chosen = free ?? holding
      if (chosen !== undefined) take(tokens, [chosen], [], taken, done)
      return
    }
    if (tokens[place] !== 0) {
      const after = tokens.slice()
      change(after, place, -1)
      take(after, rest.slice(1), any, [...taken, place], done)
      return
    }
    for (const holder of holdersOf[place] as readonly Holder[]) {
      if (tokens[holder.at] === 0) continue
      const after = tokens.slice()
      release(after, holder)
      take(after, rest, any, taken, done)
    }
  }
  const fireOutside = (
    tokens: Uint8Array,
    step: NetStep,
    any: readonly number[],
    passed: readonly NetStep[],
    onFired: () => void,
  ): void => {
    take(tokens, step.from, any, [], (after, inputs) => {
      onFired()
      fired[step.index] = 1
      const needed = conditionsOf(step, passed)
      if (!step.hasAction) {
        // The tokens it took are gone: nothing is returned.
        for (const one of step.outcomes) outcome(after, step, one, needed)
        return
      }
      const begun = after.slice()
      for (const place of inputs) change(begun, place, 1)
      begin(begun, step, inputs)
      emit(begun, { fire: step.name, way: null, conditions: needed })
    })
  }

  const expand = (tokens: Uint8Array): number => {
    for (let place = 0; place < size; place += 1) if (tokensAt(tokens, place) > 0) marked[place] = 1
    for (const [at, { through, to }] of net.rollBacks.entries()) {
      if (tokens[rollBackAt + at] === 0) continue
      const after = tokens.slice()
      change(after, rollBackAt + at, -1)
      change(after, through, -1)
      put(after, [to])
      emit(after, { fire: null, way: 'undone', conditions: [] })
      return 0
    }
    const isIdle = holders.every(({ at }) => tokens[at] === 0)
    const passed: NetStep[] = []
    for (const step of automatic) {
      const inputs = freeInputs(step, tokens)
      if (inputs === null) continue
      fired[step.index] = 1
      const needed = conditionsOf(step, passed)
      const after = tokens.slice()
      if (step.hasAction) {
        begin(after, step, inputs)
        emit(after, { fire: step.name, way: null, conditions: needed })
      } else {
        for (const place of inputs) change(after, place, -1)
        for (const one of step.outcomes) outcome(after, step, one, needed)
      }
      if (step.when === null) return 0
      passed.push(step)
    }
    if (isIdle) atRest.add(markingText(shownOf(tokens)))
    if (isIdle && isEnded(net, tokens)) return ENDED
    for (let place = 0; place < size; place += 1) if (tokensAt(tokens, place) > 0) stayed[place] = 1
    for (const holder of holders) {
      if (tokens[holder.at] === 0) continue
      const place = holder.held[0] as number
      if (holder.isEnter) {
        const entered = tokens.slice()
        release(entered, holder)
        emit(entered, { fire: null, way: null, conditions: [] })
      }
      const after = tokens.slice()
      change(after, holder.at, -1)
      // In a final place it stays, whatever its entry action does.
      if (holder.isEnter && net.isFinal[place] === true) change(after, place, 1)
      for (const one of holder.step?.outcomes ?? []) outcome(after, holder.step as NetStep, one, [])
    }
    for (const step of net.outside) {
      if (step.isImpossible || step.timers !== null) continue
      fireOutside(tokens, step, step.any, passed, () => {})
    }
    for (const { place, step } of timeouts) expandTimeout(tokens, place, step, passed)
    return targets.length() === (starts.all().at(-1) as number) ? STILL : 0
  }
  const expandTimeout = (
    tokens: Uint8Array,
    place: number,
    step: NetStep,
    passed: readonly NetStep[],
  ): void => {
    const spent = spentAt.get(place)
    const total = tokensAt(tokens, place)
    if (total === 0 || (spent !== undefined && (tokens[spent] as number) >= total)) return
    let canFire = false
    const onFired = () => {
      canFire = true
      timedOut[place] = 1
    }
    const takesIt = step.from.includes(place) || step.any.includes(place)
    const any = step.from.includes(place) ? step.any : step.any.filter((one) => one === place)
    if (takesIt) {
      if (tokens[place] !== 0) fireOutside(tokens, step, any, passed, onFired)
      for (const holder of holdersOf[place] as readonly Holder[]) {
        if (tokens[holder.at] === 0) continue
        const after = tokens.slice()
        release(after, holder)
        fireOutside(after, step, any, passed, onFired)
      }
    }
    if (spent === undefined || (canFire && step.when === null)) return
    const vain = tokens.slice()
    change(vain, spent, 1)
    const conditions = canFire && step.when !== null ? [negated(step.when)] : []
    emit(vain, { fire: null, way: null, conditions })
  }

  const shownOf = (tokens: Uint8Array): Record<string, number> => {
    const shown: Record<string, number> = {}
    for (const [place, name] of net.places.entries()) {
      const total = tokensAt(tokens, place)
      if (total > 0) shown[name] = total
    }
    return shown
  }
  const tokensOf = (state: number): Uint8Array =>
    markings.bytes().slice(state * stride, state * stride + stride)
  const traceTo = (state: number): readonly TraceStep[] => {
    const way: number[] = []
    for (let at = state; at >= 0; at = parents.all()[at] as number) way.unshift(at)
    const trace: TraceStep[] = []
    // A step that only begins changes no marking: its conditions are reported with the next step.
    let needed: readonly string[] = []
    for (const at of way) {
      const { fire, way: how, conditions } = happenings[labels.all()[at] as number] as Happening
      needed = [...needed, ...conditions]
      if (how === null) continue
      const shown = needed.length === 0 ? {} : { conditions: needed }
      trace.push({ fire, way: how, marking: shownOf(tokensOf(at)), ...shown })
      needed = []
    }
    const last = trace.at(-1)
    if (needed.length === 0 || last === undefined) return trace
    return [...trace.slice(0, -1), { ...last, conditions: [...(last.conditions ?? []), ...needed] }]
  }

  const first = new Uint8Array(stride)
  put(first, [net.start])
  settle(first)
  next.set(first)
  markings.intern()
  parents.push(-1)
  labels.push(labelOf({ fire: null, way: 'start', conditions: [] }))
  while (looked < markings.count() && markings.count() <= countMax && !isOverflown) {
    starts.push(targets.length())
    flags.push(expand(tokensOf(looked)))
    looked += 1
  }
  starts.push(targets.length())
  const isComplete = looked === markings.count() && !isOverflown
  return { isComplete, atRest, stops: isComplete ? findStops() : [], marked, fired, timedOut, stayed }

  function findStops(): readonly HeldStop[] {
    const [state, goals] = [flags.all(), [] as number[]]
    const still: number[] = []
    for (let at = 0; at < looked; at += 1) {
      if (state[at] === STILL) still.push(at)
      if (state[at] !== 0) goals.push(at)
    }
    const reaching = reachBack(looked, starts.all(), targets.all(), goals)
    const trapped = reaching.indexOf(0)
    const seen = new Set<string>()
    const stops: HeldStop[] = []
    for (const at of still) {
      const text = markingText(shownOf(tokensOf(at)))
      if (seen.has(text) || stops.length >= STOPS_MAX) continue
      seen.add(text)
      stops.push({ way: 'still', trace: traceTo(at) })
    }
    if (trapped >= 0) stops.push({ way: 'trapped', trace: traceTo(trapped) })
    return stops
  }
}

function conditionsOf({ from, any, when }: NetStep, passed: readonly NetStep[]): readonly string[] {
  const places = [...from, ...any]
  const failing = passed.flatMap((one) => {
    if (one.when === null || ![...one.from, ...one.any].some((place) => places.includes(place))) return []
    return when !== null && areExhaustive([when, one.when]) ? [] : [negated(one.when)]
  })
  return when === null ? failing : [...failing, when]
}

function isEnded({ isEnd, places }: Net, tokens: Uint8Array): boolean {
  const inside = places.flatMap((_, place) => (tokens[place] === 0 ? [] : [place]))
  return inside.length > 0 && inside.every((place) => isEnd[place] === true)
}

/** 1 for each state from which one of the goals can be reached. */
function reachBack(
  count: number,
  starts: Int32Array,
  targets: Int32Array,
  goals: readonly number[],
): Uint8Array {
  const into: number[][] = Array.from({ length: count }, () => [])
  for (let from = 0; from < count; from += 1) {
    for (let arc = starts[from] as number; arc < (starts[from + 1] as number); arc += 1) {
      ;(into[targets[arc] as number] as number[]).push(from)
    }
  }
  const reached = new Uint8Array(count)
  const queue = [...goals]
  for (const at of queue) reached[at] = 1
  for (let head = 0; head < queue.length; head += 1) {
    for (const from of into[queue[head] as number] as number[]) {
      if (reached[from] === 1) continue
      reached[from] = 1
      queue.push(from)
    }
  }
  return reached
}
