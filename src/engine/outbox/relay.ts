// Tells the bus what the outbox holds, eldest first, and takes out what the bus has.
//
// The store is the truth: a row goes only after the bus said that it has the message, so that whatever breaks in between is
// told again, with the id by which the bus knows it. A bus that is away holds nobody up; the outbox grows meanwhile. A subject
// that the bus does not take holds up no other: it is passed by for a while, and what comes behind it is read.

import type { StoredEvent } from '../../core/events/event/index.ts'
import { messageOf as textOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { messageOf, type OutboxRow } from '../../core/store/outbox/index.ts'
import { type Bus, BusError, type OutgoingMessage } from '../../ports/bus.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import type { StoreTime } from '../commit/index.ts'
import { makeStuck } from './blocked-subjects.ts'
import type { Turn } from './relay-lease.ts'
import { makeRetelling } from './republish-tokens.ts'

export interface RelayStatus {
  /** What waits to be told; stops at `OUTBOX_COUNT_MAX`. */
  readonly waiting: number
  /** Since when the eldest waits; null: nothing does. */
  readonly eldestAt: Instant | null
  /** Messages that the bus has, and those that it will never take, since the node's start. */
  readonly told: number
  readonly refused: number
  /** How many subjects this node passes by, because the bus does not take them; stops somewhere. */
  readonly stuck: number
  /** Why it does not go on, as a whole or with a subject; null: it does. */
  readonly held: string | null
}

export interface Relay {
  start(): void
  /** Something may be in the outbox. */
  wake(): void
  /** Whether this node is the one that relays. */
  isOurs(): boolean
  status(): Promise<RelayStatus>
  /** Looks for itself no more. Tells what can be told if this node relays, until `stop`. */
  drain(): Promise<void>
  /** Settles when the look under way is over, and lets another node go on. */
  stop(): Promise<void>
}

export interface RelayConfig {
  readonly pollMs: number
  readonly busPrefix: string
}

const OUTBOX_COUNT_MAX = 100_000
const BATCH = 500
/** What comes within this goes together. */
const GATHER_MS = 5
/** A row that is committed may be answered a little later. */
const SOON_MS = 50
const BACKOFF_MS_MIN = 200
const BACKOFF_MS_MAX = 10_000
/** Nothing is answered, and something may be there: who holds it back is looked for so often, and said from then on. */
const HELD_BACK_MS = 10_000
/** A node that goes looks so often for what is about to be answered. */
const LAST_LOOKS = 20
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
  let isDraining = false
  let isWoken = false
  let isOurs = false
  let isAway = false
  /** The bus was away: what it did not take before says nothing any more. */
  let isBack = false
  let active: Promise<void> | null = null
  let cancel: () => void = () => {}
  let unwatch: () => void = () => {}
  let backoffMs = BACKOFF_MS_MIN
  let held: string | null = null
  const stuck = makeStuck()
  const retelling = makeRetelling(deps)
  let isLate = false
  let isHeldBack = false
  let lookAt = 0
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
  const backOff = (): number => {
    const waitMs = backoffMs
    backoffMs = Math.min(BACKOFF_MS_MAX, backoffMs * 2)
    return waitMs
  }
  /** An old transaction that somebody left open hides what is committed behind it: without a word nothing would be told. */
  const noteHeldBack = async (isNothing: boolean) => {
    const now = clock.monotonic()
    if (isNothing && now < lookAt) return
    lookAt = now + HELD_BACK_MS
    isHeldBack = false
    if (!isNothing) return
    const { at, heldBy } = await store.system('relay').outboxEldest()
    if (at === null || heldBy === null || time.now() - at < HELD_BACK_MS) return
    isHeldBack = true
    noteHeld(heldBy)
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

  /** Those that the bus has. While it is there, that it took none says nothing of what comes behind them. */
  const publish = async (letters: readonly Letter[], isAlone: boolean): Promise<readonly Letter[]> => {
    // Lost answers may use up the turn: another node relays then, and an old message must not come behind its newer ones.
    if (!turn.isHeld()) return []
    try {
      const answers = await bus.publish(letters.map(({ message }) => message))
      return letters.filter((_, index) => answers[index] === true)
    } catch (error) {
      if (error instanceof BusError) {
        // None of them will ever be taken as it is: each is told of by itself.
        if (error.code === 'refused' && !isAlone) return []
        if (error.code === 'unavailable' && bus.status().isConnected) return []
      }
      throw error
    }
  }

  /** One that the bus will never take must not hold the others up: it goes, and somebody is told. */
  const publishAlone = async (letter: Letter): Promise<boolean> => {
    try {
      if ((await publish([letter], true)).length === 0) return false
      told += 1
    } catch (error) {
      if (!(error instanceof BusError) || error.code !== 'refused') throw error
      noteRefused(letter.row, letter.message.subject, error)
    }
    await take([letter.row])
    return true
  }

  /** Those that the bus did not take with the others; of a subject none goes before one that did not. Answers who went. */
  const publishRest = async (rest: readonly Letter[]): Promise<readonly Letter[]> => {
    const bySubject = new Map<string, Letter[]>()
    for (const letter of rest) {
      const those = bySubject.get(letter.message.subject)
      if (those === undefined) bySubject.set(letter.message.subject, [letter])
      else those.push(letter)
    }
    const alone = stuck.chooseAlone([...bySubject.keys()])
    const went: Letter[] = []
    const tell = async (subject: string, those: readonly Letter[]) => {
      for (const letter of those) {
        const isAlone = alone.has(subject)
        if (!isAlone || !(await publishAlone(letter))) return stuck.add(subject, isAlone)
        went.push(letter)
      }
    }
    await Promise.all([...bySubject].map(([subject, those]) => tell(subject, those)))
    return went
  }

  /** Answers what is left, because the bus did not take its subject. */
  const relayLetters = async (letters: readonly Letter[]): Promise<readonly Letter[]> => {
    const free = letters.filter(({ message }) => !stuck.has(message.subject))
    const went = new Set(free.length === 0 ? [] : await publish(free, false))
    await take([...went].map(({ row }) => row))
    told += went.size
    for (const letter of await publishRest(free.filter((one) => !went.has(one)))) went.add(letter)
    return letters.filter((letter) => !went.has(letter))
  }

  /** One batch; answers whether there may be more at once. */
  const relaySome = async (): Promise<boolean> => {
    // Not in the middle of a look: what it has read comes behind what it passed by.
    if (isBack) stuck.clear()
    isBack = false
    stuck.beginAnewAt(clock.monotonic())
    const after = stuck.after()
    const { rows, events } = await store.system('relay').outbox(BATCH, after)
    if (after === undefined) noteAge(rows)
    await noteHeldBack(after === undefined && rows.length === 0)
    const { letters, gone, broken } = sort(rows, events, config.busPrefix)
    for (const { row, error } of broken) noteRefused(row, row.subject, error)
    if (gone.length > 0) log.warn('relay.gone', { count: gone.length, first: gone[0]?.id ?? null })
    if (gone.length + broken.length > 0) await take([...gone, ...broken.map(({ row }) => row)])
    const last = (await relayLetters(letters)).at(-1)
    // Without its turn the node published none of them, and drops what it knows of them before it looks again.
    if (last !== undefined && turn.isHeld()) {
      noteHeld(`the bus does not take ${last.message.subject}; see that a stream has it and has room`)
      stuck.pass(last.row.position)
    }
    const isEnd = rows.length < BATCH
    if (isEnd && !stuck.isEmpty() && stuck.isOnItsWay()) stuck.reachEnd(clock.monotonic(), backOff())
    if (stuck.isEmpty() && !isHeldBack && (isEnd || isAway)) noteGoing()
    return !isEnd
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
        stuck.clear()
        retelling.forget()
        return Math.min(othersMs, config.pollMs)
      }
      // What happens is told first: what is told anew waits until nothing else does.
      const isMore = (await relaySome()) || (await retelling.some())
      isAway = false
      if (isMore) return 0
      return Math.min(wasWoken ? SOON_MS : config.pollMs, stuck.waitMs(clock.monotonic()))
    } catch (error) {
      isAway = true
      noteHeld(textOf(error))
      return backOff()
    }
  }

  /** What is left is behind the bus, the store, another's transaction or another node: whoever relays next tells it. */
  const tellRest = async () => {
    for (let look = 0; look < LAST_LOOKS && !isStopped; ) {
      if ((await turn.take()) > 0) return
      if (await relaySome()) continue
      if (!stuck.isEmpty() || (await store.system('relay').outboxCount(1)) === 0) return
      look += 1
      await new Promise<void>((resolve) => clock.after(SOON_MS, resolve))
    }
  }

  const run = () => {
    cancel()
    if (isStopped || isDraining || active !== null) return
    active = look().then((delayMs) => {
      active = null
      schedule(isWoken && !isAway ? Math.min(delayMs, GATHER_MS) : delayMs)
    })
  }
  const schedule = (delayMs: number) => {
    cancel()
    if (!isStopped && !isDraining) cancel = clock.after(delayMs, run)
  }

  return {
    start() {
      let wasConnected = bus.status().isConnected
      unwatch = bus.watch(({ isConnected }) => {
        if (isConnected && !wasConnected) isBack = true
        wasConnected = isConnected
        if (isConnected && active === null) schedule(0)
      })
      schedule(0)
    },
    wake() {
      if (isWoken || !isOurs) return
      isWoken = true
      if (active === null && !isAway) schedule(GATHER_MS)
    },
    isOurs: () => isOurs,
    async status() {
      const reads = store.system('relay')
      const [waiting, eldest] = await Promise.all([reads.outboxCount(OUTBOX_COUNT_MAX), reads.outboxEldest()])
      return { waiting, eldestAt: eldest.at, told, refused, stuck: stuck.size(), held }
    },
    async drain() {
      isDraining = true
      cancel()
      await active
      if (isOurs && !isStopped) await tellRest().catch((error) => noteHeld(textOf(error)))
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
