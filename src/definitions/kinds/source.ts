// A source: how events come in, how senders are verified, and what events are called. What is not written is left out of
// its normal form where its type allows, so that a document of an older release keeps its hash.

import * as z from 'zod'
import {
  ADDRESSED_SCHEMES,
  CLASSIFICATIONS,
  MESSAGE_SUBJECT,
  PLAIN_SCHEMES,
  RETENTION_MS,
  type SecretRef,
  type SourceDocument,
  TIMED_ADDRESSED_SCHEMES,
  TIMED_SCHEMES,
  usualBurst,
  type VerifyDocument,
} from '../../core/definitions/documents/index.ts'
import { compileTemplate, parseDuration, parseSize } from '../../core/expression/index.ts'
import { assert } from '../../core/foundation/errors/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import { MAPPING_NAMES, MAPPINGS } from '../../core/ingest/source/index.ts'
import { checkCron } from '../actions/index.ts'
import { checkCatalog } from '../catalog.ts'
import type { Surroundings } from '../document-context.ts'
import { EVENT_ROOTS, REQUEST_ROOTS } from '../expression-names.ts'
import {
  address,
  condition,
  constant,
  duration,
  field,
  headerName,
  json,
  literal,
  natsName,
  oneOf,
  optional,
  path,
  pattern,
  pick,
  secretPlace,
  send,
  sends,
  size,
  subjectSend,
  username,
} from '../fields.ts'
import type { Remark } from '../finding.ts'
import { checkGuards } from '../guards.ts'
import { checkKeyless } from '../keyless.ts'
import { checkBesideNats, checkNats, checkStream } from '../nats.ts'
import { checkSecrets } from '../secrets.ts'
import { checkSensitiveSource } from '../sensitive.ts'
import { INSTEAD_OF_VENDOR, VENDORS } from '../short-forms.ts'
import { type Fields, fieldsOf, milliseconds } from '../written.ts'
import { type KindDeclaration, lazily } from './kind.ts'
import { envelope, ratePolicy, resolveSecret, status } from './parts.ts'

const HANDSHAKE_ROOTS = [...REQUEST_ROOTS, 'query'] as const

const RULES_MAX = 100
const SUBJECTS_MAX = 2_000
const PATHS_MAX = 100
/** Each is a consumer of its own at the server. */
const PATTERNS_MAX = 20

const responseStatus = () => z.number().int().min(200).max(299)

const dispatch = () =>
  z.strictObject({
    mode: optional(oneOf('first', 'all'), 'Whether one rule or every rule that holds emits.', {
      default: 'first',
    }),
    rules: field(
      z
        .array(
          z.strictObject({
            when: optional(condition(EVENT_ROOTS), 'Which events: an expression or a filter.', 'every event'),
            emit: field(subjectSend(EVENT_ROOTS), 'The subject of the internal event.'),
            data: optional(sends(EVENT_ROOTS), 'Its payload.', 'the payload'),
          }),
        )
        .min(1)
        .max(RULES_MAX),
      'The rules, in order.',
    ),
    otherwise: optional(
      oneOf('keep', 'deadLetter'),
      'What becomes of an event that no rule wants: it is kept, or a dead letter too.',
      { default: 'keep' },
    ),
  })

const schedule = () =>
  z.strictObject({
    cron: field(literal({ minLength: 1 }), 'Minute, hour, day of month, month, day of week.'),
    zone: optional(literal({ minLength: 1 }), 'The time zone that it is read in.', { default: 'UTC' }),
    missed: optional(
      oneOf('once', 'skip', 'all'),
      'Of what passed while nothing could fire: the latest, none, or all of it.',
      { default: 'once' },
    ),
    data: optional(json(), 'What the payload says beside the time.', 'nothing'),
  })

const nats = () =>
  z.strictObject({
    stream: optional(natsName(), 'The stream.', 'the one that has the subjects'),
    subjects: field(
      z.union([pattern(), z.array(pattern()).min(1).max(PATTERNS_MAX)]),
      'Which of its messages: one pattern or several, as NATS has them.',
    ),
    durable: optional(
      natsName(),
      'The consumer that all nodes share, and that remembers how far they came.',
      '`<prefix>_<tenant>_<source>`',
    ),
  })

