// A tree of sends: every string in it is a template.
// A field or element whose one template has no value is omitted; null written in the tree stays.

import { isNumeral, type JsonValue } from '../../foundation/json/index.ts'
import type { CompileOptions } from '../compile/index.ts'
import { define, type Scope } from '../evaluation/index.ts'
import { Fault, type LocatedProblem } from '../syntax/index.ts'
import { makeTemplate, type TemplateMode } from './template.ts'

export interface Shape {
  readonly roots: readonly string[]
  readonly paths: readonly string[]
  /** Vault entries that it uses. */
  readonly secrets: readonly string[]
  /** Undefined only when the whole tree is one template without a value. Throws ExpressionError. */
  render(scope: Scope, mode?: TemplateMode): JsonValue | undefined
}

export type CompiledTree<T> =
  | ({ readonly ok: true } & T)
  | { readonly ok: false; readonly problem: LocatedProblem; readonly problems: readonly LocatedProblem[] }

type Render = (scope: Scope, mode: TemplateMode) => JsonValue | undefined

interface Work {
  readonly options: CompileOptions | undefined
  readonly roots: Set<string>
  readonly paths: Set<string>
  readonly secrets: Set<string>
  readonly problems: LocatedProblem[]
}

export function compileShape(
  value: JsonValue,
  options?: CompileOptions,
): CompiledTree<{ readonly shape: Shape }> {
  const work: Work = { options, roots: new Set(), paths: new Set(), secrets: new Set(), problems: [] }
  const render = buildValue(value, [], work)
  const [problem] = work.problems
  if (problem !== undefined) return { ok: false, problem, problems: work.problems }
  const shape = {
    roots: [...work.roots],
    paths: [...work.paths],
    secrets: [...work.secrets],
    render: (scope: Scope, mode: TemplateMode = 'data') => render(scope, mode),
  }
  return { ok: true, shape }
}

function buildValue(value: JsonValue, path: readonly (string | number)[], work: Work): Render {
  if (typeof value === 'string') return buildText(value, path, work)
  if (Array.isArray(value)) return buildArray(value, path, work)
  if (typeof value === 'object' && value !== null && !isNumeral(value))
    return buildObject(value as { [key: string]: JsonValue }, path, work)
  return () => value
}

function buildText(text: string, path: readonly (string | number)[], work: Work): Render {
  try {
    const template = makeTemplate(text, work.options)
    for (const root of template.roots) work.roots.add(root)
    for (const used of template.paths) work.paths.add(used)
    for (const name of template.secrets) work.secrets.add(name)
    return (scope, mode) => template.render(scope, mode)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    work.problems.push({ ...error.problem, path })
    return () => undefined
  }
}

function buildArray(array: readonly JsonValue[], path: readonly (string | number)[], work: Work): Render {
  const renders = array.map((item, i) => buildValue(item, [...path, i], work))
  return (scope, mode) => {
    const output: JsonValue[] = []
    for (const render of renders) {
      const value = render(scope, mode)
      if (value !== undefined) output.push(value)
    }
    return output
  }
}

function buildObject(
  object: { readonly [key: string]: JsonValue },
  path: readonly (string | number)[],
  work: Work,
): Render {
  const fields = Object.entries(object).map(([key, value]) => {
    if (key.includes('{{')) {
      const message = 'a field name is a literal: `{{` has no meaning in it'
      work.problems.push({ message, offset: 0, length: key.length, path: [...path, key] })
    }
    return { key, render: buildValue(value, [...path, key], work) }
  })
  return (scope, mode) => {
    const output: { [key: string]: JsonValue } = {}
    for (const { key, render } of fields) {
      const value = render(scope, mode)
      if (value === undefined) continue
      if (key === '__proto__') define(output, key, value)
      else output[key] = value
    }
    return output
  }
}
