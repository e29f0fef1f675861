// Publishes the outbox to the bus, oldest first, and removes what the bus has.
//
// The store is the truth: a row is removed only after the bus confirmed the message. If anything breaks in between, it is
// published again, with the id by which the bus deduplicates it. A bus that is down holds up nothing; the outbox grows
// meanwhile. A subject that the bus does not accept holds up no other: it is skipped for a while, and the rows behind it are
// read.

import { NewerFactError } from '../../core/events/canonical/index.ts'
import type { StoredEvent } from '../../core/events/event/index.ts'
import { messageOf as textOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { messageOf, type OutboxRow } from '../../core/store/outbox/index.ts'
import { type Bus, BusError, type OutgoingMessage } from '../../ports/bus.ts'
import type { EngineBase } from '../commit/index.ts'
import { makeBlockedSubjects } from './blocked-subjects.ts'
import type { LeaderLease } from './relay-lease.ts'
import { makeRepublisher } from './republish-tokens.ts'

export interface RelayStatus {
  /** Rows that wait to be published; stops at `OUTBOX_COUNT_MAX`. */
  readonly waiting: number
  /** Since when the oldest waits; null: nothing does. */
  readonly eldestAt: Instant | null
  /** Messages that the bus has, and those that it will never accept, since the node's start. */
  readonly told: number
  readonly refused: number
  /** How many subjects this node skips, because the bus does not accept them; stops at a limit. */
  readonly stuck: number
  /** Why it does not continue, as a whole or with a subject; null: it does. */
  readonly held: string | null
}

export interface Relay {
  start(): void
  /** Something may be in the outbox. */
  wake(): void
  /** Whether this node is the one that relays. */
  isOurs(): boolean
  status(): Promise<RelayStatus>
  /** Stops polling. If this node relays, publishes what can be published, until `stop`. */
  drain(): Promise<void>
  /** Resolves when the pass in progress is over, and lets another node continue. */
  stop(): Promise<void>
}

export interface RelayConfig {
  readonly pollMs: number
  readonly busPrefix: string
}

const OUTBOX_COUNT_MAX = 100_000
const BATCH = 500
/** Rows within this time are published together. */
const GATHER_MS = 5
/** A committed row may become visible a little later. */
const SOON_MS = 50
const BACKOFF_MS_MIN = 200
const BACKOFF_MS_MAX = 10_000
/** Nothing is visible, although something may be there: how often the cause is looked for, and from when it is logged. */
const HELD_BACK_MS = 10_000
/** How often a node that stops looks for rows that are about to become visible. */
const LAST_LOOKS = 20
/** Stands for the messages of a newer version among the skipped subjects. No subject has spaces: theirs go on. */
const NEWER = 'messages of a newer version'
/** An operator should look if the oldest waits for longer. */
const LATE_MS = 5 * 60_000

export function makeRelay(
  deps: Pick<EngineBase, 'store' | 'clock' | 'log' | 'time'> & {
    readonly bus: Bus
    readonly leaderLease: LeaderLease
  },
  config: RelayConfig,
): Relay {
  const { store, bus, clock, log, time, leaderLease } = deps
  let isStopped = false
  let isDraining = false
  let isWoken = false
  let isOurs = false
  let isAway = false
  /** The bus was down: which subjects it did not accept before no longer counts. */
  let isBack = false
  let active: Promise<void> | null = null
  let cancel: () => void = () => {}
  let unwatch: () => void = () => {}
  let backoffMs = BACKOFF_MS_MIN
  let held: string | null = null
  const blocked = makeBlockedSubjects()
  const republisher = makeRepublisher(deps)
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
  /** An old transaction that was left open hides what is committed behind it: without a log line nothing would show it. */
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

  /** By tenant, as commits are. */
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

  /** Returns those that the bus has. While it is up, a refused batch says nothing about later rows. */
  const publish = async (
    outgoing: readonly Outgoing[],
    isIsolated: boolean,
  ): Promise<readonly Outgoing[]> => {
    // Lost responses may use up the lease: another node relays then, and an old message must not follow its newer ones.
    if (!leaderLease.isHeld()) return []
    try {
      const answers = await bus.publish(outgoing.map(({ message }) => message))
      return outgoing.filter((_, index) => answers[index] === true)
    } catch (error) {
      if (error instanceof BusError) {
        // None of them will ever be accepted as it is: each is reported by itself.
        if (error.code === 'refused' && !isIsolated) return []
        if (error.code === 'unavailable' && bus.status().isConnected) return []
      }
      throw error
    }
  }

  /** A message that the bus will never accept must not hold up the others: it is removed, and logged. */
  const publishIsolated = async (entry: Outgoing): Promise<boolean> => {
    try {
      if ((await publish([entry], true)).length === 0) return false
      told += 1
    } catch (error) {
      if (!(error instanceof BusError) || error.code !== 'refused') throw error
      noteRefused(entry.row, entry.message.subject, error)
    }
    await take([entry.row])
    return true
  }

  /**
   * Those that the bus did not accept with the others; of a subject none goes before one that did not. Returns those that went.
   */
  const publishRest = async (rest: readonly Outgoing[]): Promise<readonly Outgoing[]> => {
    const bySubject = new Map<string, Outgoing[]>()
    for (const entry of rest) {
      const those = bySubject.get(entry.message.subject)
      if (those === undefined) bySubject.set(entry.message.subject, [entry])
      else those.push(entry)
    }
    const alone = blocked.chooseIsolated([...bySubject.keys()])
    const went: Outgoing[] = []
    const publishSubject = async (subject: string, those: readonly Outgoing[]) => {
      for (const entry of those) {
        const isIsolated = alone.has(subject)
        if (!isIsolated || !(await publishIsolated(entry))) return blocked.add(subject, isIsolated)
        went.push(entry)
      }
    }
    await Promise.all([...bySubject].map(([subject, those]) => publishSubject(subject, those)))
    return went
  }

  /** Returns those that are left, because the bus did not accept their subject. */
  const relayOutgoing = async (outgoing: readonly Outgoing[]): Promise<readonly Outgoing[]> => {
    const free = outgoing.filter(({ message }) => !blocked.has(message.subject))
    const went = new Set(free.length === 0 ? [] : await publish(free, false))
    await take([...went].map(({ row }) => row))
    told += went.size
    for (const entry of await publishRest(free.filter((one) => !went.has(one)))) went.add(entry)
    return outgoing.filter((entry) => !went.has(entry))
  }

  /** One batch; returns whether there may be more at once. */
  const relaySome = async (): Promise<boolean> => {
    // Not in the middle of a pass: what it has read comes after what it skipped.
    if (isBack) blocked.clear()
    isBack = false
    blocked.restartAt(clock.monotonic())
    const after = blocked.after()
    const { rows, events } = await store.system('relay').outbox(BATCH, after)
    if (after === undefined) noteAge(rows)
    await noteHeldBack(after === undefined && rows.length === 0)
    const { outgoing, gone, broken, newer } = sort(rows, events, config.busPrefix)
    for (const { row, error } of broken) noteRefused(row, row.subject, error)
    if (gone.length > 0) log.warn('relay.gone', { count: gone.length, first: gone[0]?.id ?? null })
    if (gone.length + broken.length > 0) await take([...gone, ...broken.map(({ row }) => row)])
    const last = (await relayOutgoing(outgoing)).at(-1)
    const lastNewer = newer.at(-1)
    // Without its lease the node published none of them, and drops what it knows of them before the next pass.
    if (leaderLease.isHeld() && (last !== undefined || lastNewer !== undefined)) {
      if (last !== undefined)
        noteHeld(`the bus does not take ${last.message.subject}; see that a stream has it and has room`)
      if (lastNewer !== undefined) {
        noteHeld('a newer version of Millrace wrote some messages; a node of that version publishes them')
        blocked.add(NEWER, true)
      }
      blocked.pass(Math.max(last?.row.position ?? 0, lastNewer?.position ?? 0))
    }
    const isEnd = rows.length < BATCH
    if (isEnd && !blocked.isEmpty() && blocked.isOnItsWay()) blocked.reachEnd(clock.monotonic(), backOff())
    if (blocked.isEmpty() && !isHeldBack && (isEnd || isAway)) noteGoing()
    return !isEnd
  }

  /** Returns when to look again. */
  const look = async (): Promise<number> => {
    const wasWoken = isWoken
    isWoken = false
    try {
      const othersMs = await leaderLease.take()
      isOurs = othersMs === 0
      if (!isOurs) {
        eldestAt = null
        blocked.clear()
        republisher.forget()
        return Math.min(othersMs, config.pollMs)
      }
      // New rows are published first: republishing waits until there are none.
      const isMore = (await relaySome()) || (await republisher.some())
      isAway = false
      if (isMore) return 0
      return Math.min(wasWoken ? SOON_MS : config.pollMs, blocked.waitMs(clock.monotonic()))
    } catch (error) {
      isAway = true
      noteHeld(textOf(error))
      return backOff()
    }
  }

  /** What is left is held up by the bus, the store, another transaction or another node: the next relay publishes it. */
  const publishRemainder = async () => {
    for (let look = 0; look < LAST_LOOKS && !isStopped; ) {
      if ((await leaderLease.take()) > 0) return
      if (await relaySome()) continue
      if (!blocked.isEmpty() || (await store.system('relay').outboxCount(1)) === 0) return
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
      const [waiting, oldest] = await Promise.all([reads.outboxCount(OUTBOX_COUNT_MAX), reads.outboxEldest()])
      return { waiting, eldestAt: oldest.at, told, refused, stuck: blocked.size(), held }
    },
    async drain() {
      isDraining = true
      cancel()
      await active
      if (isOurs && !isStopped) await publishRemainder().catch((error) => noteHeld(textOf(error)))
    },
    async stop() {
      isStopped = true
      cancel()
      unwatch()
      await active
      await leaderLease.giveUp().catch((error) => log.warn('relay.not-given-up', { error: textOf(error) }))
    },
  }
}

interface Outgoing {
  readonly row: OutboxRow
  readonly message: OutgoingMessage
}

interface Sorted {
  readonly outgoing: readonly Outgoing[]
  /** The event that they are about was deleted. */
  readonly gone: readonly OutboxRow[]
  /** They cannot be rendered as a message. */
  readonly broken: readonly { readonly row: OutboxRow; readonly error: unknown }[]
  /** A newer version wrote them. They stay: a node of that version publishes them. */
  readonly newer: readonly OutboxRow[]
}

function sort(rows: readonly OutboxRow[], events: readonly StoredEvent[], prefix: string): Sorted {
  const byId = new Map(events.map((event) => [event.id, event]))
  const encoder = new TextEncoder()
  const outgoing: Outgoing[] = []
  const gone: OutboxRow[] = []
  const newer: OutboxRow[] = []
  const broken: { readonly row: OutboxRow; readonly error: unknown }[] = []
  for (const row of rows) {
    try {
      const message = messageOf(row, row.event === null ? undefined : byId.get(row.event), prefix)
      if (message === null) gone.push(row)
      else outgoing.push({ row, message: { ...message, body: encoder.encode(message.body) } })
    } catch (error) {
      if (error instanceof NewerFactError) newer.push(row)
      else broken.push({ row, error })
    }
  }
  return { outgoing, gone, broken, newer }
}
