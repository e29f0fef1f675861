// Reports the changes of all nodes to the watchers of one: a node with watchers says so for a while, and the others send it the
// changes of their commits, in batches. Without watchers anywhere, nothing is sent or collected.
//
// Invariants: FD14 a received change is not passed on, and reaches watchers of its own tenant only. FD15 a message has a bound;
// what does not fit is reported as a gap. FD17 after wake-up signals were interrupted, watchers read again.

import { messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { WAKE_BYTES_MAX, type Wake } from '../../ports/wakes.ts'
import type { EngineDeps } from '../config.ts'
import { CHANGE_TYPES, type Change, changeName, type Feed, type Watcher } from './change-feed.ts'

export interface NodesFeed {
  /** Reports the changes of any node's commits. */
  watch: Feed['watch']
  start(): void
  stop(): void
}

/** How often a node says that it has watchers; it is believed for twice as long. */
const WATCHING_MS = 15_000
const RENEW_MS = 7_500
/** The longest time for which a node believes another. */
const BELIEVED_MS_MAX = 60_000
const GATHER_MS = 100
/** Of one tenant, in one batch; more is a gap. */
const CHANGES_MAX = 500
const MESSAGES_MAX = 4
/**
 * After wake-up signals were interrupted: how long other nodes have to learn of the watchers, before the watchers read again.
 */
const SETTLE_MS = 500
/** If the store did not name its tenants. */
const GAPS_AGAIN_MS = 1_000

export function makeNodesFeed(
  deps: Pick<EngineDeps, 'clock' | 'wakes' | 'log'> & {
    /** Of this node's own commits. */
    readonly feed: Pick<Feed, 'watch'>
    /** All tenants of the store: one without definitions has watchers too. */
    tenants(): Promise<readonly TenantId[]>
  },
): NodesFeed {
  const { clock, wakes, feed } = deps
  let watchers: readonly Watcher[] = []
  let cancelRenewal = () => {}
  let unlisten = () => {}
  let isStopped = false

  let cancelLost = () => {}
  let cancelGaps = () => {}

  let stopForwarding: (() => void) | null = null
  /** What this node changed meanwhile was not sent, and watching nodes may not know yet. */
  let hasMissed = false
  let cancelEnd = () => {}
  let isGathering = false
  /** Something of any tenant may have changed: each gets a gap. */
  let isAllLost = false
  const gathered = new Map<TenantId, Map<string, Change> | 'lost'>()

  const renew = () => {
    if (isStopped || watchers.length === 0) return
    wakes.send({ wake: 'watching', forMs: WATCHING_MS })
    cancelRenewal = clock.after(RENEW_MS, renew)
  }

  const flush = () => {
    isGathering = false
    for (const [tenant, changes] of gathered)
      for (const body of bodiesOf(changes)) wakes.send({ wake: 'changes', tenant, body })
    gathered.clear()
    if (isAllLost) void sendGaps()
  }

  const sendGaps = async () => {
    isAllLost = false
    try {
      for (const tenant of await deps.tenants()) {
        if (isStopped) return
        wakes.send({ wake: 'changes', tenant, body: null })
      }
    } catch (error) {
      deps.log.warn('feed.gaps-not-published', { error: messageOf(error) })
      isAllLost = true
      if (!isStopped) cancelGaps = clock.after(GAPS_AGAIN_MS, () => isAllLost && gather())
    }
  }

  const gather = () => {
    if (isGathering) return
    isGathering = true
    clock.after(GATHER_MS, flush)
  }

  const forwarder: Watcher = {
    changed(tenant, change) {
      const known = gathered.get(tenant)
      if (known === 'lost') return
      const changes = known ?? new Map<string, Change>()
      const name = changeName(change)
      // Of a row that changed several times only the last change is reported.
      changes.delete(name)
      changes.set(name, change)
      gathered.set(tenant, changes.size > CHANGES_MAX ? 'lost' : changes)
      gather()
    },
    lost(tenant) {
      if (tenant === undefined) isAllLost = true
      else gathered.set(tenant, 'lost')
      gather()
    },
  }

  const endForwarding = () => {
    cancelEnd()
    stopForwarding?.()
    stopForwarding = null
  }

  const forwardFor = (forMs: number) => {
    stopForwarding ??= feed.watch(forwarder)
    if (hasMissed) forwarder.lost()
    hasMissed = false
    cancelEnd()
    cancelEnd = clock.after(Math.min(forMs, BELIEVED_MS_MAX), endForwarding)
  }

  const show = (tenant: TenantId, body: string | null) => {
    const changes = body === null ? null : readChanges(body)
    for (const watcher of watchers) {
      if (changes === null) watcher.lost(tenant)
      else for (const change of changes) watcher.changed(tenant, change)
    }
  }

  /** Neither the others nor this node knew of each other's changes, nor perhaps of watchers. */
  const heal = () => {
    cancelRenewal()
    renew()
    cancelLost()
    cancelLost = clock.after(SETTLE_MS, () => {
      for (const watcher of watchers) watcher.lost()
    })
    if (stopForwarding === null) hasMissed = true
    else forwarder.lost()
  }

  const hear = (wake: Wake) => {
    if (wake.wake === 'watching') forwardFor(wake.forMs)
    else if (wake.wake === 'changes') show(wake.tenant, wake.body)
    else if (wake.wake === 'missed') heal()
  }

  return {
    watch(watcher) {
      const unwatch = feed.watch(watcher)
      watchers = [...watchers, watcher]
      if (watchers.length === 1) renew()
      return () => {
        unwatch()
        watchers = watchers.filter((other) => other !== watcher)
        if (watchers.length === 0) cancelRenewal()
      }
    },
    start() {
      unlisten = wakes.listen((wake) => {
        if (!isStopped) hear(wake)
      })
    },
    stop() {
      isStopped = true
      unlisten()
      cancelRenewal()
      cancelLost()
      cancelGaps()
      endForwarding()
    },
  }
}

function bodiesOf(changes: ReadonlyMap<string, Change> | 'lost'): readonly (string | null)[] {
  if (changes === 'lost') return [null]
  const bodies: string[] = []
  let body = ''
  for (const change of changes.values()) {
    const text = JSON.stringify(change)
    const longer = body === '' ? text : `${body},${text}`
    if (bytesOf(longer) + BRACKETS <= WAKE_BYTES_MAX) {
      body = longer
      continue
    }
    if (body !== '') bodies.push(`[${body}]`)
    body = text
    if (bytesOf(text) + BRACKETS > WAKE_BYTES_MAX || bodies.length >= MESSAGES_MAX) return [null]
  }
  return [...bodies, `[${body}]`]
}

const BRACKETS = 2
const encoder = new TextEncoder()

function bytesOf(text: string): number {
  return encoder.encode(text).byteLength
}

/** null: it cannot be read, and counts as lost. Changes that only a newer version knows are skipped. */
function readChanges(body: string): readonly Change[] | null {
  let read: unknown
  try {
    read = JSON.parse(body)
  } catch {
    return null
  }
  return Array.isArray(read) ? read.filter(isChange) : null
}

function isChange(value: unknown): value is Change {
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : null
  return CHANGE_TYPES.some((known) => known === type)
}
