// The normal form of an agent. Whoever uses it has it in its own document (resolve-actions.ts), and so pinned.

import type { AgentDocument } from '../core/definition/index.ts'
import { assert } from '../core/errors/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import type { JsonValue } from '../core/json/index.ts'
import { MINUTE } from '../core/time/index.ts'
import { type Known, resolveRetry } from './resolve.ts'
import type { AgentInput } from './schema.ts'

const TIMEOUT_MS = MINUTE
const REPAIRS = 1

export function resolveAgent(input: AgentInput, profiles: Known['profiles']): AgentDocument {
  const { secret, headers = {}, timeout } = input
  const retry = input.retry === undefined ? null : resolveRetry(input.retry, { profiles })
  return {
    kind: 'Agent',
    name: input.name,
    description: input.description ?? null,
    baseUrl: input.baseUrl.replace(/\/+$/, ''),
    secret: secret === undefined ? null : resolveSecret(secret),
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

function resolveSecret({ env, ref }: NonNullable<AgentInput['secret']>): AgentDocument['secret'] {
  if (env !== undefined) return { env }
  assert(ref !== undefined, 'a secret has `env` or `ref`')
  return { ref }
}
