// The drawing of a net: places as boxes, transitions as bars, arcs between them. It comes with code of its own, which
// other screens do not load; ui/net.tsx asks for it.

import {
  BaseEdge,
  type Edge,
  EdgeLabelRenderer,
  type EdgeProps,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Panel,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from '@xyflow/react'
import '@xyflow/react/dist/base.css'
import { Maximize, Minus, Plus } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { layOut, type PlacedArc, type PlacedNode, pathOf, placeId } from '../lib/net-layout.ts'
import type { Net } from '../types.ts'
import { IconButton } from './controls.tsx'
import type { NetMarks } from './net.tsx'
import { PlaceFace, TransitionFace } from './net-parts.tsx'

interface PartData extends Record<string, unknown> {
  readonly part: PlacedNode
  readonly net: Net
  readonly marks: NetMarks
}
interface ArcData extends Record<string, unknown> {
  readonly arc: PlacedArc
  readonly isTaken: boolean
}
type PartNode = Node<PartData>
type ArcEdge = Edge<ArcData>

const HEIGHT = { min: 220, max: 600 }
const ZOOM_MIN = 0.3
/** Below it, names cannot be read: the drawing begins at its start and goes on beyond the edge. */
const ZOOM_READABLE = 0.62

/** Draws within the width it gets; grows as high as the net needs, up to a bound. */
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
  const zoom = placed === null ? 1 : Math.min(1, width / placed.width, HEIGHT.max / placed.height)
  const shown = Math.max(zoom, ZOOM_READABLE)
  const height =
    placed === null ? HEIGHT.min : Math.min(HEIGHT.max, Math.max(HEIGHT.min, placed.height * shown + 16))
  return (
    <div className="net__canvas" ref={box} style={{ height }}>
      {placed !== null && (
        <ReactFlowProvider key={`${shape} ${width}`}>
          <Flow net={net} marks={marks} placed={placed} isWhole={zoom >= ZOOM_READABLE} height={height} />
        </ReactFlowProvider>
      )}
    </div>
  )
}

interface FlowProps {
  readonly net: Net
  readonly marks: NetMarks
  readonly placed: ReturnType<typeof layOut>
  readonly isWhole: boolean
  readonly height: number
}

function Flow({ net, marks, placed, isWhole, height }: FlowProps) {
  const nodes = placed.nodes.map(
    (part): PartNode => ({
      id: part.id,
      type: part.kind,
      position: { x: part.x, y: part.y },
      width: part.width,
      height: part.height,
      data: { part, net, marks },
    }),
  )
  const edges = placed.arcs.map((arc): ArcEdge => {
    const isTaken = marks.takes?.(arc) ?? false
    const color = isTaken ? 'var(--accent)' : arc.type === 'failure' ? 'var(--red-dot)' : 'var(--grey-dot)'
    return {
      id: arc.id,
      source: arc.source,
      target: arc.target,
      type: 'arc',
      className: `net__arc net__arc--${arc.type}${isTaken ? ' net__arc--taken' : ''}`,
      markerEnd: { type: MarkerType.ArrowClosed, color, width: 16, height: 16 },
      data: { arc, isTaken },
    }
  })
  const start = placed.nodes.find(({ id }) => id === placeId(net.start))
  const begin = start ?? { x: 0, y: 0, height: 0 }
  // What does not fit is seen from its start on.
  const viewport = {
    zoom: ZOOM_READABLE,
    x: 16 - begin.x * ZOOM_READABLE,
    y: Math.min(16, height / 2 - (begin.y + begin.height / 2) * ZOOM_READABLE),
  }
  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={NODE_TYPES}
      edgeTypes={EDGE_TYPES}
      {...(isWhole
        ? { fitView: true, fitViewOptions: { padding: 0.02, maxZoom: 1, minZoom: ZOOM_MIN } }
        : { defaultViewport: viewport })}
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
    >
      <Panel position="top-right">
        <Tools />
      </Panel>
    </ReactFlow>
  )
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
  const { part, net, marks } = data
  const flow = useReactFlow()
  const center = () =>
    void flow.setCenter(part.x + part.width / 2, part.y + part.height / 2, { zoom: flow.getZoom() })
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only follows the focus of what is in it.
    <div
      className="net__node"
      onFocus={(event) => {
        // By keyboard one may come to what lies beyond the edge.
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
  const { arc } = data
  return (
    <>
      <BaseEdge
        path={pathOf(arc.points)}
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
