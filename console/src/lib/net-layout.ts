// Where the parts of a net are drawn: layers by dagre, in the direction that leaves them larger in the room there is.

import { Graph, layout } from '@dagrejs/dagre'
import type { Net } from '../types.ts'

export interface Point {
  readonly x: number
  readonly y: number
}

export interface PlacedNode {
  readonly id: string
  readonly kind: 'place' | 'transition'
  readonly name: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface PlacedArc {
  readonly id: string
  readonly source: string
  readonly target: string
  readonly type: Net['arcs'][number]['type']
  /** Of the place at its one end. */
  readonly place: string
  readonly transition: string | null
  readonly points: readonly Point[]
  readonly label: { readonly text: string; readonly title: string; readonly at: Point } | null
}

export interface NetLayout {
  readonly nodes: readonly PlacedNode[]
  readonly arcs: readonly PlacedArc[]
  readonly width: number
  readonly height: number
}

export const placeId = (name: string): string => `place/${name}`
export const transitionId = (name: string): string => `transition/${name}`

/** About as wide as letters are drawn. */
const LETTER = 7
const PLACE = { widthMin: 104, widthMax: 212, height: 46 }
const TRANSITION = { widthMin: 76, widthMax: 212, height: 40 }
const LABEL_MAX = 30
const FIT_MAX = 1

export function layOut(net: Net, room: { readonly width: number; readonly height: number }): NetLayout {
  const across = layOutAs(net, 'LR')
  const down = layOutAs(net, 'TB')
  const zoomOf = ({ width, height }: NetLayout) => Math.min(FIT_MAX, room.width / width, room.height / height)
  return zoomOf(across) >= zoomOf(down) ? across : down
}

function layOutAs(net: Net, direction: 'LR' | 'TB'): NetLayout {
  const graph = new Graph({ multigraph: true })
  graph.setGraph({
    rankdir: direction,
    nodesep: direction === 'LR' ? 26 : 34,
    ranksep: direction === 'LR' ? 40 : 32,
    edgesep: 14,
    marginx: 16,
    marginy: 16,
  })
  const clamp = (name: string, { widthMin, widthMax }: typeof PLACE, extra: number) =>
    Math.min(widthMax, Math.max(widthMin, name.length * LETTER + extra))
  for (const { name } of net.places)
    graph.setNode(placeId(name), { width: clamp(name, PLACE, 52), height: PLACE.height })
  for (const { name } of net.transitions)
    graph.setNode(transitionId(name), { width: clamp(name, TRANSITION, 28), height: TRANSITION.height })
  const arcs = net.arcs.map((arc, index) => ({ ...arc, ...endsOf(arc), id: `arc/${index}` }))
  for (const arc of arcs) {
    const label = labelOf(arc)
    // What is the rule holds the drawing together; what happens on failure goes around it.
    const weight = arc.type === 'in' || arc.type === 'out' ? 4 : arc.type === 'choose' ? 2 : 0
    const size =
      label === null ? {} : { width: label.text.length * 6 + 12, height: 18, labelpos: 'c' as const }
    graph.setEdge(arc.source, arc.target, { weight, minlen: 1, ...size }, arc.id)
  }
  layout(graph)
  const { width = 1, height = 1 } = graph.graph() as { width?: number; height?: number }
  const node = (id: string, kind: PlacedNode['kind'], name: string): PlacedNode => {
    const { x, y, width, height } = graph.node(id) as PlacedNode
    return { id, kind, name, x: x - width / 2, y: y - height / 2, width, height }
  }
  return {
    nodes: [
      ...net.places.map(({ name }) => node(placeId(name), 'place', name)),
      ...net.transitions.map(({ name }) => node(transitionId(name), 'transition', name)),
    ],
    arcs: arcs.map((arc) => {
      const edge = graph.edge(arc.source, arc.target, arc.id) as { points?: Point[]; x?: number; y?: number }
      const label = labelOf(arc)
      const { id, source, target, type, place, transition } = arc
      const at = { x: edge.x ?? 0, y: edge.y ?? 0 }
      return {
        id,
        source,
        target,
        type,
        place,
        transition,
        points: edge.points ?? [],
        label: label === null ? null : { ...label, at },
      }
    }),
    width,
    height,
  }
}

function endsOf({ type, place, transition, to }: Net['arcs'][number]) {
  if (transition === null) return { source: placeId(place), target: placeId(to ?? place) }
  const ends = [placeId(place), transitionId(transition)] as const
  return type === 'in' || type === 'any'
    ? { source: ends[0], target: ends[1] }
    : { source: ends[1], target: ends[0] }
}

function labelOf({
  type,
  when,
}: Net['arcs'][number]): { readonly text: string; readonly title: string } | null {
  if (type === 'undone') return { text: 'undone', title: 'When everything is undone' }
  if (type === 'failure') return { text: 'fails', title: 'When the action failed for good' }
  if (type !== 'choose') return null
  if (when === undefined) return { text: 'else', title: 'Where no other branch holds' }
  return { text: when.length > LABEL_MAX ? `${when.slice(0, LABEL_MAX - 1)}…` : when, title: when }
}

/** A line through the points, with round corners. */
export function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points
  if (first === undefined) return ''
  let path = `M${first.x},${first.y}`
  for (const [index, point] of rest.entries()) {
    const next = rest[index + 1]
    if (next === undefined) path += ` L${point.x},${point.y}`
    else path += ` Q${point.x},${point.y} ${(point.x + next.x) / 2},${(point.y + next.y) / 2}`
  }
  return path
}
