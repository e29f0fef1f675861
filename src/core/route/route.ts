// A route, compiled: who it listens to, whether it wants an event, under which key, and what it does.

import { type Action, compileAction, must } from '../action/index.ts'
import { type DefinitionStatus, hashDocument, type RouteDocument } from '../definition/index.ts'
import type { Envelope } from '../event/index.ts'
import { compileCondition, compileExpression, ExpressionError, type Scope } from '../expression/index.ts'
import { isStorable, type JsonValue } from '../json/index.ts'

export interface Route {
  readonly document: RouteDocument
  readonly hash: string
  /** What the document declares, unless somebody said otherwise while it is in force. */
  readonly status: DefinitionStatus
  /** `route:<name>` */
  readonly consumer: string
  readonly action: Action
  /** How long an item may be tried and wait, all in all. */
  readonly expiresInMs: number
  wants(scope: Scope): boolean
  /** Throws ExpressionError when the formula gives no key. */
  keyOf(scope: Scope): string
}

/** What differs between environments: addresses, names. Never secrets. */
export type Vars = Readonly<Record<string, JsonValue>>

/**
 * What expressions of routes see. Of the event only what is known before it is stored: a condition must say the same
 * when it is matched and when the item runs.
 */
export function routeScope(event: Envelope, payload: JsonValue, header: JsonValue, vars: Vars): Scope {
  return { event: envelopeOf(event), payload, header, source: event.source, tenant: event.tenant, vars }
}

function envelopeOf(event: Envelope): Envelope {
  return {
    id: event.id,
    tenant: event.tenant,
    source: event.source,
    subject: event.subject,
    objectType: event.objectType,
    objectId: event.objectId,
    occurredAt: event.occurredAt,
    correlationId: event.correlationId,
    causationId: event.causationId,
    traceId: event.traceId,
    dedupKey: event.dedupKey,
    payloadHash: event.payloadHash,
  }
}

export function compileRoute(document: RouteDocument): Route {
  const condition =
    document.where === null ? null : must(compileCondition(document.where as string)).condition
  const key = document.key === null ? null : must(compileExpression(document.key)).expression
  const span = document.retry.delaysMs.reduce((sum, delay) => sum + delay, 0)
  return {
    document,
    hash: hashDocument(document),
    status: document.status,
    consumer: `route:${document.name}`,
    action: compileAction(document.do),
    expiresInMs: document.maxWaitMs + Math.ceil(span * 1.2),
    wants: (scope) => condition === null || condition.test(scope),
    keyOf(scope) {
      if (key === null) return `${document.name}:${(scope.event as Envelope).id}`
      return keyText(key.evaluate(scope))
    },
  }
}

const KEY_LENGTH_MAX = 1_024

function keyText(value: JsonValue): string {
  if (value === null) throw new ExpressionError('type', 'the key is null', 'key', 'null')
  if (typeof value === 'object') {
    const valueType = Array.isArray(value) ? 'list' : 'map'
    throw new ExpressionError('type', 'the key is not a text or a number', 'key', valueType)
  }
  // One word for many events: all but the first would be taken for repetitions.
  if (typeof value === 'boolean') {
    throw new ExpressionError('type', 'the key is not a text or a number', 'key', 'bool')
  }
  const text = String(value)
  if (text === '') throw new ExpressionError('type', 'the key is empty', 'key', 'string')
  if (text.length > KEY_LENGTH_MAX) {
    throw new ExpressionError(
      'bounds',
      `the key is longer than ${KEY_LENGTH_MAX} characters`,
      'key',
      'string',
    )
  }
  if (!isStorable(text)) {
    throw new ExpressionError('type', 'the key holds a character that no store keeps', 'key', 'string')
  }
  return text
}
