// Where the parts of a net are drawn: layers by dagre, in the direction that makes them larger in the available space.

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
  /** Of the place at one end. */
  readonly place: string
  readonly transition: string | null
  readonly points: readonly Point[]
  readonly label: { readonly text: string; readonly title: string; readonly at: Point } | null
}

export interface NetLayout {
  readonly nodes: readonly PlacedNode[]
  readonly arcs: readonly PlacedArc[]
  readonly direction: 'LR' | 'TB'
  readonly width: number
  readonly height: number
}

export const placeId = (name: string): string => `place/${name}`
const transitionId = (name: string): string => `transition/${name}`

/** About as wide as letters are drawn. */
const LETTER = 7.4
const PLACE = { widthMin: 92, widthMax: 232, height: 46 }
const TRANSITION = { widthMin: 76, widthMax: 212, height: 40 }
/** Room for what may be beside a place's name. */
const PART = { padding: 26, start: 14, icon: 19, clock: 18, tokens: 34 }
const LABEL_MAX = 30
const FIT_MAX = 1
/** Users read from left to right: downwards must be worth it. */
const DOWN_MIN = 1.35

export function layOut(net: Net, room: { readonly width: number; readonly height: number }): NetLayout {
  const across = layOutAs(net, 'LR')
  const down = layOutAs(net, 'TB')
  const zoomOf = ({ width, height }: NetLayout) => Math.min(FIT_MAX, room.width / width, room.height / height)
  return zoomOf(down) > DOWN_MIN * zoomOf(across) ? down : across
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
  for (const { name, type, timeout } of net.places) {
    const beside =
      PART.padding +
      PART.tokens +
      (name === net.start ? PART.start : 0) +
      (type === 'normal' ? 0 : PART.icon) +
      (timeout === null ? 0 : PART.clock)
    graph.setNode(placeId(name), { width: clamp(name, PLACE, beside), height: PLACE.height })
  }
  for (const { name } of net.transitions)
    graph.setNode(transitionId(name), { width: clamp(name, TRANSITION, 46), height: TRANSITION.height })
  const arcs = net.arcs.map((arc, index) => ({ ...arc, ...endsOf(arc), id: `arc/${index}` }))
  for (const arc of arcs) {
    const label = labelOf(arc)
    // The normal flow holds the drawing together; failure paths go around it.
    const weight = arc.type === 'in' || arc.type === 'out' ? 4 : arc.type === 'choose' ? 2 : 0
    const size =
      label === null ? {} : { width: label.text.length * 6 + 12, height: 18, labelpos: 'c' as const }
    graph.setEdge(arc.source, arc.target, { weight, minlen: 1, ...size }, arc.id)
  }
  layout(graph)
  const box = (id: string) => graph.node(id) as { x: number; y: number; width: number; height: number }
  const { width = 1, height = 1 } = graph.graph() as { width?: number; height?: number }
  const node = (id: string, kind: PlacedNode['kind'], name: string): PlacedNode => {
    const { x, y, width, height } = box(id)
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
        points: wayOf(edge.points ?? [], box(source), box(target), direction, label !== null),
        label: label === null ? null : { ...label, at },
      }
    }),
    direction,
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

interface Box extends Point {
  readonly width: number
  readonly height: number
}

/**
 * From the middle of a side to the middle of a side if it leads forward; one that leads back keeps the path that was
 * found for it. A short one without a label needs no point between.
 */
function wayOf(
  found: readonly Point[],
  from: Box,
  to: Box,
  direction: 'LR' | 'TB',
  hasLabel: boolean,
): readonly Point[] {
  const [begin, end] =
    direction === 'LR'
      ? [
          { x: from.x + from.width / 2, y: from.y },
          { x: to.x - to.width / 2, y: to.y },
        ]
      : [
          { x: from.x, y: from.y + from.height / 2 },
          { x: to.x, y: to.y - to.height / 2 },
        ]
  const leadsOn = direction === 'LR' ? begin.x < end.x : begin.y < end.y
  if (!leadsOn) return found
  const between = found.slice(1, -1)
  return [begin, ...(between.length <= 1 && !hasLabel ? [] : between), end]
}

/** A smooth line through the points: it leaves and arrives along the layers. */
export function pathOf(points: readonly Point[], direction: 'LR' | 'TB'): string {
  const [first] = points
  if (first === undefined) return ''
  const along = (a: Point, b: Point) =>
    direction === 'LR'
      ? `${(a.x + b.x) / 2},${a.y} ${(a.x + b.x) / 2},${b.y}`
      : `${a.x},${(a.y + b.y) / 2} ${b.x},${(a.y + b.y) / 2}`
  return points
    .slice(1)
    .reduce(
      (path, point, index) => `${path} C${along(points[index] ?? first, point)} ${point.x},${point.y}`,
      `M${first.x},${first.y}`,
    )
}
