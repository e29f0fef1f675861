// What a route or a workflow's step may do, as written. Built for the names in scope there (expression-names.ts).

import * as z from 'zod'
import { FAILURE_CLASSES } from '../core/failures/failure/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../core/foundation/time/index.ts'
import { actionRoots, type RouteScope } from './expression-names.ts'
import {
  authPlace,
  duration,
  headerName,
  literal,
  oneOf,
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
const method = () => oneOf('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS').optional()
const headers = (roots: readonly string[]) => z.record(headerName(true), send(roots, REQUEST)).optional()
const keyTtl = () => duration(SECOND, 90 * DAY).optional()
const timeout = () => duration(1, 10 * MINUTE).optional()
const after = () => duration(0, HOUR).optional()

function makeHttp(roots: readonly string[]) {
  return z.strictObject({
    connection: reference().optional(),
    auth: authPlace().optional(),
    method: method(),
    url: urlOrPath(roots, REQUEST),
    headers: headers(roots),
    body: sends(roots, REQUEST).optional(),
    idempotent: z.boolean().optional(),
    keyTtl: keyTtl(),
    timeout: timeout(),
    probe: z
      .strictObject({
        auth: authPlace().optional(),
        method: method(),
        url: urlOrPath(roots, REQUEST),
        headers: headers(roots),
        found: pick([...roots, 'result']),
        after: after(),
      })
      .optional(),
  })
}

function makeUpsert(outer: readonly string[]) {
  const roots = [...outer, 'extRef']
  const call = (names: readonly string[]) =>
    z.strictObject({
      method: method(),
      path: requestPath(names, REQUEST),
      body: sends(names, REQUEST).optional(),
      idempotent: z.boolean().optional(),
      keyTtl: keyTtl(),
    })
  return z.strictObject({
    connection: reference().optional(),
    auth: authPlace().optional(),
    baseUrl: urlOrPath(outer).optional(),
    headers: headers(roots),
    extRef: send(outer),
    find: z.strictObject({
      method: method(),
      path: requestPath(roots, REQUEST),
      found: pick([...roots, 'result']),
      id: pick([...roots, 'result']).optional(),
      after: after(),
    }),
    create: call(roots),
    // The map first: its errors are reported, rather than that it is not `none`.
    update: z.union([call([...roots, 'found']), oneOf('none')]).optional(),
    lock: oneOf('single', 'none').optional(),
  })
}

function makeSchedule(roots: readonly string[]) {
  return z.strictObject({
    name: send(roots),
    cron: literal({ minLength: 1 }),
    zone: literal({ minLength: 1 }).optional(),
    emit: subjectSend(roots),
    data: sends(roots).optional(),
  })
}

export function makeAction(scope: RouteScope) {
  return makeActionOf(actionRoots(scope))
}

export function makeActionOf(roots: readonly string[]) {
  return z
    .strictObject({
      http: makeHttp(roots).optional(),
      upsert: makeUpsert(roots).optional(),
      function: reference().optional(),
      with: sends(roots).optional(),
      emit: subjectSend(roots).optional(),
      data: sends(roots).optional(),
      start: reference().optional(),
      wait: z.boolean().optional(),
      schedule: makeSchedule(roots).optional(),
      unschedule: send(roots).optional(),
      agent: reference().optional(),
      operation: reference().optional(),
      connection: reference().optional(),
      timeout: timeout(),
      classify: z.record(statusCode(), oneOf('done', ...FAILURE_CLASSES)).optional(),
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
