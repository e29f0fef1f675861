// A source's fields beyond its verification and its names: who may send, how much, what is stored and for how long, and
// what happens to it. Spread into the schema of a Source.

import * as z from 'zod'
import { DAY, HOUR } from '../core/foundation/time/index.ts'
import { EVENT_ROOTS, REQUEST_ROOTS } from './expression-names.ts'
import {
  condition,
  duration,
  field,
  json,
  literal,
  natsName,
  oneOf,
  optional,
  path,
  pattern,
  send,
  sends,
  subjectSend,
} from './fields.ts'
import { ratePolicy } from './schema-buffers.ts'

const HANDSHAKE_ROOTS = [...REQUEST_ROOTS, 'query'] as const

const RULES_MAX = 100
const SUBJECTS_MAX = 2_000
const PATHS_MAX = 100
/** Each is a consumer of its own at the server. */
const PATTERNS_MAX = 20

const status = () => z.number().int().min(200).max(299)

const dispatch = z.strictObject({
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

const schedule = z.strictObject({
  cron: field(literal({ minLength: 1 }), 'Minute, hour, day of month, month, day of week.'),
  zone: optional(literal({ minLength: 1 }), 'The time zone that it is read in.', { default: 'UTC' }),
  missed: optional(
    oneOf('once', 'skip', 'all'),
    'Of what passed while nothing could fire: the latest, none, or all of it.',
    { default: 'once' },
  ),
  data: optional(json(), 'What the payload says beside the time.', 'nothing'),
})

const nats = z.strictObject({
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

const catalog = z.strictObject({
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

const respond = z.strictObject({
  status: optional(status(), 'From 200 to 299.', { default: 200 }),
  contentType: optional(
    literal({ minLength: 1 }),
    'Of the body.',
    'plain text for a text, JSON for anything else',
  ),
  body: optional(sends(EVENT_ROOTS), 'A text, or a value that is sent as JSON.', 'empty'),
})

const handshake = z.strictObject({
  method: optional(oneOf('GET', 'POST'), 'How it is asked.', { default: 'POST' }),
  when: field(condition(HANDSHAKE_ROOTS), 'How it is known; sees `payload`, `header` and `query`.'),
  status: optional(status(), 'From 200 to 299.', { default: 200 }),
  contentType: optional(literal({ minLength: 1 }), 'Of the body.', 'plain text'),
  body: optional(send(HANDSHAKE_ROOTS), 'The answer.', 'empty'),
})

export const waysIn = {
  dispatch: optional(dispatch, 'Internal events that are made from what arrives.', 'none'),
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
  retention: optional(duration(HOUR, 3_650 * DAY), 'How long an event is kept once all its work is done.', {
    default: '30d',
  }),
  unmatched: optional(
    oneOf('keep', 'deadLetter'),
    'What becomes of an event that no route wants: it is listed, or a dead letter too.',
    { default: 'keep' },
  ),
  schedule: optional(schedule, 'Makes events by the clock; nobody sends to it.', 'none'),
  nats: optional(nats, 'Takes messages of a stream of NATS; nobody sends to it.', 'none'),
  catalog: optional(catalog, 'The subjects that it can publish.', 'what `subjects` brings'),
  respond: optional(respond, 'What senders are answered.', '202 and the event’s id'),
  handshake: optional(
    handshake,
    'A question that a sender asks before it sends events; no event comes of it.',
    'what the scheme brings',
  ),
}
