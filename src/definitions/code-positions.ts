// Finds where in the text of a file a definition, or one of its fields, is written. The text is not parsed: the name is
// searched for, then the fields from there. If nothing is found the position is the export, or the start of the file.

import type { CodeExport } from '../core/effects/function/index.ts'
import type { FieldPath } from './finding.ts'

export function findInCode(
  text: string,
  one: Pick<CodeExport, 'exported' | 'value'>,
  place: { readonly path: FieldPath; readonly onKey?: boolean },
): number {
  const { name } = one.value
  const named =
    typeof name === 'string' ? find(text, `name\\s*:\\s*(['"\`])${escapePattern(name)}\\1`, 0) : -1
  const exported = exportOf(text, one.exported)
  if (named < 0) return exported
  const from = beginning(text, named)
  // The next definition's fields are not this one's.
  const end = find(text, 'define[A-Z]\\w*\\s*\\(', named)
  const body = end < 0 ? text : text.slice(0, end)
  let at = named
  let start = from
  for (const step of place.path) {
    if (typeof step === 'number') continue
    const next = find(body, `(?<=[\\s{,])(['"]?)${escapePattern(step)}\\1(?=\\s*[:,(}])`, start)
    if (next < 0) break
    at = next
    start = next + step.length
  }
  return at
}

/** Where the builder's call that contains the offset starts; the offset itself if there is none. */
function beginning(text: string, offset: number): number {
  const calls = [...text.slice(0, offset).matchAll(/define[A-Z]\w*\s*\(/g)]
  return calls.at(-1)?.index ?? offset
}

function exportOf(text: string, name: string): number {
  const own =
    name === 'default' ? 'export\\s+default\\b' : `export\\s+(?:const|let|var)\\s+${escapePattern(name)}\\b`
  const at = find(text, own, 0)
  return at >= 0 ? at : Math.max(0, find(text, 'export\\s*\\{', 0))
}

function find(text: string, pattern: string, from: number): number {
  const expression = new RegExp(pattern, 'g')
  expression.lastIndex = from
  return expression.exec(text)?.index ?? -1
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
