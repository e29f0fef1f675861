// The types and builders of src/sdk/definitions.generated.ts, from the declarations of the kinds. The values that fields
// have in common (Expression, Template, Condition …) and the names of a workflow's places and transitions are written by
// hand in src/sdk.

import * as z from 'zod'
import {
  ACTION_NAMES,
  actionDeclaration,
  companionsOf,
  makeActionOf,
} from '../../src/definitions/actions/index.ts'
import { FACTS, type FieldFacts, NAMED, UNITS } from '../../src/definitions/fields.ts'
import { leftOutOf } from '../../src/definitions/json-schema.ts'
import { carriedFields, declarationOf, KIND_NAMES, type Kind } from '../../src/definitions/kinds/index.ts'

/** In a normal form, where units are resolved and every text is a string. */
const NORMAL: Readonly<Record<string, string>> = {
  DurationText: 'number',
  SizeText: 'number',
  Expression: 'string',
  Template: 'string',
  Sent: 'JsonValue',
  Condition: 'JsonValue',
  JsonSchema: 'JsonValue',
  unknown: 'JsonValue',
}

/** src/core/definitions/documents/carried-fields.generated.ts: the fields that kinds declare as carried. */
export function renderCarriedFields(): string {
  const kinds = KIND_NAMES.map((kind) => {
    const fields = carriedFields(kind).map(({ key, schema, facts }) => {
      const type = NAMED.get(schema) === undefined ? renderType(schema) : 'JsonValue'
      const normal = type.replaceAll(/\b[A-Z]\w+\b|\bunknown\b/g, (word) => NORMAL[word] ?? word)
      return `  /** ${commentOf(facts)} */\n  readonly ${key}?: ${indented(normal).trimStart()}`
    })
    return `export interface Carried${kind} {${fields.length === 0 ? '' : `\n${fields.join('\n')}\n`}}`
  })
  return `// Generated from src/definitions/kinds by \`npm run docs\`; do not edit. Optional fields of documents whose normal form is
// what was written: a field that is left out was not written, or equals the default.

import type { JsonValue } from '../../foundation/json/index.ts'

${kinds.join('\n\n')}
`
}

/** With the objects, all of whose fields are such ones, that forms draw as well: `probe.every`. */
const FORMS: Readonly<Record<string, { readonly kind: Kind; readonly within: readonly string[] }>> = {
  SUBSCRIPTION_FIELDS: { kind: 'Subscription', within: [] },
  CONNECTION_FIELDS: { kind: 'Connection', within: ['probe'] },
  CREDENTIAL_FIELDS: { kind: 'Credential', within: ['rotation'] },
}

/** console/src/lib/definition-fields.generated.ts: optional fields of one line, for forms. */
export function renderFormFields(): string {
  const tables = Object.entries(FORMS).map(([name, { kind, within }]) => {
    const { shape } = declarationOf(kind).schema() as unknown as z.ZodObject
    const fields = [
      ...lineFields(shape),
      ...within.flatMap((outer) => lineFields(objectIn(shape[outer] as z.ZodType).shape, `${outer}.`)),
    ]
    return `export const ${name}: readonly FormField[] = ${JSON.stringify(fields, null, 2)}`
  })
  return `// Generated from src/definitions/kinds by \`npm run docs\`; do not edit. Optional fields of definitions of one line.

export interface FormField {
  /** \`probe.every\`: within an object. */
  readonly name: string
  readonly meaning: string
  /** What it means that it is left out. */
  readonly leftOut: string
  /** Milliseconds in the document, where \`null\` is the word. */
  readonly isDuration?: boolean
  readonly word?: string
  readonly values?: readonly string[]
}

${tables.join('\n\n')}
`
}

function lineFields(shape: Shape, prefix = '') {
  return Object.entries(shape).flatMap(([name, field]) => {
    const schema = unwrapped(field)
    const facts = FACTS.get(field)
    const isLine = schema instanceof z.ZodString || schema instanceof z.ZodEnum
    if (!isLine || facts === undefined || !(field instanceof z.ZodOptional)) return []
    const unit = UNITS.get(schema as z.ZodString)
    return [
      {
        name: `${prefix}${name}`,
        meaning: facts.meaning,
        leftOut: String(facts.default ?? facts.otherwise),
        ...(unit?.unit === 'duration' ? { isDuration: true } : {}),
        ...(unit?.word === undefined ? {} : { word: unit.word }),
        ...(schema instanceof z.ZodEnum ? { values: schema.options } : {}),
      },
    ]
  })
}

