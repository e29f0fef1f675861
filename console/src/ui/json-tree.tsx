// A payload as a tree that opens and closes. Long lists show their start until asked for more; values hidden from the
// user are drawn as hidden.

import { ChevronRight, EyeOff } from 'lucide-react'
import { createContext, useContext, useState } from 'react'
import type { JsonNode } from '../lib/json-text.ts'

const SHOWN_FIRST = 50
const OPEN_DEPTH = 2

/** What the API writes if a value is hidden from the user. */
const HIDDEN = '[hidden]'
const Hiding = createContext(false)

interface JsonTreeProps {
  readonly node: JsonNode
  /** Values were removed before it came here; without, the text is only a text. */
  readonly isHiding?: boolean
}

export function JsonTree({ node, isHiding = false }: JsonTreeProps) {
  return (
    <Hiding value={isHiding}>
      <div className="json mono">
        <Branch node={node} depth={0} isLast />
      </div>
    </Hiding>
  )
}

interface BranchProps {
  readonly name?: string
  readonly node: JsonNode
  readonly depth: number
  readonly isLast: boolean
}

function Branch({ name, node, depth, isLast }: BranchProps) {
  const [isOpen, setIsOpen] = useState(depth < OPEN_DEPTH)
  const [shown, setShown] = useState(SHOWN_FIRST)
  const label = name === undefined ? null : <span className="json__key">{JSON.stringify(name)}: </span>
  const comma = isLast ? null : ','
  if (node.type !== 'object' && node.type !== 'array') {
    return (
      <div className="json__line">
        {label}
        <Leaf node={node} />
        {comma}
      </div>
    )
  }
  const isObject = node.type === 'object'
  const children = isObject ? node.members : node.items.map((item, index) => [String(index), item] as const)
  const [begin, end] = isObject ? ['{', '}'] : ['[', ']']
  if (children.length === 0) {
    return (
      <div className="json__line">
        {label}
        {begin}
        {end}
        {comma}
      </div>
    )
  }
  const count = `${children.length} ${isObject ? 'member' : 'item'}${children.length === 1 ? '' : 's'}`
  return (
    <div>
      <button
        type="button"
        className="json__toggle"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        <ChevronRight size={12} aria-hidden />
        {label}
        {begin}
        {!isOpen && (
          <>
            <span className="json__count"> {count} </span>
            {end}
            {comma}
          </>
        )}
      </button>
      {isOpen && (
        <>
          <div className="json__children">
            {children.slice(0, shown).map(([key, child], index) => (
              <Branch
                key={key}
                {...(isObject && { name: key })}
                node={child}
                depth={depth + 1}
                isLast={index === children.length - 1}
              />
            ))}
            {children.length > shown && (
              <button type="button" className="link-button" onClick={() => setShown(shown + 500)}>
                show {Math.min(500, children.length - shown)} of {children.length - shown} more
              </button>
            )}
          </div>
          <div className="json__line">
            {end}
            {comma}
          </div>
        </>
      )}
    </div>
  )
}

function Leaf({ node }: { readonly node: Exclude<JsonNode, { type: 'object' | 'array' }> }) {
  const isHiding = useContext(Hiding)
  if (isHiding && node.type === 'string' && node.value === HIDDEN) {
    return (
      <span
        className="json__hidden"
        title="The source says that this is sensitive: operators and admins see it."
      >
        <EyeOff size={11} aria-hidden /> hidden
      </span>
    )
  }
  if (node.type === 'string') return <span className="json__string">{JSON.stringify(node.value)}</span>
  return <span className={node.type === 'number' ? 'json__number' : 'json__word'}>{node.text}</span>
}
