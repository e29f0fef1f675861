// Signals from parts that are made early to parts that are made later. Listeners are registered while the engine is composed, and
// are called in that order; until then a signal reaches nothing.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Commit, CommitResult } from '../../ports/store.ts'
import type { Followed } from '../../ports/wakes.ts'
import type { About } from './commits.ts'

export interface Signal<Args extends readonly unknown[]> {
  readonly send: (...args: Args) => void
  listen(listener: (...args: Args) => void): void
}

export interface EngineSignals {
  /** A job may be due now, or will be after `delayMs`: the claim loop looks. */
  readonly wake: Signal<[delayMs?: number]>
  /** An endpoint can take more calls, now or after `delayMs`. */
  readonly room: Signal<[delayMs: number]>
  /** A commit may have been applied, but its response was lost. */
  readonly lost: Signal<[]>
  /** Right after a commit was applied, before its caller continues. */
  readonly applied: Signal<[Commit, Extract<CommitResult, { ok: true }>, About | null]>
  /** This node changed shared state: records of the kind; null: definitions, controls, anything. */
  readonly changed: Signal<[TenantId, Followed | null]>
}

export function makeEngineSignals(): EngineSignals {
  return {
    wake: makeSignal(),
    room: makeSignal(),
    lost: makeSignal(),
    applied: makeSignal(),
    changed: makeSignal(),
  }
}

export function makeSignal<Args extends readonly unknown[]>(): Signal<Args> {
  const listeners: ((...args: Args) => void)[] = []
  return {
    send(...args) {
      for (const listener of listeners) listener(...args)
    },
    listen: (listener) => void listeners.push(listener),
  }
}
