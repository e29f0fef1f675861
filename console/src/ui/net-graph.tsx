// The drawing of a net: places as boxes, transitions as bars, arcs between them. It has its own bundle, which other
// screens do not load; ui/net.tsx loads it.

import {
  BaseEdge,
  type Edge,
  EdgeLabelRenderer,
  type EdgeProps,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  type Viewport,
} from '@xyflow/react'
import '@xyflow/react/dist/base.css'
import { Maximize, Minus, Plus } from 'lucide-react'
import { createContext, useContext, useEffect, useMemo, useRef, useState } from 'react'
import {
  layOut,
  type NetLayout,
  type PlacedArc,
  type PlacedNode,
  pathOf,
  placeId,
} from '../lib/net-layout.ts'
import type { Net } from '../types.ts'
import { IconButton } from './controls.tsx'
import type { NetMarks } from './net-marks.ts'
import { PlaceFace, TransitionFace } from './net-parts.tsx'

interface PartData extends Record<string, unknown> {
  readonly part: PlacedNode
}
/** Beside the nodes and not in them: a recreated node is measured again, and its arcs disappear meanwhile. */
const Shown = createContext<{ readonly net: Net; readonly marks: NetMarks } | null>(null)
interface ArcData extends Record<string, unknown> {
  readonly arc: PlacedArc
  readonly direction: 'LR' | 'TB'
}
type PartNode = Node<PartData>
type ArcEdge = Edge<ArcData>

const HEIGHT = { min: 220, max: 600 }
const ZOOM_MIN = 0.3
/** Below it, names cannot be read: the drawing starts at its beginning and extends beyond the edge. */
const ZOOM_READABLE = 0.62

/** Draws within the given width; grows as high as the net needs, up to a limit. */
export default function NetGraph({ net, marks }: { readonly net: Net; readonly marks: NetMarks }) {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const watcher = new ResizeObserver(() => setWidth(element.clientWidth))
    watcher.observe(element)
    return () => watcher.disconnect()
  }, [])
  // Counts change often, the net itself does not.
  const shape = JSON.stringify([net.places.map(({ name }) => name), net.transitions, net.arcs])
  // biome-ignore lint/correctness/useExhaustiveDependencies: by what it looks like, not by the object it came in.
  const placed = useMemo(
    () => (width === 0 ? null : layOut(net, { width, height: HEIGHT.max })),
    [shape, width],
  )
  const fit = placed === null ? 1 : Math.min(1, width / placed.width, HEIGHT.max / placed.height)
  const zoom = Math.max(fit, ZOOM_READABLE)
  const height =
    placed === null ? HEIGHT.min : Math.min(HEIGHT.max, Math.max(HEIGHT.min, placed.height * zoom + 24))
  return (
    <div className="net__canvas" ref={box}>
      {placed === null ? (
        <div style={{ height }} />
      ) : (
        <ReactFlowProvider key={shape}>
          <div style={{ height }}>
            <Flow
              net={net}
              marks={marks}
              placed={placed}
              viewport={viewOf(net, placed, { width, height, zoom })}
            />
          </div>
          <Tools />
        </ReactFlowProvider>
      )}
    </div>
  )
}

/** Centred if it fits; otherwise shown from its start. */
function viewOf(
  net: Net,
  placed: NetLayout,
  { width, height, zoom }: { readonly width: number; readonly height: number; readonly zoom: number },
) {
  const start = placed.nodes.find(({ id }) => id === placeId(net.start)) ?? {
    x: 0,
    y: 0,
    width: 0,
    height: 0,
  }
  const side = (room: number, size: number, begin: number, extent: number) => {
    if (size * zoom <= room + 1) return (room - size * zoom) / 2
    const middle = room / 2 - (begin + extent / 2) * zoom
    return Math.min(0, Math.max(room - size * zoom, middle))
  }
  return {
    zoom,
    x: side(width, placed.width, start.x, start.width),
    y: side(height, placed.height, start.y, start.height),
  }
}

interface FlowProps {
  readonly net: Net
  readonly marks: NetMarks
  readonly placed: NetLayout
  readonly viewport: Viewport
}

