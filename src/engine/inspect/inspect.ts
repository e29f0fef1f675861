// What would happen to an event, and why something did: match, key, request and the ledger's verdict. Calls nobody and
// writes nothing.

import type { RenderedRequest } from '../../core/action/index.ts'
import type { DefinitionStatus, RouteDocument } from '../../core/definition/index.ts'
import { AppError } from '../../core/errors/index.ts'
import {
  type ConditionPart,
  compileCondition,
  compileExpression,
  compileTemplate,
  ExpressionError,
  explainCondition,
  type Scope,
} from '../../core/expression/index.ts'
import type { EventId, TenantId, WorkId } from '../../core/ids/index.ts'
import { type JsonValue, stringifyJson } from '../../core/json/index.ts'
import { compileRoute, type Route, type Vars } from '../../core/route/index.ts'
import { matchesPattern, parseSubject } from '../../core/subject/index.ts'
import type { Instant } from '../../core/time/index.ts'
import type { Store } from '../../ports/store.ts'
import type { Definitions } from '../definitions/index.ts'
import type { Registry } from '../registry.ts'
import { judgeLedger, type LedgerVerdict } from './ledger-verdict.ts'
import { type GivenEvent, lookAt } from './subjects.ts'

export interface Problem {
  /** Which part of the route: `where`, `key`, `do`. */
  readonly at: 'where' | 'key' | 'do'
  readonly message: string
  readonly path: string | null
  readonly type: string | null
}

export type TriedAction =
  | { readonly type: 'http'; readonly request: RenderedRequest }
  | {
      readonly type: 'function'
      readonly function: { readonly name: string; readonly codeHash: string; readonly input: JsonValue }
    }
  | { readonly type: 'emit'; readonly emit: { readonly subject: string; readonly data: JsonValue } }

export interface Tried {
  readonly route: { readonly name: string; readonly hash: string; readonly status: DefinitionStatus }
  readonly subjectFits: boolean
  readonly matched: boolean
  readonly why: readonly ConditionPart[]
  /** null where it did not match, or could not be made. */
  readonly key: string | null
  readonly action: TriedAction | null
  readonly ledger: LedgerVerdict | null
  readonly problem: Problem | null
}

export interface ExplainedConsumer {
  readonly kind: 'route'
  readonly name: string
  /** `would-match`: it wants the event now, and was not in force when that was accepted: it has no work of it. */
  readonly verdict: 'matched' | 'would-match' | 'subject' | 'condition' | 'error'
  /** `gone`: it has work and is no longer defined. */
  readonly status: DefinitionStatus | 'gone'
  readonly patterns: readonly string[]
  readonly why: readonly ConditionPart[]
  readonly workId: WorkId | null
}

export type Computed =
  | { readonly ok: true; readonly value: JsonValue; readonly type: string }
  /** `at`: where in the text, counted from 0. */
  | { readonly ok: false; readonly message: string; readonly at: number | null }

export interface Inspect {
  tryRoute(tenant: TenantId, route: string | RouteDocument, event: EventId | GivenEvent): Promise<Tried>
  explain(
    tenant: TenantId,
    id: EventId,
  ): Promise<{ readonly subject: string; readonly consumers: readonly ExplainedConsumer[] }>
  compute(
    tenant: TenantId,
    text: string,
    as: 'pick' | 'send' | 'condition',
    event: EventId | GivenEvent,
  ): Promise<Computed>
}

const PICK_ROOTS = ['event', 'payload', 'header', 'source', 'tenant']
const SEND_ROOTS = [...PICK_ROOTS, 'vars']
const VALUE_LENGTH_MAX = 65_536

