// Sends the latest changes to many readers: one watch per node, one ring of changes per tenant with readers,
// and per reader only a position in it. Messages are gathered, so that a burst costs a few writes a second.
//
// Invariants: FD3 a reader gets changes of its own tenant only. A reader that is too slow misses changes and gets a gap message; it
// never holds more than the message in flight. FD10 a reader that is disconnected frees its seat at once, and its
// connection closes a little later, whether it reads or not.

import type { TenantId } from '../core/foundation/ids/index.ts'
import { type Change, changeName, type Feed } from '../engine/index.ts'
import { showChange } from './shapes.ts'

export interface Reader {
  /** false: it cannot take more until `drained` is called. */
  write(text: string): boolean
  /** Sends a closing message; a client that does not read never receives it. */
  end(): void
  /** Cuts the connection. */
  drop(): void
  /** Whether it may go on reading; asked at every ping. */
  mayRead(): Promise<boolean>
}

export interface Seat {
  drained(): void
  leave(): void
}

interface Who {
  readonly tenant: TenantId
  /** Names the key, whatever sessions stand on it. */
  readonly credential: string
  /** What this reader may see of the changes; left out: all. Readers with a lens of one name see the same. */
  readonly lens?: Lens
}

export interface Lens {
  readonly name: string
  sees(change: Change): boolean
}

export interface StreamHub {
  /** Says who reads too much already. `lastId` is the last message that the reader has seen. */
  join(who: Who, lastId: string | null, reader: Reader): Seat | 'tenant' | 'credential' | 'closed'
  /** Asks all readers of a tenant now whether they still may, instead of at the next ping. */
  recheck(tenant: TenantId): void
  close(): void
}

export interface HubLimits {
  /** Changes in memory per tenant, to resume from after a short break. */
  readonly ringMax: number
  /** Changes that one reader may be behind. */
  readonly behindMax: number
  /** Per tenant. */
  readonly readersMax: number
  readonly readersPerCredentialMax: number
  readonly gatherMs: number
  readonly pingMs: number
  /** How long changes stay in memory for readers that may reconnect. */
  readonly lingerMs: number
  /** A reader that takes nothing for so long is let go. */
  readonly stuckMsMax: number
  /** How long a reader has to take its end. */
  readonly endMsMax: number
}

export const HUB_LIMITS: HubLimits = {
  ringMax: 4_096,
  behindMax: 1_000,
  readersMax: 50,
  readersPerCredentialMax: 10,
  gatherMs: 125,
  pingMs: 15_000,
  lingerMs: 30_000,
  stuckMsMax: 60_000,
  endMsMax: 3_000,
}

interface Room {
  readonly ring: Change[]
  /** How many changes there ever were. */
  head: number
  /** No reader can resume before this one: changes were lost. */
  floor: number
  readonly seats: Set<Sitting>
  isDue: boolean
  cancelEnd: () => void
}

interface Sitting {
  readonly who: Who
  readonly reader: Reader
  /** The next change to send. */
  at: number
  hasGap: boolean
  /** Since when it takes nothing; null while it does. */
  stuckAt: number | null
  cancelDrop: () => void
}

