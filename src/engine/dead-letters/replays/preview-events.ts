// Previews a replay of events: for each event, what every route that selects it now would do. It calls nothing and
// writes nothing.

import type { StoredEvent } from '../../../core/events/event/index.ts'
import { parsePayload } from '../../../core/events/sensitive/index.ts'
import type { EventId, TenantId } from '../../../core/foundation/ids/index.ts'
import { JsonError, parseJson } from '../../../core/foundation/json/index.ts'
import type { Source } from '../../../core/ingest/source/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import type { Route } from '../../../core/routing/index.ts'
import { receivedEvent } from '../../commit/index.ts'
import { draftDispatched, listReads, type SeesWorkflow, seenBy, withFacts } from '../../events/index.ts'
import { findDispatched } from '../../ingest/index.ts'
import {
  type DispatchedEvent,
  findRoutes,
  intakeConsumer,
  matchEvent,
  receiverOf,
} from '../../planning/index.ts'
import {
  addUp,
  type Judged,
  judgedToFail,
  judgeFurther,
  judgeRun,
  type PreviewDeps,
  type Sums,
} from './judge-replay.ts'
import { findEvents, findRefusal } from './replay-events.ts'
import type { EventFilter } from './replay-record.ts'

export interface PreviewedConsumer extends Omit<Judged, 'call'> {
  /** A route, or the source if the event itself is the obstacle. */
  readonly name: string
}

export interface PreviewedEvent {
  readonly id: EventId
  /** null: there is no such event. */
  readonly subject: string | null
  readonly consumers: readonly PreviewedConsumer[]
}

/** The sums cover the consumers of `items`. */
export interface EventsPreview extends Sums {
  /** The first of them, oldest first. */
  readonly items: readonly PreviewedEvent[]
  /** How many events the filter selects in all. */
  readonly matched: number
  readonly isCapped: boolean
}

const ITEMS_MAX = 100
const AT_ONCE = 5

type Seen = Judged & { readonly name: string }

export async function previewEvents(
  deps: PreviewDeps,
  tenant: TenantId,
  filter: EventFilter,
  maySee: SeesWorkflow,
): Promise<EventsPreview> {
  const stored = deps.store.forTenant(tenant)
  const reads = seenBy(withFacts(stored), maySee)
  const found = await findEvents(seenBy(listReads(stored, filter), maySee), filter)
  const shown = found.slice(0, ITEMS_MAX)
  const seen: { id: EventId; subject: string | null; consumers: readonly Seen[] }[] = []
  for (let start = 0; start < shown.length; start += AT_ONCE) {
    const some = shown.slice(start, start + AT_ONCE)
    const looked = some.map(async (id) => {
      const event = await reads.event(id)
      if (event === null) return { id, subject: null, consumers: [fail('event', 'there is no such event')] }
      return { id, subject: event.subject, consumers: await look(deps, event) }
    })
    seen.push(...(await Promise.all(looked)))
  }
  const sums = addUp(seen.flatMap(({ consumers }) => consumers))
  const items = seen.map(({ consumers, ...event }) => ({
    ...event,
    consumers: consumers.map(({ call: _call, ...consumer }) => consumer),
  }))
  return { items, ...sums, matched: found.length, isCapped: found.length > shown.length }
}

async function look(deps: PreviewDeps, event: StoredEvent): Promise<readonly Seen[]> {
  const received = receiverOf(event)
  const source = received === null ? null : deps.registry.source(event.tenant, received)
  const name = received ?? event.source
  const refusal = await findRefusal(deps.store, event)
  if (refusal !== null) return [fail(name, refusal)]
  let matching: ReturnType<typeof matchEvent>
  try {
    matching = matchEvent(deps, source, event, parsePayload(event.data), parseJson(event.headers))
  } catch (error) {
    if (error instanceof JsonError) return [fail(name, error.message)]
    throw error
  }
  if (!matching.ok) return [fail(name, matching.error)]
  const held = source === null ? [] : heldBy(source)
  const own = await lookAtRoutes(deps, event, matching.routes)
  const known = await findDispatched(deps.store, event, matching.dispatched)
  const others: Seen[] = []
  for (const one of matching.dispatched) {
    const child = known.get(one.name) ?? imagined(event, one)
    others.push(...(await lookAtChild(deps, name, child)))
  }
  return [...held, ...own, ...others]
}

async function lookAtChild(deps: PreviewDeps, name: string, child: StoredEvent): Promise<readonly Seen[]> {
  let found: ReturnType<typeof findRoutes>
  try {
    found = findRoutes(deps, child, parsePayload(child.data), parseJson(child.headers))
  } catch (error) {
    if (error instanceof JsonError) return [fail(name, error.message)]
    throw error
  }
  return found.ok ? lookAtRoutes(deps, child, found.routes) : [fail(name, found.error)]
}

function heldBy({ status, document }: Source): readonly Seen[] {
  if (status === 'active') return []
  const reason = `its source is ${status}: it is matched when that goes on`
  return [{ name: document.name, verdict: 'would-wait', reason, call: null }]
}

async function lookAtRoutes(
  deps: PreviewDeps,
  event: StoredEvent,
  routes: readonly Route[],
): Promise<readonly Seen[]> {
  const work = routes.length === 0 ? [] : await deps.store.forTenant(event.tenant).workOfEvent(event.id)
  return Promise.all(
    routes.map(async (route): Promise<Seen> => {
      const { name } = route.document
      if (route.status === 'disabled') {
        const what = route.of?.kind === 'delivery' ? 'subscription' : 'route'
        return { name, verdict: 'would-skip', reason: `the ${what} is disabled`, call: null }
      }
      const before = work.filter(({ consumer }) => consumer === route.consumer)
      if (route.of?.kind === 'delivery')
        return { name, ...judgeFurther(deps, event, route.of.subscription, before, false) }
      if (route.of?.kind === 'trigger') return judgeTrigger(route.of, before)
      const judged: Judged = await judgeRun(deps, route, event, { key: null, before, again: false })
      if (route.status !== 'paused' || judged.verdict === 'would-fail') return { name, ...judged }
      return { name, ...judged, reason: `${judged.reason}, once the route goes on` }
    }),
  )
}

/** A trigger acts on an event once. */
function judgeTrigger(
  { workflow, part }: Extract<Route['of'], { kind: 'trigger' }>,
  before: readonly Pick<WorkRow, 'kind' | 'step' | 'state' | 'effectRef'>[],
): Seen {
  const done = before.find(({ kind, step, state }) => kind === 'trigger' && step === part && state === 'done')
  const name = `${workflow}/trigger/${part}`
  if (done === undefined)
    return { name, verdict: 'would-call', reason: `runs a trigger of ${workflow}`, call: null }
  return { name, verdict: 'would-skip', reason: `it reached ${done.effectRef} before`, call: null }
}

const NO_ID = 'evt_00000000-0000-7000-8000-000000000000' as EventId
const NO_IDS = { event: () => NO_ID }

/** An event that would be dispatched: it has no id yet, and no job has processed it. */
function imagined(event: StoredEvent, dispatched: DispatchedEvent): StoredEvent {
  const header = parseJson(event.headers)
  const { draft } = draftDispatched(NO_IDS, event, header, intakeConsumer(event), dispatched)
  return receivedEvent({ ...draft, matched: 0 }, event.receivedAt)
}

function fail(name: string, reason: string): Seen {
  return { name, ...judgedToFail(reason) }
}