function Flow({ net, marks, placed, viewport }: FlowProps) {
  // Held here, and not by the drawing: it forgets its position when its box changes.
  const [view, setView] = useState<Viewport>(viewport)
  const { x, y, zoom } = viewport
  useEffect(() => setView({ x, y, zoom }), [x, y, zoom])
  // Its first frame is not at the requested position: it is not shown.
  const [isReady, setIsReady] = useState(false)
  const nodes = useMemo(() => placed.nodes.map(nodeOf), [placed])
  const edges = placed.arcs.map((arc): ArcEdge => {
    const isTaken = marks.takes?.(arc) ?? false
    const color = isTaken ? 'var(--accent)' : arc.type === 'failure' ? 'var(--red-dot)' : 'var(--grey-dot)'
    return {
      id: arc.id,
      source: arc.source,
      target: arc.target,
      type: 'arc',
      className: `net__arc net__arc--${arc.type}${isTaken ? ' net__arc--taken' : ''}`,
      markerEnd: { type: MarkerType.ArrowClosed, color, width: isTaken ? 11 : 16, height: isTaken ? 11 : 16 },
      data: { arc, direction: placed.direction },
    }
  })
  return (
    <Shown value={{ net, marks }}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        className={isReady ? 'net__flow net__flow--ready' : 'net__flow'}
        onInit={() => setIsReady(true)}
        viewport={view}
        onViewportChange={setView}
        minZoom={ZOOM_MIN}
        maxZoom={1.6}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        zoomOnScroll={false}
        zoomOnDoubleClick={false}
        preventScrolling={false}
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode={null}
        multiSelectionKeyCode={null}
      />
    </Shown>
  )
}

function nodeOf(part: PlacedNode): PartNode {
  const { id, kind, x, y, width, height } = part
  const handle = { width: 1, height: 1, y: height / 2 }
  return {
    id,
    type: kind,
    position: { x, y },
    width,
    height,
    // Known without measuring.
    measured: { width, height },
    handles: [
      { ...handle, type: 'target', position: Position.Left, x: 0 },
      { ...handle, type: 'source', position: Position.Right, x: width },
    ],
    data: { part },
  }
}

function Tools() {
  const flow = useReactFlow()
  return (
    <div className="net__tools" role="group" aria-label="View of the drawing">
      <IconButton label="Zoom in" onClick={() => void flow.zoomIn()}>
        <Plus size={14} aria-hidden />
      </IconButton>
      <IconButton label="Zoom out" onClick={() => void flow.zoomOut()}>
        <Minus size={14} aria-hidden />
      </IconButton>
      <IconButton label="Show all of it" onClick={() => void flow.fitView({ padding: 0.02, maxZoom: 1 })}>
        <Maximize size={14} aria-hidden />
      </IconButton>
    </div>
  )
}

function PartView({ data }: NodeProps<PartNode>) {
  const { part } = data
  const flow = useReactFlow()
  const shown = useContext(Shown)
  if (shown === null) return null
  const { net, marks } = shown
  const center = () =>
    void flow.setCenter(part.x + part.width / 2, part.y + part.height / 2, { zoom: flow.getZoom() })
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only follows the focus of what is in it.
    <div
      className="net__node"
      onFocus={(event) => {
        // The keyboard can reach what lies beyond the edge.
        if (event.target.matches(':focus-visible')) center()
      }}
    >
      <Handle type="target" position={Position.Left} isConnectable={false} />
      {part.kind === 'place' ? (
        <PlaceFace net={net} name={part.name} marks={marks} />
      ) : (
        <TransitionFace net={net} name={part.name} marks={marks} />
      )}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  )
}

function ArcView({ data, markerEnd }: EdgeProps<ArcEdge>) {
  if (data === undefined) return null
  const { arc, direction } = data
  return (
    <>
      <BaseEdge
        path={pathOf(arc.points, direction)}
        {...(markerEnd !== undefined && { markerEnd })}
        interactionWidth={0}
      />
      {arc.label !== null && (
        <EdgeLabelRenderer>
          <span
            className={`net__label net__label--${arc.type}`}
            title={arc.label.title}
            style={{ transform: `translate(-50%, -50%) translate(${arc.label.at.x}px, ${arc.label.at.y}px)` }}
          >
            {arc.label.text}
          </span>
        </EdgeLabelRenderer>
      )}
    </>
  )
}

const NODE_TYPES = { place: PartView, transition: PartView }
const EDGE_TYPES = { arc: ArcView }