const unwrapped = (field: z.ZodType) => (field instanceof z.ZodOptional ? field.unwrap() : field) as z.ZodType

/** The object itself, or that of a union. */
function objectIn(field: z.ZodType): z.ZodObject {
  const schema = unwrapped(field)
  const choices = schema instanceof z.ZodUnion ? schema.options : [schema]
  return choices.find((one) => one instanceof z.ZodObject) as z.ZodObject
}

/** console/src/lib/action-kinds.generated.ts: how actions look on screen. */
export function renderActionKinds(): string {
  const screens = ACTION_NAMES.map((name) => ({ name, ...actionDeclaration(name).screen }))
  const icons = [...new Set(screens.map(({ icon }) => icon))].sort()
  const lines = screens.map(
    ({ name, icon, does }) => `  ${name}: { icon: ${icon}, does: ${JSON.stringify(does)} },`,
  )
  return `// Generated from src/definitions/actions by \`npm run docs\`; do not edit.

import { ${icons.join(', ')}, type LucideIcon } from 'lucide-react'

export const ACTION_KINDS: Readonly<Record<string, { readonly icon: LucideIcon; readonly does: string }>> = {
${lines.join('\n')}
}
`
}

/** Written by hand in src/sdk/definition-values.ts. */
const VALUES = [
  'AuthDefinition',
  'Condition',
  'Expression',
  'JsonSchema',
  'SecretReference',
  'Sent',
  'SizeText',
  'Template',
]
const STRINGS: Readonly<Record<string, string>> = { pick: 'Expression', send: 'Template' }
const TREES: Readonly<Record<string, string>> = { sends: 'Sent', condition: 'Condition', json: 'unknown' }

type NameOf = (schema: z.ZodType, name: string) => string

export function renderDefinitionTypes(): string {
  const named = new Map<string, string>()

  const nameOf = (schema: z.ZodType, name: string): string => {
    if (!VALUES.some((value) => name.includes(value)) && !named.has(name)) {
      named.set(name, '')
      const inner = renderType(schema, nameOf, false)
      named.set(
        name,
        inner.startsWith('{') ? `export interface ${name} ${inner}` : `export type ${name} = ${inner}`,
      )
    }
    return name
  }

  const fieldsOf = (shape: Shape, needed?: readonly string[]) => renderFields(shape, nameOf, needed)

  const action = makeActionOf([])
  const actions = ACTION_NAMES.map((name) => {
    const shape: Readonly<Record<string, z.ZodType>> = action.shape
    const { needed = [] } = actionDeclaration(name)
    const own = Object.fromEntries([name, ...companionsOf(name)].map((one) => [one, shape[one] as z.ZodType]))
    return {
      type: `${capital(name)}ActionDefinition`,
      text: `export interface ${capital(name)}ActionDefinition {\n${indented(fieldsOf(own, [name, ...needed]))}\n}`,
    }
  })
  named.set('ActionDefinition', '')
  const kinds = KIND_NAMES.map((kind) => {
    const { schema, summary } = declarationOf(kind)
    const name = kind === 'Workflow' ? 'WorkflowFields' : `${kind}Definition`
    return `/** ${summary} */\nexport interface ${name} {\n${indented(fieldsOf((schema() as z.ZodObject).shape))}\n}`
  })
  named.delete('ActionDefinition')
  const union = actions.map(({ type }) => `  | ${type}`).join('\n')
  const body = [
    ...[...named.values()].filter((text) => text !== ''),
    ...actions.map(({ text }) => text),
    `export type ActionDefinition =\n${union}`,
    ...kinds,
    ...KIND_NAMES.filter((kind) => kind !== 'Workflow').map(builder),
  ].join('\n\n')
  const values = VALUES.filter((name) => new RegExp(`\\b${name}\\b`).test(body))
  return `// Generated from src/definitions/kinds by \`npm run docs\`; do not edit.

import type { ${values.join(', ')} } from './definition-values.ts'
import type { DurationText } from './errors.ts'

${body}
`
}

type Shape = Readonly<Record<string, z.ZodType>>

