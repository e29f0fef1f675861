// The console's one way to the node: fetch with the session's cookie, problems as errors, payloads without loss.

import { formatJson, type JsonNode, memberOf, parseJsonText } from './lib/json-text.ts'

export interface Problem {
  readonly title: string
  readonly status: number
  readonly detail?: string
  readonly code: string
  readonly next?: string
  readonly instance?: string
  readonly details?: {
    readonly fields?: readonly { readonly path: string; readonly message: string }[]
    readonly findings?: readonly unknown[]
    readonly [name: string]: unknown
  }
}

export class ApiError extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.detail ?? problem.title)
    this.problem = problem
  }
}

const UNREACHABLE: Problem = {
  title: 'The node cannot be reached',
  status: 0,
  detail: 'There was no answer. It may be starting, or the connection is gone.',
  code: 'unreachable',
  next: 'Check that the node runs; this page goes on by itself once it answers.',
}

/** Told when the session is over, so that the page can ask for a new one. */
let onSignedOut: () => void = () => {}
export function setOnSignedOut(listener: () => void): void {
  onSignedOut = listener
}

type Query = Readonly<Record<string, string | number | boolean | null | undefined>>

function addressOf(path: string, query: Query = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value))
  }
  const text = search.toString()
  return `/v1${path}${text === '' ? '' : `?${text}`}`
}

async function request(
  method: string,
  address: string,
  body?: string,
  signal?: AbortSignal,
): Promise<string> {
  let response: Response
  try {
    response = await fetch(address, {
      method,
      credentials: 'same-origin',
      headers: {
        accept: 'application/json',
        ...(method !== 'GET' && { 'millrace-console': '1' }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
    })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(UNREACHABLE)
  }
  const text = await response.text()
  if (response.ok) return text
  const problem = readProblem(response, text)
  if (response.status === 401 && !address.startsWith('/v1/session')) onSignedOut()
  throw new ApiError(problem)
}

function readProblem(response: Response, text: string): Problem {
  try {
    const problem = JSON.parse(text) as Problem
    if (typeof problem.title === 'string') return problem
  } catch {
    // Something between us and the node answered.
  }
  return {
    title: `Answered ${response.status}`,
    status: response.status,
    code: 'unexpected',
    detail: text.slice(0, 300),
  }
}

const parse = (text: string): unknown => (text === '' ? undefined : JSON.parse(text))

export async function get<Answer>(path: string, query?: Query, signal?: AbortSignal): Promise<Answer> {
  return parse(await request('GET', addressOf(path, query), undefined, signal)) as Answer
}

/** The answer, and one member of it (`data`, or `event.data`) digit for digit. */
export async function getExact<Answer>(
  path: string,
  member: readonly string[],
): Promise<{ readonly answer: Answer; readonly exact: JsonNode | undefined }> {
  const text = await request('GET', addressOf(path))
  let node: JsonNode | undefined = parseJsonText(text)
  for (const name of member) node = memberOf(node, name)
  return { answer: JSON.parse(text) as Answer, exact: node }
}

export async function post<Answer = unknown>(path: string, body: object = {}): Promise<Answer> {
  return parse(await request('POST', addressOf(path), JSON.stringify(body))) as Answer
}

/** `data` is JSON text that goes out as it is: numbers keep their digits. */
export async function postWithData<Answer>(path: string, body: object, data: JsonNode): Promise<Answer> {
  const text = `${JSON.stringify({ ...body, data: null }).slice(0, -'null}'.length)}${formatJson(data)}}`
  return parse(await request('POST', addressOf(path), text)) as Answer
}

export async function remove(path: string): Promise<void> {
  await request('DELETE', addressOf(path))
}

export function problemOf(error: unknown): Problem {
  if (error instanceof ApiError) return error.problem
  const detail = error instanceof Error ? error.message : String(error)
  return {
    title: 'Something went wrong in this page',
    status: 0,
    code: 'page',
    detail,
    next: 'Reload the page.',
  }
}

/** What the server says of a field; `name` as in the body. */
export function fieldError(error: unknown, name: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined
  return error.problem.details?.fields?.find(({ path }) => path === `/${name}` || path === name)?.message
}
