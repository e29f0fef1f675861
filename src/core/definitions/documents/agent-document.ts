// An agent in its stored form: which model to call, the prompts, and the shape of the answer.

import type { JsonValue } from '../../foundation/json/index.ts'
import type { AuthDocument } from './auth-document.ts'
import type { CarriedAgent } from './carried-fields.generated.ts'
import type { RetryPolicy } from './retry-policy.ts'
import type { SecretRef } from './verify-document.ts'

/** Reusable; a definition that names it contains a resolved copy, and is pinned to it. */
export interface AgentDocument extends CarriedAgent {
  readonly kind: 'Agent'
  readonly name: string
  readonly description: string | null
  /** The connection whose address and credential it uses; `baseUrl` is then empty, or a path below its base. Left out: none. */
  readonly connection?: string
  /** The base address of an OpenAI-compatible endpoint, without `/chat/completions`. A template, rendered in url mode. */
  readonly baseUrl: string
  /** Sent as a bearer token. */
  readonly secret: SecretRef | null
  /** In place of `secret`. Left out: none. */
  readonly auth?: AuthDocument
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
  /** Templates over the values of `with`. */
  readonly system: string | null
  readonly user: string
  /** JSON Schema of the answer; null: the answer is a text. */
  readonly output: JsonValue
  readonly temperature: number | null
  /** Of one attempt. */
  readonly timeoutMs: number
  /** Tokens of all attempts together, prompt and completion; null: no limit. */
  readonly budget: { readonly tokens: number } | null
  /** How often an answer that does not match the schema is requested again, within one attempt of the step. */
  readonly repairs: number
  /** For steps and routes that call it and set no retry of their own. */
  readonly retry?: RetryPolicy
}
