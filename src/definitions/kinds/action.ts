// What a route or a workflow's step may do, as written and in its normal form. The schema is built for the names in scope
// there (expression-names.ts).

import * as z from 'zod'
import {
  type ActionDocument,
  type AgentDocument,
  type HttpActionDocument,
  type OperationActionDocument,
  operationOf,
  type ProviderDocument,
  type UpsertActionDocument,
  type UpsertCallDocument,
} from '../../core/definitions/documents/index.ts'
import { FAILURE_CLASSES } from '../../core/failures/failure/index.ts'
import { assert } from '../../core/foundation/errors/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import { actionRoots, type RouteScope } from '../expression-names.ts'
import {
  authPlace,
  duration,
  field,
  headerName,
  literal,
  named,
  oneOf,
  optional,
  pick,
  reference,
  requestPath,
  send,
  sends,
  statusCode,
  subjectSend,
  urlOrPath,
} from '../fields.ts'
import { milliseconds } from '../written.ts'
import { method, resolveAuth } from './parts.ts'

/** What is sent as rendered then: it may contain a secret. */
const REQUEST = { secrets: true }
const headers = (roots: readonly string[]) =>
  z.record(headerName(true), field(send(roots, REQUEST), 'One header.'))
const keyTtl = () => duration(SECOND, 90 * DAY)
const timeout = () => duration(1, 10 * MINUTE)
const after = () => duration(0, HOUR)

function makeHttp(roots: readonly string[]) {
  return named(
    'HttpRequestDefinition',
    z.strictObject({
      connection: optional(reference(), 'Whose address and credential it goes with.', 'nobody’s'),
      auth: optional(
        authPlace(),
        'What proves who calls, in place of a connection: for the request and its probe.',
        'nothing does',
      ),
      method: optional(method(), 'The method.', { default: 'POST' }),
      url: field(
        urlOrPath(roots, REQUEST),
        "Absolute, http or https; values in it are percent-encoded. With a connection a path behind its base, or an address of its host. In its query `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
      ),
      headers: optional(
        headers(roots),
        "Headers, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
        'none',
      ),
      body: optional(
        sends(roots, REQUEST),
        "What is not a text is sent as JSON; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
        'none',
      ),
      idempotent: optional(
        z.boolean(),
        'Repeating the call is harmless.',
        'true for GET, HEAD, OPTIONS, PUT and DELETE',
      ),
      keyTtl: optional(keyTtl(), 'How long the vendor remembers the `Idempotency-Key`.', 'it does not'),
      timeout: optional(
        timeout(),
        'The same as `timeout` beside `http`; where both are written they agree.',
        '`timeout` beside `http`, or `10s`',
      ),
      probe: optional(
        z.strictObject({
          auth: optional(
            authPlace(),
            'What proves who calls, where the probe needs another.',
            '`auth` of the action',
          ),
          method: optional(method(), 'The method.', { default: 'GET' }),
          url: field(urlOrPath(roots, REQUEST), 'As `url`.'),
          headers: optional(headers(roots), 'Headers, by name.', 'none'),
          found: field(
            pick([...roots, 'result']),
            'True when it is there; sees `result.status`, `result.headers`, `result.body`.',
          ),
          after: optional(after(), 'How long the vendor may still be busy with a call that was given up.', {
            default: '30s',
          }),
        }),
        'How to ask whether the effect is there.',
        'it cannot be asked',
      ),
    }),
  )
}

