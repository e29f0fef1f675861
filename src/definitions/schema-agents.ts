// An agent as written: a model behind an endpoint that speaks the OpenAI protocol, and its instructions.

import * as z from 'zod'
import { MINUTE, SECOND } from '../core/foundation/time/index.ts'
import {
  authPlace,
  duration,
  field,
  headerName,
  json,
  literal,
  openSend,
  optional,
  reference,
  secretPlace,
  send,
  urlOrPath,
} from './fields.ts'
import { retryInline } from './schema-buffers.ts'

export const agentFields = {
  connection: optional(
    reference(),
    'Whose address and credential it goes with, instead of `baseUrl` and `secret`.',
    'nobody’s',
  ),
  baseUrl: optional(
    urlOrPath(['vars']),
    'An endpoint that speaks the OpenAI protocol, up to and without `/chat/completions`. With a connection a path behind its base.',
    'the connection’s',
  ),
  secret: optional(secretPlace(), 'Sent as a bearer token.', 'none is sent'),
  auth: optional(
    authPlace(),
    'What proves who calls, in place of `secret` or a connection.',
    '`secret`, or nothing does',
  ),
  headers: optional(
    z.record(headerName(true), field(send(['vars'], { secrets: true }), 'One header.')),
    "Headers beside it, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
    'none',
  ),
  model: field(literal({ minLength: 1 }), 'The model, as the endpoint calls it.'),
  system: optional(openSend(), 'What it is told first; sees the fields of `with`.', 'nothing'),
  user: field(openSend(), 'What it is asked; sees the fields of `with`.'),
  output: optional(
    z.strictObject({ schema: field(json(), 'A JSON Schema.', 'any JSON') }),
    'The form of its answer; what does not fit is asked for again.',
    'the answer is a text',
  ),
  timeout: optional(duration(SECOND, 10 * MINUTE), 'For one attempt.', { default: '60s' }),
  temperature: optional(z.number().min(0).max(2), 'How much it varies.', 'as the endpoint has it'),
  budget: optional(
    z.strictObject({
      tokens: field(z.number().int().min(1).max(100_000_000), 'Tokens, asked and answered.'),
    }),
    'What all attempts may cost.',
    'no bound',
  ),
  retry: optional(
    z.union([reference(), retryInline]),
    'Of steps and routes that ask it and have no `retry`: the name of a profile, or a policy in place.',
    'as without an agent',
  ),
  repairs: optional(
    z.number().int().min(0).max(5),
    'How often an answer that does not fit is asked for again within one attempt.',
    { default: 1 },
  ),
}
