// Counts the deliveries in flight to each endpoint from this node, and limits how many more may start. The core has the
// rules (src/core/webhooks/subscription/endpoint-concurrency-limit.ts); this is their state.
//
// A call counts until the response: while a result is stored, the next call is already in flight. An endpoint that answers faster
// than the store claims gets jobs ahead of its limit: they are leased, wait here, and each leaves when a call ends. Without them 64
// calls ended while one claim was under way, and for 56 % of the time none was in flight.
//
// Invariants: DY20 no endpoint has more calls at once than its limit. DY33 no more jobs wait here than twice the calls that ended
// during the last claim: none for a slow endpoint. DY21 while it is paused, none of its jobs is claimed or leased on insert, and
// those that wait here go back. Jobs leased on insert leave half of a limit to jobs that are already due.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Route } from '../../core/routing/index.ts'
import {
  type ConcurrencyLimit,
  concurrencyAllows,
  type EndpointSign,
  newConcurrencyLimit,
  stepConcurrencyLimit,
} from '../../core/webhooks/subscription/index.ts'
import type { Random } from '../../ports/random.ts'
import type { StoreTime } from '../commit/index.ts'
import type { JobSlot } from '../leases/index.ts'

/** The state of sending to an endpoint, on this node. */
export interface EndpointConcurrencyView {
  /** How many calls may be in flight at once. */
  readonly limit: number
  readonly inFlight: number
  /** Nothing is sent before; null: it is not paused. */
  readonly pausedUntil: Instant | null
}

export interface CallEnded {
  readonly startedAt: Instant
  readonly sign: EndpointSign
  readonly retryAfterMs: number | null
}

export interface EndpointConcurrency {
  /**
   * How many more jobs may be claimed; `until`: when to ask again, null: when one of its own ends. `isAhead`: a claim follows, and
   * may take jobs that wait here.
   */
  room(
    tenant: TenantId,
    route: Route,
    isAhead?: boolean,
  ): { readonly max: number; readonly until: Instant | null }
  /** Until when it is paused; null: it is not. */
  pausedUntil(tenant: TenantId, consumer: string): Instant | null
  mayLeaseOnInsert(tenant: TenantId, route: Route): boolean
  /** One more job is leased to this node. */
  begin(tenant: TenantId, consumer: string): void
  /** Whether the job may call; a promise: the limit is reached, and it waits until a call ends. False: the endpoint is paused. */
  enter(tenant: TenantId, consumer: string, slot: JobSlot): boolean | Promise<boolean>
  /** Its call has ended, or none is made. `slot`: null if it was never leased. */
  end(tenant: TenantId, consumer: string, slot: JobSlot | null): void
  /** The result of a claim: `isDry`, nothing due is left. */
  took(tenant: TenantId, consumer: string, isDry: boolean): void
  reportResult(tenant: TenantId, consumer: string, ended: CallEnded): void
  /** An operator wants the endpoint to be tried now: a pause ends. */
  forget(tenant: TenantId, consumer: string): void
  view(tenant: TenantId, consumer: string): EndpointConcurrencyView | null
}

interface Endpoint {
  readonly tenant: TenantId
  readonly consumer: string
  /** The definition it was learned with; null: not known yet. */
  route: Route | null
  window: ConcurrencyLimit
  /** Calls that started earlier went to another URL, or were made before it was fixed. */
  since: Instant
  /** Jobs leased to this node whose call has not ended. */
  leased: number
  /** Of these, the calls in flight. */
  inFlight: number
  /** The others, in the order in which they came. */
  readonly waiting: { readonly slot: JobSlot; resolve(mayCall: boolean): void }[]
  /** Calls that ended since a claim was due; null: none is. */
  endedSince: number | null
  /** Calls that ended while the last claim was under way. */
  pace: number
  /** More jobs are due than it can take. */
  isBehind: boolean
  /** Since when there is capacity that no claim has used; null: there was none at the last claim. */
  roomSince: Instant | null
}

/** Beyond this, idle endpoints are forgotten. */
const ENDPOINTS_MAX = 20_000
/** Capacity of less than this part of a limit is claimed after a moment, when there may be more: one claim for many. */
const GATHER_SHARE = 4
const GATHER_MS = 5
/** Waiting jobs of one endpoint at most. */
const AHEAD_MAX = 128

