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
  headerName,
  literal,
  oneOf,
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

const envelope = {
  apiVersion: constant('millrace/v1').optional(),
  name: documentName(),
  description: literal().optional(),
}
const status = oneOf('active', 'paused', 'disabled').optional()

// --- Source

const secret = z.union([secretPlace(), z.array(secretPlace()).min(1).max(10)])

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
      { required: ['nats'] },
    ],
  })

// --- Route

function makeRoute(scope: RouteScope) {
  return z
    .strictObject({
      kind: constant('Route'),
      ...envelope,
      on: z.union([pattern(), z.array(pattern()).min(1).max(100)]),
      where: condition(EVENT_ROOTS).optional(),
      status,
      key: pick(itemRoots(scope)).optional(),
      uniqueness: oneOf('operation', 'record').optional(),
      retry: z.union([reference(), retryInline]).optional(),
      maxWait: duration(SECOND, 30 * DAY).optional(),
      deadLetter: z
        .strictObject({
          severity: oneOf('low', 'medium', 'high', 'critical').optional(),
          runbook: readable().optional(),
        })
        .optional(),
      ...makeBuffers(scope),
      do: makeAction(scope),
    })
    .meta({ title: 'Route' })
}

const routeSchema = makeRoute(PLAIN_SCOPE)

// --- Profile

const profileSchema = z
  .strictObject({
    kind: constant('Profile'),
    ...envelope,
    retry: retryInline.optional(),
    rate: ratePolicy.optional(),
    drain: drainPolicy.optional(),
  })
  .meta({
    title: 'Profile',
    oneOf: [{ required: ['retry'] }, { required: ['rate'] }, { required: ['drain'] }],
  })

// --- Workflow, Agent, Subscription

const workflowSchema = z
  .strictObject({ kind: constant('Workflow'), ...envelope, ...workflowFields })
  .meta({ title: 'Workflow' })

const agentSchema = z
  .strictObject({ kind: constant('Agent'), ...envelope, ...agentFields })
  .meta({ title: 'Agent' })

const subscriptionSchema = z
  .strictObject({ kind: constant('Subscription'), ...envelope, ...subscriptionFields })
  .meta({ title: 'Subscription' })

// --- Provider, Connection, Credential

const providerSchema = z
  .strictObject({ kind: constant('Provider'), ...envelope, ...providerFields })
  .meta({ title: 'Provider' })

const connectionSchema = z
  .strictObject({ kind: constant('Connection'), ...envelope, ...connectionFields })
  .meta({ title: 'Connection' })

const credentialSchema = z
  .strictObject({ kind: constant('Credential'), ...envelope, ...credentialFields })
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
