// The stored form of a bulk replay: the request, and its progress.
//
// Two records: the replay itself, and a marker while it runs, so that the next node to start finds unfinished replays
// without reading all that ever were. A replay of events has its list beside it, in chunks: which events they are is
// fixed when it starts.

import type { DeadLetterReason } from '../../../core/failures/dead-letter/index.ts'
import type { FailureClass } from '../../../core/failures/failure/index.ts'
import type { ErrorCode } from '../../../core/foundation/errors/index.ts'
import type { DeadLetterId, EventId } from '../../../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../../../core/foundation/json/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Guard, TenantReads, Write } from '../../../ports/store.ts'

/** Which dead letters: those named, or all that match. */
export interface ReplayFilter {
  readonly ids?: readonly DeadLetterId[]
  /** Default `open`. */
  readonly state?: 'open' | 'ready_to_replay'
  /** `route:<name>` */
  readonly consumer?: string
  readonly class?: FailureClass
  readonly reason?: DeadLetterReason
  /** As `causeOf` gives it. */
  readonly cause?: string
  readonly key?: string
  readonly correlationId?: string
  readonly severity?: string
  /** When they died: from this instant on, and before that one. */
  readonly from?: Instant
  readonly to?: Instant
}

/** Which events: those named, or all that match. */
export interface EventFilter {
  readonly ids?: readonly EventId[]
  readonly source?: string
  readonly subject?: string
  /** When they were received: from this instant on, and before that one. */
  readonly from?: Instant
  readonly to?: Instant
  readonly unmatched?: boolean
  /** Also the events of this system, whether or not a definition selected them. */
  readonly system?: boolean
}

/**
 * `failed`: dead deliveries. `missing`: deliveries never sent. `all`: both. `retrying`: deliveries that wait
 * for a retry, which become due now.
 */
export const RECOVERED = ['failed', 'missing', 'all', 'retrying'] as const

/** Which deliveries of a subscription: of the events that it selects now. */
export interface DeliveriesFilter {
  readonly subscription: string
  /** When the events were received: from this instant on, and before that one. Default: when the recovery started. */
  readonly since: Instant
  readonly until?: Instant
  readonly what: (typeof RECOVERED)[number]
}

/** How far a recovery has read. Which events it covers is not known in advance: `total` grows as it goes. */
export interface Walk {
  /** The last event read; null: none so far. */
  readonly after: EventId | null
  /** When that one was received. */
  readonly at: Instant | null
  /** How many were read. */
  readonly walked: number
  /** Of the selected events: those left unchanged, delivered or under way. */
  readonly left: number
}

export type BulkReplay = ReplayProgress &
  (
    | { readonly of: 'deadLetters'; readonly filter: ReplayFilter }
    /** `pieces`: of its list. */
    | { readonly of: 'events'; readonly filter: EventFilter; readonly pieces: number }
    /** Oldest event first; events received after its start are matched on arrival. */
    | {
        readonly of: 'deliveries'
        readonly filter: Required<DeliveriesFilter>
        readonly walk: Walk
      }
  )

interface ReplayProgress {
  readonly id: string
  readonly state: 'running' | 'done' | 'cancelled'
  readonly force: boolean
  /** Each effect is repeated, on purpose. */
  readonly again: boolean
  /** null: as fast as the nodes take it up. */
  readonly perSecond: number | null
  /** Nothing more of it is replayed before this instant; 0: at once. */
  readonly nextAt: Instant
  /** How many dead letters or events there were at its start. */
  readonly total: number
  readonly replayed: number
  readonly refused: number
  /** The last of those that could not be replayed, and why. */
  readonly refusals: readonly { readonly id: DeadLetterId | EventId; readonly code: ErrorCode }[]
  /** The last dead letter read; those that died later are not part of it. */
  readonly after: DeadLetterId | null
  readonly by: string
  readonly reason: string | null
  readonly createdAt: Instant
  readonly finishedAt: Instant | null
}

export interface StoredReplay {
  readonly replay: BulkReplay
  readonly version: number
}

const REFUSALS_KEPT = 20
const PREFIX = 'rpl_'
const LAST_MS = 2 ** 48 - 1

export const RUNNING_PREFIX = 'running/'
export const LISTED_PREFIX = PREFIX

/** Records are listed by key: time runs backwards in the id, so that the newest comes first. */
export function makeReplayId(now: Instant, uuid: string): string {
  const backwards = (LAST_MS - now).toString(16).padStart(12, '0')
  return `${PREFIX}${backwards}${uuid.replaceAll('-', '').slice(-12)}`
}

/** Defaults for older records: all were of dead letters, at fifty a second. */
const OLDER = { of: 'deadLetters', again: false, perSecond: 50, nextAt: 0 } as const

export function readReplay(body: string): BulkReplay {
  return { ...OLDER, ...(JSON.parse(body) as BulkReplay) }
}

const PIECE = 500

function pieceKey(id: string, piece: number): string {
  return `list/${id}/${String(piece).padStart(4, '0')}`
}

export function piecesOf(count: number): number {
  return Math.ceil(count / PIECE)
}

export function listWrites(id: string, events: readonly EventId[]): readonly Write[] {
  return Array.from({ length: piecesOf(events.length) }, (_, piece) => ({
    w: 'record.put',
    kind: 'replay',
    key: pieceKey(id, piece),
    version: 1,
    body: stringifyJson(events.slice(piece * PIECE, (piece + 1) * PIECE)),
  }))
}

/** The next events of the list, at most `max`; none at its end. */
export async function readList(
  reads: Pick<TenantReads, 'record'>,
  id: string,
  from: number,
  max: number,
): Promise<readonly EventId[]> {
  const record = await reads.record('replay', pieceKey(id, Math.floor(from / PIECE)))
  const events = record === null ? [] : (JSON.parse(record.body) as EventId[])
  return events.slice(from % PIECE, (from % PIECE) + max)
}

export function guardOf({ replay, version }: StoredReplay): Guard {
  return { g: 'version', of: 'replay', key: replay.id, version }
}

/** Writes the next version, and the marker with it. */
export function writesOf({ replay, version }: StoredReplay, isNew = false): readonly Write[] {
  const put: Write = {
    w: 'record.put',
    kind: 'replay',
    key: replay.id,
    version: version + 1,
    body: stringifyJson(replay as unknown as JsonValue),
  }
  const marker = { kind: 'replay', key: `${RUNNING_PREFIX}${replay.id}` } as const
  if (replay.state !== 'running') {
    const pieces = replay.of === 'events' ? replay.pieces : 0
    const list = Array.from({ length: pieces }, (_, piece) => pieceKey(replay.id, piece))
    const forget = list.map((key): Write => ({ w: 'record.delete', kind: 'replay', key }))
    return [put, { w: 'record.delete', ...marker }, ...forget]
  }
  return isNew ? [put, { w: 'record.put', ...marker, version: 1, body: '{}' }] : [put]
}

export function withRefusals(
  replay: BulkReplay,
  more: readonly { readonly id: DeadLetterId | EventId; readonly code: ErrorCode }[],
): BulkReplay {
  if (more.length === 0) return replay
  return {
    ...replay,
    refused: replay.refused + more.length,
    refusals: [...replay.refusals, ...more].slice(-REFUSALS_KEPT),
  }
}
