// The language, as far as this version has it. json-schema.ts publishes it for editors; resolve.ts fills in defaults.
// Fields of the language that belong to parts which are not here yet are listed at the end: they are refused by name.

import { z } from 'zod'
import {
  ADDRESSED_SCHEMES,
  PLAIN_SCHEMES,
  TIMED_ADDRESSED_SCHEMES,
  TIMED_SCHEMES,
} from '../core/definition/index.ts'
import { FAILURE_CLASSES } from '../core/failure/index.ts'
import { MAPPING_NAMES } from '../core/source/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../core/time/index.ts'
import {
  address,
  condition,
  constant,
  documentName,
  duration,
  environmentName,
  headerName,
  literal,
  oneOf,
  pattern,
  pick,
  reference,
  send,
  sends,
  size,
  statusCode,
  subjectSend,
  url,
  username,
  vaultEntry,
} from './fields.ts'
import { waysIn } from './schema-ways-in.ts'

const REQUEST_ROOTS = ['payload', 'header', 'source', 'tenant'] as const
const EVENT_ROOTS = ['event', ...REQUEST_ROOTS] as const
// Keys and conditions may not depend on the environment; what is sent may.
const ACTION_ROOTS = [...EVENT_ROOTS, 'key', 'vars'] as const
const RESULT_ROOTS = [...ACTION_ROOTS, 'result'] as const

const envelope = {
  apiVersion: constant('millrace/v1').optional(),
  name: documentName(),
  description: literal().optional(),
}
const status = oneOf('active', 'paused', 'disabled').optional()

// --- Source

const secretReference = z
  .strictObject({ env: environmentName().optional(), ref: vaultEntry().optional() })
  .meta({ oneOf: [{ required: ['env'] }, { required: ['ref'] }] })
const secret = z.union([secretReference, z.array(secretReference).min(1).max(10)])

const tolerance = duration(SECOND, DAY).optional()

const verify = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: constant('none') }),
  z.strictObject({ scheme: oneOf(...PLAIN_SCHEMES), secret }),
  z.strictObject({ scheme: oneOf(...TIMED_SCHEMES), secret, tolerance }),
  z.strictObject({ scheme: oneOf(...ADDRESSED_SCHEMES), secret, url: address().optional() }),
  z.strictObject({
    scheme: oneOf(...TIMED_ADDRESSED_SCHEMES),
    secret,
    tolerance,
    url: address().optional(),
  }),
  z.strictObject({
    scheme: constant('hmac'),
    secret,
    header: headerName(false).optional(),
    algorithm: oneOf('sha1', 'sha256', 'sha512').optional(),
    encoding: oneOf('hex', 'base64').optional(),
    prefix: literal().optional(),
    signed: send(['body', 'header']).optional(),
    timestampHeader: headerName(false).optional(),
    tolerance,
  }),
  z.strictObject({ scheme: constant('basic'), username: username(), secret }),
  z.strictObject({
    scheme: constant('api-key'),
    secret,
    header: headerName(false).optional(),
    prefix: literal().optional(),
  }),
])

const sourceSchema = z
  .strictObject({
    kind: constant('Source'),
    ...envelope,
    verify: verify.optional(),
    subjects: oneOf(...MAPPING_NAMES).optional(),
    subject: subjectSend(REQUEST_ROOTS).optional(),
    event: z
      .strictObject({
        id: pick(REQUEST_ROOTS).optional(),
        objectType: send(REQUEST_ROOTS).optional(),
        objectId: pick(REQUEST_ROOTS).optional(),
        occurredAt: pick(REQUEST_ROOTS).optional(),
      })
      .optional(),
    dedup: z
      .strictObject({ by: pick(EVENT_ROOTS).optional(), window: duration(SECOND, 90 * DAY).optional() })
      .optional(),
    limits: z
      .strictObject({
        body: size(1, 64 * 1024 * 1024).optional(),
        depth: z.number().int().min(1).max(256).optional(),
      })
      .optional(),
    status,
    ...waysIn,
  })
  .meta({
    title: 'Source',
    oneOf: [
      { required: ['verify', 'subject'] },
      { required: ['verify', 'subjects'] },
      { required: ['schedule'] },
    ],
  })

