// The console's only access to the node: the same client that programs use, authenticated by the session's cookie; and
// payloads read and written digit for digit, which JSON.parse cannot.

import { ConnectionError, makeClient, ProblemError } from '../../src/sdk/client/index.ts'
import { exactChanges, itemsOf } from './lib/exact-changes.ts'
import { formatJson, type JsonNode, memberOf, parseJsonText } from './lib/json-text.ts'
import type { Args, Problem } from './types.ts'

type ShownProblem = Pick<Problem, 'title' | 'status' | 'detail'> & {
  readonly next?: string | undefined
  readonly details?: Problem['details']
}

const UNREACHABLE: ShownProblem = {
  title: 'The node cannot be reached',
  status: 0,
  detail: 'There was no answer. It may be starting, or the connection is gone.',
  next: 'Check that the node runs; this page goes on by itself once it answers.',
}

/** Called when the session is over, so that the page can ask for a new one. */
let onSignedOut: () => void = () => {}
export function setOnSignedOut(listener: () => void): void {
  onSignedOut = listener
}

const watchedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  if (response.status === 401 && !String(input).startsWith('/v1/session')) onSignedOut()
  return response
}

export const api = makeClient({ url: '', fetch: watchedFetch })

/** A response, and one member of it (`data`, or `event.data`) digit for digit. */
async function withExact<Answer>(
  call: (exactly: ReturnType<typeof makeClient>) => Promise<Answer>,
  member: readonly string[],
  send: typeof fetch = watchedFetch,
): Promise<{ readonly answer: Answer; readonly exact: JsonNode | undefined }> {
  let text = ''
  const exactly = makeClient({
    url: '',
    fetch: async (input, init) => {
      const response = await send(input, init)
      if (response.ok) text = await response.clone().text()
      return response
    },
  })
  const answer = await call(exactly)
  let node: JsonNode | undefined = parseJsonText(text)
  for (const name of member) node = memberOf(node, name)
  return { answer, exact: node }
}

export const getEventExactly = (id: string) => withExact((client) => client.getEvent({ id }), ['data'])

export const getDeadLetterExactly = (id: string) =>
  withExact((client) => client.getDeadLetter({ id }), ['event', 'data'])

/** With the whole response digit for digit: data, results and changes are in several places of it. */
export const getInstanceExactly = (id: string, at: string | null) =>
  withExact((client) => client.getInstance(at === null ? { id } : { id, at }), [])

/** `data` is sent as the typed text: numbers keep their digits. */
export function editDeadLetterExactly(id: string, reason: string, data: JsonNode) {
  const client = makeClient({
    url: '',
    fetch: (input, init) =>
      watchedFetch(input, {
        ...init,
        body: `{"reason":${JSON.stringify(reason)},"data":${formatJson(data)}}`,
      }),
  })
  return client.editDeadLetter({ id, reason, data: null })
}