function makeUpsert(outer: readonly string[]) {
  const roots = [...outer, 'extRef']
  const call = (names: readonly string[], usual: 'POST' | 'PUT', where: string) =>
    named(
      'UpsertCallDefinition',
      z.strictObject({
        method: optional(method(), 'The method.', { default: usual }),
        path: field(requestPath(names, REQUEST), where),
        body: optional(sends(names, REQUEST), 'What is not a text is sent as JSON.', 'none'),
        idempotent: optional(z.boolean(), 'Repeating the call is harmless.', 'true for PUT and DELETE'),
        keyTtl: optional(keyTtl(), 'How long the vendor remembers the `Idempotency-Key`.', 'it does not'),
      }),
    )
  return named(
    'UpsertDefinition',
    z.strictObject({
      connection: optional(reference(), 'Whose address and credential it goes with.', 'nobody’s'),
      auth: optional(
        authPlace(),
        'What proves who calls, in place of a connection: for all its requests.',
        'nothing does',
      ),
      baseUrl: optional(
        urlOrPath(outer),
        'Absolute, http or https; the paths are put behind it. With a connection a path behind its base.',
        'the connection’s',
      ),
      headers: optional(
        headers(roots),
        "Headers of all its requests, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
        'none',
      ),
      extRef: field(send(outer), 'The external reference of the object; `extRef` in what follows.'),
      find: field(
        z.strictObject({
          method: optional(method(), 'The method.', { default: 'GET' }),
          path: field(requestPath(roots, REQUEST), 'Behind `baseUrl`; values in it are percent-encoded.'),
          found: field(pick([...roots, 'result']), 'True when it is there; sees `result`.'),
          id: optional(
            pick([...roots, 'result']),
            'What `update` calls it, as `found.id`; sees `result`.',
            'none',
          ),
          after: optional(after(), 'How long the vendor may still be busy with a call that was given up.', {
            default: '30s',
          }),
        }),
        'How to look for the object by its reference.',
      ),
      create: field(
        call(roots, 'POST', 'Behind `baseUrl`.'),
        'What makes the object; its body should set the reference.',
      ),
      // The map first: its errors are reported, rather than that it is not `none`.
      update: optional(
        z.union([call([...roots, 'found'], 'PUT', 'Behind `baseUrl`; sees `found.id`.'), oneOf('none')]),
        'What changes an object that was found; `none`: it is left alone.',
        { default: 'none' },
      ),
      lock: optional(
        oneOf('single', 'none'),
        '`single`: one item at a time for a reference, over all routes to the same host.',
        { default: 'single' },
      ),
    }),
  )
}

function makeSchedule(roots: readonly string[]) {
  return z.strictObject({
    name: field(send(roots), 'What `unschedule` calls it.'),
    cron: field(literal({ minLength: 1 }), 'When: five fields, or six with seconds first.'),
    zone: optional(literal({ minLength: 1 }), 'Whose clock, as in `Europe/Berlin`.', { default: 'UTC' }),
    emit: field(subjectSend(roots), 'The subject of each event.'),
    data: optional(sends(roots), 'The payload of each event.', 'none'),
  })
}

/** The actions, and the fields that belong to each. */
export const ACTION_FIELDS = {
  http: { needed: [], optional: ['timeout', 'classify'] },
  upsert: { needed: [], optional: ['timeout', 'classify'] },
  function: { needed: [], optional: ['with', 'timeout'] },
  emit: { needed: [], optional: ['data'] },
  start: { needed: [], optional: ['with', 'wait'] },
  schedule: { needed: [], optional: [] },
  unschedule: { needed: [], optional: [] },
  agent: { needed: [], optional: ['with', 'timeout'] },
  operation: { needed: ['connection'], optional: ['with', 'timeout', 'classify'] },
} as const satisfies Readonly<
  Record<string, { readonly needed: readonly string[]; readonly optional: readonly string[] }>
>
export type ActionName = keyof typeof ACTION_FIELDS
export const ACTION_NAMES = Object.keys(ACTION_FIELDS) as readonly ActionName[]

export function makeAction(scope: RouteScope) {
  return makeActionOf(actionRoots(scope))
}

