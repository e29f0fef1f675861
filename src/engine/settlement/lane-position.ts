// What the end of an item means for its lane: whether it keeps its place, the version that the lane is at by now, and what is
// told where others are held up. All of it belongs into the commit of the decision.
//
// Invariant: LN5 a lane is held up, escalated and told of in one commit.

import { isCanonical } from '../../core/events/canonical/index.ts'
import { parsePayload } from '../../core/events/sensitive/index.ts'
import { ExpressionError } from '../../core/expression/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import type { Ids } from '../../core/foundation/ids/index.ts'
import { JsonError } from '../../core/foundation/json/index.ts'
import { itemScope, type Route, routeScope, type Vars } from '../../core/routing/index.ts'
import type { Write } from '../../ports/store.ts'
import type { EventPlan, PlanEvent } from '../commit/index.ts'
import { canonicalEvent } from '../events/index.ts'
import type { Decisions } from './decision-functions.ts'
import type { Decision, Held } from './job-decision.ts'

export interface LaneChange {
  /** Part of the write that settles the item. */
  readonly end: Pick<Extract<Write, { w: 'work.settle' }>, 'place' | 'laneVersion'>
  readonly writes: readonly Write[]
  /** Of the events that tell it; their births must be settled. */
  readonly plans: readonly EventPlan[]
}

const NO_LANE_CHANGE: LaneChange = { end: {}, writes: [], plans: [] }

export interface LaneDeps {
  readonly ids: Ids
  readonly plan: PlanEvent
  readonly vars: Vars
  readonly decisions: Pick<Decisions, 'keepsPlace'>
}

export function changeLane(deps: LaneDeps, held: Held, route: Route | null, decision: Decision): LaneChange {
  const lane = route?.lane ?? null
  if (held.work.lane === null || route === null || lane === null || decision.to === 'again')
    return NO_LANE_CHANGE
  if (decision.to === 'done') {
    const laneVersion = versionOf(deps.vars, held, route)
    return laneVersion === null ? NO_LANE_CHANGE : { ...NO_LANE_CHANGE, end: { laneVersion } }
  }
  if (!held.work.hasPlace || !deps.decisions.keepsPlace(lane, decision.to)) return NO_LANE_CHANGE
  return { end: { place: 'keep' }, ...blocked(deps, held, route, held.work.lane, decision) }
}

/** null: its event tells none, or not any more. */
function versionOf(vars: Vars, { work, event }: Held, route: Route): string | null {
  const version = route.lane?.version ?? null
  if (version === null) return null
  try {
    const scope = routeScope(event, parsePayload(event.data), parsePayload(event.headers), vars)
    return version(itemScope(route, scope, work.element))
  } catch (error) {
    if (error instanceof ExpressionError || error instanceof JsonError) return null
    throw error
  }
}

/** Why an escalation of a lane was raised. */
const REASON = 'lane_blocked'

function blocked(
  deps: LaneDeps,
  { work, event }: Held,
  { document }: Route,
  lane: string,
  { to, note }: Decision,
): Pick<LaneChange, 'writes' | 'plans'> {
  const { consumer, tenant } = work
  const { severity, runbook } = document.deadLetter
  const raise: Write = {
    w: 'escalation.raise',
    row: {
      id: deps.ids.escalation(),
      cause: hashText(JSON.stringify([consumer, REASON, lane])),
      consumer,
      class: note.class ?? 'unknown',
      reason: REASON,
      severity,
      runbook,
      lastError: `an item that is ${to} holds its lane up; replay, resolve or discard it, or let it leave the lane`,
      workId: work.id,
    },
  }
  if (isCanonical(event)) return { writes: [raise], plans: [] }
  const plan = canonicalEvent(deps, {
    tenant,
    subject: 'integration.lane.blocked',
    // The key of the lane is made of the payload: whoever may see it finds it by the item.
    data: { route: document.name, consumer, workId: work.id, state: to },
    key: `${work.id}:${work.epoch}`,
    parent: event,
  })
  return { writes: [raise, ...plan.writes], plans: [plan] }
}
