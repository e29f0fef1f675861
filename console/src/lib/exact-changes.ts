// Changes of data as a response has them, with their values digit for digit: parsed numbers may differ.

import { type JsonNode, memberOf } from './json-text.ts'

export interface ExactChange {
  readonly path: string
  readonly before?: JsonNode
  readonly after?: JsonNode
  /** It changed, and the workflow stores no values in its history. */
  readonly hidden?: true
}

export function exactChanges(node: JsonNode | undefined): readonly ExactChange[] {
  return itemsOf(node).flatMap((item) => {
    const path = memberOf(item, 'path')
    if (path?.type !== 'string') return []
    const [before, after] = [memberOf(item, 'before'), memberOf(item, 'after')]
    return [
      {
        path: path.value,
        ...(before !== undefined && { before }),
        ...(after !== undefined && { after }),
        ...(memberOf(item, 'hidden') !== undefined && { hidden: true as const }),
      },
    ]
  })
}

export function itemsOf(node: JsonNode | undefined): readonly JsonNode[] {
  return node?.type === 'array' ? node.items : []
}
