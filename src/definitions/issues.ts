// Turns the schema's issues into remarks in the language's terms, with suggestions.

import * as z from 'zod'
import { isNumeral, type JsonValue } from '../core/foundation/json/index.ts'
import { closest } from '../core/foundation/text/index.ts'
import { type IssueParams, UNITS } from './fields.ts'
import { type FieldPath, missing, type Remark } from './finding.ts'
import { declarationOf, type Kind, schemaFor } from './kinds/index.ts'
import { listed } from './suggest.ts'

type Issue = z.core.$ZodIssue
type Value = { readonly [key: string]: JsonValue }

export function checkShape(kind: Kind, value: Value): readonly Remark[] {
  const parsed = schemaFor(kind, value).safeParse(value)
  if (parsed.success) return []
  return parsed.error.issues.flatMap((issue) => remarksOf(issue, [], { kind, value }))
}

interface Place {
  readonly kind: Kind
  readonly value: Value
}

function remarksOf(issue: Issue, base: FieldPath, place: Place): readonly Remark[] {
  const path = [...base, ...(issue.path as FieldPath)]
  switch (issue.code) {
    case 'custom':
      return [{ message: issue.message, path, ...(issue.params as IssueParams) }]
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownField([...path, key], place))
    case 'invalid_union':
      return union(issue, path, place)
    case 'invalid_value':
      return [wrongValue(path, issue.values.map(String), place)]
    case 'invalid_type':
      return [wrongType(issue.expected, path, place)]
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues.flatMap((inner) => remarksOf({ ...inner, path: [] } as Issue, path, place))
    case 'too_small':
    case 'too_big':
      return [outOfBounds(issue, path)]
    default:
      return [{ rule: 'type', message: issue.message, path }]
  }
}

function union(issue: z.core.$ZodIssueInvalidUnion, path: FieldPath, place: Place): readonly Remark[] {
  if (issue.errors.length === 0) {
    const options = Object.keys(optionsAt(path.slice(0, -1), place))
    return [wrongValue(path, options, place)]
  }
  // The alternatives differ in type: the one whose type matches says what is wrong.
  const alternative = issue.errors
    .filter((errors) => !errors.some((inner) => isWrongAtRoot(inner)))
    .toSorted((a, b) => weightOf(a) - weightOf(b))[0]
  if (alternative !== undefined) return alternative.flatMap((inner) => remarksOf(inner, path, place))
  const expected = issue.errors.flatMap((errors) =>
    errors.filter(isWrongAtRoot).map((inner) => inner.expected),
  )
  return [wrongType(expected, path, place)]
}

/** Of several maps, the one that fits best is meant. */
function weightOf(errors: readonly Issue[]): number {
  const weights = errors.map((one) => (one.code === 'unrecognized_keys' ? one.keys.length : 1))
  return weights.reduce((sum, weight) => sum + weight, 0)
}

function isWrongAtRoot(issue: Issue): issue is z.core.$ZodIssueInvalidType {
  return issue.code === 'invalid_type' && issue.path.length === 0
}

// --- Remarks

const NO_CHANNELS =
  '`channel` is not available in this version: leave it out, and send escalations on with a route on `integration.failure.escalated`'

const EACH_OF_STEP =
  '`forEach` belongs to a route: for steps of each element, start a workflow from a route with `forEach`, by `do: { start: … }`'
/** Of pollers: fields of the language that this version does not support. */
const LATER_FIELDS = new Set(
  'was maxWindow sweep drift reconcile completeness cursor.id cursor.token paging.token'.split(' '),
)

function notAvailable(name: string): string {
  return `\`${name}\` is not available in this version: leave it out`
}

