// Asks an agent: renders its prompts and the request without a body, which the engine adds.

import type { AgentActionDocument, AgentDocument, AuthDocument } from '../../definitions/documents/index.ts'
import {
  compileShape,
  compileTemplate,
  type Scope,
  secretsIn,
  type Template,
  withSecrets,
} from '../../expression/index.ts'
import { isNumber, stringifyJson } from '../../foundation/json/index.ts'
import { withoutTrailingSlashes } from '../../foundation/text/index.ts'
import type { ActionKind } from './action-kind.ts'
import { must } from './action-parts.ts'
import { compileRequest, type RenderedRequest } from './http.ts'
import type { SecretUse } from './request-auth.ts'

export interface AgentAction {
  readonly type: 'agent'
  readonly document: AgentDocument
  /** Of one attempt. */
  readonly timeoutMs: number
  /** The secrets that its requests carry. */
  readonly secrets: readonly SecretUse[]
  render(scope: Scope): {
    /** The base address without `/chat/completions` and without a trailing slash; no body. */
    readonly request: RenderedRequest
    readonly system: string | null
    readonly user: string
  }
}

export const agentKind = {
  compile(document, keyed) {
    const { agent } = document
    const given = must(compileShape(document.with, keyed)).shape
    const base = withoutTrailingSlashes(agent.baseUrl)
    const request = compileRequest('POST', base, agent.headers, null, authOf(agent), keyed)
    const system = agent.system === null ? null : must(compileTemplate(agent.system, keyed)).template
    const user = must(compileTemplate(agent.user, keyed)).template
    return {
      type: 'agent',
      document: agent,
      timeoutMs: document.timeoutMs ?? agent.timeoutMs,
      secrets: request.secrets,
      render(scope) {
        const value = given.render(scope) ?? null
        const fields =
          typeof value === 'object' && !Array.isArray(value) && !isNumber(value) ? value : { value }
        // An agent is defined separately from its callers: it sees only what it is given.
        const inner: Scope = { ...fields, vars: scope.vars }
        const values = secretsIn(scope)
        return {
          request: request.render(values === null ? inner : withSecrets(inner, values)),
          system: system === null ? null : textOf(system, inner),
          user: textOf(user, inner),
        }
      },
    }
  },
  preview(action, scope) {
    const { system, user } = action.render(scope)
    return { type: 'agent', agent: { name: action.document.name, system, user } } as const
  },
} as const satisfies ActionKind<AgentActionDocument, AgentAction>

/** On a connection, the connection's credential authenticates. */
function authOf({ auth, secret, connection }: AgentDocument): AuthDocument | undefined {
  if (connection !== undefined) return undefined
  return auth ?? (secret === null ? undefined : { bearer: secret })
}

/** A single template preserves its value's type; a prompt is text. */
function textOf(template: Template, scope: Scope): string {
  const value = template.render(scope)
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : stringifyJson(value)
}
