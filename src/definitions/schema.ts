// The language, as far as this version supports it. json-schema.ts publishes it for editors; resolve.ts fills in
// defaults. Kinds that are not supported yet are listed at the end: they are refused by name.

import * as z from 'zod'
import {
  ADDRESSED_SCHEMES,
  PLAIN_SCHEMES,
  TIMED_ADDRESSED_SCHEMES,
  TIMED_SCHEMES,
} from '../core/definitions/documents/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { DAY, SECOND } from '../core/foundation/time/index.ts'
import { MAPPING_NAMES } from '../core/ingest/source/index.ts'
import {
  EVENT_ROOTS,
  itemRoots,
  PLAIN_SCOPE,
  REQUEST_ROOTS,
  type RouteScope,
  scopeOf,
} from './expression-names.ts'
import {
  address,
  condition,
  constant,
  documentName,
  duration,
  field,
  headerName,
  literal,
  oneOf,
  optional,
  pattern,
  pick,
  readable,
  reference,
  secretPlace,
  send,
  size,
  subjectSend,
  username,
} from './fields.ts'
import { makeAction } from './schema-actions.ts'
import { agentFields } from './schema-agents.ts'
import { drainPolicy, makeBuffers, ratePolicy, retryInline } from './schema-buffers.ts'
import { connectionFields, credentialFields } from './schema-connections.ts'
import { providerFields } from './schema-providers.ts'
import { waysIn } from './schema-sources.ts'
import { subscriptionFields } from './schema-subscriptions.ts'
import { workflowFields } from './schema-workflows.ts'

const kindOf = <const Kind extends string>(kind: Kind) => field(constant(kind), 'What this document defines.')

const envelope = {
  apiVersion: optional(constant('millrace/v1'), 'The version of the language.', { default: 'millrace/v1' }),
  name: field(documentName(), 'Unique among the documents of its kind; letters, digits, `_` and `-`.'),
  description: optional(literal(), 'For people; it changes nothing.', 'none'),
}
const status = oneOf('active', 'paused', 'disabled')

// --- Source

const secret = z.union([secretPlace(), z.array(secretPlace()).min(1).max(10)])

const tolerance = duration(SECOND, DAY)

const verify = z.discriminatedUnion('scheme', [
  z.strictObject({
    scheme: field(constant('none'), 'A vendor’s way, any HMAC, a password, a key, or nothing at all.'),
  }),
  z.strictObject({
    scheme: field(oneOf(...PLAIN_SCHEMES), 'A vendor’s way, any HMAC, a password, a key, or nothing at all.'),
    secret: field(secret, 'The secret to verify with; of several, each is tried, so that it can be rotated.'),
  }),
  z.strictObject({
    scheme: field(oneOf(...TIMED_SCHEMES), 'A vendor’s way, any HMAC, a password, a key, or nothing at all.'),
    secret: field(secret, 'The secret to verify with; of several, each is tried, so that it can be rotated.'),
    tolerance: optional(tolerance, 'How near, in both directions.', { default: '300s' }),
  }),
  z.strictObject({
    scheme: field(
      oneOf(...ADDRESSED_SCHEMES),
      'A vendor’s way, any HMAC, a password, a key, or nothing at all.',
    ),
    secret: field(secret, 'The secret to verify with; of several, each is tried, so that it can be rotated.'),
    url: optional(
      address(),
      'The address that the sender knows, without a query, where its scheme signs it.',
      'as the request came',
    ),
  }),
  z.strictObject({
    scheme: field(
      oneOf(...TIMED_ADDRESSED_SCHEMES),
      'A vendor’s way, any HMAC, a password, a key, or nothing at all.',
    ),
    secret: field(secret, 'The secret to verify with; of several, each is tried, so that it can be rotated.'),
    tolerance: optional(tolerance, 'How near, in both directions.', { default: '300s' }),
    url: optional(
      address(),
      'The address that the sender knows, without a query, where its scheme signs it.',
      'as the request came',
    ),
  }),
  z.strictObject({
    scheme: field(constant('hmac'), 'A vendor’s way, any HMAC, a password, a key, or nothing at all.'),
    secret: field(secret, 'The secret to verify with; of several, each is tried, so that it can be rotated.'),
    header: optional(
      headerName(false),
      'The header with the signature or the key.',
      '`x-signature`, or `x-api-key` of `api-key`',
    ),
    algorithm: optional(oneOf('sha1', 'sha256', 'sha512'), 'The hash under the HMAC.', { default: 'sha256' }),
    encoding: optional(oneOf('hex', 'base64'), 'How the signature is written.', { default: 'hex' }),
    prefix: optional(literal(), 'What stands before the signature or the key.', 'nothing'),
    signed: optional(send(['body', 'header']), 'What is signed; sees `body` and `header`.', {
      default: '{{ body }}',
    }),
    timestampHeader: optional(headerName(false), 'A header with a time that must be near.', 'none'),
    tolerance: optional(tolerance, 'How near, in both directions.', { default: '300s' }),
  }),
  z.strictObject({
    scheme: field(constant('basic'), 'A vendor’s way, any HMAC, a password, a key, or nothing at all.'),
    username: field(username(), 'The user of Basic authentication.'),
    secret: field(secret, 'The secret to verify with; of several, each is tried, so that it can be rotated.'),
  }),
  z.strictObject({
    scheme: field(constant('api-key'), 'A vendor’s way, any HMAC, a password, a key, or nothing at all.'),
    secret: field(secret, 'The secret to verify with; of several, each is tried, so that it can be rotated.'),
    header: optional(
      headerName(false),
      'The header with the signature or the key.',
      '`x-signature`, or `x-api-key` of `api-key`',
    ),
    prefix: optional(literal(), 'What stands before the signature or the key.', 'nothing'),
  }),
])