function unknownField(path: FieldPath, place: Place): Remark {
  const name = String(path.at(-1))
  const parent = path.slice(0, -1)
  const owner = ownerOf(place.kind, parent)
  const fields = Object.keys(fieldsAt(parent, place))
  const common = { rule: 'unknownField', path, onKey: true } as const
  const action = parent.at(-1)
  if (action === 'deadLetter' && name === 'channel') {
    return { ...common, rule: 'notAvailable', message: NO_CHANNELS }
  }
  if (name === 'forEach' && parent.length === 2 && ['steps', 'transitions'].includes(String(parent[0]))) {
    return { ...common, rule: 'notAvailable', message: EACH_OF_STEP }
  }
  if (place.kind === 'Poller' && LATER_FIELDS.has(path.join('.')))
    return { ...common, rule: 'notAvailable', message: notAvailable(name) }
  if (/^Action\.(?:http|upsert)$/.test(owner) && (name === 'timeout' || name === 'classify')) {
    return { ...common, message: `\`${name}\` stands beside \`${action}\`, not in it` }
  }
  const near = closest(name, fields)
  if (near === undefined)
    return { ...common, message: `there is no field \`${name}\` here, but ${listed(fields)}` }
  return { ...common, message: `there is no field \`${name}\`: did you mean \`${near}\`?`, suggestion: near }
}

/** An action is the same wherever it is. */
function ownerOf(kind: Kind, parent: FieldPath): string {
  const at = parent.findLastIndex((step) => step === 'do' || step === 'undo' || step === 'onEnter')
  const isStep = at === 2 && parent[0] === 'steps'
  const isAction =
    kind === 'Route' ? at === 0 || isStep : kind === 'Workflow' && at === 2 && parent[0] !== 'triggers'
  return (isAction ? ['Action', ...parent.slice(at + 1)] : [kind, ...parent]).join('.')
}

function wrongValue(path: FieldPath, values: readonly string[], place: Place): Remark {
  const value = valueAt(place.value, path)
  if (value === undefined) return missing(path)
  if (place.kind === 'Poller' && path.join('.') === 'paging.style' && value === 'odata')
    return { rule: 'notAvailable', message: '`style: odata` is not available in this version', path }
  const choice = values.length === 1 ? listed(values) : `one of ${listed(values)}`
  if (typeof value !== 'string') return { rule: 'type', message: `this is ${choice}`, path }
  const near = closest(value, values) ?? (values.length === 1 ? values[0] : undefined)
  const rule = path.length === 1 && path[0] === 'apiVersion' ? 'apiVersion' : 'value'
  return { rule, message: `this is ${choice}`, path, ...(near === undefined ? {} : { suggestedText: near }) }
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: '`true` or `false`',
  array: 'a list',
  object: 'a map',
  record: 'a map',
}

const SECRET_IN_PLACE =
  'a secret is not written here: put it into the vault with `millrace secrets set name`, and write `{ ref: name }`. If this was a real one, change it: whoever read the file has it'

function wrongType(expected: string | readonly string[], path: FieldPath, place: Place): Remark {
  const value = valueAt(place.value, path)
  if (value === undefined) return missing(path)
  if (path.at(-1) === 'secret' && typeof value === 'string') {
    return { rule: 'secretInPlace', message: SECRET_IN_PLACE, path }
  }
  const types = typeof expected === 'string' ? [expected] : expected
  const wanted = types.map((type) => TYPE_NAMES[type] ?? type).join(' or ')
  const field = path.at(-1)
  if (value === null) {
    const message = `\`${field}\` is empty: it is ${wanted}, or is left out (\`#\` begins a comment; text needs quotes)`
    return { rule: 'type', message, path }
  }
  const unit = unitOf(path, place)
  if (typeof value === 'number' && unit !== undefined) {
    const message = unit === 'duration' ? 'a duration needs a unit' : 'a size needs a unit'
    return { rule: 'unit', message, path, suggestedText: `${value}${unit === 'duration' ? 's' : 'B'}` }
  }
  const isScalar = typeof value !== 'object'
  if (types.includes('string') && isScalar) {
    return {
      rule: 'type',
      message: `this is ${wanted}: it needs quotes`,
      path,
      suggestion: `"${String(value)}"`,
    }
  }
  const suggestion = types.includes('boolean') ? BOOLEANS[String(value).toLowerCase()] : undefined
  const message = `this must be ${wanted}, not ${nameOfType(value)}`
  return { rule: 'type', message, path, ...(suggestion === undefined ? {} : { suggestion }) }
}

