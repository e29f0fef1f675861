// Analyses a workflow before it runs: its defects, and how certain they are.

import type { WorkflowDocument } from '../../definitions/documents/index.ts'
import type { Marking } from '../instance/index.ts'
import { type Defect, makeBreak } from './defect.ts'
import { explore, type Graph, MARKINGS_MAX } from './explore.ts'
import { needsHolding, searchHeld } from './explore-with-open-firings.ts'
import { certainWays } from './marking-paths.ts'
import { makeNet } from './net.ts'
import { compareHeld, correctSightings } from './open-firings-defects.ts'
import { findRollBack } from './roll-back-check.ts'
import { findRunning } from './running-defects.ts'
import { END } from './successors.ts'
import { findParts } from './unused-parts.ts'

export interface Analysis {
  readonly workflow: string
  /**
   * `proved`: every reachable marking can end, whatever happens. `sound-ignoring-conditions`: the same, if every condition may
   * hold or not. `unsound`: a defect is certain. `not-proved`: one is possible, or the search was stopped.
   */
  readonly verdict: 'proved' | 'sound-ignoring-conditions' | 'not-proved' | 'unsound'
  /** The verdict as a line for users. */
  readonly says: string
  /** How many were found. */
  readonly markings: number
  /** False: the search was stopped, or could have continued forever. */
  readonly isComplete: boolean
  readonly defects: readonly Defect[]
}

export interface AnalysisOptions {
  /** The search stops after this many. */
  readonly markings?: number
}

export function analyse(document: WorkflowDocument, options: AnalysisOptions = {}): Analysis {
  const net = makeNet(document)
  if (net.start < 0) {
    const message = `\`start: ${document.start}\` is no place of the workflow`
    return conclude(document, null, [makeBreak({ name: 'noWayToEnd', message })], false)
  }
  const markings = options.markings ?? MARKINGS_MAX
  const plain = explore(net, { [document.start]: 1 }, { markings })
  const held = plain.isComplete && needsHolding(net) ? searchHeld(net, markings) : null
  const graph = held === null ? plain : { ...plain, isComplete: held.isComplete }
  const ways = certainWays(graph)
  if (held?.isComplete === true) correctSightings(graph, held)
  const running = findRunning(graph, ways)
  const defects = [
    ...(held?.isComplete === true ? compareHeld(graph, running, held) : running),
    ...findParts(graph, ways, held?.isComplete === true ? held.marked : undefined),
    ...findRollBack(document),
  ]
  return conclude(document, graph, defects, net.hasConditions)
}

/** Defects that break an instance, proved or not. */
const BREAKS: ReadonlySet<Defect['name']> = new Set([
  'deadlock',
  'leftBehind',
  'noWayToEnd',
  'unbounded',
  'automaticLoop',
])

function conclude(
  { name }: WorkflowDocument,
  graph: Graph | null,
  defects: readonly Defect[],
  hasConditions: boolean,
): Analysis {
  const markings = graph?.count ?? 0
  const isComplete = graph?.isComplete ?? false
  const breaks = defects.filter((one) => BREAKS.has(one.name))
  const proved = breaks.filter(({ isProved, severity }) => isProved && severity === 'error').length
  // A loop that conditions end is sound as long as they can end it.
  const possible = breaks.filter((one) => !one.isProved && one.name !== 'automaticLoop').length
  const shared = { workflow: name, markings, isComplete, defects }
  const found = `${markings} ${markings === 1 ? 'marking' : 'markings'}`
  if (proved > 0) {
    const says = `not sound: ${proved === 1 ? 'a defect is' : `${proved} defects are`} proved (${found})`
    return { ...shared, verdict: 'unsound', says }
  }
  if (!isComplete) {
    const says =
      possible > 0 ? `not proved: it depends on conditions (${found})` : `not proved: stopped after ${found}`
    return { ...shared, verdict: 'not-proved', says }
  }
  if (possible > 0) {
    const says = `not proved: ${possible === 1 ? 'a defect is' : `${possible} defects are`} possible, depending on conditions (${found})`
    return { ...shared, verdict: 'not-proved', says }
  }
  return hasConditions
    ? { ...shared, verdict: 'sound-ignoring-conditions', says: `sound ignoring conditions: ${found}` }
    : { ...shared, verdict: 'proved', says: `proved sound: ${found}` }
}

/**
 * Whether an instance with these tokens can end, if every condition may hold or not: for migrating live instances to another
 * version. `unknown`: the search was stopped before an end was found.
 */
export function canEndFrom(
  document: WorkflowDocument,
  marking: Marking,
  options: AnalysisOptions = {},
): 'yes' | 'no' | 'unknown' {
  const net = makeNet(document)
  const places = Object.keys(marking).filter((place) => (marking[place] ?? 0) > 0)
  if (places.length === 0 || places.some((place) => !net.places.includes(place))) return 'no'
  const limits = { markings: options.markings ?? MARKINGS_MAX }
  const graph = explore(net, marking, limits, (flags) => (flags & END) !== 0)
  if (graph.flags.some((flags) => (flags & END) !== 0)) return 'yes'
  return graph.isComplete ? 'no' : 'unknown'
}
