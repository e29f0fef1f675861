// Queries over a graph of markings: reachability, cycles, and the path to a marking.

import type { Marking } from '../instance/index.ts'
import type { Graph } from './explore.ts'
import type { Label } from './successors.ts'

/** One step on the path to a defect, and the marking after it. */
export interface TraceStep {
  /** A transition, or the place whose `onEnter` it is; null: the start, or the end of a rollback. */
  readonly fire: string | null
  readonly way: 'start' | 'done' | 'failed' | 'enterFailed' | 'undone'
  readonly marking: Marking
  /** What must hold for it to happen; left out: nothing. */
  readonly conditions?: readonly string[]
}

/** Arcs that count. */
export type ArcFilter = (label: Label) => boolean

export function markingOf({ net, bytes, stride }: Graph, number: number): Marking {
  const marked: Record<string, number> = {}
  for (const [index, name] of net.places.entries()) {
    const tokens = bytes[number * stride + index] as number
    if (tokens > 0) marked[name] = tokens
  }
  return marked
}

/** 1 for each marking from which one of `goals` (1 each) can be reached. */
export function canReach(graph: Graph, goals: Uint8Array): Uint8Array {
  const { count, looked, starts, targets } = graph
  const into = new Int32Array(count + 1)
  for (const target of targets) into[target + 1] = (into[target + 1] as number) + 1
  for (let at = 0; at < count; at += 1) into[at + 1] = (into[at + 1] as number) + (into[at] as number)
  const sources = new Int32Array(targets.length)
  const filled = into.slice()
  for (let from = 0; from < looked; from += 1) {
    for (let arc = starts[from] as number; arc < (starts[from + 1] as number); arc += 1) {
      const target = targets[arc] as number
      sources[filled[target] as number] = from
      filled[target] = (filled[target] as number) + 1
    }
  }
  const reached = goals.slice()
  const queue = new Int32Array(count)
  let length = 0
  for (let at = 0; at < count; at += 1) {
    if (reached[at] === 0) continue
    queue[length] = at
    length += 1
  }
  for (let head = 0; head < length; head += 1) {
    const at = queue[head] as number
    for (let arc = into[at] as number; arc < (into[at + 1] as number); arc += 1) {
      const from = sources[arc] as number
      if (reached[from] === 1) continue
      reached[from] = 1
      queue[length] = from
      length += 1
    }
  }
  return reached
}

/** Shortest paths from the start that need no condition. */
export interface Ways {
  readonly parents: Int32Array
  readonly labels: Int32Array
  has(marking: number): boolean
}

export function certainWays({ count, looked, starts, targets, arcLabels, labels }: Graph): Ways {
  const parents = new Int32Array(count).fill(-2)
  const by = new Int32Array(count).fill(-1)
  const queue = new Int32Array(count)
  parents[0] = -1
  let length = 1
  for (let head = 0; head < length; head += 1) {
    const at = queue[head] as number
    if (at >= looked) continue
    for (let arc = starts[at] as number; arc < (starts[at + 1] as number); arc += 1) {
      const target = targets[arc] as number
      const label = arcLabels[arc] as number
      if (parents[target] !== -2 || (labels[label] as Label).conditions.length > 0) continue
      parents[target] = at
      by[target] = label
      queue[length] = target
      length += 1
    }
  }
  return { parents, labels: by, has: (marking) => parents[marking] !== -2 }
}

/** By the path without conditions where there is one, else by the shortest. */
export function traceTo(graph: Graph, ways: Ways, marking: number): readonly TraceStep[] {
  const isCertain = ways.has(marking)
  const parents = isCertain ? ways.parents : graph.parents
  const labels = isCertain ? ways.labels : graph.parentLabels
  const steps: TraceStep[] = []
  for (let at = marking; at >= 0; at = parents[at] as number) {
    steps.unshift(traceStep(graph, labels[at] as number, at))
  }
  return steps
}

export function traceStep(graph: Graph, labelIndex: number, marking: number): TraceStep {
  const label = graph.labels[labelIndex]
  const after = markingOf(graph, marking)
  if (label === undefined) return { fire: null, way: 'start', marking: after }
  if (label.step === null) return { fire: null, way: 'undone', marking: after }
  const way = label.step.kind === 'enter' ? 'enterFailed' : (label.outcome?.way ?? 'done')
  const { conditions } = label
  return { fire: label.step.name, way, marking: after, ...(conditions.length > 0 && { conditions }) }
}

/** Each once, in the order of appearance. */
export function conditionsOf(trace: readonly TraceStep[]): readonly string[] {
  return [...new Set(trace.flatMap(({ conditions = [] }) => conditions))]
}

export interface Circle {
  readonly marking: number
  /** Label and target of each arc, from `marking` back to it. */
  readonly arcs: readonly { readonly label: number; readonly target: number }[]
}

/** A cycle of arcs that count; the one whose first marking is nearest to the start, in depth-first order. */
export function findCircle(graph: Graph, counts: ArcFilter): Circle | null {
  const { looked, starts, targets, arcLabels, labels } = graph
  const isCounted = labels.map((label) => counts(label))
  if (!isCounted.includes(true)) return null
  /** 0: not seen, 1: on the path, 2: done. */
  const seen = new Uint8Array(graph.count)
  const arcAt = new Int32Array(graph.count)
  for (let root = 0; root < looked; root += 1) {
    if (seen[root] !== 0) continue
    const way = [root]
    seen[root] = 1
    arcAt[root] = starts[root] as number
    while (way.length > 0) {
      const at = way[way.length - 1] as number
      const arc = arcAt[at] as number
      if (at >= looked || arc >= (starts[at + 1] as number)) {
        seen[at] = 2
        way.pop()
        continue
      }
      arcAt[at] = arc + 1
      if (isCounted[arcLabels[arc] as number] !== true) continue
      const target = targets[arc] as number
      if (seen[target] === 1) {
        const round = way.slice(way.indexOf(target))
        const arcs = round.map((one) => ({
          label: arcLabels[(arcAt[one] as number) - 1] as number,
          target: targets[(arcAt[one] as number) - 1] as number,
        }))
        return { marking: target, arcs }
      }
      if (seen[target] !== 0) continue
      seen[target] = 1
      arcAt[target] = target < looked ? (starts[target] as number) : 0
      way.push(target)
    }
  }
  return null
}
