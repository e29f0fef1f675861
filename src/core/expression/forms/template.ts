// Text with `{{ expression }}`.
// A single template preserves its value's type; inside longer text values are written out. In a URL every value is
// percent-encoded and must be present: a missing one would silently address something else. In data that is sent a number is
// spelled as it arrived; in every other text by its value, so that names and addresses do not depend on its spelling.

import type { JsonValue } from '../../foundation/json/index.ts'
import {
  attempt,
  type Compiled,
  type CompileOptions,
  compileProgram,
  type Program,
} from '../compile/index.ts'
import { isMissing, type Scope, STRING_MAX, toSentText, toText } from '../evaluation/index.ts'
import { encodeText } from '../functions/index.ts'
import { ExpressionError, Fault, readString } from '../syntax/index.ts'

export type TemplateMode = 'text' | 'data' | 'url'

export interface Template {
  readonly text: string
  readonly roots: readonly string[]
  readonly paths: readonly string[]
  /** Vault entries that it uses. */
  readonly secrets: readonly string[]
  /** True when the text has no template in it. */
  readonly isConstant: boolean
  /** The literal parts, in order; null where something is computed. */
  readonly literals: readonly (string | null)[]
  /** Undefined only for a single template whose value is missing. Throws ExpressionError. */
  render(scope: Scope, mode?: TemplateMode): JsonValue | undefined
}

type Part = string | Program

const OUTPUT_MAX = 16 * STRING_MAX
const DOT_SEGMENT = /(?:^|[/\\])\.\.?(?=[/\\]|$)/

export function compileTemplate(
  text: string,
  options?: CompileOptions,
): Compiled<{ readonly template: Template }> {
  return attempt(() => ({ template: makeTemplate(text, options) }))
}

/** Throws Fault. */
export function makeTemplate(text: string, options?: CompileOptions): Template {
  const parts = splitTemplate(text, options)
  const programs = parts.filter((part) => typeof part !== 'string')
  const alone = parts.length === 1 && programs.length === 1 ? programs[0] : undefined
  const render = (scope: Scope, mode: TemplateMode = 'text'): JsonValue | undefined => {
    if (mode === 'url') return renderUrl(parts, scope)
    if (alone !== undefined) return alone.run(scope) as JsonValue | undefined
    if (programs.length === 0) return text
    return renderText(parts, scope, mode === 'data' ? toSentText : toText)
  }
  const roots = [...new Set(programs.flatMap((program) => program.roots))]
  const paths = [...new Set(programs.flatMap((program) => program.paths))]
  const secrets = [...new Set(programs.flatMap(({ secret }) => secret ?? []))]
  const literals = parts.map((part) => (typeof part === 'string' ? part : null))
  return { text, roots, paths, secrets, isConstant: programs.length === 0, literals, render }
}

function renderText(parts: readonly Part[], scope: Scope, write: (value: unknown) => string): string {
  let output = ''
  for (const part of parts) {
    output += typeof part === 'string' ? part : write(part.run(scope))
    if (output.length > OUTPUT_MAX)
      throw new ExpressionError('bounds', `a text of more than ${OUTPUT_MAX} characters`)
  }
  return output
}

function renderUrl(parts: readonly Part[], scope: Scope): string {
  let output = ''
  for (const part of parts) output += typeof part === 'string' ? part : urlValue(part, scope, output)
  const path = output.replace(/[?#].*$/s, '').replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '')
  if (DOT_SEGMENT.test(path)) throw new ExpressionError('url', 'a value makes `.` or `..` a step of the path')
  return output
}

function urlValue(program: Program, scope: Scope, before: string): string {
  const value = program.run(scope)
  const path = program.paths[0]
  const text = toText(value)
  // An empty path segment would address the collection instead of one object; in a query it is only an empty value.
  if (isMissing(value) || (text === '' && !/[?#]/.test(before))) {
    throw new ExpressionError('missing', `${path ?? 'a value'} is missing in a URL`, path, 'null')
  }
  // A base address comes from the environment, not from an event, and is at the front.
  if (before === '' && program.roots.length === 1 && program.roots[0] === 'vars') return text
  return encodeText(text)
}

/** A part of a text with templates: literal text, or an expression without its braces. */
export interface TemplatePart {
  readonly text: string
  /** Where it begins in the whole. */
  readonly at: number
  readonly isExpression: boolean
}

/** The parts in order, expressions trimmed; null: the text is no valid template. */
export function splitTemplateText(text: string): readonly TemplatePart[] | null {
  try {
    const parts: TemplatePart[] = []
    let from = 0
    for (let open = text.indexOf('{{'); open >= 0; open = text.indexOf('{{', from)) {
      if (open > from) parts.push({ text: text.slice(from, open), at: from, isExpression: false })
      const close = findClose(text, open)
      compileInside(text, open, close, { secrets: true })
      const inside = text.slice(open + 2, close)
      const at = open + 2 + inside.length - inside.trimStart().length
      parts.push({ text: inside.trim(), at, isExpression: true })
      from = close + 2
    }
    if (from < text.length) parts.push({ text: text.slice(from), at: from, isExpression: false })
    return parts
  } catch (error) {
    if (error instanceof Fault) return null
    throw error
  }
}

export function splitTemplate(text: string, options?: CompileOptions): readonly Part[] {
  const parts: Part[] = []
  let from = 0
  for (;;) {
    const open = text.indexOf('{{', from)
    if (open < 0) break
    if (open > from) parts.push(text.slice(from, open))
    const close = findClose(text, open)
    parts.push(compileInside(text, open, close, options))
    from = close + 2
  }
  if (from < text.length) parts.push(text.slice(from))
  return parts
}

function compileInside(text: string, open: number, close: number, options?: CompileOptions): Program {
  const inside = text.slice(open + 2, close)
  if (inside.trim() === '')
    throw new Fault('an expression is missing between `{{` and `}}`', open, close + 2 - open)
  return shifted(open + 2, () => compileProgram(inside, options))
}

function shifted<T>(by: number, compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const { message, offset, length, suggestion } = error.problem
    throw new Fault(message, offset + by, length, suggestion)
  }
}

/** The `}}` that closes the template: braces of maps and quoted texts do not count. */
function findClose(text: string, open: number): number {
  let depth = 0
  let at = open + 2
  while (at < text.length) {
    const found = text[at]
    if (found === '}' && depth === 0 && text[at + 1] === '}') return at
    if (found === '"' || found === "'") {
      const raw = /(?:^|[^A-Za-z0-9_])[rR]$/.test(text.slice(Math.max(open, at - 2), at)) ? 1 : 0
      at = readString(text, at - raw)?.end ?? at + 1
      continue
    }
    if (found === '{') depth++
    if (found === '}') depth--
    at++
  }
  throw new Fault('this template is not closed: add `}}`', open, 2)
}
