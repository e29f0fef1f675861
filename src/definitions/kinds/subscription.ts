// A subscription: which endpoint gets which of our events, and how.

import * as z from 'zod'
import { judgeTarget, makeOutboundPolicy, readTarget } from '../../core/access/network/index.ts'
import {
  DISABLE_AFTER_MS,
  SIGNINGS,
  type SubscriptionDocument,
} from '../../core/definitions/documents/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { DAY, MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import { RETRY_PROFILES } from '../../core/queue/retry/index.ts'
import { isReservedHeader } from '../../core/webhooks/subscription/index.ts'
import { checkAuth } from '../auth.ts'
import { checkGroups } from '../buffers.ts'
import type { Surroundings } from '../document-context.ts'
import { EVENT_ROOTS } from '../expression-names.ts'
import {
  authPlace,
  condition,
  duration,
  endpoint,
  field,
  headerName,
  headerText,
  literal,
  named,
  oneOf,
  optional,
  pick,
  reference,
  secretPlace,
  sends,
} from '../fields.ts'
import type { Remark } from '../finding.ts'
import { checkConnectionName } from '../integrations.ts'
import { checkProfileName } from '../profiles.ts'
import { checkRetry } from '../retries.ts'
import { checkSecrets } from '../secrets.ts'
import { checkSensitiveSubscription } from '../sensitive.ts'
import { type Fields, fieldsOf, milliseconds } from '../written.ts'
import { type KindDeclaration, type Known, lazily } from './kind.ts'
import {
  deadLetter,
  envelope,
  MAX_WAIT_MS,
  patterns,
  ratePolicy,
  resolveAuth,
  resolveDeadLetter,
  resolveRate,
  resolveRetry,
  resolveSecret,
  retryInline,
  status,
} from './parts.ts'

/** For what is sent; the address does not depend on the event. */
const SENT_ROOTS = [...EVENT_ROOTS, 'vars'] as const

/** What is sent as rendered then: it may contain a secret. */
const REQUEST = { secrets: true }

const METADATA_LENGTH_MAX = 1_000

