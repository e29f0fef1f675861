// What changed in data: the path, and the value before and after, digit for digit where the text is there.

import { formatJson, type JsonNode, parseJsonText } from '../lib/json-text.ts'
import type { InstanceChange } from '../types.ts'

/** A change whose values are exact, or as a program read them. */
type Shown = Pick<InstanceChange, 'path'> & {
  readonly before?: unknown
  readonly after?: unknown
  readonly hidden?: boolean
}

export function Changes({ changes }: { readonly changes: readonly Shown[] }) {
  return (
    <ul className="changes-of">
      {changes.map((change, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a path may change twice.
        <li key={index}>
          <code className="changes-of__path">{change.path}</code>
          {change.hidden === true ? (
            <span className="faint">changed; the workflow keeps no values in its history</span>
          ) : (
            <>
              {change.before !== undefined && (
                <code className="changes-of__value changes-of__value--before">
                  <span className="sr-only">before: </span>− {textOf(change.before)}
                </code>
              )}
              {change.after === undefined ? (
                <span className="faint">gone</span>
              ) : (
                <code className="changes-of__value changes-of__value--after">
                  <span className="sr-only">after: </span>+ {textOf(change.after)}
                </code>
              )}
            </>
          )}
        </li>
      ))}
    </ul>
  )
}

const isNode = (value: unknown): value is JsonNode =>
  typeof value === 'object' && value !== null && 'type' in value && 'isExact' in value

function textOf(value: unknown): string {
  if (isNode(value)) return formatJson(value)
  return formatJson(parseJsonText(JSON.stringify(value)))
}

/** The changes of an exact answer, with their values as they were written. */
export function exactChanges(node: JsonNode | undefined): readonly Shown[] {
  if (node?.type !== 'array') return []
  return node.items.flatMap((item) => {
    if (item.type !== 'object') return []
    const members = new Map(item.members)
    const path = members.get('path')
    if (path?.type !== 'string') return []
    const [before, after] = [members.get('before'), members.get('after')]
    return [
      {
        path: path.value,
        ...(before !== undefined && { before: { ...before, isExact: true } }),
        ...(after !== undefined && { after: { ...after, isExact: true } }),
        ...(members.has('hidden') && { hidden: true }),
      },
    ]
  })
}
