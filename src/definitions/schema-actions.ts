// What a route or a workflow's step may do, as written. Built for the names in scope there (expression-names.ts).

import * as z from 'zod'
import { FAILURE_CLASSES } from '../core/failures/failure/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../core/foundation/time/index.ts'
import { actionRoots, type RouteScope } from './expression-names.ts'
import {
  authPlace,
  duration,
  field,
  headerName,
  literal,
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
} from './fields.ts'

/** What is sent as rendered then: it may contain a secret. */
const REQUEST = { secrets: true }
const method = () => oneOf('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS')
const headers = (roots: readonly string[]) =>
  z.record(headerName(true), field(send(roots, REQUEST), 'One header.'))
const keyTtl = () => duration(SECOND, 90 * DAY)
const timeout = () => duration(1, 10 * MINUTE)
const after = () => duration(0, HOUR)

function makeHttp(roots: readonly string[]) {
  return z.strictObject({
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
  })
}

function makeUpsert(outer: readonly string[]) {
  const roots = [...outer, 'extRef']
  const call = (names: readonly string[], usual: 'POST' | 'PUT', where: string) =>
    z.strictObject({
      method: optional(method(), 'The method.', { default: usual }),
      path: field(requestPath(names, REQUEST), where),
      body: optional(sends(names, REQUEST), 'What is not a text is sent as JSON.', 'none'),
      idempotent: optional(z.boolean(), 'Repeating the call is harmless.', 'true for PUT and DELETE'),
      keyTtl: optional(keyTtl(), 'How long the vendor remembers the `Idempotency-Key`.', 'it does not'),
    })
  return z.strictObject({
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
  })
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

export function makeAction(scope: RouteScope) {
  return makeActionOf(actionRoots(scope))
}

export function makeActionOf(roots: readonly string[]) {
  return z
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
    .meta({
      oneOf: [
        { required: ['http'] },
        { required: ['upsert'] },
        { required: ['function'] },
        { required: ['emit'] },
        { required: ['start'] },
        { required: ['schedule'] },
        { required: ['unschedule'] },
        { required: ['agent'] },
        { required: ['operation', 'connection'] },
      ],
    })
}

export type ActionInput = z.infer<ReturnType<typeof makeActionOf>>
export type HttpInput = NonNullable<ActionInput['http']>
export type UpsertInput = NonNullable<ActionInput['upsert']>
