// Tells the bus what the outbox holds, eldest first, and takes out what the bus has.
//
// The store is the truth: a row goes only after the bus said that it has the message, so that whatever breaks in between is
// told again, with the id by which the bus knows it. A bus that is away holds nobody up; the outbox grows meanwhile.

import { messageOf as textOf } from '../../core/errors/index.ts'
import type { StoredEvent } from '../../core/event/index.ts'
import type { TenantId } from '../../core/ids/index.ts'
import { messageOf, type OutboxRow } from '../../core/outbox/index.ts'
import type { Instant } from '../../core/time/index.ts'
import { type Bus, BusError, type OutgoingMessage } from '../../ports/bus.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import type { StoreTime } from '../store-time.ts'
import type { Turn } from './turn.ts'

export interface RelayStatus {
  /** What waits to be told; stops at `OUTBOX_COUNT_MAX`. */
  readonly waiting: number
  /** Since when the eldest waits, as far as this node saw; null: nothing does, or another node relays. */
  readonly eldestAt: Instant | null
  /** Messages that the bus has, and those that it will never take, since the node's start. */
  readonly told: number
  readonly refused: number
  /** Why it does not go on; null: it does. */
  readonly held: string | null
}

export interface Relay {
  start(): void
  /** Something may be in the outbox. */
  wake(): void
  /** Whether this node is the one that relays. */
  isOurs(): boolean
  status(): Promise<RelayStatus>
  /** Settles when the look under way is over, and lets another node go on. */
  stop(): Promise<void>
}

export interface RelayConfig {
  readonly pollMs: number
  readonly busPrefix: string
}

export const OUTBOX_COUNT_MAX = 100_000
const BATCH = 500
/** What comes within this goes together. */
const GATHER_MS = 5
/** A row that is committed may be answered a little later. */
const SOON_MS = 50
const BACKOFF_MS_MIN = 200
const BACKOFF_MS_MAX = 10_000
/** Those that the bus did not take are tried one by one, so many at a time. */
const ALONE_MAX = 20
/** Somebody should look when the eldest waits for longer. */
const LATE_MS = 5 * 60_000