const catalog = () =>
  z.strictObject({
    mismatch: optional(
      oneOf('pass', 'tag', 'quarantine'),
      'What becomes of a payload that does not fit its schema: nothing, a mark, or a dead letter.',
      { default: 'pass' },
    ),
    subjects: optional(
      z
        .array(
          z.strictObject({
            subject: field(literal({ minLength: 1 }), 'The subject.'),
            description: optional(literal(), 'For people.', 'none'),
            schema: optional(json(), 'A JSON Schema of the payload.', 'any payload'),
            example: optional(json(), 'A payload to try things with.', 'none'),
          }),
        )
        .max(SUBJECTS_MAX),
      'One entry per subject.',
      'what `subjects` brings',
    ),
  })

const respond = () =>
  z.strictObject({
    status: optional(responseStatus(), 'From 200 to 299.', { default: 200 }),
    contentType: optional(
      literal({ minLength: 1 }),
      'Of the body.',
      'plain text for a text, JSON for anything else',
    ),
    body: optional(sends(EVENT_ROOTS), 'A text, or a value that is sent as JSON.', 'empty'),
  })

const handshake = () =>
  z.strictObject({
    method: optional(oneOf('GET', 'POST'), 'How it is asked.', { default: 'POST' }),
    when: field(condition(HANDSHAKE_ROOTS), 'How it is known; sees `payload`, `header` and `query`.'),
    status: optional(responseStatus(), 'From 200 to 299.', { default: 200 }),
    contentType: optional(literal({ minLength: 1 }), 'Of the body.', 'plain text'),
    body: optional(send(HANDSHAKE_ROOTS), 'The answer.', 'empty'),
  })

// --- Verification

const scheme = <Schema extends z.ZodType>(schema: Schema) =>
  field(schema, 'A vendor’s way, any HMAC, a password, a key, or nothing at all.')
const secret = () =>
  field(
    z.union([secretPlace(), z.array(secretPlace()).min(1).max(10)]),
    'The secret to verify with; of several, each is tried, so that it can be rotated.',
  )
const tolerance = () => optional(duration(SECOND, DAY), 'How near, in both directions.', { default: '300s' })
const sentTo = () =>
  optional(
    address(),
    'The address that the sender knows, without a query, where its scheme signs it.',
    'as the request came',
  )
const header = () =>
  optional(
    headerName(false),
    'The header with the signature or the key.',
    '`x-signature`, or `x-api-key` of `api-key`',
  )
const prefix = () => optional(literal(), 'What stands before the signature or the key.', 'nothing')

const verify = () =>
  z.discriminatedUnion('scheme', [
    z.strictObject({
      scheme: scheme(constant('none')),
    }),
    z.strictObject({
      scheme: scheme(oneOf(...PLAIN_SCHEMES)),
      secret: secret(),
    }),
    z.strictObject({
      scheme: scheme(oneOf(...TIMED_SCHEMES)),
      secret: secret(),
      tolerance: tolerance(),
    }),
    z.strictObject({
      scheme: scheme(oneOf(...ADDRESSED_SCHEMES)),
      secret: secret(),
      url: sentTo(),
    }),
    z.strictObject({
      scheme: scheme(oneOf(...TIMED_ADDRESSED_SCHEMES)),
      secret: secret(),
      tolerance: tolerance(),
      url: sentTo(),
    }),
    z.strictObject({
      scheme: scheme(constant('hmac')),
      secret: secret(),
      header: header(),
      algorithm: optional(oneOf('sha1', 'sha256', 'sha512'), 'The hash under the HMAC.', {
        default: 'sha256',
      }),
      encoding: optional(oneOf('hex', 'base64'), 'How the signature is written.', { default: 'hex' }),
      prefix: prefix(),
      signed: optional(send(['body', 'header']), 'What is signed; sees `body` and `header`.', {
        default: '{{ body }}',
      }),
      timestampHeader: optional(headerName(false), 'A header with a time that must be near.', 'none'),
      tolerance: tolerance(),
    }),
    z.strictObject({
      scheme: scheme(constant('basic')),
      username: field(username(), 'The user of Basic authentication.'),
      secret: secret(),
    }),
    z.strictObject({
      scheme: scheme(constant('api-key')),
      secret: secret(),
      header: header(),
      prefix: prefix(),
    }),
  ])

