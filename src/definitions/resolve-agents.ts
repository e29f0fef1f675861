// The normal form of an agent. A document that uses it contains it (resolve-actions.ts), and so pins it.

import type { AgentDocument } from '../core/definitions/documents/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { withoutTrailingSlashes } from '../core/foundation/text/index.ts'
import { MINUTE } from '../core/foundation/time/index.ts'
import { type Known, resolveRetry } from './resolve.ts'
import { resolveAuth } from './resolve-auth.ts'
import { resolveSecret } from './resolve-secrets.ts'
import type { AgentInput } from './schema.ts'

const TIMEOUT_MS = MINUTE
const REPAIRS = 1

export function resolveAgent(input: AgentInput, profiles: Known['profiles']): AgentDocument {
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
    timeoutMs: timeout === undefined ? TIMEOUT_MS : (parseDuration(timeout) ?? TIMEOUT_MS),
    budget: input.budget ?? null,
    repairs: input.repairs ?? REPAIRS,
    ...(retry === null ? {} : { retry }),
  }
}
