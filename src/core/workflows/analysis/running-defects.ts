// Defects that break a running instance: it stops where it should not, never ends, grows, or loops.

import { areExhaustive, negated } from './conditions.ts'
import { type Defect, listed, makeBreak, makeRemark } from './defect.ts'
import type { Graph } from './explore.ts'
import {
  type ArcFilter,
  type Circle,
  canReach,
  findCircle,
  markingOf,
  type TraceStep,
  traceStep,
  traceTo,
  type Ways,
} from './marking-paths.ts'
import type { Net } from './net.ts'
import { CONDITIONAL, END, type Label } from './successors.ts'

/** Of one kind: more of them are one mistake repeated. */
const TOLD_MAX = 3

export function findRunning(graph: Graph, ways: Ways): readonly Defect[] {
  const { net } = graph
  if (!net.isEnd.includes(true)) {
    const message =
      'no place is an end: give one `type: final`, or let an error place be left by no transition. No instance would ever complete'
    return [makeBreak({ name: 'noWayToEnd', message })]
  }
  const loops = findLoops(graph, ways)
  const isLooping = loops.some(({ isProved, severity }) => isProved && severity === 'error')
  const traps = isLooping ? [] : findTraps(graph, ways)
  return [
    ...findUnbounded(graph),
    ...findDeadlocks(graph, ways),
    ...findConditionalStops(graph, ways),
    ...traps,
    ...(traps.length > 0 ? loops.filter(({ severity }) => severity === 'error') : loops),
  ]
}

/** Those that need no condition first, each group of equal ones once. */
function firstOfEach(
  numbers: readonly number[],
  ways: Ways,
  idOf: (marking: number) => string,
): readonly number[] {
  const found = new Map<string, number>()
  for (const marking of [...numbers.filter(ways.has), ...numbers.filter((one) => !ways.has(one))]) {
    const id = idOf(marking)
    if (!found.has(id)) found.set(id, marking)
  }
  return [...found.values()].slice(0, TOLD_MAX)
}

/** One way of growing is reported: others mostly follow from it. */
function findUnbounded(graph: Graph): readonly Defect[] {
  const { net, unbounded } = graph
  const described = unbounded.map(({ marking, earlier }) => {
    const way: number[] = []
    for (let at = marking; at >= 0; at = graph.parents[at] as number) way.unshift(at)
    const trace = way.map((at) => traceStep(graph, graph.parentLabels[at] as number, at))
    const [before, after] = [markingOf(graph, earlier), markingOf(graph, marking)]
    const growing = net.places.filter((place) => (after[place] ?? 0) > (before[place] ?? 0))
    const message = `tokens gather in ${listed(growing)} without a bound: every round adds some, and nothing has to take them away`
    const repeatsAfter = way.indexOf(earlier)
    return makeBreak({ name: 'unbounded', message, place: growing[0] ?? '', trace, repeatsAfter })
  })
  return described.filter((one, _, all) => one === (all.find(({ isProved }) => isProved) ?? all[0]))
}

function isOpen({ looked, unbounded }: Graph): (marking: number) => boolean {
  const pruned = new Set(unbounded.map(({ marking }) => marking))
  return (marking) => marking >= looked || pruned.has(marking)
}

function deadlocksOf(graph: Graph): readonly number[] {
  const open = isOpen(graph)
  const found: number[] = []
  for (let at = 0; at < graph.looked; at += 1) {
    const isStill = graph.starts[at] === graph.starts[at + 1]
    if (isStill && (graph.flags[at] as number) === 0 && !open(at)) found.push(at)
  }
  return found
}

function findDeadlocks(graph: Graph, ways: Ways): readonly Defect[] {
  const { net } = graph
  const stuckOf = (marking: number) =>
    Object.keys(markingOf(graph, marking)).filter((place) => net.isEnd[net.places.indexOf(place)] !== true)
  const endedOf = (marking: number) =>
    Object.keys(markingOf(graph, marking)).filter((place) => net.isEnd[net.places.indexOf(place)] === true)
  const idOf = (marking: number) => `${stuckOf(marking).join()}/${endedOf(marking).length > 0}`
  return firstOfEach(deadlocksOf(graph), ways, idOf).map((marking) => {
    const [stuck, ended] = [stuckOf(marking), endedOf(marking)]
    const trace = traceTo(graph, ways, marking)
    const place = stuck[0] ?? ''
    const why = whatLacks(net, markingOf(graph, marking), stuck)
    if (ended.length > 0) {
      const message = `a token stays behind in ${listed(stuck)} when ${listed(ended)} is reached: ${why}, and the instance never completes`
      return makeBreak({ name: 'leftBehind', message, place, trace })
    }
    const what =
      stuck.length === 0
        ? 'deadlock: no token is left, and no end was reached'
        : `deadlock: nothing can move on from ${listed(stuck)}, which is no end: ${why}`
    return makeBreak({ name: 'deadlock', message: what, place, trace })
  })
}

/** Why nothing takes these tokens. */
function whatLacks(net: Net, marking: Readonly<Record<string, number>>, stuck: readonly string[]): string {
  const reasons = net.steps.flatMap(({ name, kind, from, any, timers, isImpossible }) => {
    const inputs = [...from, ...any].map((place) => net.places[place] ?? '')
    if (kind === 'enter' || !inputs.some((place) => stuck.includes(place))) return []
    if (isImpossible) return [`\`${name}\` can never fire`]
    const missing = from
      .map((place) => net.places[place] ?? '')
      .filter((place) => marking[place] === undefined)
    if (missing.length > 0) return [`\`${name}\` also needs a token in ${listed(missing)}`]
    const timed = (timers ?? []).map((place) => net.places[place] ?? '')
    return timed.length > 0 ? [`\`${name}\` is fired only by the time-out of ${listed(timed)}`] : []
  })
  return reasons.length === 0 ? 'no transition takes it' : reasons.slice(0, 3).join('; ')
}

