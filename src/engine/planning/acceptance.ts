// Plans the commit that accepts a source's event: the event with its jobs and the events it dispatches; or the event
// with an intake job that waits while the source is paused, or that is dead at once because the event cannot be
// processed.
//
// Invariant: IN1 everything that follows from an event at ingest is in the commit that stores it.

import type { NewEvent } from '../../core/events/event/index.ts'
import type { NewDeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { Ids } from '../../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../../core/foundation/json/index.ts'
import type { Source } from '../../core/ingest/source/index.ts'
import type { Write } from '../../ports/store.ts'
import type { Draft, EventPlan } from '../commit/index.ts'
import { draftDispatched } from '../events/index.ts'
import { storableError } from '../settlement/index.ts'
import { intakeConsumer, newIntake, type Refusal, refuse } from './intake-job.ts'
import { matchEvent } from './matching.ts'
import { failedOnIngest, type MayBegin, type PlanDeps, planEvent, planWork } from './plan.ts'

export interface Acceptance {
  readonly event: NewEvent
  readonly writes: readonly Write[]
  /** Of the event and of those that it dispatched; the caller must settle their leases on insert. */
  readonly plans: readonly EventPlan[]
  /** `KEPT`: its source is paused. `QUARANTINED`: it is a dead letter. */
  readonly action: 'ACCEPTED' | 'UNMATCHED' | 'KEPT' | 'QUARANTINED'
  readonly deadLetter: NewDeadLetter | null
}

/** Says how the payload differs from its schema; senders cannot set it. */
const MISMATCH_HEADER = 'millrace-mismatch'

export function planAcceptance(
  deps: PlanDeps,
  source: Source,
  draft: Draft,
  payload: JsonValue,
  header: Readonly<Record<string, string>>,
  dedupForMs: number,
  mayBegin?: MayBegin,
): Acceptance {
  const { document } = source
  const { catalog } = document
  const isPlain =
    source.dispatch === null && document.unmatched === undefined && source.mismatch === undefined
  // The common case: the event goes straight to its routes.
  if (isPlain && source.status === 'active') {
    const plan = planEvent(deps, draft, payload, header, dedupForMs, mayBegin)
    const { event, writes, deadLetter } = plan
    return {
      event,
      writes,
      plans: [plan],
      action: deadLetter !== null ? 'QUARANTINED' : event.matched === 0 ? 'UNMATCHED' : 'ACCEPTED',
      // Logged with its plan.
      deadLetter: null,
    }
  }
  const tag = catalog?.mismatch === 'tag' ? (source.mismatch?.(draft.subject, payload) ?? null) : null
  const storedHeader = tag === null ? header : { ...header, [MISMATCH_HEADER]: storableError(draft, tag) }
  const tagged = tag === null ? draft : { ...draft, headers: stringifyJson(storedHeader) }
  if (source.status === 'paused' || deps.registry.needsNewerVersion(draft.tenant))
    return keep(deps.ids, source, tagged, dedupForMs)
  const matching = matchEvent(deps, source, tagged, payload, storedHeader)
  if (!matching.ok) return quarantine(deps, source, tagged, dedupForMs, matching)
  const { routes, dispatched } = matching
  const event: NewEvent = { ...tagged, matched: routes.length + dispatched.length }
  const plans = [
    planWork(deps, { event, stored: null, payload, header: storedHeader, dedupForMs }, routes, null),
    ...dispatched.map((one) => {
      const child = draftDispatched(deps.ids, event, storedHeader, intakeConsumer(event), one)
      return planEvent(deps, child.draft, child.payload, child.header, child.dedupForMs)
    }),
  ]
  const action = event.matched === 0 ? 'UNMATCHED' : 'ACCEPTED'
  return { event, writes: plans.flatMap(({ writes }) => writes), plans, action, deadLetter: null }
}

function keep(ids: Ids, source: Source, draft: Draft, dedupForMs: number): Acceptance {
  const event: NewEvent = { ...draft, matched: 1 }
  const work = newIntake(ids, event, source.hash)
  const writes: readonly Write[] = [
    { w: 'event.append', event, dedupForMs },
    { w: 'work.add', work, lease: null, delayMs: 0 },
  ]
  return { event, writes, plans: [], action: 'KEPT', deadLetter: null }
}

/** An event that no definition can process. */
export function planUnread(
  deps: PlanDeps,
  source: Source,
  draft: Draft,
  problem: string,
  dedupForMs: number,
): Acceptance {
  return quarantine(deps, source, draft, dedupForMs, refuse('poison', 'unparseable', problem))
}

function quarantine(
  deps: PlanDeps,
  source: Source,
  draft: Draft,
  dedupForMs: number,
  refusal: Refusal,
): Acceptance {
  const event: NewEvent = { ...draft, matched: 1 }
  const { writes, deadLetter, beside } = failedOnIngest(deps, event, source.hash, refusal)
  return {
    event,
    writes: [{ w: 'event.append', event, dedupForMs }, ...writes],
    plans: beside,
    action: 'QUARANTINED',
    deadLetter,
  }
}