/** `nameOf`: the name of a type that has one; omitted: types are written in place. */
function renderType(schema: z.ZodType, nameOf?: NameOf, mayName = true): string {
  const typeOf = (one: z.ZodType) => renderType(one, nameOf)
  const name = mayName ? NAMED.get(schema) : undefined
  if (name !== undefined && nameOf !== undefined) return nameOf(schema, name)
  const meta = z.globalRegistry.get(schema) as { 'x-millrace'?: string; 'x-tree'?: string } | undefined
  const unit = UNITS.get(schema as z.ZodString)
  if (unit !== undefined)
    return `${unit.unit === 'duration' ? 'DurationText' : 'SizeText'}${unit.word === undefined ? '' : ` | '${unit.word}'`}`
  if (schema instanceof z.ZodOptional) return typeOf(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodEnum) return schema.options.map((one) => `'${one}'`).join(' | ')
  if (schema instanceof z.ZodLiteral) return JSON.stringify(schema.value).replaceAll('"', "'")
  if (schema instanceof z.ZodString) return STRINGS[meta?.['x-millrace'] ?? ''] ?? 'string'
  if (schema instanceof z.ZodNumber) return 'number'
  if (schema instanceof z.ZodBoolean) return 'boolean'
  if (schema instanceof z.ZodArray)
    return `readonly ${grouped(schema.element as z.ZodType, typeOf(schema.element as z.ZodType))}[]`
  if (schema instanceof z.ZodRecord) {
    const isStatus = /\[0-9\]\[0-9\]/.test(JSON.stringify(z.globalRegistry.get(schema.keyType as z.ZodType)))
    return `Readonly<Record<${isStatus ? 'number' : 'string'}, ${typeOf(schema.valueType as z.ZodType)}>>`
  }
  if (schema instanceof z.ZodUnion)
    return [...new Set((schema.options as readonly z.ZodType[]).map((one) => typeOf(one)))].join(' | ')
  if (schema instanceof z.ZodObject) return `{\n${indented(renderFields(schema.shape, nameOf))}\n}`
  if (schema instanceof z.ZodUnknown) return TREES[meta?.['x-tree'] ?? ''] ?? 'unknown'
  throw new Error(`there is no type for ${schema.def.type}`)
}

function renderFields(shape: Shape, nameOf?: NameOf, needed: readonly string[] = []): string {
  return Object.entries(shape)
    .filter(([name]) => name !== 'kind')
    .map(([name, schema]) => {
      const isOptional = schema instanceof z.ZodOptional && !needed.includes(name)
      return `${comment(schema)}readonly ${name}${isOptional ? '?' : ''}: ${renderType(schema, nameOf)}`
    })
    .join('\n')
}

/** A union in a list needs parentheses. */
const grouped = (schema: z.ZodType, type: string) =>
  (schema instanceof z.ZodUnion || schema instanceof z.ZodEnum) && type.includes(' | ') ? `(${type})` : type
const indented = (text: string) => text.replaceAll(/^(?=.)/gm, '  ')
const capital = (name: string) => `${name[0]?.toUpperCase()}${name.slice(1)}`

/** Fields of which one is needed. Other kinds are left as they were: a variable of their type stays good. */
function choiceOf(kind: Kind): string {
  if (kind !== 'Route') return ''
  const { oneOf = [] } = (z.globalRegistry.get(declarationOf(kind).schema()) ?? {}) as {
    readonly oneOf?: readonly { readonly required: readonly string[] }[]
  }
  const choices = oneOf.map(({ required }) => {
    const fields = required.map((name) => `readonly ${name}: NonNullable<${kind}Definition['${name}']>`)
    return `{ ${fields.join('; ')} }`
  })
  return choices.length === 0 ? '' : ` & (${choices.join(' | ')})`
}

function builder(kind: Kind): string {
  return `export function define${kind}<const Name extends string>(
  definition: ${kind}Definition & { readonly name: Name }${choiceOf(kind)},
): { readonly kind: '${kind}' } & ${kind}Definition & { readonly name: Name } {
  return { kind: '${kind}', ...definition }
}`
}

function comment(schema: z.ZodType): string {
  const facts = FACTS.get(schema)
  return facts === undefined ? '' : `/** ${commentOf(facts)} */\n`
}

function commentOf(facts: FieldFacts): string {
  const { meaning, since } = facts
  return [meaning, ...leftOutOf(facts), ...(since === undefined ? [] : [`Since ${since}.`])].join(' ')
}
