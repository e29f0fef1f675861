// One piece of a bulk replay: some dead letters or events and the replay's progress, in one commit.
//
// The commit is guarded by the version of the replay and of each dead letter: two nodes never replay one twice, a crash
// loses nothing, and a cancelled replay stops. A dead letter that changed meanwhile is left out and counted as refused;
// it does not delay the others.

import type { StoredEvent } from '../../../core/events/event/index.ts'
import type { DeadLetter } from '../../../core/failures/dead-letter/index.ts'
import { AppError, type ErrorCode } from '../../../core/foundation/errors/index.ts'
import type { DeadLetterId, EventId, TenantId } from '../../../core/foundation/ids/index.ts'
import type { Guard, Store, TenantReads, Write } from '../../../ports/store.ts'
import { type Commits, orFail, retrying } from '../../commit/index.ts'
import { findOrPromote } from '../../events/index.ts'
import type { PreparedReplay } from '../dead-letter-actions.ts'
import { readDeadLetters } from './dead-letter-pages.ts'
import {
  type BulkReplay,
  guardOf,
  readList,
  type StoredReplay,
  withRefusals,
  writesOf,
} from './replay-record.ts'

export type Row = DeadLetter | StoredEvent
type RowId = DeadLetterId | EventId

export interface NextRows {
  /** Deleted ones are represented by their ids. */
  readonly rows: readonly (Row | RowId)[]
  /** The last one read, matching or not; null if the replay uses its list, or there are no more. */
  readonly after: DeadLetterId | null
  /** There are none after them. */
  readonly isLast: boolean
}

/** Whether its rows were listed when it started. */
function isListed(replay: ListedReplay): boolean {
  return replay.of === 'events' || replay.filter.ids !== undefined
}

/** All but recoveries, which walk (recover-deliveries.ts). */
export type ListedReplay = Exclude<BulkReplay, { of: 'deliveries' }>

export async function readRows(
  store: Pick<Store, 'commit' | 'forTenant'>,
  tenant: TenantId,
  replay: ListedReplay,
  max: number,
): Promise<NextRows> {
  const reads = store.forTenant(tenant)
  if (replay.of === 'deadLetters' && replay.filter.ids === undefined) {
    const page = await readDeadLetters(reads, replay.filter, replay.after, max)
    return { rows: page.deadLetters, after: page.after, isLast: page.after === null }
  }
  const from = replay.replayed + replay.refused
  const rows = await (replay.of === 'events'
    ? readEvents(store, tenant, await readList(reads, replay.id, from, max))
    : readNamed(reads, replay.filter.ids?.slice(from, from + max) ?? []))
  return { rows, after: null, isLast: rows.length === 0 || from + rows.length >= replay.total }
}

function readNamed(reads: TenantReads, ids: readonly DeadLetterId[]): Promise<readonly (Row | RowId)[]> {
  return Promise.all(ids.map(async (id) => (await reads.deadLetter(id)) ?? id))
}

/** A fact becomes an event: it gets jobs. */
function readEvents(
  store: Pick<Store, 'commit' | 'forTenant'>,
  tenant: TenantId,
  ids: readonly EventId[],
): Promise<readonly (Row | RowId)[]> {
  return Promise.all(ids.map(async (id) => (await findOrPromote(store, tenant, id)) ?? id))
}

interface Refusal {
  readonly id: RowId
  readonly code: ErrorCode
}

/** `work`: the jobs that run because of it, new or existing. */
export type PieceReplay = Omit<PreparedReplay, 'work'> & {
  readonly work: Pick<PreparedReplay['work'], 'kind' | 'consumer'>
}
export type Prepared = { readonly id: RowId; readonly replay: PieceReplay } | Refusal

/** Each of them reads its event, which may be large. */
const AT_ONCE = 50

export interface Piece {
  readonly stored: StoredReplay
  readonly replayed: readonly PieceReplay[]
}

/** A piece before its commit. */
export interface PieceDraft {
  /** The record of the replay after it, without the counts of its rows. */
  readonly base: BulkReplay
  readonly version: number
  readonly prepared: readonly Prepared[]
  /** What the commit needs beside its rows, if it has any. */
  readonly beside: { readonly guard: Guard; readonly write: Write } | null
  /** Prepares a row again whose instance changed, and that may still be replayed. */
  prepareAgain(id: RowId): Promise<Prepared>
}

