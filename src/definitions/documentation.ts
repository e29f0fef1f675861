// docs/definitions-reference.md, from the JSON Schema of the language.

import { factsOf } from './json-schema.ts'
import { type Json, type SchemaField, schemaFields } from './schema-fields.ts'

const MEANS: Readonly<Record<string, string>> = {
  pick: 'expression',
  send: 'template',
  name: 'itself',
  path: 'path',
}

export function renderDefinitions(schema: Json): string {
  const fields = [...schemaFields(schema)]
  const sections = [...new Set(fields.map(({ kind }) => kind))].map((kind) => {
    const own = fields.filter((field) => field.kind === kind)
    const rows = [...new Set(own.map(({ path }) => path))].map((path) =>
      renderRow(own.filter((field) => field.path === path)),
    )
    return `## ${kind}

| field | value | a string is | left out | meaning |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`
  })
  return `# Reference of definitions

Every field of every kind. This page is made from the language's schema in \`src/definitions\`, as is
[definitions.schema.json](definitions.schema.json) for editors; the [guide](definitions.md) explains how they work together.

What a string means is decided by its field. In an *expression* it is computed, and a text needs quotes of its own. A
*template* is text with \`{{ expression }}\` in it. A *path* names a place in the event. *Itself* is what it says. A
\`*\` in a field stands for any name, and a field of a map in a list is written like a field of the map.

${sections.join('\n')}`
}

function renderRow(variants: readonly SchemaField[]): string {
  const { path } = variants[0] as SchemaField
  const schemas = variants.map(({ schema }) => schema)
  const values = [...new Set(schemas.map(kindOfValue))].join(' or ')
  const strings = [...new Set(schemas.flatMap(meaningsOf))].map((one) => MEANS[one] ?? one).join(', ')
  const isNeeded = variants.every((variant) => variant.isNeeded)
  const found = factsOf((variants[0] as SchemaField).schema)
  const given = found?.default === undefined ? found?.otherwise : `\`${found.default}\``
  const leftOut = isNeeded ? 'needed' : (given ?? '')
  return `| \`${path}\` | ${values} | ${strings} | ${leftOut} | ${found?.meaning ?? ''} |`
}

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\(ms\|s\|m\|h\|d\)/, 'duration'],
  [/KiB/, 'size'],
]

const REFERRED: Readonly<Record<string, string>> = {
  '#/$defs/Condition': 'condition',
  '#/$defs/Action': 'as `do` of a [Route](#route)',
}

function kindOfValue(schema: Json): string {
  if (typeof schema.$ref === 'string') return REFERRED[schema.$ref] ?? 'any value'
  if (schema.const !== undefined) return `\`${schema.const}\``
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => `\`${one}\``).join(', ')
  const choices = (schema.anyOf ?? schema.oneOf) as readonly Json[] | undefined
  if (choices !== undefined && schema.properties === undefined) {
    return [...new Set(choices.map(kindOfValue))].join(' or ')
  }
  switch (schema.type) {
    case 'string':
      return PATTERNS.find(([pattern]) => pattern.test(String(schema.pattern ?? '')))?.[1] ?? 'text'
    case 'integer':
      return `${schema.minimum} to ${schema.maximum}`
    case 'array':
      return `list of ${plural(kindOfValue(schema.items as Json))}`
    case 'object':
      return 'map'
    default:
      return String(schema.type)
  }
}

const plural = (word: string) => (/^[a-z]+$/.test(word) ? `${word}s` : word)

/** Of the value itself, not of what is inside a map. */
function meaningsOf(schema: Json): readonly string[] {
  if (schema.$ref === '#/$defs/Sends') return ['send']
  if (schema.$ref === '#/$defs/Condition') return ['pick']
  const own = schema['x-millrace']
  const inner = [schema.anyOf, schema.oneOf, schema.items].flat() as readonly (Json | undefined)[]
  const below = schema.properties === undefined ? inner.flatMap((one) => (one ? meaningsOf(one) : [])) : []
  return [...(own === undefined ? [] : [String(own)]), ...below]
}
