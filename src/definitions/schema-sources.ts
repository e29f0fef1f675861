// A source's fields beyond its verification and its names: who may send, how much, what is stored and for how long, and
// what happens to it. Spread into the schema of a Source.

import * as z from 'zod'
import { DAY, HOUR } from '../core/foundation/time/index.ts'
import { EVENT_ROOTS, REQUEST_ROOTS } from './expression-names.ts'
import {
  condition,
  duration,
  json,
  literal,
  natsName,
  oneOf,
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
  mode: oneOf('first', 'all').optional(),
  rules: z
    .array(
      z.strictObject({
        when: condition(EVENT_ROOTS).optional(),
        emit: subjectSend(EVENT_ROOTS),
        data: sends(EVENT_ROOTS).optional(),
      }),
    )
    .min(1)
    .max(RULES_MAX),
  otherwise: oneOf('keep', 'deadLetter').optional(),
})

const schedule = z.strictObject({
  cron: literal({ minLength: 1 }),
  zone: literal({ minLength: 1 }).optional(),
  missed: oneOf('once', 'skip', 'all').optional(),
  data: json().optional(),
})

const nats = z.strictObject({
  stream: natsName().optional(),
  subjects: z.union([pattern(), z.array(pattern()).min(1).max(PATTERNS_MAX)]),
  durable: natsName().optional(),
})

const catalog = z.strictObject({
  mismatch: oneOf('pass', 'tag', 'quarantine').optional(),
  subjects: z
    .array(
      z.strictObject({
        subject: literal({ minLength: 1 }),
        description: literal().optional(),
        schema: json().optional(),
        example: json().optional(),
      }),
    )
    .max(SUBJECTS_MAX)
    .optional(),
})

const respond = z.strictObject({
  status: status().optional(),
  contentType: literal({ minLength: 1 }).optional(),
  body: sends(EVENT_ROOTS).optional(),
})

const handshake = z.strictObject({
  method: oneOf('GET', 'POST').optional(),
  when: condition(HANDSHAKE_ROOTS),
  status: status().optional(),
  contentType: literal({ minLength: 1 }).optional(),
  body: send(HANDSHAKE_ROOTS).optional(),
})

export const waysIn = {
  dispatch: dispatch.optional(),
  allow: z
    .union([
      literal({ minLength: 1 }),
      z
        .array(literal({ minLength: 1 }))
        .min(1)
        .max(1_000),
    ])
    .optional(),
  rateLimit: ratePolicy.optional(),
  sensitive: z.array(path()).min(1).max(PATHS_MAX).optional(),
  retention: duration(HOUR, 3_650 * DAY).optional(),
  unmatched: oneOf('keep', 'deadLetter').optional(),
  schedule: schedule.optional(),
  nats: nats.optional(),
  catalog: catalog.optional(),
  respond: respond.optional(),
  handshake: handshake.optional(),
}