export async function preparePiece(
  deps: {
    /** Throws AppError if it cannot be replayed. */
    prepare(replay: BulkReplay, row: Row): Promise<PreparedReplay>
    /** Whether its jobs are ordered: then the ids of the jobs must be in order too. */
    isOrdered(row: Row | RowId): boolean
  },
  { replay, version }: StoredReplay & { readonly replay: ListedReplay },
  { rows, after, isLast }: NextRows,
  then: { readonly nextAt: number; readonly finishedAt: number },
): Promise<PieceDraft> {
  const prepared: Prepared[] = []
  // The oldest first: jobs of one lane run in the order in which they are added.
  const inOrder = rows.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
  const atOnce = rows.some((row) => deps.isOrdered(row)) ? 1 : AT_ONCE
  for (let at = 0; at < inOrder.length; at += atOnce) {
    const some = inOrder.slice(at, at + atOnce)
    prepared.push(...(await Promise.all(some.map((row) => prepareOne(deps, replay, row)))))
  }
  const last = rows.at(-1)
  const lastId = last === undefined ? null : (idOf(last) as DeadLetterId)
  return {
    base: {
      ...replay,
      nextAt: then.nextAt,
      after: isListed(replay) ? null : (after ?? lastId ?? replay.after),
      ...(isLast && { state: 'done', finishedAt: then.finishedAt }),
    },
    version,
    prepared,
    beside: null,
    prepareAgain: (id) => prepareOne(deps, replay, inOrder.find((row) => idOf(row) === id) ?? id),
  }
}

/**
 * Commits a piece. A row whose guard is refused is prepared once more if its instance moved, and otherwise left out and counted
 * as refused. `lost`: another node changed the record; `rebuild`: what the piece needs beside its rows changed.
 */
export function commitPiece(
  commits: Pick<Commits, 'once'>,
  tenant: TenantId,
  { base, version, prepared, beside, prepareAgain }: PieceDraft,
): Promise<Piece | 'lost' | 'rebuild'> {
  let good = prepared.flatMap((one) => ('replay' in one ? [one] : []))
  let refused = prepared.flatMap((one) => ('code' in one ? [one] : []))
  const again = new Set<RowId>()
  const commitOnce = async (retry: () => Promise<Piece | 'lost' | 'rebuild'>) => {
    const next = {
      replay: withRefusals({ ...base, replayed: base.replayed + good.length }, refused),
      version,
    }
    const own = beside === null || good.length === 0 ? [] : [beside]
    const result = await commits.once(
      tenant,
      [guardOf(next), ...own.map(({ guard }) => guard), ...good.flatMap((one) => one.replay.guards)],
      [...own.map(({ write }) => write), ...good.flatMap((one) => one.replay.writes), ...writesOf(next)],
    )
    if (result.ok) {
      const stored = { replay: next.replay, version: version + 1 }
      return { stored, replayed: good.map((one) => one.replay) }
    }
    if (result.guard === 0) return 'lost'
    if (result.guard <= own.length) return 'rebuild'
    // Maps a refused guard to its row.
    const owners = good.flatMap((one) => one.replay.guards.map((_, index) => ({ one, index })))
    const changed = owners[result.guard - 1 - own.length]
    if (changed === undefined) return 'lost'
    const { one, index } = changed
    const isRepeated = index === one.replay.moving && !again.has(one.id)
    again.add(one.id)
    const repeated: Prepared = isRepeated ? await prepareAgain(one.id) : { id: one.id, code: 'conflict' }
    good = good.flatMap((other) => (other !== one ? [other] : 'replay' in repeated ? [repeated] : []))
    if ('code' in repeated) refused = [...refused, repeated]
    return retry()
  }
  return retrying(2 * good.length + 1, commitOnce, orFail('a piece without rows was refused'))
}

function idOf(row: Row | RowId): RowId {
  return typeof row === 'string' ? row : row.id
}

async function prepareOne(
  { prepare }: { prepare(replay: BulkReplay, row: Row): Promise<PreparedReplay> },
  replay: BulkReplay,
  row: Row | RowId,
): Promise<Prepared> {
  if (typeof row === 'string') return { id: row, code: 'not_found' }
  try {
    return { id: row.id, replay: await prepare(replay, row) }
  } catch (error) {
    if (error instanceof AppError) return { id: row.id, code: error.code }
    throw error
  }
}