/** Members with typed text are sent as that text. */
function exactly<Answer>(
  body: Readonly<Record<string, unknown>>,
  typed: Readonly<Record<string, string>>,
  call: (client: ReturnType<typeof makeClient>) => Promise<Answer>,
): Promise<Answer> {
  const members = Object.entries(body).filter(([, value]) => value !== undefined)
  const texts = [
    ...members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`),
    ...Object.entries(typed).map(([name, text]) => `${JSON.stringify(name)}:${text}`),
  ]
  return call(makeClient({ url: '', fetch: sending(`{${texts.join(',')}}`) }))
}

const sending =
  (body: string): typeof fetch =>
  (input, init) =>
    watchedFetch(input, { ...init, body })

export const startInstance = (name: string, trigger: string, input: JsonNode) =>
  exactly({ trigger }, { input: formatJson(input) }, (client) =>
    client.startInstance({ name, trigger, input: null }),
  )

export const fireTransition = (id: string, transition: string, input: JsonNode | null, comment: string) =>
  exactly(
    { transition, comment: comment === '' ? undefined : comment },
    input === null ? {} : { input: formatJson(input) },
    (client) => client.fireTransition({ id, transition }),
  )

/** An omitted value removes the path. */
export type Edit = readonly [path: string, value: JsonNode | null]

function editsText(edits: readonly Edit[]): string {
  const changes = edits.map(([path, value]) =>
    value === null
      ? JSON.stringify({ path })
      : `{"path":${JSON.stringify(path)},"value":${formatJson(value)}}`,
  )
  return `[${changes.join(',')}]`
}

export function editInstance(id: string, edits: readonly Edit[], asked: { reason?: string }) {
  return exactly({ ...asked, dryRun: false }, { changes: editsText(edits) }, (client) =>
    client.editInstance({ id, ...asked, dryRun: false, changes: [] }),
  )
}

/** What the edits would change; nothing changes. */
export async function planEdit(id: string, edits: readonly Edit[]) {
  const { answer, exact } = await withExact(
    (client) => client.editInstance({ id, dryRun: true, changes: [] }),
    ['changes'],
    sending(`{"dryRun":true,"changes":${editsText(edits)}}`),
  )
  return { ...answer, changes: exactChanges(exact) }
}

/** What the migration of one instance would change; nothing changes. */
export async function planMigration(id: string) {
  const { answer, exact } = await withExact(
    (client) => client.migrateInstance({ id, dryRun: true }),
    ['changes'],
  )
  return { ...answer, changes: exactChanges(exact) }
}

/** The same for the instances of a workflow. */
export async function planMigrations(name: string) {
  const { answer, exact } = await withExact(
    (client) => client.migrateInstances({ name, dryRun: true }),
    ['items'],
  )
  const items = itemsOf(exact)
  return {
    ...answer,
    items: answer.items.map((one, index) => ({
      ...one,
      changes: exactChanges(memberOf(items[index], 'changes')),
    })),
  }
}

/** `transform`: the typed text; null: it is left as it is, or goes back to the default with `body.transform`. */
export const createSubscription = (body: Args<'createSubscription'>, transform: string | null) =>
  exactly(body, transform === null ? {} : { transform }, (client) => client.createSubscription(body))

export const patchSubscription = (name: string, body: Args<'createSubscription'>, transform: string | null) =>
  exactly(body, transform === null ? {} : { transform }, (client) =>
    client.patchSubscription({ ...body, name }),
  )

/** For responses that no operation of the client returns unchanged: bytes, and bodies that are sent digit for digit. */
async function ask(
  method: string,
  path: string,
  init: { readonly type?: string; readonly body?: string } = {},
) {
  let response: Response
  try {
    response = await watchedFetch(path, {
      method,
      ...(init.body !== undefined && { body: init.body }),
      headers: { 'millrace-console': '1', ...(init.type !== undefined && { 'content-type': init.type }) },
    })
  } catch {
    throw new ConnectionError('there was no answer')
  }
  if (response.ok) return response
  const type = response.headers.get('content-type') ?? ''
  if (!type.startsWith('application/problem+json')) throw new ConnectionError(`status ${response.status}`)
  throw new ProblemError((await response.json()) as Problem)
}

/** The body as it was received. */
export async function getEventBody(id: string): Promise<{ readonly text: string; readonly bytes: number }> {
  const bytes = await (await ask('GET', `/v1/events/${encodeURIComponent(id)}/body`)).arrayBuffer()
  return { text: new TextDecoder().decode(bytes), bytes: bytes.byteLength }
}

/** A custom event as a CloudEvent; its data is sent as the typed text. */
export async function publishEvent(event: {
  readonly id: string
  readonly source: string
  readonly subject: string
  readonly data: JsonNode
}): Promise<{ readonly eventId: string; readonly duplicate: boolean }> {
  const { id, source, subject, data } = event
  const attributes = { specversion: '1.0', id, source, type: subject, datacontenttype: 'application/json' }
  const body = `${JSON.stringify(attributes).slice(0, -1)},"data":${formatJson(data)}}`
  const answer = await ask('POST', '/v1/events', { type: 'application/cloudevents+json', body })
  return (await answer.json()) as { eventId: string; duplicate: boolean }
}

export function problemOf(error: unknown): ShownProblem {
  if (error instanceof ProblemError) return error.problem
  if (error instanceof ConnectionError) return UNREACHABLE
  const detail = error instanceof Error ? error.message : String(error)
  return { title: 'Something went wrong in this page', status: 0, detail, next: 'Reload the page.' }
}

/** The server's errors for each field of the body. */
export function fieldErrors(error: unknown): readonly { readonly path: string; readonly message: string }[] {
  const fields = (problemOf(error).details as { readonly fields?: unknown } | undefined)?.fields
  return Array.isArray(fields) ? fields : []
}

export function fieldError(error: unknown, name: string): string | undefined {
  return fieldErrors(error).find(({ path }) => path === `/${name}` || path === name)?.message
}

/** Of a field or anything inside it; `probe.every` is within `probe`. */
export function fieldErrorWithin(error: unknown, name: string): string | undefined {
  const wanted = `/${name.replaceAll('.', '/')}/`
  const found = fieldErrors(error).find(({ path }) => `${path}/`.startsWith(wanted))
  if (found === undefined) return undefined
  const place = found.path.slice(name.length + 2)
  return place === '' ? found.message : `${place}: ${found.message}`
}