// --- The whole

const waysIn = () => ({
  dispatch: optional(dispatch(), 'Internal events that are made from what arrives.', 'none'),
  allow: optional(
    z.union([
      literal({ minLength: 1 }),
      z
        .array(literal({ minLength: 1 }))
        .min(1)
        .max(1_000),
    ]),
    'Who may send: networks, addresses, or a vendor’s name for the ranges it publishes.',
    'everybody',
  ),
  rateLimit: optional(ratePolicy('requests '), 'How much may be sent; beyond it senders get 429.', 'any'),
  sensitive: optional(
    z.array(path()).min(1).max(PATHS_MAX),
    'What is encrypted at rest, kept out of logs and hidden from viewers.',
    'nothing',
  ),
  classification: optional(
    z.record(path(), field(oneOf(...CLASSIFICATIONS), 'The level of one field.')),
    'How confidential fields are: path and level. `confidential` is as in `sensitive`. `restricted` is also hidden from operators and never sent to subscriptions. `public` and `internal` fields are not sensitive.',
    'nothing is said of them',
  ),
  retention: optional(duration(HOUR, 3_650 * DAY), 'How long an event is kept once all its work is done.', {
    default: '30d',
  }),
  unmatched: optional(
    oneOf('keep', 'deadLetter'),
    'What becomes of an event that no route wants: it is listed, or a dead letter too.',
    { default: 'keep' },
  ),
  schedule: optional(schedule(), 'Makes events by the clock; nobody sends to it.', 'none'),
  nats: optional(nats(), 'Takes messages of a stream of NATS; nobody sends to it.', 'none'),
  catalog: optional(catalog(), 'The subjects that it can publish.', 'what `subjects` brings'),
  respond: optional(respond(), 'What senders are answered.', '202 and the event’s id'),
  handshake: optional(
    handshake(),
    'A question that a sender asks before it sends events; no event comes of it.',
    'what the scheme brings',
  ),
})

