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
import { decideEffect, type EffectAbilities, type LedgerEntry } from '../../core/ledger/index.ts'
import { compileRoute, type Route, type Vars } from '../../core/route/index.ts'
import { matchesPattern, parseSubject } from '../../core/subject/index.ts'
import type { Instant } from '../../core/time/index.ts'
import type { WorkRow } from '../../core/work/index.ts'
import type { Store } from '../../ports/store.ts'
import type { Definitions } from '../definitions/index.ts'
import type { Registry } from '../registry.ts'
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

export interface LedgerVerdict {
  readonly verdict: 'would-call' | 'would-skip' | 'would-wait' | 'would-park'
  readonly reason: string
  readonly entry: LedgerEntry | null
}

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
  readonly verdict: 'matched' | 'subject' | 'condition' | 'error'
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
/** What actions inside the process can do about another's key. */
const NO_ABILITIES: EffectAbilities = { idempotent: false, keyTtlMs: null, probeAfterMs: null, timeoutMs: 0 }

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

  const ledgerVerdict = async (
    tenant: TenantId,
    route: Route,
    key: string,
    work: WorkRow | undefined,
  ): Promise<LedgerVerdict> => {
    const entry = await store.forTenant(tenant).ledger(key)
    if (entry === null) return { verdict: 'would-call', reason: 'the ledger does not know the key', entry }
    const step = decideEffect({
      entry,
      work: work?.id ?? ('' as WorkId),
      epoch: work?.epoch ?? 0,
      consumer: route.consumer,
      waits: work?.waits ?? 0,
      abilities: route.action.type === 'http' ? route.action.abilities : NO_ABILITIES,
      now: deps.now(),
    })
    switch (step.step) {
      case 'reserve': {
        const reason =
          entry.state === 'released'
            ? 'an earlier try is proved to have had no effect'
            : 'the outcome of an earlier call is unknown, and a repetition is harmless'
        return { verdict: 'would-call', reason, entry }
      }
      case 'hit':
      case 'believe':
        return { verdict: 'would-skip', reason: 'the effect is there already', entry }
      case 'doubt':
        return { verdict: 'would-wait', reason: 'its own call is under way, or was interrupted', entry }
      case 'probe':
        return {
          verdict: 'would-wait',
          reason: 'the outcome is unknown: the vendor would be asked first',
          entry,
        }
      case 'wait': {
        const reason =
          step.for === 'probe'
            ? 'the outcome is unknown, and it is too early to ask'
            : 'another item holds the key'
        return { verdict: 'would-wait', reason, entry }
      }
      case 'park':
        return { verdict: 'would-park', reason: 'the outcome is unknown and cannot be asked for', entry }
    }
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
      const work = looked.id === null ? [] : await store.forTenant(tenant).workOfEvent(looked.id)
      const own = work.find(({ consumer }) => consumer === route.consumer)
      return { ...base, matched: true, key, action, ledger: await ledgerVerdict(tenant, route, key, own) }
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
        return { ...base, verdict: verdictOf(route, scope), why }
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