export function makeInspect(deps: {
  readonly store: Store
  readonly registry: Registry
  readonly definitions: Pick<Definitions, 'refresh'>
  readonly vars: Vars
  now(): Instant
}): Inspect {
  const { store, registry, definitions } = deps

  const routeOf = (tenant: TenantId, asked: string | RouteDocument): Route => {
    if (typeof asked !== 'string') return compileRoute(asked)
    const route = registry.route(tenant, `route:${asked}`)
    if (route === null) throw new AppError('not_found', `there is no route ${asked} in force`)
    return route
  }

  return {
    async tryRoute(tenant, asked, event) {
      await definitions.refresh(tenant)
      const route = routeOf(tenant, asked)
      const looked = await lookAt(deps, tenant, event)
      const { scope } = looked
      const { document, hash, status } = route
      const subjectFits = fits(route, looked.event.subject)
      const why = document.where === null ? [] : explainCondition(document.where, scope)
      const nothing = { key: null, action: null, ledger: null, problem: null }
      const base = { route: { name: document.name, hash, status }, subjectFits, why, ...nothing }
      let at: Problem['at'] = 'where'
      let key: string | null = null
      let action: TriedAction | null = null
      try {
        const matched = route.wants(scope) && subjectFits
        if (!matched) return { ...base, matched }
        at = 'key'
        key = route.keyOf(scope)
        at = 'do'
        action = render(route, { ...scope, key }, key)
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error
        // As the engine does: a condition that cannot be decided makes work that fails, where people see it.
        return { ...base, matched: subjectFits, key, problem: problemOf(at, error) }
      }
      const reads = store.forTenant(tenant)
      const work = looked.id === null ? [] : await reads.workOfEvent(looked.id)
      // The last one: a replay is the item that would run.
      const own = work.findLast(({ consumer }) => consumer === route.consumer) ?? null
      const ledger = await judgeLedger(reads, route, key, { own, before: own }, deps.now())
      return { ...base, matched: true, key, action, ledger }
    },

    async explain(tenant, id) {
      await definitions.refresh(tenant)
      const { event, scope } = await lookAt(deps, tenant, id)
      const work = new Map(
        (await store.forTenant(tenant).workOfEvent(id)).map((one) => [one.consumer, one.id]),
      )
      const consumers = registry.routes(tenant).map((route): ExplainedConsumer => {
        const workId = work.get(route.consumer) ?? null
        work.delete(route.consumer)
        const { name, on: patterns, where } = route.document
        const base = { kind: 'route', name, status: route.status, patterns, workId } as const
        if (!fits(route, event.subject)) return { ...base, verdict: 'subject', why: [] }
        const why = where === null ? [] : explainCondition(where, scope)
        const verdict = verdictOf(route, scope)
        return { ...base, verdict: verdict === 'matched' && workId === null ? 'would-match' : verdict, why }
      })
      const gone = [...work].map(([consumer, workId]): ExplainedConsumer => {
        const name = consumer.slice(consumer.indexOf(':') + 1)
        return { kind: 'route', name, verdict: 'matched', status: 'gone', patterns: [], why: [], workId }
      })
      return { subject: event.subject, consumers: [...consumers, ...gone] }
    },

    async compute(tenant, text, as, event) {
      const { scope } = await lookAt(deps, tenant, event)
      const compiled =
        as === 'condition'
          ? compileCondition(text, { roots: PICK_ROOTS })
          : as === 'pick'
            ? compileExpression(text, { roots: PICK_ROOTS })
            : compileTemplate(text, { roots: SEND_ROOTS })
      if (!compiled.ok) {
        const { message, offset } = compiled.problem
        return { ok: false, message, at: offset }
      }
      try {
        const value =
          'condition' in compiled
            ? compiled.condition.test(scope)
            : 'expression' in compiled
              ? compiled.expression.evaluate(scope)
              : (compiled.template.render(scope) ?? null)
        if (stringifyJson(value).length > VALUE_LENGTH_MAX) {
          const message = `the value has more than ${VALUE_LENGTH_MAX} characters: pick a part of it`
          return { ok: false, message, at: null }
        }
        return { ok: true, value, type: typeName(value) }
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error
        return { ok: false, message: error.message, at: null }
      }
    },
  }
}

function fits(route: Route, subject: string): boolean {
  return route.document.on.some((pattern) => matchesPattern(pattern, subject))
}

function verdictOf(route: Route, scope: Scope): ExplainedConsumer['verdict'] {
  try {
    return route.wants(scope) ? 'matched' : 'condition'
  } catch (error) {
    if (error instanceof ExpressionError) return 'error'
    throw error
  }
}

function render(route: Route, scope: Scope, key: string): TriedAction {
  const { action } = route
  switch (action.type) {
    case 'http':
      return { type: 'http', request: action.render(scope, key) }
    case 'function': {
      const { name, codeHash } = action
      return { type: 'function', function: { name, codeHash, input: action.input(scope) } }
    }
    case 'emit': {
      const emit = action.render(scope)
      const parsed = parseSubject(emit.subject)
      if (!parsed.ok) throw new ExpressionError('type', parsed.problem.message, 'emit')
      return { type: 'emit', emit }
    }
  }
}

function problemOf(at: Problem['at'], error: ExpressionError): Problem {
  return { at, message: error.message, path: error.path ?? null, type: error.valueType ?? null }
}

function typeName(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'object') return 'map'
  return typeof value === 'boolean' ? 'bool' : typeof value === 'string' ? 'string' : 'number'
}
