// Actions without an external effect of their own: starting an instance, scheduling events, and calling an agent, compiled from
// their documents.

import type {
  AgentActionDocument,
  AgentDocument,
  AuthDocument,
  ScheduleActionDocument,
  StartActionDocument,
  UnscheduleActionDocument,
} from '../../definitions/documents/index.ts'
import {
  compileShape,
  compileTemplate,
  ExpressionError,
  type Keyed,
  type Scope,
  secretsIn,
  type Template,
  typeOf,
  withSecrets,
} from '../../expression/index.ts'
import { isNumber, isStorable, type JsonValue, stringifyJson } from '../../foundation/json/index.ts'
import { withoutTrailingSlashes } from '../../foundation/text/index.ts'
import { compileRequest, must, type RenderedRequest } from './http.ts'
import type { SecretUse } from './request-auth.ts'

export interface StartAction {
  readonly type: 'start'
  readonly workflow: string
  readonly wait: boolean
  input(scope: Scope): JsonValue
}

export interface ScheduleAction {
  readonly type: 'schedule'
  /** Throws ExpressionError if name or subject is not text. */
  render(scope: Scope): {
    readonly name: string
    readonly cron: string
    readonly zone: string
    readonly subject: string
    readonly data: JsonValue
  }
}

export interface UnscheduleAction {
  readonly type: 'unschedule'
  /** The name. Throws ExpressionError if it is not text. */
  render(scope: Scope): string
}

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

export function compileStartAction(document: StartActionDocument, keyed: Keyed = {}): StartAction {
  const shape = must(compileShape(document.with, keyed)).shape
  return {
    type: 'start',
    workflow: document.workflow,
    wait: document.wait,
    input: (scope) => shape.render(scope) ?? null,
  }
}

export function compileScheduleAction(document: ScheduleActionDocument, keyed: Keyed = {}): ScheduleAction {
  const name = must(compileTemplate(document.name, keyed)).template
  const subject = must(compileTemplate(document.emit, keyed)).template
  const data = must(compileShape(document.data, keyed)).shape
  const { cron, zone } = document
  return {
    type: 'schedule',
    render: (scope) => ({
      name: renderName(name, scope, 'schedule.name'),
      cron,
      zone,
      subject: renderName(subject, scope, 'schedule.emit'),
      data: data.render(scope) ?? null,
    }),
  }
}

export function compileUnscheduleAction(
  document: UnscheduleActionDocument,
  keyed: Keyed = {},
): UnscheduleAction {
  const name = must(compileTemplate(document.name, keyed)).template
  return { type: 'unschedule', render: (scope) => renderName(name, scope, 'unschedule') }
}

const NAME_LENGTH_MAX = 512

function renderName(template: Template, scope: Scope, path: string): string {
  const value = template.render(scope)
  const text = isNumber(value) ? String(value) : value
  if (typeof text !== 'string' || text === '' || !isStorable(text)) {
    throw new ExpressionError('type', `\`${path}\` gives no text`, path, typeOf(value))
  }
  if (text.length > NAME_LENGTH_MAX) {
    throw new ExpressionError('bounds', `\`${path}\` is longer than ${NAME_LENGTH_MAX} characters`, path)
  }
  return text
}

export function compileAgentAction(document: AgentActionDocument, keyed: Keyed = {}): AgentAction {
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
}

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
