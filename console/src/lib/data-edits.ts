// The difference between two texts of data, as the API takes it: one change per value that differs, as deep as names are plain.

import type { Edit } from '../api.ts'
import { formatJson, type JsonNode } from './json-text.ts'

const PLAIN = /^[A-Za-z_][\w-]*$/

export function editsOf(before: JsonNode, after: JsonNode, path = 'data'): readonly Edit[] {
  if (formatJson(before) === formatJson(after)) return []
  if (before.type !== 'object' || after.type !== 'object') return [[path, after]]
  const names = [...new Set([...before.members, ...after.members].map(([name]) => name))]
  // A path cannot name it: the whole value is given.
  if (path !== 'data' && names.some((name) => !PLAIN.test(name))) return [[path, after]]
  const [old, next] = [new Map(before.members), new Map(after.members)]
  return names.flatMap((name): readonly Edit[] => {
    const [was, is] = [old.get(name), next.get(name)]
    const at = `${path}.${name}`
    if (is === undefined) return [[at, null]]
    return was === undefined ? [[at, is]] : editsOf(was, is, at)
  })
}