const schema = lazily(() =>
  z
    .strictObject({
      ...envelope('Subscription'),
      url: field(
        endpoint(['vars'], REQUEST),
        'Where events are sent to: http or https, without a user, a password or a `#`. Sees `vars` alone; what the node does not allow is refused.',
      ),
      on: field(patterns(), 'Subjects that it wants; `*` is one token, `>` at the end one or more.'),
      where: optional(
        condition(EVENT_ROOTS),
        'Which of these events: an expression or a filter.',
        'all of them',
      ),
      status: status('`paused`: deliveries are kept and not sent. `disabled`: what arrives is skipped.'),
      transform: optional(
        named('Exclude<Sent, null>', sends(SENT_ROOTS, REQUEST)),
        'The body that is sent.',
        { otherwise: '`id`, `type`, `timestamp` and `data` of the event', carried: true },
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
      retry: optional(z.union([reference(), retryInline()]), 'The name of a profile, or a policy in place.', {
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
        { otherwise: 'as many as the endpoint bears, up to 64 a node', carried: true },
      ),
      connection: optional(
        reference(),
        'The connection whose rate limits its deliveries share with the calls on it: the default bucket of its provider, also while that is closed after a 429. Address and proof stay those of the subscription.',
        { otherwise: 'limits are those of the endpoint alone', since: '0.2', carried: true },
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
      deadLetter: deadLetter(),
      sensitive: optional(
        oneOf('send'),
        '`send`: what sources declare as sensitive is sent to this endpoint.',
        { otherwise: 'it is sent as `[hidden]`', carried: true },
      ),
      metadata: optional(
        z.record(
          literal({ minLength: 1 }),
          field(literal({ maxLength: METADATA_LENGTH_MAX }), 'One entry, a text.'),
        ),
        'Whose it is, in your own words; it changes nothing.',
        'none',
      ),
    })
    .meta({ title: 'Subscription' }),
)

export type SubscriptionInput = z.infer<ReturnType<typeof schema>>

export const subscriptionKind: KindDeclaration<SubscriptionDocument, ReturnType<typeof schema>> = {
  schema,
  resolve: resolveSubscription,
  check: checkSubscriptionFields,
  summary: 'An endpoint, which of our events it receives, and how.',
  template: `kind: Subscription
name: NAME
url: https://NAME.example.com/hooks
on: ["NAME.events.>"]
`,
}

// --- The normal form

const TIMEOUT_MS = 15 * SECOND

/** null: it names a profile that is not valid. */
function resolveSubscription(
  input: SubscriptionInput,
  { profiles }: Pick<Known, 'profiles'>,
): SubscriptionDocument | null {
  const retry = input.retry === undefined ? RETRY_PROFILES.DELIVERY : resolveRetry(input.retry, { profiles })
  const rateLimit = resolveRate(input.rateLimit, profiles)
  if (retry === null || rateLimit === null) return null
  const { order, headers = {} } = input
  return {
    kind: 'Subscription',
    name: input.name,
    description: input.description ?? null,
    url: input.url,
    on: typeof input.on === 'string' ? [input.on] : input.on,
    where: (input.where ?? null) as JsonValue,
    status: input.status ?? 'active',
    secret: input.secret === undefined ? null : resolveSecret(input.secret),
    signing: input.signing ?? 'standard',
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    retry,
    timeoutMs: milliseconds(input.timeout, TIMEOUT_MS),
    maxWaitMs: milliseconds(input.maxWait, MAX_WAIT_MS),
    disableAfterMs:
      input.disableAfter === 'never' ? null : milliseconds(input.disableAfter, DISABLE_AFTER_MS),
    deadLetter: resolveDeadLetter(input.deadLetter),
    metadata: input.metadata ?? {},
    ...resolveAuth(input.auth),
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(order === undefined
      ? {}
      : { order: { by: order.by, ...(order.onBlocked === 'skip' ? { onBlocked: 'skip' } : {}) } }),
  }
}

// --- Checks

function checkSubscriptionFields(value: Fields, around: Surroundings): readonly Remark[] {
  return [
    ...checkRetry(value.retry, around),
    ...checkProfileName(value.rateLimit, 'rate', ['rateLimit'], around.profiles),
    ...checkSecrets(value.secret, around, ['secret'], 'its deliveries wait'),
    ...checkAuth(value, around, [], 'its deliveries wait'),
    ...checkGroups(value),
    ...checkConnectionName(value.connection, ['connection'], around.integrations),
    ...checkSensitiveSubscription(value, around.sensitive),
    ...checkAddress(value.url, around),
    ...checkHeaders(fieldsOf(value.headers)),
    ...checkMetadata(fieldsOf(value.metadata)),
    ...checkTransform(value.transform),
    ...checkEverything(value),
  ]
}

// --- The address

const NOTHING_ALLOWED = makeOutboundPolicy([])

/** The result of a template is judged when it is called, as are the addresses that a name resolves to. */
function checkAddress(url: JsonValue | undefined, around: Surroundings): readonly Remark[] {
  if (typeof url !== 'string' || url.includes('{{')) return []
  const target = readTarget(url)
  if (!target.ok) return []
  const { outbound = NOTHING_ALLOWED } = around
  const verdict = outbound === null ? null : judgeTarget(target, outbound)
  if (verdict?.ok === false) {
    const { message } = verdict
    const common = { rule: 'endpoint', path: ['url'] } as const
    return outbound === NOTHING_ALLOWED
      ? [{ ...common, severity: 'warning', message: `${message}; the node that gets this decides` }]
      : [{ ...common, message }]
  }
  if (target.url.protocol === 'https:' || !around.isProduction) return []
  const message = 'everybody on the way can read what is sent by http: write `https://`'
  const suggestedText = url.replace(/^http:/i, 'https:')
  return [{ rule: 'plainHttp', severity: 'warning', message, path: ['url'], suggestedText }]
}

// --- What is sent

const HEADERS_MAX = 50

function checkHeaders(headers: Fields): readonly Remark[] {
  const names = Object.keys(headers)
  const remarks: Remark[] = []
  const seen = new Set<string>()
  for (const name of names) {
    const lower = name.toLowerCase()
    if (seen.has(lower)) {
      const message = `\`${lower}\` stands here twice: the names of headers do not differ by case. Keep one`
      remarks.push({ rule: 'header', message, path: ['headers', name], onKey: true })
    }
    seen.add(lower)
  }
  if (names.length > HEADERS_MAX) {
    remarks.push({
      rule: 'bounds',
      message: `at most ${HEADERS_MAX} headers`,
      path: ['headers'],
      onKey: true,
    })
  }
  return remarks
}

const METADATA_MAX = 50

function checkMetadata(metadata: Fields): readonly Remark[] {
  if (Object.keys(metadata).length <= METADATA_MAX) return []
  return [{ rule: 'bounds', message: `at most ${METADATA_MAX} entries`, path: ['metadata'], onKey: true }]
}

function checkTransform(transform: JsonValue | undefined): readonly Remark[] {
  if (transform !== null) return []
  const message = 'the body is empty: leave `transform` out, and the event is sent as it is'
  return [{ rule: 'type', message, path: ['transform'] }]
}

// --- Which events

function checkEverything({ on, where }: Fields): readonly Remark[] {
  const isList = Array.isArray(on)
  const patterns: readonly JsonValue[] = isList ? on : [on ?? null]
  const index = patterns.indexOf('>')
  if (index < 0 || where !== undefined) return []
  const message =
    '`>` is every event of the tenant, whichever source it has, and also what Millrace tells of itself, as `integration.failed` ' +
    '(but nothing of its own deliveries). Name the subjects, or choose among them with `where`'
  return [{ rule: 'everything', severity: 'warning', message, path: isList ? ['on', index] : ['on'] }]
}
