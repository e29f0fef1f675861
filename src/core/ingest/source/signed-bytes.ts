// The bytes that a signature covers, from the `signed` template of a source. Where the template is exactly `{{ body }}`, the
// raw bytes are used: a body that is not valid UTF-8 keeps its bytes, and a large one is never converted to text.

import { compileTemplate, type Scope, type Template } from '../../expression/index.ts'
import { assert } from '../../foundation/errors/index.ts'
import { stringifyJson } from '../../foundation/json/index.ts'

/** Lower-case names. */
export type Headers = Readonly<Record<string, string>>

/** Whole bodies stay bytes; text is hashed as UTF-8. */
export type SignedPart = string | Uint8Array
export type SignedParts = (headers: Headers, body: Uint8Array) => readonly SignedPart[]

const BODY = /\{\{\s*body\s*\}\}/

export function compileSigned(template: string): SignedParts {
  return compilePieces(template) ?? compileWhole(template)
}

type Piece = (headers: Headers) => string

/** null: a `{{ body }}` is inside something larger, such as a quoted text. */
function compilePieces(template: string): SignedParts | null {
  const pieces: Piece[] = []
  for (const text of template.split(BODY)) {
    const piece = compilePiece(text)
    if (piece === null) return null
    pieces.push(piece)
  }
  if (pieces.length === 2 && template.replace(BODY, '') === '') return (_headers, body) => [body]
  return (headers, body) =>
    pieces.flatMap((piece, index) => (index === 0 ? [piece(headers)] : [body, piece(headers)]))
}

function compilePiece(text: string): Piece | null {
  if (!text.includes('{{')) return () => text
  const compiled = compileTemplate(text, { roots: ['header'] })
  return compiled.ok ? (headers) => textOf(compiled.template, { header: headers }) : null
}

function compileWhole(template: string): SignedParts {
  const compiled = compileTemplate(template, { roots: ['header', 'body'] })
  assert(compiled.ok, 'the definition was checked before')
  return (headers, body) => [
    textOf(compiled.template, { header: headers, body: new TextDecoder().decode(body) }),
  ]
}

/** A single template preserves its type; what is signed is always text. */
function textOf(template: Template, scope: Scope): string {
  const value = template.render(scope, 'data') ?? ''
  return typeof value === 'string' ? value : stringifyJson(value)
}
