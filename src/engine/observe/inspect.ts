// What would happen to an event, and why something did: match, key, request and the ledger's verdict. Makes no call and writes
// nothing.

import type { DefinitionStatus, RouteDocument } from '../../core/definitions/documents/index.ts'
import { type ActionPreview, previewAction } from '../../core/effects/action/index.ts'
import { isCanonicalSource } from '../../core/events/canonical/index.ts'
import { HIDDEN } from '../../core/events/sensitive/index.ts'
import { matchesPattern } from '../../core/events/subject/index.ts'
import {
  type ConditionPart,
  compileCondition,
  compileExpression,
  compileTemplate,
  ExpressionError,
  explainCondition,
  type Hmac,
  type Keyed,
  mayUseHmac,
  type Scope,
  SHOWN_HMAC,
} from '../../core/expression/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import type { EventId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { isNumeral, type JsonValue, stringifyJson } from '../../core/foundation/json/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import { callScope, chooseRoutes, compileRoute, itemScope, type Route } from '../../core/routing/index.ts'
import type { Subscription } from '../../core/webhooks/subscription/index.ts'
import type { Workflow } from '../../core/workflows/machine/index.ts'
import type { Log } from '../../ports/log.ts'
import type { EngineBase } from '../commit/index.ts'
import { type Definitions, type Registry, subscriptionOf } from '../definitions/index.ts'
import { hidingScope, isHiding, type Reader } from '../secrets/index.ts'
import { type GivenEvent, type LookedAt, lookAt } from './inspected-event.ts'
import { judgeLedger, type LedgerVerdict } from './ledger-verdict.ts'

export interface Problem {
  /** Which part of the route. */
  readonly at: 'where' | 'each' | 'order' | 'key' | 'do'
  readonly message: string
  readonly path: string | null
  readonly type: string | null
}

export interface Tried {
  readonly route: { readonly name: string; readonly hash: string; readonly status: DefinitionStatus }
  readonly subjectFits: boolean
  readonly matched: boolean
  readonly why: readonly ConditionPart[]
  /** How many jobs it makes of the event, one per element; what follows is about the first. null: one, of the whole event. */
  readonly elements: number | null
  /** The key of its lane; null: it has none. */
  readonly lane: string | null
  /** null if it did not match, or could not be made. */
  readonly key: string | null
  readonly action: ActionPreview | null
  readonly ledger: LedgerVerdict | null
  readonly problem: Problem | null
}

export interface ExplainedConsumer {
  /**
   * `source`: the event itself waits to be matched, or could not be. `workflow`: by the trigger that comes closest.
   * `subscription`: of those that do not want it only some are listed.
   */
  readonly kind: 'route' | 'source' | 'workflow' | 'subscription'
  readonly name: string
  /**
   * `would-match`: it wants the event now, and was not deployed when that was accepted: it has no job of it. By `fanOut`:
   * `gave-way`, another that says `first` runs in its place; `ambiguous`, one that says `one` is not the only one, and none
   * runs.
   */
  readonly verdict:
    | 'matched'
    | 'would-match'
    | 'gave-way'
    | 'ambiguous'
    | 'subject'
    | 'condition'
    | 'error'
    | 'kept'
    | 'unmatchable'
  /** `gone`: it has jobs and is no longer defined. */
  readonly status: DefinitionStatus | 'gone'
  readonly patterns: readonly string[]
  readonly why: readonly ConditionPart[]
  readonly workId: WorkId | null
}

export type Computed =
  | { readonly ok: true; readonly value: JsonValue; readonly type: string }
  /** `at`: where in the text, counted from 0. */
  | { readonly ok: false; readonly message: string; readonly at: number | null }

/** Without a reader, nothing sensitive is shown. */
export interface Inspect {
  tryRoute(
    tenant: TenantId,
    route: string | RouteDocument,
    event: EventId | GivenEvent,
    reader?: Reader,
  ): Promise<Tried>
  explain(
    tenant: TenantId,
    id: EventId,
    reader?: Reader,
  ): Promise<{ readonly subject: string; readonly consumers: readonly ExplainedConsumer[] }>
  compute(
    tenant: TenantId,
    text: string,
    as: 'pick' | 'send' | 'condition',
    event: EventId | GivenEvent,
    reader?: Reader,
  ): Promise<Computed>
}

const PICK_ROOTS = ['event', 'payload', 'header', 'source', 'tenant']
const SEND_ROOTS = [...PICK_ROOTS, 'vars']
const VALUE_LENGTH_MAX = 65_536
const ANONYMOUS: Reader = { actor: 'nobody', seesSensitive: false, seesRestricted: false }