export function makeEndpointConcurrency(deps: {
  readonly time: StoreTime
  readonly random: Pick<Random, 'unit'>
  wake(delayMs: number): void
  /** There is capacity for waiting jobs, now or in a moment. */
  room(delayMs: number): void
}): EndpointConcurrency {
  const { time, random } = deps
  const all = new Map<string, Endpoint>()

  /** The endpoint of the last lookup: most come several times in a row. */
  let latest: Endpoint | null = null

  const findEndpoint = (tenant: TenantId, consumer: string): Endpoint | undefined => {
    if (latest !== null && latest.consumer === consumer && latest.tenant === tenant) return latest
    const known = all.get(`${tenant}/${consumer}`)
    if (known !== undefined) latest = known
    return known
  }

  const endpointOf = (tenant: TenantId, consumer: string): Endpoint => {
    const known = findEndpoint(tenant, consumer)
    if (known !== undefined) return known
    if (all.size >= ENDPOINTS_MAX) forgetSome()
    const made: Endpoint = {
      tenant,
      consumer,
      route: null,
      window: newConcurrencyLimit(null),
      since: Number.NEGATIVE_INFINITY,
      leased: 0,
      inFlight: 0,
      waiting: [],
      endedSince: null,
      pace: 0,
      isBehind: false,
      roomSince: null,
    }
    all.set(`${tenant}/${consumer}`, made)
    latest = made
    return made
  }

  const forgetSome = () => {
    const now = time.now()
    latest = null
    for (const [name, { window, leased }] of all) {
      if (leased === 0 && (window.pause === null || window.pause.until <= now)) all.delete(name)
      if (all.size < ENDPOINTS_MAX / 2) return
    }
  }

  /** With the current limit of its subscription. */
  const current = (tenant: TenantId, route: Route): Endpoint => {
    const { consumer, document } = route
    const endpoint = endpointOf(tenant, consumer)
    const limit = document.concurrency?.limit ?? null
    if (endpoint.route !== route) {
      // The subscription was fixed, perhaps its URL, or enabled again: what was learned before, and calls in flight, no
      // longer count.
      const isOther = endpoint.route !== null && endpoint.route.hash !== route.hash
      if (endpoint.route !== null && (isOther || endpoint.window.pause !== null))
        endpoint.window = newConcurrencyLimit(limit)
      if (endpoint.route !== null) endpoint.since = time.now()
      endpoint.route = route
    }
    if (limit === null ? endpoint.window.limit < DEFAULT_LIMIT : endpoint.window.limit !== limit)
      endpoint.window = stepConcurrencyLimit(endpoint.window, { type: 'limit', limit })
    return endpoint
  }

  const start = (endpoint: Endpoint, slot: JobSlot): true => {
    slot.call = 'runs'
    endpoint.inFlight += 1
    return true
  }

  /** Lets waiting jobs call, as many as are allowed. While the endpoint is paused none may, and none waits here. */
  const letIn = (endpoint: Endpoint, allowed: number) => {
    const { waiting, inFlight } = endpoint
    if (waiting.length === 0) return
    const count = allowed === 0 ? waiting.length : Math.max(0, allowed - inFlight)
    for (const { slot, resolve } of waiting.splice(0, count)) resolve(allowed > 0 && start(endpoint, slot))
  }

  return {
    room(tenant, route, isAhead = false) {
      const endpoint = current(tenant, route)
      const { window, leased } = endpoint
      const allowed = concurrencyAllows(window, time.now())
      if (allowed === 0) return { max: 0, until: window.pause?.until ?? null }
      if (leased >= allowed) endpoint.isBehind = true
      const max = Math.max(0, allowed + (isAhead ? aheadOf(endpoint) : 0) - leased)
      const { roomSince } = endpoint
      if (roomSince !== null && isLittle(max, allowed, endpoint) && time.now() < roomSince + GATHER_MS)
        return { max: 0, until: roomSince + GATHER_MS }
      if (isAhead && max > 0) endpoint.endedSince ??= 0
      return { max, until: null }
    },
    pausedUntil(tenant, consumer) {
      const pause = findEndpoint(tenant, consumer)?.window.pause ?? null
      return pause !== null && time.now() < pause.until ? pause.until : null
    },
    mayLeaseOnInsert(tenant, route) {
      const endpoint = current(tenant, route)
      const { window, leased, isBehind } = endpoint
      const allowed = concurrencyAllows(window, time.now())
      if (leased < (isBehind ? Math.ceil(allowed / 2) : allowed)) return true
      endpoint.isBehind = true
      return false
    },
    begin(tenant, consumer) {
      endpointOf(tenant, consumer).leased += 1
    },
    enter(tenant, consumer, slot) {
      const endpoint = endpointOf(tenant, consumer)
      const allowed = concurrencyAllows(endpoint.window, time.now())
      if (allowed === 0) return false
      if (endpoint.inFlight < allowed) return start(endpoint, slot)
      return new Promise((resolve) => endpoint.waiting.push({ slot, resolve }))
    },
    end(tenant, consumer, slot) {
      const endpoint = endpointOf(tenant, consumer)
      endpoint.leased = Math.max(0, endpoint.leased - 1)
      if (slot?.call === 'runs') endpoint.inFlight -= 1
      if (slot !== null) slot.call = 'over'
      if (endpoint.endedSince !== null) endpoint.endedSince += 1
      const now = time.now()
      const allowed = concurrencyAllows(endpoint.window, now)
      letIn(endpoint, allowed)
      if (!endpoint.isBehind) return
      const room = allowed + aheadOf(endpoint) - endpoint.leased
      if (allowed === 0 || room <= 0) return
      endpoint.roomSince ??= now
      const isSmall = isLittle(room, allowed, endpoint)
      if (!isSmall) endpoint.endedSince ??= 0
      deps.room(isSmall ? GATHER_MS : 0)
    },
    took(tenant, consumer, isDry) {
      const endpoint = findEndpoint(tenant, consumer)
      if (endpoint === undefined) return
      endpoint.pace = isDry ? 0 : (endpoint.endedSince ?? 0)
      endpoint.endedSince = null
      endpoint.isBehind = !isDry
      endpoint.roomSince = null
    },
    reportResult(tenant, consumer, { startedAt, sign, retryAfterMs }) {
      const endpoint = endpointOf(tenant, consumer)
      if (startedAt < endpoint.since) return
      const at = time.now()
      const before = endpoint.window.pause?.until ?? null
      const jitter = random.unit()
      endpoint.window = stepConcurrencyLimit(endpoint.window, {
        type: 'ended',
        startedAt,
        at,
        sign,
        retryAfterMs,
        jitter,
      })
      const until = endpoint.window.pause?.until ?? null
      if (until === null || until === before) return
      deps.wake(Math.max(0, until - at))
      letIn(endpoint, concurrencyAllows(endpoint.window, at))
    },
    forget(tenant, consumer) {
      const endpoint = findEndpoint(tenant, consumer)
      if (endpoint === undefined || endpoint.window.pause === null) return
      endpoint.window = stepConcurrencyLimit(newConcurrencyLimit(null), {
        type: 'limit',
        limit: endpoint.window.limit,
      })
      deps.wake(0)
    },
    view(tenant, consumer) {
      const endpoint = findEndpoint(tenant, consumer)
      if (endpoint === undefined) return null
      const { window, inFlight } = endpoint
      const now = time.now()
      const { pause } = window
      return {
        limit: window.size,
        inFlight,
        pausedUntil: pause !== null && now < pause.until ? pause.until : null,
      }
    },
  }
}

/** How many jobs may wait here: they last for the next claim and the one after it. */
function aheadOf({ pace, window }: Endpoint): number {
  return window.pause === null ? Math.min(AHEAD_MAX, 2 * pace) : 0
}

function isLittle(room: number, allowed: number, { pace }: Endpoint): boolean {
  return room * GATHER_SHARE < allowed || room < Math.min(pace, AHEAD_MAX / 2)
}

const DEFAULT_LIMIT = newConcurrencyLimit(null).limit
