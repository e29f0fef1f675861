// Every event of one source, once, as it arrives. The stream is quick but may skip: it is cut, it has gaps, and it
// reports only what its own node accepts. The list has everything. So the stream is followed, and the list fills the
// gaps. Invariants: an event is reported once; one that was accepted after the start is reported, whatever happens to
// the connection.

import type { Change, Event, StreamMessage } from '../sdk/client/index.ts'
import type { Session } from './command.ts'
import { CliError } from './failure.ts'
import type { Page } from './pages.ts'

export interface Heard {
  readonly id: string
  readonly subject: string
  readonly receivedAt: string
}

export type Followed =
  | { readonly type: 'event'; readonly event: Heard }
  /** Missed events are read from the list. */
  | { readonly type: 'gap' }
  | { readonly type: 'lost'; readonly retryInMs: number }
  | { readonly type: 'back' }

export interface FollowOptions {
  readonly source: string
  /** null: events from now on. */
  readonly since: { readonly at: number; readonly afterId: string | null } | null
  /** How often the list is read for events that other nodes accepted. */
  readonly lookMs?: number
}

const LOOK_MS = 5_000
const PAGE = 200
/** Events are stored in another order than that of their ids, but not by more than this. */
const OVERLAP_MS = 30_000
/** This many events from before the start are remembered. */
const BEFORE_MAX = 1_000

export async function* followSource(
  session: Session,
  options: FollowOptions,
): AsyncGenerator<Followed, void, undefined> {
  const known = makeKnown(options.since)
  if (options.since === null) known.startAfter(await listBefore(session, options.source))
  const inbox = makeInbox(await session.api.stream(), session.signal)
  const lookMs = options.lookMs ?? LOOK_MS
  let isLost = false
  let lookAt = Number.POSITIVE_INFINITY
  while (!session.signal.aborted) {
    if (!isLost && Date.now() >= lookAt) {
      lookAt = Date.now() + lookMs
      try {
        const rows = await listBack(session, options.source, (row) => known.isRecent(row))
        for (const event of rows.reverse()) if (known.add(event)) yield { type: 'event', event }
      } catch (error) {
        if (!isPassing(error)) throw error
      }
      // Waiting messages may repeat what the list already reported.
      if (inbox.isEmpty()) known.forget()
    }
    const message = await inbox.take(isLost ? lookMs : Math.max(0, lookAt - Date.now()))
    if (message === 'ended') return
    if (message === 'quiet') continue
    if (message.type === 'changes') {
      for (const change of message.changes) {
        if (isOf(options.source, change) && known.add(change)) yield { type: 'event', event: change }
      }
    } else if (message.type === 'disconnected') {
      if (!isLost) yield { type: 'lost', retryInMs: message.retryInMs }
      isLost = true
    } else {
      if (message.type === 'gap') yield { type: 'gap' }
      if (message.type === 'connected' && isLost) yield { type: 'back' }
      isLost = false
      lookAt = 0
    }
  }
}

const isOf = (source: string, change: Change): change is Extract<Change, { type: 'event' }> =>
  change.type === 'event' && change.source === source

/** The node is not running, or not healthy: it is asked again later. */
export function isPassing(error: unknown): boolean {
  return error instanceof CliError && (error.ending === 'unreachable' || error.ending === 'failed')
}

const instantOf = (row: Heard) => Date.parse(row.receivedAt)

/** Newest first, for as long as `goesOn` says so. */
async function listBack(
  session: Session,
  source: string,
  goesOn: (row: Heard, rows: readonly Heard[]) => boolean,
): Promise<Heard[]> {
  const rows: Heard[] = []
  let cursor: string | null = null
  do {
    const page: Page<Event> = await session.api.get('/v1/events', {
      source,
      limit: PAGE,
      cursor: cursor ?? undefined,
    })
    for (const row of page.items) {
      if (!goesOn(row, rows)) return rows
      rows.push(row)
    }
    cursor = page.nextCursor
  } while (cursor !== null)
  return rows
}

/** Events from before the start, as far back as another could still arrive in between. */
function listBefore(session: Session, source: string): Promise<Heard[]> {
  return listBack(session, source, (row, rows) => {
    const [newest] = rows
    if (newest === undefined) return true
    return rows.length < BEFORE_MAX && instantOf(row) >= instantOf(newest) - OVERLAP_MS
  })
}

/** Reported events, as far back as one could still be missing. */
function makeKnown(since: FollowOptions['since']) {
  const told = new Map<string, number>()
  let floor = since?.at ?? Number.NEGATIVE_INFINITY
  let newest = floor
  const note = (row: Heard) => {
    const at = instantOf(row)
    told.set(row.id, at)
    newest = Math.max(newest, at)
  }
  return {
    isRecent(row: Heard): boolean {
      if (since !== null && since.afterId !== null && row.id <= since.afterId) return false
      return instantOf(row) >= Math.max(floor, newest - OVERLAP_MS)
    },
    /** false: it is known. */
    add(row: Heard): boolean {
      if (told.has(row.id)) return false
      note(row)
      return true
    },
    startAfter(rows: readonly Heard[]): void {
      for (const row of rows) note(row)
      const oldest = rows.at(-1)
      // Beyond the rows that were read nothing is known.
      if (oldest !== undefined && rows.length >= BEFORE_MAX) floor = instantOf(oldest)
    },
    forget(): void {
      for (const [id, at] of told) if (at < newest - 2 * OVERLAP_MS) told.delete(id)
    },
  }
}

const INBOX_MAX = 10_000
/** Until the first connection nothing is due. */
const WAIT_MS_MAX = 60_000

/** Reads on while its reader is busy; too much for it is a gap. */
function makeInbox(stream: AsyncGenerator<StreamMessage, void, undefined>, signal: AbortSignal) {
  let messages: StreamMessage[] = []
  let end: { readonly error: unknown } | null = null
  let wake: () => void = () => {}
  const pump = async () => {
    for await (const message of stream) {
      if (messages.length >= INBOX_MAX) messages = [{ type: 'gap' }]
      messages.push(message)
      wake()
    }
  }
  const ended = (error: unknown) => {
    end = { error }
    wake()
  }
  pump().then(
    () => ended(null),
    (error: unknown) => ended(error),
  )
  return {
    isEmpty: () => messages.length === 0,
    async take(withinMs: number): Promise<StreamMessage | 'quiet' | 'ended'> {
      const take = () => {
        const message = messages.shift()
        if (message !== undefined) return message
        if (end === null) return null
        if (end.error !== null && !signal.aborted) throw end.error
        return 'ended' as const
      }
      const first = take()
      if (first !== null) return first
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(withinMs, WAIT_MS_MAX))
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      wake = () => {}
      return take() ?? 'quiet'
    },
  }
}
