// Which secrets a document names, wherever it does: `{ env }`, `{ ref }` and `{ file }` in secret fields, and `{{
// secret('name') }}` in what is sent.

import type { JsonValue } from '../foundation/json/index.ts'

export type NamedSecret =
  | { readonly env: string; readonly path: readonly (string | number)[] }
  | { readonly file: string; readonly path: readonly (string | number)[] }
  | {
      readonly ref: string
      readonly path: readonly (string | number)[]
      /** For a template: the offset of its name in the text. */
      readonly offset?: number
    }

/** Fields that refer to a secret. */
const PLACES = new Set(['secret', 'bearer', 'password', 'value'])
const CALL = /\bsecret\(\s{0,8}['"]([\w.-]{1,128})['"]\s{0,8}\)/g

export function namedSecrets(document: JsonValue): readonly NamedSecret[] {
  const found: NamedSecret[] = []
  const visit = (value: JsonValue, path: readonly (string | number)[], isPlace: boolean): void => {
    if (typeof value === 'string') {
      if (!value.includes('{{')) return
      for (const match of value.matchAll(CALL))
        found.push({
          ref: match[1] as string,
          path,
          offset: match.index + match[0].indexOf(match[1] as string),
        })
      return
    }
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      for (const [index, one] of value.entries()) visit(one, [...path, index], isPlace)
      return
    }
    const entries = Object.entries(value as { readonly [name: string]: JsonValue })
    const [first] = entries
    if (isPlace && entries.length === 1 && first !== undefined && typeof first[1] === 'string') {
      const [place, name] = first
      if (place === 'env' || place === 'ref' || place === 'file')
        found.push({ [place]: name, path: [...path, place] } as unknown as NamedSecret)
    }
    for (const [name, one] of entries) visit(one, [...path, name], PLACES.has(name))
  }
  visit(document, [], false)
  return found
}
