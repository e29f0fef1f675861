// How a route is declared: what an operation takes and answers, in zod, beside the handler that serves it.
//
// A declaration is a function of the kit, and a node never calls it: zod is not loaded where requests are served. `npm run docs` calls it
// and writes requests.generated.ts, with which Fastify routes and Ajv checks, and openapi.generated.json, which the node serves.

import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { z } from 'zod'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { REQUESTS } from './requests.generated.ts'
import type { Answer, Content, Kit, Shape } from './schema-kit.ts'

export type NeededRole = 'open' | 'viewer' | 'operator' | 'admin' | 'node'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a caller must at least be; GET needs a viewer and the rest an operator unless the route says otherwise. */
    role?: NeededRole
    /** It changes nothing, so it can be repeated without an idempotency key, and its response is not stored. */
    readsOnly?: true
    /** What it is sent has a name of its own, by which it is known again: a key would say nothing new. */
    isIdempotent?: true
  }
}

export function shape<Schema extends z.ZodType>(
  name: string,
  description: string,
  declare: (s: Kit) => Schema,
): Shape<Schema> {
  return { name, description, declare }
}

/** How tables show a list: the CLI, and the console where it has no screen of its own. Types and choices come from the schemas. */
interface ListTable {
  /** Title, member of a row (`work.state`), and the least width to which a narrow terminal cuts it. */
  readonly columns: readonly (readonly [title: string, member: string, min?: number])[]
  /** What a filter does, where `only with this <name>` is not enough. */
  readonly filters?: Readonly<Record<string, string>>
  /** What an empty list means. */
  readonly empty: string
  /** It is a command and a screen without code of its own. */
  readonly page?: {
    readonly command: string
    readonly title: string
    /** What it lists. */
    readonly about: string
    /** Pressed after `g` in the console. */
    readonly key: string
    /** Where a row leads in the console: `/work/{work.id}`. */
    readonly href?: string
  }
}

/** What an operation takes and answers. */
export interface Declaration {
  readonly at: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`
  readonly summary: string
  readonly description?: string
  /** Of the caller, and what else the frame has to know. */
  readonly config?: NonNullable<RouteOptions['config']>
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** A body that is not checked as JSON. */
  readonly content?: Content
  /** With status 200. */
  readonly answer?: Answer
  readonly answers?: Readonly<Record<number, Answer>>
  readonly table?: ListTable
}

export interface Operations<Declared extends Readonly<Record<string, Declaration>>> {
  readonly tag: string
  declare(s: Kit): Declared
}

export function operations<Declared extends Readonly<Record<string, Declaration>>>(
  tag: string,
  declare: (s: Kit) => Declared,
): Operations<Declared> {
  return { tag, declare }
}

/** As the checked value is: nothing can be changed in it, and what is left out is not there. */
type Exact<Value> = [JsonValue] extends [Value]
  ? Value
  : Value extends string | number | boolean | null | undefined
    ? Value
    : Value extends readonly (infer Item)[]
      ? readonly Exact<Item>[]
      : { readonly [Name in keyof Value]: Exact<Exclude<Value[Name], undefined>> }

type Part<Declared, Name extends string> =
  Declared extends Readonly<Record<Name, infer Schema extends z.ZodType>> ? Exact<z.output<Schema>> : unknown

type Asked<Declared> = FastifyRequest<{
  Params: Part<Declared, 'params'>
  Querystring: Part<Declared, 'query'>
  Body: Part<Declared, 'body'>
}>

export type Serve<Declared> = <Name extends keyof Declared & string>(
  name: Name,
  handler: (request: Asked<Declared[Name]>, reply: FastifyReply) => unknown,
  options?: Pick<RouteOptions, 'bodyLimit' | 'exposeHeadRoute' | 'validatorCompiler'>,
) => void

interface Registered {
  readonly method: string
  readonly url: string
  readonly config?: NonNullable<RouteOptions['config']>
  readonly schema: NonNullable<RouteOptions['schema']>
}

function registered(name: string): Registered {
  const text = REQUESTS[name]
  if (text === undefined) throw new Error(`${name} is not in requests.generated.ts: run \`npm run docs\``)
  return JSON.parse(text)
}

/** The names that the body of an operation knows. */
export function bodyMembers(name: string): readonly string[] {
  const { properties = {} } = registered(name).schema.body as { readonly properties?: object }
  return Object.keys(properties)
}

export const IDEMPOTENCY_KEY = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  pattern: '^[\\x21-\\x7e]+$',
  description:
    'A name for this request, 1 to 255 visible ASCII characters. Sent again within a day, it gets the first answer.',
}

const KEYED = { type: 'object', properties: { 'idempotency-key': IDEMPOTENCY_KEY }, required: [] }

/** Adds the handlers of declared operations to the server. */
export function serveOn<Declared extends Readonly<Record<string, Declaration>>>(
  app: FastifyInstance,
  _declared: Operations<Declared>,
): Serve<Declared> {
  return (name, handler, options = {}) => {
    const request = registered(name)
    const { url, schema } = request
    app.route({
      ...request,
      ...options,
      schema: takesIdempotencyKey(request) ? { ...schema, headers: KEYED } : schema,
      url: url.slice(app.prefix.length),
      handler: handler as RouteOptions['handler'],
    })
  }
}

export function neededRole(route: Pick<RouteOptions, 'url' | 'method' | 'config'>): NeededRole {
  if (!route.url.startsWith('/v1/')) return 'open'
  return route.config?.role ?? (isRead(route.method) ? 'viewer' : 'operator')
}

const isRead = (method: RouteOptions['method']) => [method].flat().every((one) => /^(GET|HEAD)$/i.test(one))

/** POSTs under /v1 whose responses may be stored. */
export function takesIdempotencyKey(route: Pick<RouteOptions, 'url' | 'method' | 'config'>): boolean {
  const isOpen = neededRole(route) === 'open'
  const { answerIsSecret, readsOnly, isIdempotent } = route.config ?? {}
  return route.method === 'POST' && !isOpen && !answerIsSecret && !readsOnly && !isIdempotent
}
