// An agent: a model behind an endpoint that speaks the OpenAI protocol, and its instructions. A document that uses it
// contains its normal form, and so pins it.

import * as z from 'zod'
import type { AgentDocument } from '../../core/definitions/documents/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { withoutTrailingSlashes } from '../../core/foundation/text/index.ts'
import { MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import { checkBaseConnection } from '../actions/index.ts'
import { checkAuth } from '../auth.ts'
import { checkJsonSchema } from '../catalog.ts'
import type { Surroundings } from '../document-context.ts'
import {
  authPlace,
  duration,
  field,
  headerName,
  jsonSchema,
  literal,
  openSend,
  optional,
  reference,
  secretPlace,
  send,
  urlOrPath,
} from '../fields.ts'
import type { Remark } from '../finding.ts'
import { checkRetry } from '../retries.ts'
import { checkSecrets } from '../secrets.ts'
import { type Fields, milliseconds } from '../written.ts'
import { type KindDeclaration, type Known, lazily } from './kind.ts'
import { envelope, resolveAuth, resolveRetry, resolveSecret, retryInline } from './parts.ts'

const schema = lazily(() =>
  z
    .strictObject({
      ...envelope('Agent'),
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
        z.strictObject({ schema: field(jsonSchema(), 'A JSON Schema.', 'any JSON') }),
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
        z.union([reference(), retryInline()]),
        'Of steps and routes that ask it and have no `retry`: the name of a profile, or a policy in place.',
        'as without an agent',
      ),
      repairs: optional(
        z.number().int().min(0).max(5),
        'How often an answer that does not fit is asked for again within one attempt.',
        { default: 1 },
      ),
    })
    .meta({ title: 'Agent' }),
)

export type AgentInput = z.infer<ReturnType<typeof schema>>

export const agentKind = {
  schema,
  resolve: resolveAgent,
  check: checkAgent,
  summary: 'A model behind an endpoint that speaks the OpenAI protocol, and its instructions.',
  template: `kind: Agent
name: NAME
baseUrl: https://models.example.com/v1
secret: { ref: models }
model: small
user: "Summarise: {{ text }}"
`,
} satisfies KindDeclaration<AgentDocument, ReturnType<typeof schema>>

// --- The normal form

const TIMEOUT_MS = MINUTE
const REPAIRS = 1

function resolveAgent(input: AgentInput, { profiles }: Pick<Known, 'profiles'>): AgentDocument {
  const { connection, baseUrl = '', secret, headers = {}, timeout } = input
  const retry = input.retry === undefined ? null : resolveRetry(input.retry, { profiles })
  return {
    kind: 'Agent',
    name: input.name,
    description: input.description ?? null,
    ...(connection === undefined ? {} : { connection }),
    baseUrl: withoutTrailingSlashes(baseUrl),
    secret: secret === undefined ? null : resolveSecret(secret),
    ...resolveAuth(input.auth),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    model: input.model,
    system: input.system ?? null,
    user: input.user,
    output: (input.output?.schema ?? null) as JsonValue,
    temperature: input.temperature ?? null,
    timeoutMs: milliseconds(timeout, TIMEOUT_MS),
    budget: input.budget ?? null,
    repairs: input.repairs ?? REPAIRS,
    ...(retry === null ? {} : { retry }),
  }
}

// --- Checks

function checkAgent(agent: Fields, around: Surroundings): readonly Remark[] {
  const { output } = agent
  const isMap = typeof output === 'object' && output !== null && !Array.isArray(output)
  const { schema } = (isMap ? output : {}) as Fields
  return [
    ...checkRetry(agent.retry, around, ['retry']),
    ...checkSecrets(agent.secret, around, ['secret'], 'every call of it fails'),
    ...checkAuth(agent, around, [], 'every call of it fails'),
    ...checkJsonSchema(schema, ['output', 'schema']),
    ...checkBaseConnection(agent, [], around),
    ...checkSecretBeside(agent),
  ]
}

function checkSecretBeside({ connection, secret, auth }: Fields): readonly Remark[] {
  if (auth !== undefined && secret !== undefined) {
    const message = '`secret` is short for `auth: { bearer: … }`: keep one of them'
    return [{ rule: 'together', message, path: ['secret'], onKey: true }]
  }
  if (connection === undefined || secret === undefined) return []
  const message = 'the connection brings its credential: leave `secret` out, or `connection`'
  return [{ rule: 'together', message, path: ['secret'], onKey: true }]
}