export function makeActionOf(roots: readonly string[]) {
  const action = z
    .strictObject({
      http: optional(makeHttp(roots), 'One request to somebody else’s server.', 'another action'),
      upsert: optional(
        makeUpsert(roots),
        'One object at the other side per external reference: found and updated, or created.',
        'another action',
      ),
      function: optional(reference(), 'The name of a function to run.', 'another action'),
      with: optional(
        sends(roots),
        'The input of the function, the workflow, the agent or the operation.',
        'the payload; in a workflow the instance’s data',
      ),
      emit: optional(subjectSend(roots), 'The subject of an event to emit.', 'another action'),
      data: optional(
        sends(roots),
        'The emitted event’s payload.',
        'the payload; in a workflow the instance’s data',
      ),
      start: optional(reference(), 'The name of a workflow to start.', 'another action'),
      wait: optional(
        z.boolean(),
        'Only in a workflow: the step ends when the started instance does.',
        'it does not wait',
      ),
      schedule: optional(
        makeSchedule(roots),
        'Events by the clock from now on; doing it again under the same name replaces it.',
        'another action',
      ),
      unschedule: optional(send(roots), 'The name of a schedule to end.', 'another action'),
      agent: optional(reference(), 'The name of an agent to ask.', 'another action'),
      operation: optional(
        reference(),
        'A named call of a provider, as `github.createIssue`; pinned as it is when this is applied.',
        'another action',
      ),
      connection: optional(
        reference(),
        'Of an operation: the account that it is called by, a `kind: Connection`.',
        'another action',
      ),
      timeout: optional(
        timeout(),
        'For the whole exchange, or one attempt of a function.',
        'the function’s or the operation’s own, or `10s`',
      ),
      classify: optional(
        z.record(statusCode(), field(oneOf('done', ...FAILURE_CLASSES), 'Of one status.')),
        'What single statuses mean, instead of the table of failures.',
        'the table',
      ),
    })
    .meta({ oneOf: ACTION_NAMES.map((name) => ({ required: [name, ...ACTION_FIELDS[name].needed] })) })
  return named('ActionDefinition', action)
}

export type ActionInput = z.infer<ReturnType<typeof makeActionOf>>
export type HttpInput = NonNullable<ActionInput['http']>
export type UpsertInput = NonNullable<ActionInput['upsert']>

// --- The normal form

const TIMEOUT_MS = 10 * SECOND
export const PROBE_AFTER_MS = 30 * SECOND

/** By RFC 9110: repeating the request is meant to be harmless. */
const IDEMPOTENT_METHODS = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']

export function isIdempotentMethod(method: string): boolean {
  return IDEMPOTENT_METHODS.includes(method)
}

export interface KnownFunctions {
  functions(name: string): string | null
  /** What a function declares. */
  timeouts(name: string): number | null
  /** Valid ones, by name. */
  readonly agents: ReadonlyMap<string, AgentDocument>
  readonly providers: ReadonlyMap<string, ProviderDocument>
}

/** Where it is: the default input is the payload of a route, and all jobs of a batch. A step has neither. */
type ActionOwner = 'route' | 'batch' | 'step'

/** null: it names an agent or a provider that is not valid. */
export function resolveAction(
  input: ActionInput,
  owner: ActionOwner,
  known: KnownFunctions,
): ActionDocument | null {
  const timeoutMs = milliseconds(input.timeout ?? input.http?.timeout, TIMEOUT_MS)
  if (input.http !== undefined) return resolveHttp(input.http, input.classify ?? {}, timeoutMs)
  if (input.upsert !== undefined) return resolveUpsert(input.upsert, input.classify ?? {}, timeoutMs)
  if (input.function !== undefined) {
    const codeHash = known.functions(input.function)
    assert(codeHash !== null, 'the function was looked up before')
    // Without `with` it gets the payload; a batch has none of its own.
    const otherwise = owner === 'batch' ? '{{ batch }}' : owner === 'step' ? '{{ data }}' : null
    return {
      type: 'function',
      name: input.function,
      codeHash,
      with: (input.with ?? otherwise) as JsonValue,
      timeoutMs: milliseconds(input.timeout, known.timeouts(input.function) ?? TIMEOUT_MS),
    }
  }
  const usual = owner === 'batch' ? '{{ batch }}' : owner === 'step' ? '{{ data }}' : '{{ payload }}'
  if (input.start !== undefined) {
    const given = (input.with ?? usual) as JsonValue
    return { type: 'start', workflow: input.start, with: given, wait: input.wait ?? false }
  }
  if (input.agent !== undefined) {
    const agent = known.agents.get(input.agent)
    if (agent === undefined) return null
    return {
      type: 'agent',
      agent,
      with: (input.with ?? usual) as JsonValue,
      ...(input.timeout === undefined ? {} : { timeoutMs: milliseconds(input.timeout, agent.timeoutMs) }),
    }
  }
  if (input.operation !== undefined) return resolveOperationAction(input, input.operation, usual, known)
  if (input.schedule !== undefined) {
    const { name, cron, zone = 'UTC', emit, data = null } = input.schedule
    return { type: 'schedule', name, cron, zone, emit, data: data as JsonValue }
  }
  if (input.unschedule !== undefined) return { type: 'unschedule', name: input.unschedule }
  assert(input.emit !== undefined, 'an action does one thing')
  // As with functions: the default is the payload, or the data of the instance.
  const data = owner === 'step' ? '{{ data }}' : '{{ payload }}'
  return { type: 'emit', subject: input.emit, data: (input.data ?? data) as JsonValue }
}

