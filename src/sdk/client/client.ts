// A client for a node's API, built from the table of operations: one method per operation, named by its operationId.
// Needs only `fetch`: runs in browsers and in Node.

import { OPERATIONS, type Operations } from './api.generated.ts'
import { ConnectionError, readProblem } from './problem-error.ts'
import { readStream, type StreamMessage, type StreamOptions } from './stream.ts'

export interface ClientOptions {
  /** Of the node, for example `http://localhost:4400`; '' in a page that the node itself serves. */
  readonly url: string
  /** An API key. Without one, the cookie of the page's session authenticates. */
  readonly key?: string
  readonly fetch?: typeof fetch
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Makes it safe to send a POST again: within a day the first response is repeated. */
  readonly idempotencyKey?: string | undefined
}

type OperationName = keyof Operations
type Args<Name extends OperationName> = Operations[Name]['args']
type Answer<Name extends OperationName> = Operations[Name]['answer']

/** Arguments may be omitted if none is required. */
type Call<Name extends OperationName> =
  Record<never, never> extends Args<Name>
    ? (args?: Args<Name>, options?: CallOptions) => Promise<Answer<Name>>
    : (args: Args<Name>, options?: CallOptions) => Promise<Answer<Name>>

/** Operations that return pages. */
export type ListName = {
  [Name in OperationName]: Answer<Name> extends { items: readonly unknown[]; nextCursor: string | null }
    ? Name
    : never
}[OperationName]
type Item<Name extends ListName> =
  Answer<Name> extends { readonly items: readonly (infer Row)[] } ? Row : never

export type Client = { readonly [Name in OperationName]: Call<Name> } & {
  /** Every row of a list, page after page. */
  each<Name extends ListName>(
    list: Name,
    args?: Args<Name>,
    options?: CallOptions,
  ): AsyncGenerator<Item<Name>, void, undefined>
  /** Sends an event as it is; sign it as the source requires. */
  ingest(
    to: {
      readonly tenant: string
      readonly source: string
      readonly body: string | Uint8Array<ArrayBuffer>
      readonly headers?: Readonly<Record<string, string>>
    },
    options?: Pick<CallOptions, 'signal'>,
  ): Promise<{ readonly eventId: string; readonly duplicate: boolean }>
  /** Changes as they happen; reconnects by itself. */
  stream(options?: StreamOptions): AsyncGenerator<StreamMessage, void, undefined>
}

export function makeClient(options: ClientOptions): Client {
  const send = options.fetch ?? ((...args: Parameters<typeof fetch>) => fetch(...args))
  const base = options.url.replace(/\/+$/, '')
  const identity: Readonly<Record<string, string>> =
    options.key === undefined ? { 'millrace-console': '1' } : { authorization: `Bearer ${options.key}` }

  const request = async (path: string, init: RequestInit): Promise<Response> => {
    try {
      return await send(`${base}${path}`, { credentials: 'same-origin', ...init })
    } catch (error) {
      if (init.signal?.aborted) throw error
      throw new ConnectionError(`${base === '' ? 'the node' : base} does not answer${causeOf(error)}`, {
        cause: error,
      })
    }
  }
  const read = async (response: Response): Promise<unknown> => {
    if (!response.ok) throw await readProblem(response)
    if (response.status === 204) return undefined
    return response.json()
  }
  const call = async (
    name: OperationName,
    args: object = {},
    { signal, idempotencyKey }: CallOptions = {},
  ) => {
    const method: string = OPERATIONS[name][0]
    const { path, body } = divide(name, args as Readonly<Record<string, unknown>>)
    const headers: Record<string, string> = { ...identity, accept: 'application/json' }
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey
    const init: RequestInit = { method, headers, signal: signal ?? null }
    if (method !== 'GET' && method !== 'DELETE') {
      headers['content-type'] = 'application/json'
      init.body = JSON.stringify(body)
    }
    return read(await request(path, init))
  }

  const calls = Object.fromEntries(
    (Object.keys(OPERATIONS) as OperationName[]).map((name) => [
      name,
      (args?: object, callOptions?: CallOptions) => call(name, args, callOptions),
    ]),
  )
  return {
    ...calls,
    async *each(list: ListName, args: object = {}, callOptions?: CallOptions) {
      let cursor: string | null | undefined
      do {
        const page = (await call(
          list,
          cursor === undefined ? args : { ...args, cursor },
          callOptions,
        )) as Answer<ListName>
        yield* page.items
        cursor = page.nextCursor
      } while (cursor !== null)
    },
    async ingest({ tenant, source, body, headers }, { signal } = {}) {
      const path = `/in/${pathPart(tenant)}/${pathPart(source)}`
      const all = { 'content-type': 'application/json', ...headers }
      return read(await request(path, { method: 'POST', headers: all, body, signal: signal ?? null }))
    },
    stream: (streamOptions?: StreamOptions) =>
      readStream(
        (headers, signal) => request('/v1/stream', { headers: { ...identity, ...headers }, signal }),
        streamOptions,
      ),
  } as Client
}

/** Arguments by where they belong: in the path, in the query, in the body. */
function divide(name: OperationName, args: Readonly<Record<string, unknown>>) {
  const [, template, queryNames] = OPERATIONS[name]
  const rest: Record<string, unknown> = { ...args }
  const path = template.replaceAll(/\{(\w+)\}/g, (_, part: string) => {
    const value = rest[part]
    if (value === undefined || value === '') throw new TypeError(`${name} needs ‘${part}’`)
    delete rest[part]
    return pathPart(String(value))
  })
  const query = new URLSearchParams()
  for (const part of queryNames) {
    if (rest[part] !== undefined && rest[part] !== null) query.set(part, String(rest[part]))
    delete rest[part]
  }
  const search = query.size === 0 ? '' : `?${query}`
  return { path: `${path}${search}`, body: rest }
}

/** `.` and `..` are dot segments in a URL, escaped or not: they would address something else. */
function pathPart(value: string): string {
  if (value === '.' || value === '..') throw new TypeError(`‘${value}’ names nothing`)
  return encodeURIComponent(value)
}

/** `fetch` hides the reason one level down. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' ? ` (${code})` : ''
}
