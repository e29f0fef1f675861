// The node that commands talk to, and their key: from options, the environment, or the data folder. Responses are
// parsed exactly, as the engine parses events: the SDK's client would round large whole numbers of payloads, and a
// payload that is edited and sent back must keep its digits. Its types and its stream are used.

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFolders, SETTINGS } from '../config/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../core/foundation/json/index.ts'
import { makeClient, type StreamMessage } from '../sdk/client/index.ts'
import { CliError, problemToError, usageError } from './failure.ts'

type Env = Readonly<Record<string, string | undefined>>
type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface Connection {
  readonly url: string
  get<Answer>(path: string, query?: Query): Promise<Answer>
  post<Answer>(path: string, body?: object, contentType?: string): Promise<Answer>
  put<Answer>(path: string, body: object): Promise<Answer>
  patch<Answer>(path: string, body: object): Promise<Answer>
  delete(path: string): Promise<void>
  /** A response as it is. */
  bytes(path: string): Promise<Uint8Array<ArrayBuffer>>
  /** Changes as they happen, until Ctrl-C. */
  stream(): Promise<AsyncGenerator<StreamMessage, void, undefined>>
  /** To the ingest, without a key. */
  deliver(
    path: string,
    body: Uint8Array<ArrayBuffer>,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ readonly status: number; readonly answer: JsonValue }>
}

export interface ConnectionOptions {
  readonly url?: string | undefined
  readonly key?: string | undefined
}

export function makeConnection(options: ConnectionOptions, env: Env, signal: AbortSignal): Connection {
  const url = resolveUrl(options, env)
  let key: Promise<string | null> | null = null

  const request = async (method: string, path: string, init: RequestInit): Promise<Response> => {
    key ??= resolveKey(options, env)
    const value = await key
    const headers = new Headers(init.headers)
    if (value !== null) headers.set('authorization', `Bearer ${value}`)
    const response = await reach(url, () => fetch(url + path, { ...init, method, headers, signal }), signal)
    if (response.ok) return response
    throw explain(problemToError(response.status, await readAnswer(response)), response.status, value)
  }

  const ask = async <Answer>(
    method: string,
    path: string,
    body?: object,
    contentType = 'application/json',
  ): Promise<Answer> => {
    const init =
      body === undefined
        ? {}
        : { body: stringifyJson(body as JsonValue), headers: { 'content-type': contentType } }
    return (await readAnswer(await request(method, path, init))) as Answer
  }

  return {
    url,
    get: (path, query = {}) => ask('GET', path + toQuery(query)),
    post: (path, body = {}, contentType) => ask('POST', path, body, contentType),
    put: (path, body) => ask('PUT', path, body),
    patch: (path, body) => ask('PATCH', path, body),
    async delete(path) {
      await ask('DELETE', path)
    },
    async bytes(path) {
      return new Uint8Array(await (await request('GET', path, {})).arrayBuffer())
    },
    async stream() {
      // Checked first: the client would wait for a node that is not running, and a user wants to know.
      await ask('GET', '/v1/me')
      const value = await key
      return makeClient({ url, ...(value !== null && value !== undefined && { key: value }) }).stream({
        signal,
      })
    },
    async deliver(path, body, headers) {
      const init = { method: 'POST', body, headers, signal }
      const response = await reach(url, () => fetch(url + path, init), signal)
      return { status: response.status, answer: await readAnswer(response) }
    },
  }
}

export function resolveUrl(options: ConnectionOptions, env: Env): string {
  const given = options.url ?? textOf(env.MILLRACE_URL)
  if (given === undefined) return `http://127.0.0.1:${textOf(env.MILLRACE_PORT) ?? SETTINGS.port.defaultText}`
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`
  if (!URL.canParse(text) || !/^https?:/i.test(text)) {
    throw usageError(`‘${given}’ is not the address of a node`, 'Write it as http://127.0.0.1:4400.')
  }
  return text.replace(/\/+$/, '')
}

/** null: none was given. The server then says that it needs one. */
async function resolveKey(options: ConnectionOptions, env: Env): Promise<string | null> {
  const given = options.key ?? textOf(env.MILLRACE_KEY) ?? textOf(env.MILLRACE_ADMIN_KEY)
  if (given !== undefined) {
    if (/^[\x21-\x7e]+$/.test(given)) return given
    throw usageError('the key has invalid characters', 'Copy it again, without spaces or line breaks.')
  }
  for (const folder of dataFolders(env, existsSync)) {
    const text = await readFile(join(folder, 'admin.key'), 'utf8').catch(() => '')
    if (text.trim() !== '') return text.trim()
  }
  return null
}

function textOf(value: string | undefined): string | undefined {
  const text = value?.trim()
  return text === '' ? undefined : text
}

async function reach(url: string, ask: () => Promise<Response>, signal: AbortSignal): Promise<Response> {
  try {
    return await ask()
  } catch (error) {
    if (signal.aborted) throw error
    const { code, message } = ((error as Error).cause ?? error) as NodeJS.ErrnoException
    throw new CliError(`no node responds at ${url} (${code ?? message})`, {
      ending: 'unreachable',
      next: 'Start a node with ‘npm start’ or ‘millrace start’, or name another with --url or MILLRACE_URL.',
    })
  }
}

async function readAnswer(response: Response): Promise<JsonValue> {
  const text = await response.text()
  if (text === '') return null
  try {
    return parseJson(text)
  } catch {
    if (!response.ok) return null
    throw new CliError(`${response.url} did not respond with JSON`, {
      next: 'Check that --url or MILLRACE_URL names a Millrace node.',
    })
  }
}

/** A missing key needs another next step than a wrong one. */
function explain(error: CliError, status: number, key: string | null): CliError {
  if (status !== 401 || key !== null) return error
  return new CliError('an API key is required', {
    ending: 'notAllowed',
    next: 'Pass one with --key or MILLRACE_KEY, or run this command where the node’s data folder is (MILLRACE_DATA).',
  })
}

function toQuery(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs as [string, string][]).toString()}`
}