/** `github.createWebhook`: the provider's name has no dot. */
export function splitOperation(text: string): { readonly provider: string; readonly name: string } {
  const dot = text.indexOf('.')
  return dot < 0 ? { provider: '', name: text } : { provider: text.slice(0, dot), name: text.slice(dot + 1) }
}

function resolveOperationAction(
  { connection, timeout, classify = {}, with: given }: ActionInput,
  text: string,
  usual: string,
  { providers }: KnownFunctions,
): OperationActionDocument | null {
  const { provider, name } = splitOperation(text)
  const known = providers.get(provider)
  const operation = known === undefined ? null : operationOf(known, name)
  if (operation === null || connection === undefined) return null
  return {
    type: 'operation',
    provider,
    operation,
    connection,
    with: (given ?? usual) as JsonValue,
    ...(timeout === undefined ? {} : { timeoutMs: milliseconds(timeout, operation.timeoutMs) }),
    classify,
  }
}

function resolveHttp(
  input: HttpInput,
  classify: HttpActionDocument['classify'],
  timeoutMs: number,
): HttpActionDocument {
  const method = input.method ?? 'POST'
  return {
    type: 'http',
    ...(input.connection === undefined ? {} : { connection: input.connection }),
    ...resolveAuth(input.auth),
    method,
    url: input.url,
    headers: lowerCased(input.headers),
    body: (input.body ?? null) as JsonValue,
    idempotent: input.idempotent ?? isIdempotentMethod(method),
    keyTtlMs: input.keyTtl === undefined ? null : milliseconds(input.keyTtl, 0),
    probe:
      input.probe === undefined
        ? null
        : {
            method: input.probe.method ?? 'GET',
            url: input.probe.url,
            headers: lowerCased(input.probe.headers),
            ...resolveAuth(input.probe.auth),
            found: input.probe.found,
            afterMs: milliseconds(input.probe.after, PROBE_AFTER_MS),
          },
    timeoutMs,
    classify,
  }
}

function resolveUpsert(
  input: UpsertInput,
  classify: UpsertActionDocument['classify'],
  timeoutMs: number,
): UpsertActionDocument {
  const { connection, baseUrl = '', extRef, find, create, update = 'none', lock = 'single' } = input
  return {
    type: 'upsert',
    ...(connection === undefined ? {} : { connection }),
    ...resolveAuth(input.auth),
    baseUrl,
    headers: lowerCased(input.headers),
    extRef,
    find: {
      method: find.method ?? 'GET',
      path: find.path,
      found: find.found,
      id: find.id ?? null,
      afterMs: milliseconds(find.after, PROBE_AFTER_MS),
    },
    create: resolveCall(create, 'POST'),
    update: update === 'none' ? null : resolveCall(update, 'PUT'),
    lock,
    timeoutMs,
    classify,
  }
}

function resolveCall(input: UpsertInput['create'], otherwise: string): UpsertCallDocument {
  const method = input.method ?? otherwise
  return {
    method,
    path: input.path,
    body: (input.body ?? null) as JsonValue,
    idempotent: input.idempotent ?? isIdempotentMethod(method),
    keyTtlMs: input.keyTtl === undefined ? null : milliseconds(input.keyTtl, 0),
  }
}

function lowerCased(headers: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]))
}