export function makeInspect(
  deps: Pick<EngineBase, 'store' | 'vars' | 'now'> & {
    readonly registry: Registry
    readonly definitions: Pick<Definitions, 'refresh'>
    readonly log: Pick<Log, 'info'>
  },
): Inspect {
  const { store, registry, definitions } = deps

  const routeOf = (tenant: TenantId, asked: string | RouteDocument, hmac: Hmac): Route => {
    if (typeof asked !== 'string') return compileRoute(asked, { hmac })
    const route = registry.route(tenant, `route:${asked}`)
    if (route === null) throw new AppError('not_found', `there is no route ${asked} in force`)
    if (hmac !== SHOWN_HMAC || !mayUseHmac(route.document)) return route
    return { ...compileRoute(route.document, { hmac }), status: route.status }
  }

  /**
   * Digests of texts that readers choose themselves would let them guess others: those are for readers who may see sensitive
   * values.
   */
  const hmacFor = async (tenant: TenantId, isAllowed: boolean): Promise<Hmac> =>
    (isAllowed ? await registry.hmacKeys.peek(tenant) : null) ?? SHOWN_HMAC

  /** The last state of the event itself; a matched one has nothing to show. */
  const explainIntake = (tenant: TenantId, item: WorkRow | undefined): readonly ExplainedConsumer[] => {
    const isWaiting = item?.state === 'ready' || item?.state === 'leased'
    if (item === undefined || !(isWaiting || item.state === 'dead')) return []
    const name = item.consumer.slice(item.consumer.indexOf(':') + 1)
    const status = registry.source(tenant, name)?.status ?? 'gone'
    const verdict = isWaiting ? 'kept' : 'unmatchable'
    return [{ kind: 'source', name, verdict, status, patterns: [], why: [], workId: item.id }]
  }

  return {
    async tryRoute(tenant, asked, event, reader = ANONYMOUS) {
      await definitions.refresh(tenant)
      const isStored = typeof asked === 'string' && typeof event === 'string'
      const hmac = await hmacFor(tenant, isStored || reader.seesSensitive)
      const route = routeOf(tenant, asked, hmac)
      const looked = await lookAt(deps, tenant, event, reader)
      const { scope, shown } = looked
      const { document, hash, status } = route
      const subjectFits = fits(route, looked.event.subject)
      const why = document.where === null ? [] : explainCondition(document.where, scope, shown, { hmac })
      const nothing = { elements: null, lane: null, key: null, action: null, ledger: null, problem: null }
      const base = { route: { name: document.name, hash, status }, subjectFits, why, ...nothing }
      let at: Problem['at'] = 'where'
      let elements: number | null = null
      let lane: string | null = null
      let key: string | null = null
      let action: ActionPreview | null = null
      try {
        const matched = route.wants(scope) && subjectFits
        if (!matched) return { ...base, matched }
        at = 'each'
        elements = countElements(route, scope)
        if (elements === 0) return { ...base, matched, elements }
        const first = elements === null ? null : 0
        const own = itemScope(route, scope, first)
        at = 'order'
        lane = route.lane?.of(own).key ?? null
        at = 'key'
        key = route.keyOf(own, first)
        at = 'do'
        action = previewAction(route.action, callScope(route, own, key), key)
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error
        // Like the engine: a condition that cannot be evaluated makes a job that fails visibly.
        const shownKey = key === null ? null : keyFor(route, key, looked)
        return { ...base, matched: subjectFits, elements, key: shownKey, problem: problemOf(at, error) }
      }
      const reads = store.forTenant(tenant)
      const work = looked.id === null ? [] : await reads.workOfEvent(looked.id)
      // The last one: a replay is the job that would run.
      const isOwn = ({ consumer, element }: WorkRow) =>
        consumer === route.consumer && element === (elements === null ? null : 0)
      const own = work.findLast(isOwn) ?? null
      // A key that is only shown is in no ledger.
      const isForShow = hmac === SHOWN_HMAC && mayUseHmac(document)
      const ledger = isForShow ? null : await judgeLedger(reads, route, key, { own, before: own }, deps.now())
      const found = { ...base, matched: true, elements }
      if (shown === scope) return { ...found, lane, key, action, ledger }
      const shownKey = keyFor(route, key, looked)
      const shownLane = lane === null || laneFor(route, shown) === lane ? lane : HIDDEN
      return { ...found, lane: shownLane, key: shownKey, ...renderShown(route, shown, shownKey), ledger }
    },

    async explain(tenant, id, reader = ANONYMOUS) {
      await definitions.refresh(tenant)
      const looked = await lookAt(deps, tenant, id, reader)
      const { event, scope, shown } = looked
      const keyed = { hmac: registry.hmacKeys.known(tenant) ?? SHOWN_HMAC }
      const items = await store.forTenant(tenant).workOfEvent(id)
      const routed = items.filter(({ kind }) => kind === 'route')
      const work = new Map(routed.map((one) => [one.consumer, one.id]))
      const intake = items.findLast(({ kind }) => kind === 'intake')
      const routes = registry.routes(tenant)
      const verdicts = new Map(
        routes
          .filter((route) => fits(route, event.subject))
          .map((route) => [route, verdictOf(route, scope)] as const),
      )
      const chosen = chooseRoutes([...verdicts].flatMap(([route, is]) => (is === 'condition' ? [] : [route])))
      const without = (route: Route) =>
        !chosen.ok ? 'ambiguous' : chosen.routes.includes(route) ? 'would-match' : 'gave-way'
      const consumers = routes.map((route): ExplainedConsumer => {
        const workId = work.get(route.consumer) ?? null
        work.delete(route.consumer)
        const { name, on: patterns, where } = route.document
        const base = { kind: 'route', name, status: route.status, patterns, workId } as const
        const verdict = verdicts.get(route)
        if (verdict === undefined) return { ...base, verdict: 'subject', why: [] }
        const why = where === null ? [] : explainCondition(where, scope, shown, keyed)
        return { ...base, verdict: verdict === 'matched' && workId === null ? without(route) : verdict, why }
      })
      const triggered = new Map(
        items.flatMap((one) => (one.kind === 'trigger' ? [[one.consumer, one.id] as const] : [])).reverse(),
      )
      const cases = registry.workflows(tenant).flatMap((workflow) => {
        const workId = triggered.get(workflow.consumer) ?? null
        triggered.delete(workflow.consumer)
        return explainWorkflow(workflow, event.subject, { scope, shown }, workId)
      })
      const gone = [...work, ...triggered].map(([consumer, workId]): ExplainedConsumer => {
        const name = consumer.slice(consumer.indexOf(':') + 1)
        const kind = consumer.startsWith('workflow:') ? 'workflow' : 'route'
        return { kind, name, verdict: 'matched', status: 'gone', patterns: [], why: [], workId }
      })
      return {
        subject: event.subject,
        consumers: [
          ...explainIntake(tenant, intake),
          ...consumers,
          ...cases,
          ...explainSubscriptions(registry.subscriptions(tenant), looked, items, keyed),
          ...gone,
        ],
      }
    },

    async compute(tenant, text, as, event, reader = ANONYMOUS) {
      // Any expression may be evaluated: over more than the reader may see, it would reveal it bit by bit.
      const { shown: scope } = await lookAt(deps, tenant, event, reader)
      const hmac = await hmacFor(tenant, reader.seesSensitive)
      const compiled =
        as === 'condition'
          ? compileCondition(text, { roots: PICK_ROOTS, hmac })
          : as === 'pick'
            ? compileExpression(text, { roots: PICK_ROOTS, hmac })
            : compileTemplate(text, { roots: SEND_ROOTS, hmac })
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

/** How close a trigger came to an event, the closest last. */
const CLOSENESS: readonly ExplainedConsumer['verdict'][] = ['subject', 'condition', 'error', 'matched']

/** One line per workflow: what its triggers say of the event, by the one that comes closest. */
function explainWorkflow(
  { document, status, triggers, keyed }: Workflow,
  subject: string,
  { scope, shown }: Pick<LookedAt, 'scope' | 'shown'>,
  workId: WorkId | null,
): readonly ExplainedConsumer[] {
  const routes = triggers.flatMap(({ route }) => route ?? [])
  if (routes.length === 0 && workId === null) return []
  const verdicts = routes.map((route) => (fits(route, subject) ? verdictOf(route, scope) : 'subject'))
  const best = CLOSENESS.findLast((verdict) => verdicts.includes(verdict)) ?? 'subject'
  const where = routes[verdicts.indexOf(best)]?.document.where ?? null
  return [
    {
      kind: 'workflow',
      name: document.name,
      status,
      // An instance that was started by the clock or by a user has a job without a pattern.
      verdict:
        workId !== null && best === 'subject'
          ? 'matched'
          : best === 'matched' && workId === null
            ? 'would-match'
            : best,
      patterns: [...new Set(routes.flatMap(({ document: { on } }) => on))],
      why: best === 'subject' || where === null ? [] : explainCondition(where, scope, shown, keyed),
      workId,
    },
  ]
}

/** A tenant may have thousands. */
const UNWANTING_MAX = 100

/** Those that have a job of it or want it, then some of those that do not; each by name. */
function explainSubscriptions(
  subscriptions: readonly Subscription[],
  { event, sensitive, scope, shown }: LookedAt,
  items: readonly WorkRow[],
  keyed: Keyed,
): readonly ExplainedConsumer[] {
  const work = new Map(
    items.flatMap(({ kind, consumer, id }) => (kind === 'delivery' ? [[consumer, id] as const] : [])),
  )
  const explained: ExplainedConsumer[] = []
  const others: ExplainedConsumer[] = []
  const about = (scope.payload as { readonly consumer?: JsonValue } | null)?.consumer
  for (const { document, route, consumer } of subscriptions.toSorted(byName)) {
    const workId = work.get(consumer) ?? null
    work.delete(consumer)
    const { name, on: patterns, where } = document
    const base = { kind: 'subscription', name, status: route.status, patterns, workId } as const
    const isOwn = isCanonicalSource(event.source) && consumer === about
    if (isOwn || !fits(route, event.subject)) {
      const line = { ...base, verdict: workId === null ? 'subject' : 'matched', why: [] } as const
      if (workId !== null) explained.push(line)
      else others.push(line)
      continue
    }
    const hiding = isHiding({ sensitive }, document) ? hidingScope({ sensitive }, document, scope) : scope
    const verdict = verdictOf(route, hiding)
    const why =
      where === null ? [] : explainCondition(where, hiding, hiding === scope ? shown : hiding, keyed)
    if (verdict === 'condition' && workId === null) others.push({ ...base, verdict, why })
    else
      explained.push({
        ...base,
        verdict: verdict === 'matched' && workId === null ? 'would-match' : verdict,
        why,
      })
  }
  const gone = [...work].map(([consumer, workId]): ExplainedConsumer => {
    const name = subscriptionOf(consumer) ?? consumer
    return { kind: 'subscription', name, verdict: 'matched', status: 'gone', patterns: [], why: [], workId }
  })
  return [...explained, ...others.slice(0, UNWANTING_MAX), ...gone]
}

function byName(a: Subscription, b: Subscription): number {
  return a.document.name < b.document.name ? -1 : 1
}

/** null: the route makes one job of the whole event. Throws ExpressionError if there is no list, or a list that is too long. */
function countElements({ each }: Route, scope: Scope): number | null {
  if (each === null) return null
  const count = each.count(scope)
  if (count <= each.max) return count
  const message = `the list has ${count} elements; the route takes ${each.max} at most`
  throw new ExpressionError('bounds', message, 'each.of', 'list')
}

function firstOf({ each }: Route): number | null {
  return each === null ? null : 0
}

/** What the first job of the route sees. */
function firstScope(route: Route, scope: Scope): Scope {
  return itemScope(route, scope, firstOf(route))
}

function laneFor(route: Route, shown: Scope): string | null {
  try {
    return route.lane?.of(firstScope(route, shown)).key ?? null
  } catch (error) {
    if (error instanceof ExpressionError) return null
    throw error
  }
}

/** The key as the reader may see it: hidden if it is made of values that they may not see. */
function keyFor(route: Route, key: string, { scope, shown }: LookedAt): string {
  if (shown === scope) return key
  try {
    return route.keyOf(firstScope(route, shown), firstOf(route)) === key ? key : HIDDEN
  } catch (error) {
    if (error instanceof ExpressionError) return HIDDEN
    throw error
  }
}

function renderShown(route: Route, shown: Scope, key: string): Pick<Tried, 'action' | 'problem'> {
  try {
    const scope = callScope(route, firstScope(route, shown), key)
    return { action: previewAction(route.action, scope, key), problem: null }
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    const message = 'what it does is made of sensitive values, which need the role operator'
    return { action: null, problem: { at: 'do', message, path: null, type: null } }
  }
}

function problemOf(at: Problem['at'], error: ExpressionError): Problem {
  return { at, message: error.message, path: error.path ?? null, type: error.valueType ?? null }
}

function typeName(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'object' && !isNumeral(value)) return 'map'
  return typeof value === 'boolean' ? 'bool' : typeof value === 'string' ? 'string' : 'number'
}
