// Compares every answer of a server under test with the schema that its route documents, so that the document cannot lie.
// A status, a member or a content type that is not documented is a fault as well.

import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import { type Schema, SHARED } from './schemas-answers.ts'

type Validate = ((value: unknown) => boolean) & { errors?: readonly object[] | null }

/** Call it before the server answers for the first time. Afterwards `faults` says what did not fit. */
export function checkAnswers(app: FastifyInstance): {
  readonly faults: readonly string[]
  checked(): number
} {
  const faults: string[] = []
  let checked = 0
  let compile: ((schema: Schema) => Validate) | null = null
  const compiled = new Map<Schema, Validate>()
  const validatorOf = async (schema: Schema): Promise<Validate> => {
    compile ??= await makeCompiler(app)
    const known = compiled.get(schema) ?? compile(closed(schema) as Schema)
    compiled.set(schema, known)
    return known
  }
  app.addHook('onSend', async (request, reply, payload) => {
    const name = `${request.method} ${request.routeOptions.url ?? request.url}`
    const responses = (request.routeOptions.schema?.response ?? null) as Readonly<
      Record<string, Schema>
    > | null
    // What no route took has no document; a stream is not one JSON text.
    if (responses === null || request.method === 'HEAD' || (payload !== null && typeof payload === 'object'))
      return
    const status = String(reply.statusCode)
    const documented = responses[status] ?? responses[`${status[0]}xx`]
    const note = (what: string) => faults.push(`${name} ${status}: ${what}`)
    checked += 1
    if (documented === undefined) return void note('the status is not documented')
    if (documented.type === 'null') {
      if (payload !== null && payload !== '') note('there is a body')
      return
    }
    const type = String(reply.getHeader('content-type')).split(';', 1)[0] as string
    const content = documented.content as Readonly<Record<string, { schema: Schema }>> | undefined
    const schema = content === undefined ? documented : content[type]?.schema
    if (schema === undefined) return void note(`the content type ${type} is not documented`)
    const validate = await validatorOf(schema)
    if (!validate(JSON.parse(String(payload)))) note(JSON.stringify(validate.errors?.slice(0, 3)))
  })
  return { faults, checked: () => checked }
}

/** Fastify's own validator, without its habit of bending values into shape. */
async function makeCompiler(app: FastifyInstance): Promise<(schema: Schema) => Validate> {
  const probe = fastify({
    ajv: {
      customOptions: { coerceTypes: false, useDefaults: false, removeAdditional: false, strict: false },
    },
  })
  const shared: Readonly<Record<string, unknown>> = { ...SHARED, ...app.getSchemas() }
  for (const [name, schema] of Object.entries(shared))
    probe.addSchema({ ...(closed(schema) as object), $id: name })
  let found: ((schema: Schema) => Validate) | null = null
  probe.get('/', (request: FastifyRequest) => {
    found = (schema) => request.compileValidationSchema(schema) as Validate
    return {}
  })
  await probe.inject('/')
  if (found === null) throw new Error('no validator')
  return found
}

/** The schema as a promise that nothing else is there. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const copy: Record<string, unknown> = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, name === 'enum' ? value : closed(value)]),
  )
  const isObject = [copy.type].flat().includes('object') && typeof copy.properties === 'object'
  if (isObject && copy.additionalProperties === undefined) copy.additionalProperties = false
  return copy
}
