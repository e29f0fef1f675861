// A subscription as written: which endpoint gets which of our events, and how.

import * as z from 'zod'
import { SIGNINGS } from '../core/definitions/documents/index.ts'
import { DAY, MINUTE, SECOND } from '../core/foundation/time/index.ts'
import { isReservedHeader } from '../core/webhooks/subscription/index.ts'
import { EVENT_ROOTS } from './expression-names.ts'
import {
  authPlace,
  condition,
  duration,
  endpoint,
  field,
  headerName,
  headerText,
  literal,
  oneOf,
  optional,
  pattern,
  pick,
  readable,
  reference,
  secretPlace,
  sends,
} from './fields.ts'
import { ratePolicy, retryInline } from './schema-buffers.ts'

/** For what is sent; the address does not depend on the event. */
const SENT_ROOTS = [...EVENT_ROOTS, 'vars'] as const

/** What is sent as rendered then: it may contain a secret. */
const REQUEST = { secrets: true }

const METADATA_LENGTH_MAX = 1_000

export const subscriptionFields = {
  url: field(
    endpoint(['vars'], REQUEST),
    'Where events are sent to: http or https, without a user, a password or a `#`. Sees `vars` alone; what the node does not allow is refused.',
  ),
  on: field(
    z.union([pattern(), z.array(pattern()).min(1).max(100)]),
    'Subjects that it wants; `*` is one token, `>` at the end one or more.',
  ),
  where: optional(condition(EVENT_ROOTS), 'Which of these events: an expression or a filter.', 'all of them'),
  status: optional(
    oneOf('active', 'paused', 'disabled'),
    '`paused`: deliveries are kept and not sent. `disabled`: what arrives is skipped.',
    { default: 'active' },
  ),
  transform: optional(
    sends(SENT_ROOTS, REQUEST),
    'The body that is sent.',
    '`id`, `type`, `timestamp` and `data` of the event',
  ),
  headers: optional(
    z.record(headerName(true, isReservedHeader), field(headerText(SENT_ROOTS, REQUEST), 'One header.')),
    "Headers beside our own, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
    'none',
  ),
  auth: optional(
    authPlace(isReservedHeader),
    'What proves who calls, beside the signature.',
    'the signature alone does',
  ),
  secret: optional(secretPlace(), 'What deliveries are signed with.', 'one is generated, and shown once'),
  signing: optional(
    oneOf(...SIGNINGS),
    'How: with the headers of Standard Webhooks by a shared secret (`standard`) or a key pair (`ed25519`), or with `x-hub-signature-256` (`github`).',
    { default: 'standard' },
  ),
  retry: optional(z.union([reference(), retryInline]), 'The name of a profile, or a policy in place.', {
    default: 'DELIVERY',
  }),
  timeout: optional(duration(SECOND, MINUTE), 'Of one attempt, `1s` to `60s`.', { default: '15s' }),
  maxWait: optional(
    duration(SECOND, 30 * DAY),
    'How long a delivery may wait beside its retries, as when the endpoint asks for less.',
    { default: '24h' },
  ),
  disableAfter: optional(
    duration(MINUTE, 365 * DAY, 'never'),
    'How long everything may fail before the subscription disables itself; `never`: it goes on for good.',
    { default: '5d' },
  ),
  rateLimit: optional(
    z.union([reference(), ratePolicy('requests ')]),
    'How much is sent: a policy in place, or the name of a profile. Deliveries wait for their turn.',
    'as much as the endpoint bears',
  ),
  concurrency: optional(
    z.strictObject({ limit: field(z.number().int().min(1).max(10_000), 'So many.') }),
    'How many deliveries are under way at once.',
    'as many as the endpoint bears, up to 64 a node',
  ),
  order: optional(
    z.strictObject({
      by: field(pick(EVENT_ROOTS), 'What has an order.'),
      onBlocked: optional(
        oneOf('hold', 'skip'),
        'Of the others while one is dead: they wait for a person, or go on without it.',
        { default: 'hold' },
      ),
    }),
    'Deliveries of one value go one after another, in the order in which events were accepted.',
    'in any order',
  ),
  deadLetter: optional(
    z.strictObject({
      severity: optional(oneOf('low', 'medium', 'high', 'critical'), 'How bad it is.', { default: 'medium' }),
      runbook: optional(readable(), 'Where it is written what to do.', 'none'),
    }),
    'What its dead letters say.',
    'as below',
  ),
  sensitive: optional(
    oneOf('send'),
    '`send`: what sources declare as sensitive is sent to this endpoint.',
    'it is sent as `[hidden]`',
  ),
  metadata: optional(
    z.record(
      literal({ minLength: 1 }),
      field(literal({ maxLength: METADATA_LENGTH_MAX }), 'One entry, a text.'),
    ),
    'Whose it is, in your own words; it changes nothing.',
    'none',
  ),
}
