// Compares answers with the OpenAPI document, so that the document cannot lie. A status, a member or a content type that is
// not documented is a fault as well.

import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import { type OpenApiDocument, type OpenApiSchema, readDocument } from './document.fixture.ts'

type Validate = ((value: unknown) => boolean) & { errors?: readonly object[] | null }

export interface Answer {
  readonly method: string
  /** As the document writes it: `/v1/events/{id}`. */
  readonly path: string
  readonly status: number
  readonly type: string
  readonly text: string
}

export type AnswerCheck = (answer: Answer) => string | null

/** Says what is wrong with an answer; null when nothing is. */
export async function makeAnswerCheck(document: OpenApiDocument): Promise<AnswerCheck> {
  const compile = await makeCompiler(document)
  const compiled = new Map<OpenApiSchema, Validate>()
  return ({ method, path, status, type, text }) => {
    const fault = (what: string) => `${method} ${path} ${status}: ${what}`
    const responses = document.paths[path]?.[method.toLowerCase()]?.responses
    if (responses === undefined) return fault('the operation is not documented')
    const documented = responses[status] ?? responses[`${String(status)[0]}XX`]
    if (documented === undefined) return fault('the status is not documented')
    if (documented.content === undefined) return text === '' ? null : fault('there is a body')
    // Sent by another system: it may be anything.
    if ('*/*' in documented.content) return null
    const schema = documented.content[type.split(';', 1)[0] as string]?.schema
    if (schema === undefined) return fault(`the content type ${type} is not documented`)
    if (!type.includes('json')) return null
    const validate = compiled.get(schema) ?? compile(schema)
    compiled.set(schema, validate)
    return validate(JSON.parse(text)) ? null : fault(JSON.stringify(validate.errors?.slice(0, 3)))
  }
}

/** Every answer of the server is compared; call it before the first. `faults` says what did not fit. */
export function checkAnswers(app: FastifyInstance): { readonly faults: readonly string[] } {
  const faults: string[] = []
  let check: Promise<AnswerCheck> | null = null
  app.addHook('onSend', async (request, reply, payload) => {
    const { url } = request.routeOptions
    // What no route took is in no document; a stream is not one text.
    if (url === undefined || request.method === 'HEAD') return
    if (payload !== null && typeof payload !== 'string') return
    check ??= makeAnswerCheck(readDocument())
    const fault = (await check)({
      method: request.method,
      path: url.replaceAll(/:(\w+)/g, '{$1}'),
      status: reply.statusCode,
      type: String(reply.getHeader('content-type') ?? ''),
      text: payload ?? '',
    })
    if (fault !== null) faults.push(fault)
  })
  return { faults }
}

/** Fastify's own validator, without its habit of bending values into shape. */
async function makeCompiler(document: OpenApiDocument): Promise<(schema: OpenApiSchema) => Validate> {
  const customOptions = { coerceTypes: false, useDefaults: false, removeAdditional: false, strict: false }
  const probe = fastify({ ajv: { customOptions } })
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    probe.addSchema({ ...(closed(schema) as object), $id: name })
  }
  let found: ((schema: OpenApiSchema) => Validate) | null = null
  probe.get('/', (request: FastifyRequest) => {
    found = (schema) => request.compileValidationSchema(closed(schema) as object) as Validate
    return {}
  })
  await probe.inject('/')
  if (found === null) throw new Error('there is no validator')
  return found
}

/** The schema as a promise that nothing else is there. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const copy: Record<string, unknown> = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, name === 'enum' ? value : closed(value)]),
  )
  if (typeof copy.$ref === 'string') return { $ref: `${copy.$ref.replace('#/components/schemas/', '')}#` }
  const isObject = [copy.type].flat().includes('object') && typeof copy.properties === 'object'
  if (isObject && copy.additionalProperties === undefined) copy.additionalProperties = false
  return copy
}
