// An agent as it is kept: whom to ask, what to say, and what an answer looks like.

import type { JsonValue } from '../../foundation/json/index.ts'
import type { AuthDocument } from './auth-document.ts'
import type { SecretRef } from './verify-document.ts'

/** Reusable; whoever names it has it resolved in its own document, and so pinned. */
export interface AgentDocument {
  readonly kind: 'Agent'
  readonly name: string
  readonly description: string | null
  /** Whose address and credential it goes with; `baseUrl` is then empty, or a path behind its base. Left out: nobody's. */
  readonly connection?: string
  /** Of an endpoint that speaks the OpenAI protocol, up to and without `/chat/completions`. A template, rendered in url mode. */
  readonly baseUrl: string
  /** Sent as a bearer token. */
  readonly secret: SecretRef | null
  /** In place of `secret`. Left out: none. */
  readonly auth?: AuthDocument
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
  /** Templates, over what `with` gives. */
  readonly system: string | null
  readonly user: string
  /** JSON Schema of the answer; null: the answer is a text. */
  readonly output: JsonValue
  readonly temperature: number | null
  /** Of one attempt. */
  readonly timeoutMs: number
  /** Tokens of all attempts together, asked and answered; null: no bound. */
  readonly budget: { readonly tokens: number } | null
  /** How often an answer that does not fit the schema is asked for again, within one attempt of the step. */
  readonly repairs: number
  /** Of steps and routes that ask it and do not say otherwise. */
  readonly retry?: {
    readonly profile: string | null
    readonly attempts: number
    readonly delaysMs: readonly number[]
  }
}