export function makeRelay(
  deps: {
    readonly store: Store
    readonly bus: Bus
    readonly clock: Clock
    readonly log: Log
    readonly time: StoreTime
    readonly turn: Turn
  },
  config: RelayConfig,
): Relay {
  const { store, bus, clock, log, time, turn } = deps
  let isStopped = false
  let isWoken = false
  let isOurs = false
  let active: Promise<void> | null = null
  let cancel: () => void = () => {}
  let unwatch: () => void = () => {}
  let backoffMs = BACKOFF_MS_MIN
  let held: string | null = null
  let isLate = false
  let eldestAt: Instant | null = null
  let told = 0
  let refused = 0

  const noteHeld = (why: string) => {
    if (held === null) log.warn('relay.waiting', { why, eldestAt })
    held = why
  }
  const noteGoing = () => {
    if (held !== null) log.info('relay.resumed', { after: held })
    held = null
    backoffMs = BACKOFF_MS_MIN
  }
  const noteAge = (rows: readonly OutboxRow[]) => {
    eldestAt = rows[0]?.createdAt ?? null
    const wasLate = isLate
    isLate = eldestAt !== null && time.now() - eldestAt > LATE_MS
    if (isLate && !wasLate) log.warn('relay.late', { eldestAt, held })
  }

  const noteRefused = ({ id, tenant }: OutboxRow, subject: string, error: unknown) => {
    log.error('relay.refused', { id, tenant, subject, error: textOf(error) })
    refused += 1
  }

  /** By tenant, as commits go. */
  const take = async (rows: readonly OutboxRow[]): Promise<void> => {
    const byTenant = new Map<TenantId, number[]>()
    for (const { tenant, position } of rows) {
      const positions = byTenant.get(tenant)
      if (positions === undefined) byTenant.set(tenant, [position])
      else positions.push(position)
    }
    await Promise.all(
      [...byTenant].map(([tenant, positions]) =>
        store.commit({ tenant, guards: [], writes: [{ w: 'outbox.delete', positions }] }),
      ),
    )
  }

  const publish = async (letters: readonly Letter[]): Promise<readonly Letter[]> => {
    const answers = await bus.publish(letters.map(({ message }) => message))
    return letters.filter((_, index) => answers[index] === true)
  }

  /** One that the bus will never take must not hold the others up: it goes, and somebody is told. */
  const publishAlone = async (letter: Letter): Promise<'taken' | 'refused' | 'unknown'> => {
    try {
      return (await publish([letter])).length === 1 ? 'taken' : 'unknown'
    } catch (error) {
      if (!(error instanceof BusError) || error.code !== 'refused') throw error
      noteRefused(letter.row, letter.message.subject, error)
      return 'refused'
    }
  }

  /** Those that the bus did not take with the others; of a subject none goes before one that did not. */
  const publishRest = async (rest: readonly Letter[]): Promise<void> => {
    const stuck = new Set<string>()
    for (const letter of rest.slice(0, ALONE_MAX)) {
      if (stuck.has(letter.message.subject)) continue
      const became = await publishAlone(letter)
      if (became === 'unknown') stuck.add(letter.message.subject)
      else await take([letter.row])
      if (became === 'taken') told += 1
    }
    if (stuck.size > 0) throw new BusError('unavailable', `the bus did not take ${[...stuck][0]}`)
  }

  /** One batch; answers whether there may be more at once. */
  const relaySome = async (): Promise<boolean> => {
    const { rows, events } = await store.system('relay').outbox(BATCH)
    noteAge(rows)
    if (rows.length === 0) {
      noteGoing()
      return false
    }
    const { letters, gone, broken } = sort(rows, events, config.busPrefix)
    for (const { row, error } of broken) noteRefused(row, row.subject, error)
    if (gone.length > 0) log.warn('relay.gone', { count: gone.length, first: gone[0]?.id ?? null })
    if (gone.length + broken.length > 0) await take([...gone, ...broken.map(({ row }) => row)])
    if (letters.length > 0) await relayLetters(letters)
    noteGoing()
    return rows.length === BATCH
  }

  const relayLetters = async (letters: readonly Letter[]): Promise<void> => {
    let taken: readonly Letter[] = []
    try {
      taken = await publish(letters)
    } catch (error) {
      // None of them will ever be taken as it is: each is told of by itself.
      if (!(error instanceof BusError) || error.code !== 'refused') throw error
    }
    await take(taken.map(({ row }) => row))
    told += taken.length
    const there = new Set(taken)
    const rest = letters.filter((letter) => !there.has(letter))
    if (rest.length > 0) await publishRest(rest)
  }

  /** Answers when to look again. */
  const look = async (): Promise<number> => {
    const wasWoken = isWoken
    isWoken = false
    try {
      const othersMs = await turn.take()
      isOurs = othersMs === 0
      if (!isOurs) {
        eldestAt = null
        return Math.min(othersMs, config.pollMs)
      }
      if (await relaySome()) return 0
      return wasWoken ? SOON_MS : config.pollMs
    } catch (error) {
      noteHeld(textOf(error))
      const waitMs = backoffMs
      backoffMs = Math.min(BACKOFF_MS_MAX, backoffMs * 2)
      return waitMs
    }
  }

  const run = () => {
    cancel()
    if (isStopped || active !== null) return
    active = look().then((delayMs) => {
      active = null
      schedule(isWoken && held === null ? Math.min(delayMs, GATHER_MS) : delayMs)
    })
  }
  const schedule = (delayMs: number) => {
    cancel()
    if (!isStopped) cancel = clock.after(delayMs, run)
  }

  return {
    start() {
      unwatch = bus.watch(({ isConnected }) => {
        if (isConnected && active === null) schedule(0)
      })
      schedule(0)
    },
    wake() {
      if (isWoken || !isOurs) return
      isWoken = true
      if (active === null && held === null) schedule(GATHER_MS)
    },
    isOurs: () => isOurs,
    async status() {
      const waiting = await store.system('relay').outboxCount(OUTBOX_COUNT_MAX)
      return { waiting, eldestAt, told, refused, held }
    },
    async stop() {
      isStopped = true
      cancel()
      unwatch()
      await active
      await turn.giveUp().catch((error) => log.warn('relay.not-given-up', { error: textOf(error) }))
    },
  }
}

interface Letter {
  readonly row: OutboxRow
  readonly message: OutgoingMessage
}

interface Sorted {
  readonly letters: readonly Letter[]
  /** The event that they tell of is no more. */
  readonly gone: readonly OutboxRow[]
  /** Nobody can make a message of them. */
  readonly broken: readonly { readonly row: OutboxRow; readonly error: unknown }[]
}

function sort(rows: readonly OutboxRow[], events: readonly StoredEvent[], prefix: string): Sorted {
  const byId = new Map(events.map((event) => [event.id, event]))
  const encoder = new TextEncoder()
  const letters: Letter[] = []
  const gone: OutboxRow[] = []
  const broken: { readonly row: OutboxRow; readonly error: unknown }[] = []
  for (const row of rows) {
    try {
      const message = messageOf(row, row.event === null ? undefined : byId.get(row.event), prefix)
      if (message === null) gone.push(row)
      else letters.push({ row, message: { ...message, body: encoder.encode(message.body) } })
    } catch (error) {
      broken.push({ row, error })
    }
  }
  return { letters, gone, broken }
}
