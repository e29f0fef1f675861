// The shape of GitHub's payloads, inferred from the real ones of @octokit/webhooks-examples. It keeps types and names,
// and no value. Few samples prove little: what was seen fewer than five times may also be null, and only fields that
// name a thing are required of it.

import { createRequire } from 'node:module'
import type { GithubPayloads } from '../../src/core/definitions/catalog/vendors/github.ts'
import type { JsonValue } from '../../src/core/foundation/json/index.ts'

type Fields = { readonly [key: string]: JsonValue }

export interface GithubExamples {
  readonly name: string
  readonly examples: readonly Fields[]
}

/** The same in every event. */
const SHARED = new Set(['repository', 'sender', 'organization', 'installation', 'enterprise'])
/** Whether they are present depends on where the webhook is installed, not on the event. */
const OPTIONAL = new Set(['organization', 'installation', 'enterprise'])
const NAMING = new Set(['id', 'login', 'name', 'full_name', 'number', 'title', 'state', 'action'])
const FEW = 5
/** API URLs are long lists that say nothing about the event. */
const isDull = (name: string) => name.endsWith('_url') && name !== 'html_url'

function readGithubExamples(): readonly GithubExamples[] {
  const list: readonly { name: string; examples: readonly (Fields | readonly Fields[])[] }[] = createRequire(
    import.meta.url,
  )('@octokit/webhooks-examples')
  return list.map(({ name, examples }) => ({ name, examples: examples.flat() as readonly Fields[] }))
}

export function renderGithubCatalog(): string {
  const text = JSON.stringify(inferPayloads(readGithubExamples()))
  const quoted = text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
  return `// Generated from real payloads: \`npx tsx scripts/write-github-catalog.ts\`. Types and names, no values.

/** JSON, read when it is needed. */
export const GITHUB_PAYLOADS =
  '${quoted}'
`
}

function inferPayloads(events: readonly GithubExamples[]): GithubPayloads {
  const all = events.flatMap(({ examples }) => examples)
  const parts: JsonValue[] = []
  const numbers = new Map<string, number>()
  const numberOf = (part: JsonValue): number => {
    const text = JSON.stringify(part)
    const known = numbers.get(text)
    if (known !== undefined) return known
    parts.push(part)
    numbers.set(text, parts.length - 1)
    return parts.length - 1
  }
  const partNumbers = new Map<string, number>()
  const payloads: Record<string, { fields: Record<string, number>; required: readonly string[] }> = {}
  for (const { name, examples } of events) {
    const partOf = (field: string): number => {
      const key = SHARED.has(field) ? field : `${name}.${field}`
      const known = partNumbers.get(key)
      if (known !== undefined) return known
      const samples = (SHARED.has(field) ? all : examples).filter((one) => Object.hasOwn(one, field))
      const values = samples.map((one) => one[field] as JsonValue)
      const number = numberOf(infer(values, field, 1))
      partNumbers.set(key, number)
      return number
    }
    const describe = (key: string, samples: readonly Fields[]) => {
      const fields = [...new Set(samples.flatMap((one) => Object.keys(one)))].sort()
      const required = fields.filter(
        (field) => !OPTIONAL.has(field) && samples.every((one) => Object.hasOwn(one, field)),
      )
      payloads[key] = { fields: Object.fromEntries(fields.map((field) => [field, partOf(field)])), required }
    }
    describe(name, examples)
    for (const action of new Set(examples.map((one) => one.action))) {
      if (typeof action !== 'string') continue
      describe(
        `${name}.${action}`,
        examples.filter((one) => one.action === action),
      )
    }
  }
  return { parts, payloads }
}

const LEVELS = 2

function infer(samples: readonly JsonValue[], name: string, level: number): JsonValue {
  const types = typesOf(samples, name)
  // Only null, or nothing, was seen: it could be anything.
  if (types.every((type) => type === 'null')) return {}
  const type = types.length === 1 ? (types[0] as string) : types
  if (!types.includes('object') || level >= LEVELS) return { type }
  const objects = samples.filter(isFields)
  const names = [...new Set(objects.flatMap((one) => Object.keys(one)))].filter((one) => !isDull(one)).sort()
  const properties = Object.fromEntries(
    names.map((field) => {
      const values = objects.filter((one) => Object.hasOwn(one, field)).map((one) => one[field] as JsonValue)
      return [field, infer(values, field, level + 1)]
    }),
  )
  const required = names.filter(
    (field) => NAMING.has(field) && objects.every((one) => (one[field] ?? null) !== null),
  )
  return { type, ...(required.length > 0 ? { required } : {}), properties }
}

function typesOf(samples: readonly JsonValue[], name: string): readonly string[] {
  const types = new Set(samples.map(typeOf))
  if (types.has('number')) types.delete('integer')
  if (samples.length < FEW && !NAMING.has(name)) types.add('null')
  // The type comes before null.
  return [...types].sort((a, b) => Number(a === 'null') - Number(b === 'null') || (a < b ? -1 : 1))
}

function typeOf(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value
}

function isFields(value: JsonValue): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
