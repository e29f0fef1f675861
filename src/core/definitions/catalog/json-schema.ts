// Compiles a JSON Schema (2020-12, limited to one document) into plain functions. Why not a library: schemas come from any user
// who may apply definitions, payloads from any sender. So nothing is turned into code, patterns run in linear time, work is
// bounded, and integers beyond 2^53 are numbers. Mismatches are reported by path and type alone, never by value. `format` is an
// annotation and checks nothing.

import type { JsonValue } from '../../foundation/json/index.ts'
import { type Check, describeKind, type Fields, isMap, isWhole, kindOf, type Walk } from './schema-check.ts'
import { APPLIED, ASSERTED } from './schema-keywords.ts'

/** Location and problem; safe to show to everyone who may see that the event exists. */
export interface Mismatch {
  /** `payload.issue.labels[0].name`. */
  readonly path: string
  readonly problem: string
}

export interface SchemaProblem {
  readonly message: string
  readonly path: readonly (string | number)[]
}

export interface CompiledSchema {
  check(payload: JsonValue): Mismatch | null
}

const NODES_MAX = 2_000
const DEPTH_MAX = 32
const PROBLEMS_MAX = 20
/** Visits of one check: about what a payload of a megabyte needs under a plain schema. */
const STEPS_MAX = 200_000
const CALLS_MAX = 300

/** `then` and `else` are read by the `if` beside them. */
const NOTES = new Set(
  'then else $schema $id $anchor $comment $defs definitions title description default examples example deprecated readOnly writeOnly format contentEncoding contentMediaType'.split(
    ' ',
  ),
)

interface Compiler {
  readonly root: JsonValue
  readonly problems: SchemaProblem[]
  /** Keyed by the schema's own object: a reference back to it is a call, not a copy. */
  readonly known: Map<JsonValue, { check: Check }>
  nodes: number
}

export function compileSchema(
  schema: JsonValue,
):
  | ({ readonly ok: true } & CompiledSchema)
  | { readonly ok: false; readonly problems: readonly SchemaProblem[] } {
  const compiler: Compiler = { root: schema, problems: [], known: new Map(), nodes: 0 }
  const check = compile(compiler, schema, [])
  if (compiler.problems.length > 0) return { ok: false, problems: compiler.problems.slice(0, PROBLEMS_MAX) }
  return {
    ok: true,
    check(payload) {
      const walk: Walk = { steps: STEPS_MAX, calls: CALLS_MAX }
      const fault = check(payload, walk)
      // Once the budget is used up, later findings mean nothing.
      if (walk.steps < 0) return { path: 'payload', problem: 'is too much to check' }
      return fault === null ? null : { path: showPath(fault.path), problem: fault.problem }
    },
  }
}

function addProblem(compiler: Compiler, path: SchemaProblem['path'], message: string): Check {
  if (compiler.problems.length < PROBLEMS_MAX) compiler.problems.push({ message, path })
  return () => null
}

function compile(compiler: Compiler, schema: JsonValue, path: SchemaProblem['path']): Check {
  if (schema === true) return () => null
  if (schema === false) return () => ({ path: [], problem: 'is not allowed here' })
  if (!isMap(schema)) return addProblem(compiler, path, 'a schema is a map, or true or false')
  const known = compiler.known.get(schema)
  if (known !== undefined) return (value, walk) => known.check(value, walk)
  compiler.nodes += 1
  if (compiler.nodes === NODES_MAX)
    return addProblem(compiler, path, `a schema has at most ${NODES_MAX} parts`)
  if (compiler.nodes > NODES_MAX) return () => null
  if (path.length > 2 * DEPTH_MAX)
    return addProblem(compiler, path, `a schema is at most ${DEPTH_MAX} levels deep`)
  const slot: { check: Check } = { check: () => null }
  compiler.known.set(schema, slot)
  const checks = compileKeywords(compiler, schema, path)
  slot.check = (value, walk) => {
    walk.steps -= 1
    if (walk.steps < 0 || walk.calls <= 0) return { path: [], problem: 'is too much to check' }
    walk.calls -= 1
    for (const check of checks) {
      const fault = check(value, walk)
      if (fault !== null) {
        walk.calls += 1
        return fault
      }
    }
    walk.calls += 1
    return null
  }
  return slot.check
}

function compileKeywords(compiler: Compiler, schema: Fields, path: SchemaProblem['path']): readonly Check[] {
  const checks: Check[] = []
  for (const [name, operand] of Object.entries(schema)) {
    const at = [...path, name]
    if (NOTES.has(name) || name.startsWith('x-')) continue
    if (name === 'type') checks.push(compileType(compiler, operand, at))
    else if (name === '$ref') checks.push(compileReference(compiler, operand, at))
    else if (Object.hasOwn(ASSERTED, name)) {
      const made = ASSERTED[name]?.(operand, schema)
      if (typeof made === 'string') addProblem(compiler, at, made)
      else if (made !== undefined) checks.push(made)
    } else if (Object.hasOwn(APPLIED, name)) {
      const sub = (part: JsonValue, ...steps: (string | number)[]) =>
        compile(compiler, part, [...at, ...steps])
      const beside = (part: JsonValue, other: string) => compile(compiler, part, [...path, other])
      const made = APPLIED[name]?.(operand, schema, sub, beside)
      if (typeof made === 'string') addProblem(compiler, at, made)
      else if (made !== undefined) checks.push(made)
    } else addProblem(compiler, at, `\`${name}\` is no keyword that is checked here: leave it out`)
  }
  return checks
}

const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']

function compileType(compiler: Compiler, operand: JsonValue, path: SchemaProblem['path']): Check {
  const types = Array.isArray(operand) ? operand : [operand]
  if (types.length === 0 || !types.every((type) => TYPES.includes(String(type))))
    return addProblem(compiler, path, `\`type\` is one of ${TYPES.join(', ')}, or a list of them`)
  const wanted = types.join(' or ')
  return (value) => {
    const kind = kindOf(value)
    if (types.includes(kind) || (kind === 'number' && types.includes('integer') && isWhole(value)))
      return null
    return { path: [], problem: `is ${describeKind(value)}, not ${wanted}` }
  }
}

/** Only within the document: nothing is fetched. */
function compileReference(compiler: Compiler, operand: JsonValue, path: SchemaProblem['path']): Check {
  if (typeof operand !== 'string' || !operand.startsWith('#'))
    return addProblem(compiler, path, '`$ref` begins with `#`: what is referred to stands in the same schema')
  const target = resolvePointer(compiler.root, operand.slice(1))
  if (target === undefined) return addProblem(compiler, path, 'this refers to nothing in the schema')
  return compile(compiler, target, path)
}

function resolvePointer(root: JsonValue, pointer: string): JsonValue | undefined {
  if (pointer !== '' && !pointer.startsWith('/')) return undefined
  let found: JsonValue | undefined = root
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(found)) found = found[Number(name)]
    else found = isMap(found) && Object.hasOwn(found, name) ? found[name] : undefined
    if (found === undefined) return undefined
  }
  return found
}

const NAME = /^[A-Za-z_][\w-]{0,63}$/
const SHOWN_STEPS_MAX = 12

/** Unknown names are the sender's words: they are not repeated. */
function showPath(path: readonly (string | number)[]): string {
  let text = 'payload'
  for (const step of path.slice(0, SHOWN_STEPS_MAX)) {
    if (typeof step === 'number') text += `[${step}]`
    else text += NAME.test(step) ? `.${step}` : '.?'
  }
  return path.length > SHOWN_STEPS_MAX ? `${text}…` : text
}