const schema = lazily(() =>
  z
    .strictObject({
      ...envelope('Source'),
      vendor: optional(
        oneOf(...VENDORS),
        'Short for `verify.scheme` and, where there is a mapping of that name, `subjects`; with `secret` beside it.',
        '`verify` is written',
      ),
      secret: optional(
        z.union([secretPlace(), z.array(secretPlace()).min(1).max(10)]),
        'Beside `vendor`: the secret to verify with, as in `verify`.',
        'in `verify`',
      ),
      verify: optional(
        verify(),
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
      status: status('`paused`: what arrives is kept and waits. `disabled`: senders get 410.'),
      ...waysIn(),
    })
    .meta({
      title: 'Source',
      oneOf: [
        { required: ['vendor', 'secret'] },
        { required: ['verify', 'subject'] },
        { required: ['verify', 'subjects'] },
        { required: ['schedule'] },
        { required: ['nats'] },
      ],
    }),
)

export type SourceInput = z.infer<ReturnType<typeof schema>>
export type SecretInput = z.infer<ReturnType<typeof secret>>

export const sourceKind: KindDeclaration<SourceDocument, ReturnType<typeof schema>> = {
  schema,
  resolve: resolveSource,
  check: (value, around) => [
    ...checkVendor(value),
    ...checkSubject(value),
    ...checkPresence(value),
    ...checkVerify(value, around),
    ...checkGuards(value),
    ...checkCron(fieldsOf(value.schedule), ['schedule']),
    ...checkNats(value, around.busPrefix),
    ...checkStream(value, around),
    ...checkCatalog(value),
    ...checkSensitiveSource(value),
  ],
  summary: 'An entry point for events, with its verification.',
  template: `kind: Source
name: NAME
verify: { scheme: hmac, secret: { env: WEBHOOK_SECRET } }
subject: "NAME.events.{{ payload.type }}"
event: { id: payload.id }
`,
}

/** A valid `vendor` is expanded before: here are only those that something is wrong with. */
function checkVendor(source: Fields): readonly Remark[] {
  const has = (name: string) => Object.hasOwn(source, name)
  if (!has('vendor')) {
    if (!has('secret')) return []
    const message = '`secret` stands in `verify`, or beside `vendor`'
    return [{ rule: 'together', message, path: ['secret'], onKey: true }]
  }
  return INSTEAD_OF_VENDOR.filter(has).map((name) => ({
    rule: 'together',
    message: `\`vendor\` is short for \`verify.scheme\` and \`subjects\`: leave it out, or \`${name}\``,
    path: [name],
    onKey: true,
  }))
}

function checkSubject(source: Fields): readonly Remark[] {
  const has = (name: string) => Object.hasOwn(source, name)
  if (has('subject') && has('subjects')) {
    const message = '`subject` and `subjects` exclude each other: keep one'
    return [{ rule: 'oneOf', message, path: ['subjects'], onKey: true }]
  }
  if (['subject', 'subjects', 'schedule', 'nats', 'vendor'].some(has)) return []
  const suggestion = `subject: "${typeof source.name === 'string' ? source.name : 'my'}.events.{{ payload.type }}"`
  const message = 'a source names its events: write `subject`, a template, or `subjects`, a ready mapping'
  return [{ rule: 'oneOf', message, path: ['subject'], suggestion }]
}

const UNVERIFIED: Remark = {
  rule: 'verify',
  message:
    'a source says how its senders are verified; to accept what anybody sends, write `verify: { scheme: none }`',
  path: ['verify'],
  suggestion: 'verify: { scheme: hmac, secret: { env: WEBHOOK_SECRET } }',
}

/**
 * Only a source that receives requests has a sender: a schedule has none, and fields about senders do not belong to it.
 */
const OF_SENDERS = ['verify', 'subjects', 'dispatch', 'allow', 'rateLimit', 'respond', 'handshake', 'limits']

function checkPresence(source: Fields): readonly Remark[] {
  const has = (name: string) => Object.hasOwn(source, name)
  if (has('nats')) return checkBesideNats(source)
  if (!has('schedule')) return has('verify') || has('vendor') ? [] : [UNVERIFIED]
  return OF_SENDERS.filter(has).map((name) => ({
    rule: 'together',
    message: `\`${name}\` belongs to what is sent in; nobody sends to a schedule`,
    path: [name],
    onKey: true,
  }))
}

function checkVerify(source: Fields, around: Surroundings): readonly Remark[] {
  const verify = fieldsOf(source.verify)
  return [
    ...checkSecrets(verify.secret, around, ['verify', 'secret'], 'senders get 503'),
    ...checkSignedBody(verify),
    ...checkKeyless(verify.signed, ['verify', 'signed']),
    ...checkTimestamp(verify),
  ]
}

const SIGNED = { roots: ['body', 'header'] }

/** Not an error: some senders sign only an id or a time, and there is no other way to accept them. */
function checkSignedBody({ scheme, signed }: Fields): readonly Remark[] {
  const compiled = scheme === 'hmac' && typeof signed === 'string' ? compileTemplate(signed, SIGNED) : null
  if (compiled?.ok !== true || compiled.template.paths.some((path) => /^body\b/.test(path))) return []
  const message =
    'the body is not signed, so whoever saw one request can send any body with its signature: add `{{ body }}`, as the sender does'
  return [{ rule: 'unsignedBody', severity: 'warning', message, path: ['verify', 'signed'] }]
}

function checkTimestamp(verify: Fields): readonly Remark[] {
  const { timestampHeader, signed, tolerance } = verify
  if (verify.scheme !== 'hmac') return []
  if (tolerance !== undefined && timestampHeader === undefined) {
    const message = '`tolerance` needs a `timestampHeader` to compare with'
    return [{ rule: 'together', message, path: ['verify', 'tolerance'], onKey: true }]
  }
  if (typeof timestampHeader !== 'string') return []
  const name = timestampHeader.toLowerCase()
  const compiled = compileTemplate(typeof signed === 'string' ? signed : '{{ body }}')
  if (!compiled.ok || compiled.template.paths.some((path) => path.toLowerCase().includes(name))) return []
  return [
    {
      rule: 'unsignedTime',
      severity: 'warning',
      message:
        'the time is not signed, so anybody can renew an old request: add it to `signed`, as the sender does',
      path: ['verify', 'timestampHeader'],
      suggestion: `signed: "{{ header.${name} }}.{{ body }}"`,
    },
  ]
}

// --- The normal form

const BODY_BYTES = 1024 * 1024
const DEPTH = 64
const DEDUP_WINDOW_MS = 7 * DAY
const TOLERANCE_MS = 5 * MINUTE

const NO_MAPPING = {
  subject: null,
  event: { id: null, objectType: null, objectId: null, occurredAt: null },
} as const

function resolveSource(input: SourceInput): SourceDocument {
  const mapping = input.subjects === undefined ? NO_MAPPING : MAPPINGS[input.subjects]
  const subject = input.subject ?? mapping.subject ?? ownSubjectOf(input)
  assert(subject !== null, 'a source has a subject or a mapping')
  const id = input.event?.id ?? mapping.event.id
  return {
    kind: 'Source',
    name: input.name,
    description: input.description ?? null,
    // A schedule and a NATS consumer have no sender.
    verify: input.verify === undefined ? { scheme: 'closed' } : resolveVerify(input.verify),
    subject,
    event: {
      id,
      objectType: input.event?.objectType ?? mapping.event.objectType,
      objectId: input.event?.objectId ?? mapping.event.objectId,
      occurredAt: input.event?.occurredAt ?? mapping.event.occurredAt,
    },
    dedup: {
      by: input.dedup?.by ?? (id === null ? null : 'event.id'),
      windowMs: milliseconds(input.dedup?.window, DEDUP_WINDOW_MS),
    },
    limits: {
      bodyBytes: input.limits?.body === undefined ? BODY_BYTES : (parseSize(input.limits.body) ?? BODY_BYTES),
      depth: input.limits?.depth ?? DEPTH,
    },
    status: input.status ?? 'active',
    ...resolveWaysIn(input),
  }
}

/** The name of its events if it gives none. */
function ownSubjectOf({ name, schedule, nats }: SourceInput): string | null {
  if (schedule !== undefined) return `schedule.${name}`
  return nats === undefined ? null : MESSAGE_SUBJECT
}

function resolveVerify(input: NonNullable<SourceInput['verify']>): VerifyDocument {
  if (input.scheme === 'none') return { scheme: 'none' }
  const secret = resolveSecrets(input.secret)
  switch (input.scheme) {
    case 'hmac':
      return {
        scheme: 'hmac',
        secret,
        header: (input.header ?? 'x-signature').toLowerCase(),
        algorithm: input.algorithm ?? 'sha256',
        encoding: input.encoding ?? 'hex',
        prefix: input.prefix ?? '',
        signed: input.signed ?? '{{ body }}',
        timestampHeader: input.timestampHeader?.toLowerCase() ?? null,
        toleranceMs: milliseconds(input.tolerance, TOLERANCE_MS),
      }
    case 'basic':
      return { scheme: 'basic', username: input.username, secret }
    case 'api-key':
      return {
        scheme: 'api-key',
        secret,
        header: (input.header ?? 'x-api-key').toLowerCase(),
        prefix: input.prefix ?? '',
      }
    default: {
      const toleranceMs = 'tolerance' in input ? milliseconds(input.tolerance, TOLERANCE_MS) : TOLERANCE_MS
      return {
        scheme: input.scheme,
        secret,
        // Written or not, the usual one is the same document.
        ...(toleranceMs === TOLERANCE_MS ? {} : { toleranceMs }),
        ...('url' in input && input.url !== undefined ? { url: input.url } : {}),
      }
    }
  }
}

function resolveSecrets(input: SecretInput): readonly SecretRef[] {
  return (Array.isArray(input) ? input : [input]).map(resolveSecret)
}

type WaysIn = Pick<
  SourceDocument,
  | 'mapping'
  | 'dispatch'
  | 'allow'
  | 'rateLimit'
  | 'sensitive'
  | 'classification'
  | 'retentionMs'
  | 'unmatched'
  | 'schedule'
  | 'nats'
  | 'catalog'
  | 'respond'
  | 'handshake'
>

function resolveWaysIn(input: SourceInput): WaysIn {
  return {
    ...(input.subjects === undefined ? {} : { mapping: input.subjects }),
    ...(input.dispatch === undefined ? {} : { dispatch: resolveDispatch(input.dispatch) }),
    ...(input.allow === undefined
      ? {}
      : { allow: typeof input.allow === 'string' ? [input.allow] : input.allow }),
    ...(input.rateLimit === undefined ? {} : { rateLimit: resolveRateLimit(input.rateLimit) }),
    ...(input.sensitive === undefined ? {} : { sensitive: input.sensitive }),
    ...(input.classification === undefined ? {} : { classification: input.classification }),
    ...resolveRetention(input.retention ?? usualRetention(input)),
    ...(input.unmatched === 'deadLetter' ? { unmatched: 'deadLetter' as const } : {}),
    ...(input.schedule === undefined ? {} : { schedule: resolveSchedule(input.schedule) }),
    ...(input.nats === undefined ? {} : { nats: resolveNats(input.nats) }),
    ...(input.catalog === undefined ? {} : { catalog: resolveCatalog(input.catalog) }),
    ...(input.respond === undefined ? {} : { respond: resolveRespond(input.respond) }),
    ...(input.handshake === undefined ? {} : { handshake: resolveHandshake(input.handshake) }),
  }
}

/** Restricted fields are not kept for long unless the source says so. */
const RESTRICTED_RETENTION = '7d'

function usualRetention({ classification = {} }: SourceInput): string | undefined {
  return Object.values(classification).includes('restricted') ? RESTRICTED_RETENTION : undefined
}

function resolveRetention(text: string | undefined): Pick<SourceDocument, 'retentionMs'> {
  const retentionMs = text === undefined ? null : parseDuration(text)
  return retentionMs === null || retentionMs === RETENTION_MS ? {} : { retentionMs }
}

function resolveDispatch(
  input: NonNullable<SourceInput['dispatch']>,
): NonNullable<SourceDocument['dispatch']> {
  return {
    mode: input.mode ?? 'first',
    rules: input.rules.map(({ when, emit, data }) => ({
      when: (when ?? null) as JsonValue,
      emit,
      data: (data ?? '{{ payload }}') as JsonValue,
    })),
    otherwise: input.otherwise ?? 'keep',
  }
}

function resolveRateLimit(
  input: NonNullable<SourceInput['rateLimit']>,
): NonNullable<SourceDocument['rateLimit']> {
  const { perMinute, burst = usualBurst(perMinute) } = input
  return { perMinute, burst }
}

function resolveSchedule(
  input: NonNullable<SourceInput['schedule']>,
): NonNullable<SourceDocument['schedule']> {
  const { cron, zone = 'UTC', missed = 'once', data = null } = input
  return { cron, zone, missed, data: data as JsonValue }
}

function resolveNats(input: NonNullable<SourceInput['nats']>): NonNullable<SourceDocument['nats']> {
  const { stream, subjects, durable } = input
  return {
    ...(stream === undefined ? {} : { stream }),
    subjects: typeof subjects === 'string' ? [subjects] : subjects,
    ...(durable === undefined ? {} : { durable }),
  }
}

function resolveCatalog(input: NonNullable<SourceInput['catalog']>): NonNullable<SourceDocument['catalog']> {
  return {
    mismatch: input.mismatch ?? 'pass',
    subjects: (input.subjects ?? []).map(({ subject, description, schema, example }) => ({
      subject,
      ...(description === undefined ? {} : { description }),
      ...(schema === undefined ? {} : { schema: schema as JsonValue }),
      ...(example === undefined ? {} : { example: example as JsonValue }),
    })),
  }
}

function resolveRespond(input: NonNullable<SourceInput['respond']>): NonNullable<SourceDocument['respond']> {
  const { status = 200, body = '' } = input
  return { status, contentType: input.contentType ?? contentTypeOf(body), body: body as JsonValue }
}

function resolveHandshake(
  input: NonNullable<SourceInput['handshake']>,
): NonNullable<SourceDocument['handshake']> {
  const { method = 'POST', status = 200, body = '' } = input
  return {
    method,
    when: input.when as JsonValue,
    status,
    contentType: input.contentType ?? contentTypeOf(body),
    body,
  }
}

function contentTypeOf(body: unknown): string {
  return typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
}