const sourceSchema = z
  .strictObject({
    kind: kindOf('Source'),
    ...envelope,
    verify: optional(
      verify,
      'How senders prove who they are. Taking everything in must be written out.',
      'only a schedule and `nats` need none',
    ),
    subjects: optional(
      oneOf(...MAPPING_NAMES),
      'A ready mapping of a vendor’s events to subjects, instead of `subject`.',
      '`subject` is needed',
    ),
    subject: optional(
      subjectSend(REQUEST_ROOTS),
      'The event’s subject.',
      '`subjects` is needed; of `nats`, the message’s own',
    ),
    event: optional(
      z.strictObject({
        id: optional(pick(REQUEST_ROOTS), 'Tells repeated events from new ones.', 'none'),
        objectType: optional(send(REQUEST_ROOTS), 'The kind of object that the event is about.', 'none'),
        objectId: optional(pick(REQUEST_ROOTS), 'Which object it is.', 'none'),
        occurredAt: optional(
          pick(REQUEST_ROOTS),
          'When it happened: ISO 8601 with its zone, or Unix seconds or milliseconds.',
          'not known',
        ),
      }),
      'What the event says about itself.',
      'what `subjects` brings',
    ),
    dedup: optional(
      z.strictObject({
        by: optional(
          pick(EVENT_ROOTS),
          'The dedup key.',
          '`event.id`; without one, payload hash and object id',
        ),
        window: optional(duration(SECOND, 90 * DAY), 'How long a key is remembered.', { default: '7d' }),
      }),
      'How repeated events are known.',
      'as below',
    ),
    limits: optional(
      z.strictObject({
        body: optional(size(1, 64 * 1024 * 1024), 'The largest body; `MILLRACE_BODY_LIMIT` is above it.', {
          default: '1MiB',
        }),
        depth: optional(z.number().int().min(1).max(256), 'The deepest nesting.', { default: 64 }),
      }),
      'What is too much.',
      'as below',
    ),
    status: optional(status, '`paused`: what arrives is kept and waits. `disabled`: senders get 410.', {
      default: 'active',
    }),
    ...waysIn,
  })
  .meta({
    title: 'Source',
    oneOf: [
      { required: ['verify', 'subject'] },
      { required: ['verify', 'subjects'] },
      { required: ['schedule'] },
      { required: ['nats'] },
    ],
  })

// --- Route

function makeRoute(scope: RouteScope) {
  return z
    .strictObject({
      kind: kindOf('Route'),
      ...envelope,
      on: field(
        z.union([pattern(), z.array(pattern()).min(1).max(100)]),
        'Subjects that it wants; `*` is one token, `>` at the end one or more.',
      ),
      where: optional(
        condition(EVENT_ROOTS),
        'Which of these events: an expression or a filter.',
        'all of them',
      ),
      status: optional(status, '`paused`: work is kept and not run. `disabled`: work is skipped.', {
        default: 'active',
      }),
      key: optional(
        pick(itemRoots(scope)),
        'Names the effect: one per key, over all events and replays.',
        'the route’s name and the event’s id',
      ),
      uniqueness: optional(
        oneOf('operation', 'record'),
        '`operation`: an effect per version of an object. `record`: one object, made once.',
        { default: 'operation' },
      ),
      retry: optional(z.union([reference(), retryInline]), 'The name of a profile, or a policy in place.', {
        default: 'STANDARD',
      }),
      maxWait: optional(duration(SECOND, 30 * DAY), 'How long an item may wait beside its retries.', {
        default: '24h',
      }),
      deadLetter: optional(
        z.strictObject({
          severity: optional(oneOf('low', 'medium', 'high', 'critical'), 'How bad it is.', {
            default: 'medium',
          }),
          runbook: optional(readable(), 'Where it is written what to do.', 'none'),
        }),
        'What its dead letters say.',
        'as below',
      ),
      ...makeBuffers(scope),
      do: field(
        makeAction(scope),
        'One action: `http`, `upsert`, `operation`, `function`, `emit`, `start`, `schedule`, `unschedule` or `agent`.',
      ),
    })
    .meta({ title: 'Route' })
}

