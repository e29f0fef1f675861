// A route, compiled: its subjects, its condition, the key of its effect, and its action.

import {
  type DefinitionStatus,
  hashDocument,
  type RouteDocument,
  type VarValues,
} from '../definitions/documents/index.ts'
import { type Action, compileAction, must, OWN_KEY_PREFIX } from '../effects/action/index.ts'
import type { Envelope } from '../events/event/index.ts'
import {
  compileCondition,
  compileExpression,
  ExpressionError,
  type Keyed,
  type Scope,
} from '../expression/index.ts'
import { isNumeral, isStorable, type JsonValue } from '../foundation/json/index.ts'
import { type BatchRules, batchScope, compileBatch } from '../queue/batch/index.ts'
import { compileLane, type RouteLane } from '../queue/lane/index.ts'
import { compileElements, type Elements } from './each-element.ts'

export interface Route {
  readonly document: RouteDocument
  readonly hash: string
  /** As the document declares, unless an operator overrides it while it is deployed. */
  readonly status: DefinitionStatus
  /** `route:<name>`, or `workflow:<name>` for a part of a workflow. */
  readonly consumer: string
  /**
   * Parts of a workflow run as routes of their own: `trigger`, for matching; `step`, for the action of a transition, an undo or
   * a place. Then `hash` is the workflow's, and `part` says which (core/workflows/machine). `delivery`: of a subscription, whose
   * hash it has. Left out: a route.
   */
  readonly of?:
    | { readonly kind: 'trigger'; readonly workflow: string; readonly part: string }
    | { readonly kind: 'step'; readonly workflow: string; readonly part: string }
    | {
        readonly kind: 'delivery'
        readonly subscription: string
        /** The connection whose rate limits it shares. Left out: those of its endpoint alone. */
        readonly connection?: string
      }
  readonly action: Action
  /** How long a job may be retried and wait, in total. */
  readonly expiresInMs: number
  /** The element that a job is about, where there is one job per element; null: one per event. */
  readonly each: Elements | null
  /** null: its jobs do not wait for each other. */
  readonly lane: RouteLane | null
  /** null: each of its jobs makes a call of its own. */
  readonly batch: BatchRules | null
  /** Whether a job may be leased on insert: nothing makes it wait. */
  readonly isImmediate: boolean
  wants(scope: Scope): boolean
  /** In a job's own scope. Throws ExpressionError if the formula gives no key. */
  keyOf(scope: Scope, element?: number | null): string
}

/** Values that differ between environments, as they are for a tenant now: addresses, names. Never secrets. */
export type Vars = (tenant: string) => VarValues

/**
 * The scope of a route's expressions. It contains only fields of the event that are known before it is stored: a condition must
 * give the same result when the event is matched and when the job runs.
 */
export function routeScope(event: Envelope, payload: JsonValue, header: JsonValue, vars: Vars): Scope {
  return {
    event: envelopeOf(event),
    payload,
    header,
    source: event.source,
    tenant: event.tenant,
    vars: vars(event.tenant),
  }
}

/** The route's scope of the event, with the key of its job: field by field, because a spread with more properties is slow. */
export function keyedScope({ event, payload, header, source, tenant, vars }: Scope, key: string): Scope {
  return { event, payload, header, source, tenant, vars, key }
}

/**
 * The scope of one job's expressions: the route's scope of the event, and the job's element. The only place that defines it,
 * for running, explaining and previewing a job. Throws ExpressionError if the event has no such element.
 */
export function itemScope({ each }: Pick<Route, 'each'>, scope: Scope, element: number | null): Scope {
  return each === null || element === null ? scope : { ...scope, [each.as]: each.at(scope, element) }
}

/**
 * The scope of its action's templates: for a single job of a batching route, a batch of one represents the batch that it will
 * be in.
 */
export function callScope(route: Pick<Route, 'batch' | 'each'>, scope: Scope, key: string): Scope {
  if (route.batch === null) return { ...scope, key }
  return batchScope([{ key, scope }], key, route.each?.as ?? null)
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

/** Without a key, `hmac` in it cannot be evaluated. */
export function compileRoute(document: RouteDocument, keyed: Keyed = {}): Route {
  const condition =
    document.where === null ? null : must(compileCondition(document.where as string, keyed)).condition
  const key = document.key === null ? null : must(compileExpression(document.key, keyed)).expression
  const span = document.retry.delaysMs.reduce((sum, delay) => sum + delay, 0)
  return {
    document,
    hash: hashDocument(document),
    status: document.status,
    consumer: `route:${document.name}`,
    action: compileAction(document.do, keyed),
    expiresInMs: document.maxWaitMs + Math.ceil(span * 1.2),
    each: document.each === undefined ? null : compileElements(document.each, keyed),
    lane: compileLane(document, keyed),
    batch: document.batch === undefined ? null : compileBatch(document.batch, keyed),
    isImmediate: isImmediate(document),
    wants: (scope) => condition === null || condition.test(scope),
    keyOf(scope, element = null) {
      if (key !== null) return keyText(key.evaluate(scope))
      const whole = `${document.name}:${(scope.event as Envelope).id}`
      return element === null ? whole : `${whole}:${element}`
    },
  }
}

function isImmediate(document: RouteDocument): boolean {
  const { order, concurrency, debounce, drain, rateLimit, batch, delayMs } = document
  return [order, concurrency, debounce, drain, rateLimit, batch, delayMs].every(
    (policy) => policy === undefined,
  )
}

const KEY_LENGTH_MAX = 1_024

function keyText(value: JsonValue): string {
  if (value === null) throw new ExpressionError('type', 'the key is null', 'key', 'null')
  if (typeof value === 'object' && !isNumeral(value)) {
    const valueType = Array.isArray(value) ? 'list' : 'map'
    throw new ExpressionError('type', 'the key is not a text or a number', 'key', valueType)
  }
  // A constant key for many events: all but the first would be treated as repetitions.
  if (typeof value === 'boolean') {
    throw new ExpressionError('type', 'the key is not a text or a number', 'key', 'bool')
  }
  const text = String(value)
  if (text === '') throw new ExpressionError('type', 'the key is empty', 'key', 'string')
  if (text.startsWith(OWN_KEY_PREFIX)) {
    throw new ExpressionError(
      'type',
      `the key begins with ${OWN_KEY_PREFIX}, as only the engine's own do`,
      'key',
      'string',
    )
  }
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
