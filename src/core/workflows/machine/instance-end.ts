// After every input: whether the instance has ended, and whether an operator should look at it.
//
// Invariant: WF7 an instance ends when all its tokens are in places that nothing leaves, and nothing of it is under way.

import type { Attention, InstanceState } from '../instance/index.ts'
import { announce, type Draft } from './instance-draft.ts'
import { findHeld } from './token-moves.ts'

export function finish(draft: Draft, before: Attention | null): void {
  const { now } = draft
  if (now.state === 'active' && isOver(draft)) {
    const hasError = Object.keys(now.marking).some(
      (place) => draft.workflow.places.get(place)?.type === 'error',
    )
    endInstance(draft, hasError ? 'failed' : 'completed')
    const last = draft.history.length - 1
    const entry = draft.history[last]
    if (entry !== undefined) draft.history[last] = { ...entry, state: now.state }
  }
  const attention = now.state === 'active' ? attentionOf(draft, before) : null
  now.attention = attention
  if (attention !== 'stuck' || (before === 'stuck' && draft.trouble === null)) return
  const error = draft.trouble ?? 'nothing can move it any more'
  if (before !== 'stuck') draft.effects.push({ type: 'escalate', reason: 'stuck', error })
}

function isOver({ now, workflow }: Draft): boolean {
  if (now.firings.length > 0 || now.rollBack !== null || now.admission.waitsFor !== null) return false
  for (const place of Object.keys(now.marking)) if (!workflow.isEnd(place)) return false
  return true
}

/** Its timers, keys, lock and slot are freed, and its parent is notified. */
export function endInstance(draft: Draft, state: Exclude<InstanceState, 'active'>): void {
  const { now, effects } = draft
  now.state = state
  for (const { timer } of now.stays) effects.push({ type: 'drop', work: timer })
  now.stays = []
  const { lock, slot, waitsFor, ttl } = now.admission
  if (ttl !== null) effects.push({ type: 'drop', work: ttl })
  if (lock !== null) effects.push({ type: waitsFor === 'lock' ? 'drop' : 'leave', work: lock })
  if (slot !== null) effects.push({ type: waitsFor === 'slot' ? 'drop' : 'leave', work: slot })
  if (lock !== null || slot !== null) now.admission = { lock: null, slot: null, waitsFor: null, ttl: null }
  if (now.correlations.length > 0) effects.push({ type: 'uncorrelate', keys: now.correlations })
  const { parent, data } = now
  if (parent?.waits === true) effects.push({ type: 'tellParent', parent, state, data })
  announce(draft, state)
}

function attentionOf(draft: Draft, before: Attention | null): Attention | null {
  const { firings } = draft.now
  if (firings.length > 0) {
    if (firings.some(({ type, state }) => type === 'undo' && state === 'failed')) return 'undo_failed'
    if (firings.some(({ state }) => state === 'failed')) return 'step_failed'
    if (firings.some(({ state, inDoubt }) => state === 'parked' || inDoubt === true)) return 'step_parked'
  }
  if (before === 'lock_expired' || draft.hasLockExpired) return 'lock_expired'
  return draft.trouble !== null || isStuck(draft) ? 'stuck' : null
}

function isStuck({ now, workflow }: Draft): boolean {
  if (now.firings.length > 0 || now.stays.length > 0 || now.rollBack !== null) return false
  if (now.admission.waitsFor !== null) return false
  for (const transition of workflow.transitions.values()) {
    const { isAwaited, isAutomatic, document } = transition
    // One that waits for its condition can continue when an event changes the data.
    const isAwaiting = isAwaited || (isAutomatic && document.when !== null && workflow.hasUpdates)
    if (isAwaiting && findHeld(workflow, now, transition, null) !== null) return false
  }
  return true
}
