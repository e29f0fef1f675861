// Conditions of `where` and `when`: an expression or a filter. Only true is true.

import type { JsonValue } from '../../foundation/json/index.ts'
import { type CompileOptions, compileProgram } from '../compile/index.ts'
import { isObject, type Scope, typeOf } from '../evaluation/index.ts'
import { Fault, type LocatedProblem } from '../syntax/index.ts'
import { makeTest, OPERATORS } from './filter.ts'
import { makePath } from './path.ts'
import type { CompiledTree } from './template-tree.ts'

export interface Condition {
  readonly roots: readonly string[]
  readonly paths: readonly string[]
  /** Throws ExpressionError if it is an expression that fails. */
  test(scope: Scope): boolean
}

type Place = readonly (string | number)[]
type Holds = (scope: Scope) => boolean

interface Work {
  readonly options: CompileOptions | undefined
  readonly roots: Set<string>
  readonly paths: Set<string>
  readonly problems: LocatedProblem[]
}

const DEPTH_MAX = 32
const never: Holds = () => false

export function compileCondition(
  value: JsonValue,
  options?: CompileOptions,
): CompiledTree<{ readonly condition: Condition }> {
  const work: Work = { options, roots: new Set(), paths: new Set(), problems: [] }
  const test = buildCondition(value, [], work)
  const [problem] = work.problems
  if (problem !== undefined) return { ok: false, problem, problems: work.problems }
  return { ok: true, condition: { roots: [...work.roots], paths: [...work.paths], test } }
}

function buildCondition(value: unknown, place: Place, work: Work): Holds {
  if (place.length > DEPTH_MAX) return report(work, place, 'this condition nests too deep')
  if (typeof value === 'string') return buildExpression(value, place, work)
  if (typeof value === 'boolean') {
    return report(
      work,
      place,
      'a condition is a text or a filter: put quotes around it',
      `'${String(value)}'`,
    )
  }
  if (!isObject(value))
    return report(work, place, `a condition is a text or a filter, not a ${typeOf(value)}`)
  const keys = Object.keys(value)
  if (keys.length === 0) return report(work, place, 'an empty condition decides nothing: leave it out')
  const combining = keys.filter((key) => key === 'all' || key === 'any' || key === 'not')
  if (combining.length === 0) return buildFilter(value as { [key: string]: JsonValue }, place, work)
  if (keys.length > 1) {
    return report(work, place, `\`${combining[0]}\` stands alone: put what is beside it inside an \`all\``)
  }
  return buildCombination(combining[0] as string, value, place, work)
}

function buildCombination(
  name: string,
  value: { readonly [key: string]: unknown },
  place: Place,
  work: Work,
): Holds {
  const inner = value[name]
  const below = [...place, name]
  if (name === 'not') {
    const test = buildCondition(inner, below, work)
    return (scope) => !test(scope)
  }
  if (!Array.isArray(inner)) return report(work, below, `\`${name}\` needs a list of conditions`)
  if (inner.length === 0) return report(work, below, 'an empty condition decides nothing: leave it out')
  const tests = inner.map((item, i) => buildCondition(item, [...below, i], work))
  return name === 'all'
    ? (scope) => tests.every((test) => test(scope))
    : (scope) => tests.some((test) => test(scope))
}

function buildExpression(text: string, place: Place, work: Work): Holds {
  if (text.trim() === '') return report(work, place, 'an empty condition decides nothing: leave it out')
  return attemptAt(work, place, () => {
    const program = compileProgram(text, work.options)
    for (const root of program.roots) work.roots.add(root)
    for (const path of program.paths) work.paths.add(path)
    return (scope: Scope) => program.run(scope) === true
  })
}

function buildFilter(filter: { readonly [key: string]: JsonValue }, place: Place, work: Work): Holds {
  const { path: text, ...operators } = filter
  const names = Object.keys(operators)
  const tests = names.map((name) =>
    attemptAt(work, [...place, name], () => makeTest(name, operators[name] as JsonValue)),
  )
  if (typeof text !== 'string') {
    // An unknown operator is already reported; without one, the path is missing.
    if (text === undefined && names.some((name) => !OPERATORS.has(name))) return never
    return report(
      work,
      text === undefined ? place : [...place, 'path'],
      'a filter needs a `path`, such as payload.status',
    )
  }
  if (names.length === 0)
    return report(work, place, `a filter needs an operator: ${[...OPERATORS.keys()].join(', ')}`)
  return attemptAt(work, [...place, 'path'], () => {
    const path = makePath(text, work.options)
    work.roots.add(path.root)
    work.paths.add(text.trim())
    return (scope: Scope) => {
      const value = path.read(scope)
      return tests.every((test) => test(value as Scope))
    }
  })
}

function attemptAt<T>(work: Work, place: Place, make: () => (value: T) => boolean): (value: T) => boolean {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    work.problems.push({ ...error.problem, path: place })
    return () => false
  }
}

function report(work: Work, path: Place, message: string, suggestion?: string): Holds {
  work.problems.push({
    message,
    offset: 0,
    length: 0,
    path,
    ...(suggestion === undefined ? {} : { suggestion }),
  })
  return never
}