/** Words that YAML 1.1 read as booleans, and 1.2 does not. */
const BOOLEANS: Readonly<Record<string, string>> = {
  yes: 'true',
  on: 'true',
  true: 'true',
  no: 'false',
  off: 'false',
  false: 'false',
}

function nameOfType(value: JsonValue): string {
  if (value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (isNumeral(value)) return 'a number of more digits than this may have'
  if (typeof value === 'object') return 'a map'
  return typeof value === 'string' ? 'a text' : typeof value === 'boolean' ? '`true` or `false`' : 'a number'
}

function outOfBounds(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, path: FieldPath): Remark {
  const least = issue.code === 'too_small'
  const bound = Number(least ? issue.minimum : issue.maximum)
  const what = issue.origin === 'array' ? 'entries' : issue.origin === 'string' ? 'characters' : ''
  const message = `this ${what === '' ? 'is' : 'has'} at ${least ? 'least' : 'most'} ${bound}${what === '' ? '' : ` ${what}`}`
  return { rule: 'bounds', message, path, ...(what === '' ? { suggestion: String(bound) } : {}) }
}

// --- The schema at a path

function valueAt(value: JsonValue, path: FieldPath): JsonValue | undefined {
  let found: JsonValue | undefined = value
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined
    found = (found as Readonly<Record<string | number, JsonValue>>)[step]
  }
  return found
}

function unitOf(path: FieldPath, place: Place): 'duration' | 'size' | undefined {
  const schema = schemaAt(path, place)
  return schema === undefined ? undefined : UNITS.get(schema as z.ZodString)?.unit
}

function fieldsAt(path: FieldPath, place: Place): Readonly<Record<string, unknown>> {
  const schema = schemaAt(path, place)
  return schema instanceof z.ZodObject ? schema.shape : {}
}

/** The alternatives of a discriminated union, by the value that tells them apart. */
function optionsAt(path: FieldPath, place: Place): Readonly<Record<string, z.ZodType>> {
  const schema = schemaAt(path, place, true)
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return {}
  const { discriminator } = schema.def
  return Object.fromEntries(
    (schema.options as readonly z.ZodObject[]).flatMap((option) => {
      return tagsOf(option, discriminator).map((tag) => [tag, option] as const)
    }),
  )
}

/** An alternative may stand for several values. */
function tagsOf(option: z.ZodObject, discriminator: string): readonly string[] {
  const tag = option.shape[discriminator]
  return tag instanceof z.ZodEnum ? tag.options.map(String) : [String((tag as z.ZodLiteral).value)]
}

function schemaAt(path: FieldPath, place: Place, keepUnion = false): z.ZodType | undefined {
  let schema: z.ZodType | undefined = declarationOf(place.kind).schema()
  for (const [index, step] of path.entries()) {
    const here = enter(schema, valueAt(place.value, path.slice(0, index)))
    if (here instanceof z.ZodObject) schema = here.shape[step] as z.ZodType | undefined
    else if (here instanceof z.ZodArray) schema = here.element as z.ZodType
    else if (here instanceof z.ZodRecord) schema = here.valueType as z.ZodType
    else return undefined
  }
  return keepUnion ? unwrap(schema) : enter(schema, valueAt(place.value, path))
}

function unwrap(schema: z.ZodType | undefined): z.ZodType | undefined {
  return schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema
}

/** Unwraps optionals, and enters the alternative that the value is meant to be. */
function enter(schema: z.ZodType | undefined, value: JsonValue | undefined): z.ZodType | undefined {
  const inner = unwrap(schema)
  if (inner instanceof z.ZodDiscriminatedUnion) {
    const tag = valueAt(value ?? null, [inner.def.discriminator])
    return (inner.options as readonly z.ZodObject[]).find(
      (option) => typeof tag === 'string' && tagsOf(option, inner.def.discriminator).includes(tag),
    )
  }
  if (!(inner instanceof z.ZodUnion)) return inner
  const options = inner.options as readonly z.ZodType[]
  return options.find((option) =>
    Array.isArray(value)
      ? option instanceof z.ZodArray
      : typeof value === 'object'
        ? option instanceof z.ZodObject
        : option instanceof z.ZodString || option instanceof z.ZodEnum,
  )
}
