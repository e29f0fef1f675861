// What others have to say around a call: the pace of its route and host, and what is reserved beside its key.

import type { CallVerdict, FailureClass } from '../../core/failure/index.ts'
import type { LedgerEntry } from '../../core/ledger/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import type { Guard, Write } from '../../ports/store.ts'
import type { Item } from '../item.ts'
import type { InternalCall } from '../outcome.ts'
import type { ProbeAnswer } from '../probe.ts'

/** How a call went, for whoever counts calls, closes buckets and opens circuits. */
export interface Told {
  readonly item: Item
  readonly route: InternalCall['route']
  /** null: it ran inside the process. */
  readonly host: string | null
  readonly class: FailureClass | 'done'
  readonly retryAfterMs: number | null
}

/** The pace of routes and hosts. Both are asked in memory: a call must not wait for an answer. */
export interface Pace {
  /** Right before the reserve. A wait puts the item back without using up an attempt; null: go on. */
  mayCall(
    item: Item,
    route: InternalCall['route'],
    host: string | null,
  ): { readonly delayMs: number; readonly why: string } | null
  /** After `mayCall` said yes, no call was made after all. */
  unused(item: Item, route: InternalCall['route'], host: string | null): void
  told(told: Told): void
}

export const FREE_PACE: Pace = { mayCall: () => null, unused: () => {}, told: () => {} }

/** What became of a call. */
export interface Performed {
  readonly outcome: HttpOutcome
  readonly verdict: CallVerdict
  /** In place of what the outcome says of itself. */
  readonly error?: string
  /** In place of what the answer names. */
  readonly effectRef?: string | null
}

/** What is reserved beside the key, or why that cannot be now. */
export type Beside =
  | { readonly ok: true; readonly guards: readonly Guard[]; readonly writes: readonly Write[] }
  | { readonly ok: false; readonly delayMs: number; readonly why: string }

/** How a call differs from one request under one key. */
export interface Variation {
  /** Joins others in place of a call of its own. Answers when the item is out of our hands, or what the ledger says by now. */
  readonly instead?: (over: LedgerEntry | null) => Promise<Joined>
  readonly beside?: () => Promise<Beside>
  /** Several requests in place of one. */
  readonly perform?: () => Promise<Performed>
  /** In place of the action's probe. */
  readonly ask?: (entry: LedgerEntry) => Promise<ProbeAnswer>
}

/** The item is settled or put back, or the ledger says something new and the item is looked at again. */
export type Round = 'finished' | { readonly entry: LedgerEntry | null }

/** Or it cannot join now, and waits. */
export type Joined = Round | { readonly delayMs: number; readonly why: string }
