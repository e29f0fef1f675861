// What an operator may do about a job now, and about its effect: the conditions under which the actions of
// src/engine/dead-letters/job-actions.ts succeed. Another action may still come first.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'

/** `done` and `released` are the decisions of `resolve`. */
export type AllowedAct = 'done' | 'released' | 'probe' | 'retry' | 'cancel'

/** `entry`: of an effect that the job made or holds; null: it has none. */
export function allowedActs(
  work: WorkRow,
  route: Route | null,
  entry: LedgerEntry | null,
): readonly AllowedAct[] {
  const acts: AllowedAct[] = []
  if (isOfInstance(work)) return acts
  // A decision is about the effect that the job names; about another one it would be a conflict.
  const isNamed =
    entry !== null && entry.key === work.key && work.kind !== 'intake' && work.kind !== 'trigger'
  const isOutcomeUnknown = isNamed && entry.state === 'unknown' && entry.work === work.id
  if (work.state === 'parked' && isNamed) {
    if (isOutcomeUnknown || entry.state === 'done' || goesOn(route)) acts.push('done')
    acts.push('released')
    if (isOutcomeUnknown && canProbe(route)) acts.push('probe')
  }
  // A job that ended with an unknown outcome stays ended; the decision is about its effect, and later jobs go by it.
  if ((work.state === 'cancelled' || work.state === 'dead') && isOutcomeUnknown) acts.push('done', 'released')
  if (work.state === 'parked' || work.state === 'ready') acts.push('retry')
  const canCancel = work.state === 'parked' || (work.state === 'ready' && !work.alone)
  if (canCancel && !isOrphans(work, route)) acts.push('cancel')
  return acts
}

/** An instance waits for it: a timer, an admission, the end of a child. */
export function isOfInstance({ kind }: Pick<WorkRow, 'kind'>): boolean {
  return kind === 'timer' || kind === 'admit' || kind === 'signal'
}

/** An update that came before its instance: its orphan represents it, and waits as long as it does. */
export function isOrphans(
  { kind, instance, lane, replayOf }: Pick<WorkRow, 'kind' | 'instance' | 'lane' | 'replayOf'>,
  route: Route | null,
): boolean {
  if (kind !== 'trigger' || instance !== null || replayOf !== null) return false
  return lane === null && route?.lane != null
}

/** A function is parked because of one of its effects, and continues when that is settled. */
export function goesOn(route: Route | null): boolean {
  return route?.action.type === 'function'
}

function canProbe(route: Route | null): boolean {
  return route?.action.type === 'http' && route.action.probe !== null
}