// --- Route

const retryInline = z.strictObject({
  attempts: z.number().int().min(1).max(100),
  delays: z
    .array(duration(0, 7 * DAY))
    .max(99)
    .optional(),
})

const method = () => oneOf('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS').optional()
const headers = () => z.record(headerName(true), send(ACTION_ROOTS)).optional()

const http = z.strictObject({
  method: method(),
  url: url(ACTION_ROOTS),
  headers: headers(),
  body: sends(ACTION_ROOTS).optional(),
  idempotent: z.boolean().optional(),
  keyTtl: duration(SECOND, 90 * DAY).optional(),
  probe: z
    .strictObject({
      method: method(),
      url: url(ACTION_ROOTS),
      headers: headers(),
      found: pick(RESULT_ROOTS),
      after: duration(0, HOUR).optional(),
    })
    .optional(),
})

const action = z
  .strictObject({
    http: http.optional(),
    function: reference().optional(),
    with: sends(ACTION_ROOTS).optional(),
    emit: subjectSend(ACTION_ROOTS).optional(),
    data: sends(ACTION_ROOTS).optional(),
    timeout: duration(1, 10 * MINUTE).optional(),
    classify: z.record(statusCode(), oneOf('done', ...FAILURE_CLASSES)).optional(),
  })
  .meta({ oneOf: [{ required: ['http'] }, { required: ['function'] }, { required: ['emit'] }] })

const routeSchema = z
  .strictObject({
    kind: constant('Route'),
    ...envelope,
    on: z.union([pattern(), z.array(pattern()).min(1).max(100)]),
    where: condition(EVENT_ROOTS).optional(),
    status,
    key: pick(EVENT_ROOTS).optional(),
    uniqueness: oneOf('operation', 'record').optional(),
    retry: z.union([reference(), retryInline]).optional(),
    maxWait: duration(SECOND, 30 * DAY).optional(),
    deadLetter: z
      .strictObject({
        severity: oneOf('low', 'medium', 'high', 'critical').optional(),
        runbook: literal().optional(),
      })
      .optional(),
    fanOut: oneOf('all').optional(),
    do: action,
  })
  .meta({ title: 'Route' })

// --- Profile

const profileSchema = z
  .strictObject({ kind: constant('Profile'), ...envelope, retry: retryInline })
  .meta({ title: 'Profile' })

export const SCHEMAS = { Source: sourceSchema, Route: routeSchema, Profile: profileSchema } as const
export const languageSchema = z.discriminatedUnion('kind', [sourceSchema, routeSchema, profileSchema])

export type Kind = keyof typeof SCHEMAS
export type SourceInput = z.infer<typeof sourceSchema>
export type RouteInput = z.infer<typeof routeSchema>
export type ProfileInput = z.infer<typeof profileSchema>
export type SecretInput = z.infer<typeof secret>
export type RetryInput = z.infer<typeof retryInline>
export type ActionInput = z.infer<typeof action>

// --- What the language has and this version has not

export const OTHER_KINDS = [
  'Workflow',
  'Agent',
  'Subscription',
  'Provider',
  'Connection',
  'Credential',
  'Poller',
  'AlertRoute',
] as const

/** By the path of what they belong to. */
export const OTHER_FIELDS: Readonly<Record<string, readonly string[]>> = {
  Route: ['each', 'drain', 'rateLimit', 'concurrency', 'order', 'debounce', 'batch'],
  'Route.do': ['operation', 'upsert', 'start', 'schedule', 'unschedule', 'agent', 'connection', 'wait'],
  'Route.do.http': ['connection'],
  Profile: ['rate', 'drain'],
}

/** Values of fields that are here. */
export const OTHER_VALUES: Readonly<Record<string, readonly string[]>> = {
  'Route.fanOut': ['first', 'one'],
}