/** Only automatic transitions with conditions lead on, and nothing guarantees that one of them holds. */
function findConditionalStops(graph: Graph, ways: Ways): readonly Defect[] {
  // External changes of the data may let a condition hold later.
  if (graph.net.hasUpdates) return []
  const stepsAt = (marking: number) => {
    const { starts, arcLabels, labels } = graph
    const all = Array.from(arcLabels.subarray(starts[marking], starts[marking + 1]))
    const steps = all.flatMap((label) => (labels[label] as Label).step ?? [])
    return [...new Set(steps.filter(({ kind }) => kind === 'automatic'))]
  }
  const stops: number[] = []
  for (let at = 0; at < graph.looked; at += 1) {
    if (((graph.flags[at] as number) & CONDITIONAL) !== 0) stops.push(at)
  }
  const idOf = (marking: number) =>
    stepsAt(marking)
      .map(({ index }) => index)
      .join()
  return firstOfEach(stops, ways, idOf).flatMap((marking) => {
    const steps = stepsAt(marking)
    const conditions = steps.flatMap(({ when }) => when ?? [])
    if (areExhaustive(conditions)) return []
    const places = Object.keys(markingOf(graph, marking))
    const only = steps.length === 1 ? 'only' : 'only one of'
    const has = steps.length === 1 ? 'it has' : 'each has'
    const message = `it may stop: ${only} ${listed(
      steps.map(({ name }) => name),
      'or',
    )} leads on from ${listed(places)}, and ${has} a condition`
    const trace = traceTo(graph, ways, marking)
    const place = places.find((name) => graph.net.isEnd[graph.net.places.indexOf(name)] !== true) ?? ''
    return [makeBreak({ name: 'mayStop', message, place, trace, conditions: conditions.map(negated) })]
  })
}

function findTraps(graph: Graph, ways: Ways): readonly Defect[] {
  const open = isOpen(graph)
  const goals = new Uint8Array(graph.count)
  for (let at = 0; at < graph.count; at += 1) {
    if (open(at) || ((graph.flags[at] as number) & END) !== 0) goals[at] = 1
  }
  for (const at of deadlocksOf(graph)) goals[at] = 1
  const reaching = canReach(graph, goals)
  const traps: number[] = []
  for (let at = 0; at < graph.count; at += 1) if (reaching[at] === 0) traps.push(at)
  return firstOfEach(traps, ways, () => '').map((marking) => {
    const places = Object.keys(markingOf(graph, marking))
    const inside = placesFrom(graph, marking)
    const message = `no end can be reached from ${listed(places)}: the instance goes on for ever among ${listed(inside)}`
    const place = places[0] ?? ''
    return makeBreak({ name: 'noWayToEnd', message, place, trace: traceTo(graph, ways, marking) })
  })
}

/** Every place that is marked somewhere after this marking. */
function placesFrom(graph: Graph, marking: number): readonly string[] {
  const seen = new Set([marking])
  const marked = new Set<string>()
  for (const at of seen) {
    for (const place of Object.keys(markingOf(graph, at))) marked.add(place)
    if (at >= graph.looked) continue
    for (const target of graph.targets.subarray(graph.starts[at], graph.starts[at + 1])) seen.add(target)
  }
  return graph.net.places.filter((place) => marked.has(place))
}

function findLoops(graph: Graph, ways: Ways): readonly Defect[] {
  const isSure: ArcFilter = ({ isImmediate, conditions }) => isImmediate && conditions.length === 0
  const sure = findCircle(graph, isSure)
  if (sure !== null) {
    const { names, ...described } = describeCycle(graph, ways, sure)
    const message = `an automatic loop without an exit: ${listed(names)} fire one after another for ever, and no action, condition or waiting place is among them`
    return [makeBreak({ ...described, name: 'automaticLoop', message })]
  }
  const possible = findCircle(graph, ({ isImmediate }) => isImmediate)
  if (possible !== null) {
    const { names, ...described } = describeCycle(graph, ways, possible)
    const message = `an automatic loop that only conditions end: ${listed(names)} fire one after another without an action or a waiting place`
    return [makeBreak({ ...described, name: 'automaticLoop', message })]
  }
  const busy = findCircle(
    graph,
    ({ step, outcome, conditions }) =>
      step?.kind === 'automatic' && outcome?.way === 'done' && conditions.length === 0,
  )
  if (busy === null) return []
  const { names, ...described } = describeCycle(graph, ways, busy)
  const message = `an automatic loop without a pause: ${listed(names)} are done over and over, as fast as their actions are, until something from outside takes the token. Let it wait for a time-out or an event`
  return [makeRemark({ ...described, name: 'automaticLoop', message })]
}

function describeCycle(
  graph: Graph,
  ways: Ways,
  { marking, arcs }: Circle,
): {
  readonly names: readonly string[]
  readonly transition: string
  readonly trace: readonly TraceStep[]
  readonly repeatsAfter: number
} {
  const way = traceTo(graph, ways, marking)
  const names = [...new Set(arcs.flatMap(({ label }) => graph.labels[label]?.step?.name ?? []))]
  const round = arcs.map(({ label, target }) => traceStep(graph, label, target))
  return { names, transition: names[0] ?? '', trace: [...way, ...round], repeatsAfter: way.length - 1 }
}