const routeSchema = makeRoute(PLAIN_SCOPE)

// --- Profile

const profileSchema = z
  .strictObject({
    kind: kindOf('Profile'),
    ...envelope,
    retry: optional(retryInline, 'The policy.', 'a profile of another sort'),
    rate: optional(ratePolicy(), 'The policy.', 'a profile of another sort'),
    drain: optional(drainPolicy, 'The policy.', 'a profile of another sort'),
  })
  .meta({
    title: 'Profile',
    oneOf: [{ required: ['retry'] }, { required: ['rate'] }, { required: ['drain'] }],
  })

// --- Workflow, Agent, Subscription

const workflowSchema = z
  .strictObject({
    kind: kindOf('Workflow'),
    ...envelope,
    ...workflowFields,
  })
  .meta({ title: 'Workflow' })

const agentSchema = z
  .strictObject({
    kind: kindOf('Agent'),
    ...envelope,
    ...agentFields,
  })
  .meta({ title: 'Agent' })

const subscriptionSchema = z
  .strictObject({
    kind: kindOf('Subscription'),
    ...envelope,
    ...subscriptionFields,
  })
  .meta({ title: 'Subscription' })

// --- Provider, Connection, Credential

const providerSchema = z
  .strictObject({
    kind: kindOf('Provider'),
    ...envelope,
    ...providerFields,
  })
  .meta({ title: 'Provider' })

const connectionSchema = z
  .strictObject({
    kind: kindOf('Connection'),
    ...envelope,
    ...connectionFields,
  })
  .meta({ title: 'Connection' })

const credentialSchema = z
  .strictObject({
    kind: kindOf('Credential'),
    ...envelope,
    ...credentialFields,
  })
  .meta({ title: 'Credential' })

export const SCHEMAS = {
  Source: sourceSchema,
  Route: routeSchema,
  Workflow: workflowSchema,
  Agent: agentSchema,
  Subscription: subscriptionSchema,
  Provider: providerSchema,
  Connection: connectionSchema,
  Credential: credentialSchema,
  Profile: profileSchema,
} as const
export const languageSchema = z.discriminatedUnion('kind', [
  sourceSchema,
  routeSchema,
  workflowSchema,
  agentSchema,
  subscriptionSchema,
  providerSchema,
  connectionSchema,
  credentialSchema,
  profileSchema,
])

export type Kind = keyof typeof SCHEMAS

/** Building one takes a few milliseconds, and a folder names few elements. */
const SCOPED_MAX = 100
const scoped = new Map<string, typeof routeSchema>()

/** The schema that a document is checked by: a route's knows the names that its `each` and `batch` add. */
export function schemaFor(kind: Kind, value: { readonly [key: string]: JsonValue }): z.ZodType {
  const scope = kind === 'Route' ? scopeOf(value) : PLAIN_SCOPE
  if (scope.element === null && !scope.isBatched) return SCHEMAS[kind]
  const id = `${scope.element} ${scope.isBatched}`
  const known = scoped.get(id)
  if (known !== undefined) return known
  const made = makeRoute(scope)
  if (scoped.size >= SCOPED_MAX) scoped.clear()
  scoped.set(id, made)
  return made
}

export type SourceInput = z.infer<typeof sourceSchema>
export type RouteInput = z.infer<typeof routeSchema>
export type WorkflowInput = z.infer<typeof workflowSchema>
export type AgentInput = z.infer<typeof agentSchema>
export type SubscriptionInput = z.infer<typeof subscriptionSchema>
export type ProviderInput = z.infer<typeof providerSchema>
export type ConnectionInput = z.infer<typeof connectionSchema>
export type CredentialInput = z.infer<typeof credentialSchema>
export type ProfileInput = z.infer<typeof profileSchema>
export type SecretInput = z.infer<typeof secret>
export type RetryInput = z.infer<typeof retryInline>

// --- Parts of the language that this version does not support

export const OTHER_KINDS = ['Poller', 'AlertRoute'] as const
