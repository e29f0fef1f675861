// Generates the types and the table of operations for the client from the OpenAPI document. Knows just the part of JSON
// Schema that our documents use, and refuses the rest.
import type { OpenApiDocument, OpenApiOperation, OpenApiSchema } from '../../src/http/document.fixture.ts'

/** Written by hand in the client: their bodies are not JSON. */
const BY_HAND = new Set(['ingest', 'stream'])

interface Operation extends OpenApiOperation {
  readonly method: string
  readonly path: string
}

export function renderClientTypes(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths)
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        ...operation,
        method: method.toUpperCase(),
        path,
      })),
    )
    .filter(({ operationId }) => !BY_HAND.has(operationId))
    .sort((a, b) => (a.operationId < b.operationId ? -1 : 1))
  const shapes = Object.entries(document.components.schemas).sort(([a], [b]) => (a < b ? -1 : 1))
  return `// Generated from the routes' schemas: \`npx tsx scripts/write-client.ts\`. Do not edit.

${shapes.map(([name, schema]) => `${comment(schema.description, '')}export type ${name} = ${typeOf(schema, '')}\n`).join('\n')}
/** What each operation takes and answers, by its operationId. */
export interface Operations {
${operations.map((operation) => renderOperation(operation, document)).join('\n')}
}

/** Method, path, and which arguments go into the query; those in the path are marked there, the rest is the body. */
export const OPERATIONS = {
${operations.map(renderRow).join('\n')}
} as const satisfies Record<keyof Operations, readonly [string, string, readonly string[]]>
`
}

function renderOperation(operation: Operation, document: OpenApiDocument): string {
  const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in !== 'header')
  const body = operation.requestBody?.content['application/json']?.schema
  const names = parameters.map(({ name }) => name)
  const clash = memberNames(body, document).filter((name) => names.includes(name))
  if (clash.length > 0)
    throw new Error(`${operation.operationId}: ${clash} is in the body and in the address`)
  const members = parameters.map(
    ({ name, required, schema, description }) =>
      `${comment(description, '      ')}      readonly ${key(name)}${required ? '' : '?'}: ${typeOf(schema, '      ')}${required ? '' : ' | undefined'}\n`,
  )
  const args = [
    ...(members.length > 0 ? [`{\n${members.join('')}    }`] : []),
    ...(body === undefined ? [] : [typeOf(body, '    ', true)]),
  ]
  return `${comment(operation.summary, '  ')}  ${operation.operationId}: {
    args: ${args.length === 0 ? 'Readonly<Record<never, never>>' : args.map((part) => (args.length > 1 ? `(${part})` : part)).join(' & ')}
    answer: ${answerOf(operation)}
  }`
}

function answerOf(operation: Operation): string {
  const good = Object.entries(operation.responses).filter(([status]) => /^2/.test(status))
  if (good.length === 0) throw new Error(`${operation.operationId} documents no good answer`)
  const types = good.map(([, { content }]) => {
    const schema = content?.['application/json']?.schema
    return schema === undefined ? 'undefined' : typeOf(schema, '    ')
  })
  return [...new Set(types)].join(' | ')
}

function renderRow({ operationId, method, path, parameters = [] }: Operation): string {
  const query = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => `'${name}'`)
  return `  ${operationId}: ['${method}', '${path}', [${query.join(', ')}]],`
}

function memberNames(schema: OpenApiSchema | undefined, document: OpenApiDocument): readonly string[] {
  if (schema === undefined) return []
  if (schema.$ref !== undefined)
    return memberNames(document.components.schemas[nameOf(schema.$ref)], document)
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  return [...Object.keys(schema.properties ?? {}), ...parts.flatMap((part) => memberNames(part, document))]
}

const SIMPLE: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

function typeOf(schema: OpenApiSchema, indent: string, isArgument = false): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref)
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ')
  const union = schema.anyOf ?? schema.oneOf
  const own = schema.properties === undefined ? null : objectOf(schema, indent, isArgument)
  if (union !== undefined) {
    const isPlain = union.every(
      (part) => part.properties === undefined && part.type === undefined && part.$ref === undefined,
    )
    // Alternatives that only say which members are required add nothing that a type could express.
    if (isPlain && own !== null) return own
    const types = union.map((part) => typeOf(part, indent, isArgument)).join(' | ')
    return own === null ? types : `${own} & (${types})`
  }
  if (Array.isArray(schema.type)) {
    // Members belong to the object: the rest has none.
    const { properties, ...bare } = schema
    return schema.type
      .map((type) => typeOf(type === 'object' ? { ...schema, type } : { ...bare, type }, indent, isArgument))
      .join(' | ')
  }
  if (own !== null) return own
  if (schema.type === 'array') {
    return `readonly ${parenthesised(typeOf(schema.items ?? {}, indent, isArgument))}[]`
  }
  if (schema.type === 'object') {
    const rest = schema.additionalProperties
    if (rest === false) return 'Readonly<Record<never, never>>'
    return `Readonly<Record<string, ${typeof rest === 'object' ? typeOf(rest, indent, isArgument) : 'unknown'}>>`
  }
  if (typeof schema.type === 'string') return SIMPLE[schema.type] ?? fail(schema)
  return 'unknown'
}

function objectOf(schema: OpenApiSchema, indent: string, isArgument: boolean): string {
  const inner = `${indent}  `
  const required = schema.required ?? []
  const members = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const isOptional = !required.includes(name)
    const type = typeOf(member, inner, isArgument)
    return `${comment(member.description, inner)}${inner}readonly ${key(name)}${isOptional ? '?' : ''}: ${type}${isOptional && isArgument ? ' | undefined' : ''}\n`
  })
  const isOpen = schema.additionalProperties === true && members.length > 0
  const more = isOpen ? `${inner}readonly [name: string]: unknown\n` : ''
  return members.length === 0 ? 'Readonly<Record<never, never>>' : `{\n${members.join('')}${more}${indent}}`
}

const nameOf = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1)
const key = (name: string) => (/^[A-Za-z_]\w*$/.test(name) ? name : `'${name}'`)
const literal = (value: unknown) =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value)
const parenthesised = (type: string) =>
  /^[\w<>., ]+$/.test(type) && !type.startsWith('readonly ') ? type : `(${type})`

function comment(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '* /')} */\n`
}

function fail(schema: OpenApiSchema): never {
  throw new Error(`a schema that the client's types cannot say: ${JSON.stringify(schema)}`)
}
