// Wake-ups between nodes over LISTEN and NOTIFY, on a dedicated connection.
//
// They are hints outside any commit: a commit that notified would wait for a lock of the whole database, and a lost
// wake-up costs no more than the time until the next poll. So wake-ups sent without a connection are dropped, and when
// the connection is restored, the listeners learn that they may have missed something.

import { Buffer } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import pg, { type ClientConfig } from 'pg'
import { MISSED, readWake, WAKE_BYTES_MAX, type Wake, type Wakes } from '../../ports/wakes.ts'

export interface PostgresWakesOptions {
  /** The same as the store's. */
  readonly connection: string | ClientConfig
  readonly schema?: string
  readonly connectTimeoutMs?: number
  /** The longest wait between two attempts to connect. */
  readonly retryMsMax?: number
  /** How often an idle connection is checked. */
  readonly checkEveryMs?: number
  /** The connection broke, or cannot be made; it is tried again. */
  onTrouble?(error: Error): void
  /** The connection is restored after trouble. */
  onBack?(): void
}

export interface PostgresWakes extends Wakes, AsyncDisposable {
  /** Settles when the first connection listens. */
  readonly listening: Promise<void>
}

type Client = InstanceType<typeof pg.Client>

interface Link {
  readonly client: Client
  isLost: boolean
  /** The driver wants one query at a time; wake-ups sent meanwhile go together with the next. */
  isAsking: boolean
}

const GATHER_MS = 5
const RETRY_MS = 50
/** How many different ones may wait to be sent together; further changes are reported only as more changes. */
const WAITING_MAX = 200

export function makePostgresWakes(options: PostgresWakesOptions): PostgresWakes {
  const channel = `${options.schema ?? 'millrace'}_wakes`
  const from = randomUUID()
  const retryMsMax = options.retryMsMax ?? 5_000
  const checkEveryMs = options.checkEveryMs ?? 15_000
  const listeners = new Set<(wake: Wake) => void>()
  const waiting = new Set<string>()
  let current: Link | null = null
  let gathering: NodeJS.Timeout | null = null
  let next: NodeJS.Timeout | null = null
  let retryMs = RETRY_MS
  let isTroubled = false
  let isClosed = false
  let opening: Promise<void> = Promise.resolve()
  let onListening = () => {}
  const listening = new Promise<void>((resolve) => {
    onListening = resolve
  })

  const call = (wake: Wake) => {
    for (const listener of [...listeners]) listener(wake)
  }
  const later = (ms: number, callback: () => void) => {
    if (next !== null) clearTimeout(next)
    next = setTimeout(callback, ms)
    next.unref()
  }
  const lose = (link: Link, error: Error) => {
    if (link.isLost) return
    link.isLost = true
    if (current === link) current = null
    waiting.clear()
    void link.client.end().catch(() => undefined)
    if (isClosed) return
    if (!isTroubled) options.onTrouble?.(error)
    isTroubled = true
    later(retryMs, open)
    retryMs = Math.min(retryMs * 2, retryMsMax)
  }
  const ask = (link: Link, text: string, values: unknown[] = []) => {
    link.isAsking = true
    link.client.query(text, values).then(
      () => {
        link.isAsking = false
        if (waiting.size > 0) gather()
      },
      (error: Error) => lose(link, error),
    )
  }
  const check = (link: Link) => {
    later(checkEveryMs, () => check(link))
    // A query in progress shows as well whether the server responds.
    if (!link.isAsking) ask(link, 'SELECT 1')
  }
  const connect = async () => {
    const client = makeClient(options)
    const link: Link = { client, isLost: false, isAsking: false }
    client.on('error', (error) => lose(link, error))
    client.on('end', () => lose(link, new Error('the server ended the connection')))
    client.on('notification', (message) => {
      const wake = message.channel === channel ? readPayload(message.payload ?? '', from) : null
      if (wake !== null) call(wake)
    })
    try {
      await client.connect()
      // Nothing depends on a wake-up: no flush to disk for it.
      await client.query('SET synchronous_commit = off')
      await client.query(`LISTEN "${channel}"`)
    } catch (error) {
      lose(link, error as Error)
      return
    }
    if (link.isLost) return
    current = link
    retryMs = RETRY_MS
    later(checkEveryMs, () => check(link))
    onListening()
    if (!isTroubled) return
    isTroubled = false
    options.onBack?.()
    for (const wake of MISSED) call(wake)
  }
  const open = () => {
    opening = connect()
  }
  const send = () => {
    gathering = null
    if (current === null || current.isAsking) return
    const payloads = [...waiting]
    waiting.clear()
    ask(current, 'SELECT pg_notify($1::text, p) FROM unnest($2::text[]) AS u(p)', [channel, payloads])
  }
  const gather = () => {
    gathering ??= setTimeout(send, GATHER_MS).unref()
  }

  open()
  return {
    listening,
    send(wake) {
      if (current === null) return
      const isFull = waiting.size >= WAITING_MAX && wake.wake === 'changes'
      waiting.add(makePayload(isFull ? { ...wake, body: null } : wake, from))
      gather()
    },
    listen(listener) {
      const own = (wake: Wake) => listener(wake)
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      listeners.clear()
      for (const timer of [gathering, next]) if (timer !== null) clearTimeout(timer)
      await opening
      const closing = current
      current = null
      if (closing === null) return
      closing.isLost = true
      if (next !== null) clearTimeout(next)
      await closing.client.end().catch(() => undefined)
    },
  }
}

function makeClient({ connection, connectTimeoutMs }: PostgresWakesOptions): Client {
  const given = typeof connection === 'string' ? { connectionString: connection } : connection
  return new pg.Client({
    application_name: 'millrace wakes',
    keepAlive: true,
    ...given,
    connectionTimeoutMillis: connectTimeoutMs ?? 10_000,
    query_timeout: 10_000,
  })
}

/**
 * A line of JSON, and after it the body unescaped: inside JSON its quotes would be escaped, and PostgreSQL carries less
 * than 8,000 bytes and no U+0000.
 */
function makePayload(wake: Wake, from: string): string {
  if (wake.wake !== 'changes') return JSON.stringify({ from, ...wake })
  const { body, ...head } = wake
  const isFit = body !== null && Buffer.byteLength(body) <= WAKE_BYTES_MAX && !body.includes('\0')
  return isFit ? `${JSON.stringify({ from, ...head })}\n${body}` : JSON.stringify({ from, ...head })
}

/**
 * Null for the node's own, and for what is not a wake-up here: nodes of another version may send kinds that this one
 * does not know.
 */
function readPayload(payload: string, own: string): Wake | null {
  const end = payload.indexOf('\n')
  let head: unknown
  try {
    head = JSON.parse(end < 0 ? payload : payload.slice(0, end))
  } catch {
    return null
  }
  if (typeof head !== 'object' || head === null) return null
  const { from, ...told } = head as Record<string, unknown>
  return from === own ? null : readWake({ ...told, body: end < 0 ? null : payload.slice(end + 1) })
}