export function makeStreamHub(
  deps: {
    watch: Feed['watch']
    /** Names this life of the node: numbers of an earlier one mean nothing. */
    readonly life: string
    after(delayMs: number, callback: () => void): () => void
    monotonic(): number
  },
  limits: HubLimits = HUB_LIMITS,
): StreamHub {
  const rooms = new Map<TenantId, Room>()
  let unwatch: (() => void) | null = null
  let isGathering = false
  let cancelPing: (() => void) | null = null
  let isClosed = false

  const gather = () => {
    if (isGathering) return
    isGathering = true
    deps.after(limits.gatherMs, () => {
      isGathering = false
      for (const room of rooms.values()) if (room.isDue) flush(room)
    })
  }

  const markDue = (room: Room) => {
    room.isDue = true
    gather()
  }

  const watch = () => {
    unwatch ??= deps.watch({
      changed(tenant, change) {
        const room = rooms.get(tenant)
        if (room === undefined) return
        room.ring[room.head % limits.ringMax] = change
        room.head += 1
        if (!room.isDue && room.seats.size > 0) markDue(room)
      },
      lost(tenant) {
        for (const [name, room] of rooms) {
          if (tenant !== undefined && name !== tenant) continue
          for (const sitting of room.seats) sitting.hasGap = true
          room.head += 1
          room.floor = room.head
          markDue(room)
        }
      },
    })
  }

  const idOf = (room: Room) => `${deps.life}-${room.head}`

  const send = (sitting: Sitting, text: string) => {
    if (!sitting.reader.write(text)) sitting.stuckAt = deps.monotonic()
  }

  const flush = (room: Room) => {
    room.isDue = false
    /** Most readers are at the same place: their message is made once. */
    const texts = new Map<string, string>()
    for (const sitting of room.seats) {
      if (sitting.stuckAt !== null || (sitting.at === room.head && !sitting.hasGap)) continue
      const behind = room.head - sitting.at
      const isGap = sitting.hasGap || behind > limits.behindMax
      const from = sitting.at
      sitting.at = room.head
      sitting.hasGap = false
      if (isGap) {
        send(sitting, message('gap', idOf(room), `{"dropped":${behind}}`))
        continue
      }
      const place = `${from} ${sitting.who.lens?.name ?? ''}`
      const known = texts.get(place) ?? changesMessage(room, from, sitting.who)
      texts.set(place, known)
      send(sitting, known)
    }
  }

  const changesMessage = (room: Room, from: number, { lens }: Who): string => {
    // If a row changed several times, only the last change is sent.
    const latest = new Map<string, Change>()
    for (let at = from; at < room.head; at += 1) {
      const change = room.ring[at % limits.ringMax] as Change
      if (lens?.sees(change) === false) continue
      const name = changeName(change)
      latest.delete(name)
      latest.set(name, change)
    }
    const changes = [...latest.values()].map(showChange)
    return message('changes', idOf(room), JSON.stringify({ changes }))
  }

  const letGo = (room: Room, sitting: Sitting) => {
    if (!room.seats.has(sitting)) return
    leave(room, sitting)
    if (sitting.stuckAt !== null) return sitting.reader.drop()
    sitting.reader.end()
    sitting.cancelDrop = deps.after(limits.endMsMax, () => sitting.reader.drop())
  }

  const check = (room: Room, sitting: Sitting) => {
    sitting.reader.mayRead().then(
      (may) => {
        if (!may) letGo(room, sitting)
      },
      // The check failed: the next ping asks again.
      () => {},
    )
  }

  const ping = () => {
    cancelPing = null
    for (const room of rooms.values()) {
      for (const sitting of room.seats) {
        const { stuckAt } = sitting
        if (stuckAt === null) send(sitting, message('ping', null, '{}'))
        else if (deps.monotonic() - stuckAt >= limits.stuckMsMax) {
          letGo(room, sitting)
          continue
        }
        check(room, sitting)
      }
    }
    schedulePing()
  }
  const schedulePing = () => {
    if (isClosed || ![...rooms.values()].some(({ seats }) => seats.size > 0)) return
    cancelPing ??= deps.after(limits.pingMs, ping)
  }

  const roomOf = (tenant: TenantId): Room => {
    const known = rooms.get(tenant)
    if (known !== undefined) return known
    const made: Room = { ring: [], head: 0, floor: 0, seats: new Set(), isDue: false, cancelEnd: () => {} }
    rooms.set(tenant, made)
    return made
  }

  const leave = (room: Room, sitting: Sitting) => {
    if (!room.seats.delete(sitting) || room.seats.size > 0 || isClosed) return
    room.cancelEnd = deps.after(limits.lingerMs, () => {
      rooms.delete(sitting.who.tenant)
      if (rooms.size > 0) return
      unwatch?.()
      unwatch = null
    })
  }

  /** Where a reader goes on that has seen `lastId`; null when that is too long ago. */
  const resume = (room: Room, lastId: string): number | null => {
    const prefix = `${deps.life}-`
    const seen = lastId.startsWith(prefix) ? Number(lastId.slice(prefix.length)) : Number.NaN
    if (!Number.isInteger(seen) || seen > room.head || seen < room.floor || room.head - seen > limits.ringMax)
      return null
    return seen
  }

  return {
    join(who, lastId, reader) {
      if (isClosed) return 'closed'
      const isNew = !rooms.has(who.tenant)
      const room = roomOf(who.tenant)
      if (room.seats.size >= limits.readersMax) return 'tenant'
      const own = [...room.seats].filter((other) => other.who.credential === who.credential)
      if (own.length >= limits.readersPerCredentialMax) return 'credential'
      watch()
      room.cancelEnd()
      const at = lastId === null || isNew ? null : resume(room, lastId)
      const hasGap = lastId !== null && at === null
      const sitting: Sitting = {
        who,
        reader,
        at: at ?? room.head,
        hasGap,
        stuckAt: null,
        cancelDrop: () => {},
      }
      room.seats.add(sitting)
      // The first message names the place from which the reader can go on.
      send(sitting, message('ping', hasGap || sitting.at < room.head ? null : idOf(room), '{}'))
      if (hasGap || sitting.at < room.head) markDue(room)
      schedulePing()
      return {
        drained() {
          sitting.stuckAt = null
          if (sitting.at < room.head || sitting.hasGap) markDue(room)
        },
        leave() {
          sitting.cancelDrop()
          leave(room, sitting)
        },
      }
    },
    recheck(tenant) {
      const room = rooms.get(tenant)
      for (const sitting of room?.seats ?? []) check(room as Room, sitting)
    },
    close() {
      isClosed = true
      unwatch?.()
      unwatch = null
      cancelPing?.()
      for (const room of rooms.values()) {
        room.cancelEnd()
        for (const sitting of [...room.seats]) letGo(room, sitting)
      }
      rooms.clear()
    },
  }
}

function message(name: string, id: string | null, data: string): string {
  return `event: ${name}\n${id === null ? '' : `id: ${id}\n`}data: ${data}\n\n`
}
