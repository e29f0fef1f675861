// docs/api-reference.md, from the OpenAPI document.

interface Parameter {
  readonly in: string
  readonly name: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Shape
}

interface Shape {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly anyOf?: readonly Shape[]
  readonly oneOf?: readonly Shape[]
  readonly items?: Shape
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly 'x-millrace-role': string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Shape }>> }
  readonly responses: Readonly<Record<string, { readonly description: string }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

export function renderOperations({ paths }: Document): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const tags = [...new Set(operations.map(({ operation }) => String(operation.tags[0])))]
  const sections = tags.map((tag) => {
    const rows = operations
      .filter(({ operation }) => operation.tags[0] === tag)
      .map(({ path, method, operation }) => renderRow(path, method, operation))
    return `## ${tag.slice(0, 1).toUpperCase()}${tag.slice(1)}

| request | role | takes | answers | what it does |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`
  })
  return `# Operations of the API

All requests that a node answers. This page is made from the routes in \`src/http\`, as is [openapi.json](openapi.json), which
has the exact shapes and is served at \`/openapi.json\`. How keys, lists, errors and the stream work is in the [guide](api.md).

The role is what a caller must at least be; \`open\` needs no key, \`node\` is the node's own admin. In a body or query, names
with a \`?\` may be left out. A request marked with † takes an \`Idempotency-Key\`. Refusals are problem documents, see
[errors](errors.md).

${sections.join('\n')}`
}

function renderRow(path: string, method: string, operation: Operation): string {
  const parameters = operation.parameters ?? []
  const isKeyed = parameters.some(({ name }) => name === 'idempotency-key')
  const query = parameters.filter((parameter) => parameter.in === 'query').map(named)
  const body = Object.values(operation.requestBody?.content ?? {}).map(({ schema }) => membersOf(schema))
  const takes = [
    ...(query.length === 0 ? [] : [`query ${query.join(', ')}`]),
    ...body.filter((text) => text !== '').map((text) => `body ${text}`),
  ].join('; ')
  const answers = Object.keys(operation.responses).filter((status) => /^[23]\d\d$/.test(status))
  const request = `\`${method.toUpperCase()} ${path}\`${isKeyed ? ' †' : ''}`
  return `| ${request} | ${operation['x-millrace-role']} | ${takes} | ${answers.join(', ')} | ${operation.summary} |`
}

const named = ({ name, required, schema }: Parameter) =>
  `\`${name}${required === true ? '' : '?'}\`${choicesOf(schema)}`

const choicesOf = ({ enum: values }: Shape) => (values === undefined ? '' : ` (${values.join(', ')})`)

function membersOf(schema: Shape): string {
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined && schema.properties === undefined) return choices.map(membersOf).join(' or ')
  return Object.entries(schema.properties ?? {})
    .map(([name, member]) =>
      named({ in: 'body', name, required: schema.required?.includes(name) === true, schema: member }),
    )
    .join(', ')
}
