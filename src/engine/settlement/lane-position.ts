// What the end of a job means for its lane: whether the job keeps its position, which version the lane has reached, and the
// escalation and event where the job blocks the lane. All of it is the part of the participant `lane`.
//
// Invariant: LN5 a lane is blocked, escalated and its event emitted in one commit.

import { isCanonical } from '../../core/events/canonical/index.ts'
import { parsePayload } from '../../core/events/sensitive/index.ts'
import { ExpressionError } from '../../core/expression/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import { JsonError } from '../../core/foundation/json/index.ts'
import { itemScope, type Route, routeScope, type Vars } from '../../core/routing/index.ts'
import type { Write } from '../../ports/store.ts'
import type { EngineBase } from '../commit/index.ts'
import { canonicalEvent } from '../events/index.ts'
import type { Decisions } from './decision-functions.ts'
import type { Decision, Held } from './job-decision.ts'
import type { RowPart, RowParticipant } from './participants.ts'

export interface LaneDeps extends Pick<EngineBase, 'ids' | 'plan' | 'vars'> {
  readonly decisions: Pick<Decisions, 'keepsPlace'>
}

/** The participant of every job that leaves its lane, or keeps its position. */
export function makeLaneEnd(deps: LaneDeps): RowParticipant {
  return (decision, { held, route }) => {
    const { lane: key, hasPlace } = held.work
    if (key === null || route === null || route.lane === null || decision.to === 'again') return null
    if (decision.to === 'done') {
      const laneVersion = versionOf(deps.vars, held, route)
      return laneVersion === null ? null : { end: { laneVersion } }
    }
    if (!hasPlace || !deps.decisions.keepsPlace(route.lane, decision.to)) return null
    return { end: { place: 'keep' }, ...blocked(deps, held, route, key, decision) }
  }
}

/** null: its event has none, or no longer. */
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
): Pick<RowPart, 'writes' | 'plans'> {
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
    // The key of the lane derives from the payload: users who may see it find it by the job.
    data: { route: document.name, consumer, workId: work.id, state: to },
    key: `${work.id}:${work.epoch}`,
    parent: event,
  })
  return { writes: [raise, ...plan.writes], plans: [plan] }
}
