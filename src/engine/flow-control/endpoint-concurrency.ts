// How many deliveries are on their way to each endpoint from this node, and how many more may be. The rules are the core's
// (src/core/webhooks/subscription/endpoint-concurrency-limit.ts); here they are remembered and counted.
//
// What is counted are calls, from the claim until they are answered: while an answer is written down, the next is on its way already.
//
// Invariants: DY20 no endpoint has more calls at once than its window. DY21 while it pauses nothing of it is claimed or born leased, and
// its items are not written for that. Births leave half of a window to what is due already.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Route } from '../../core/routing/index.ts'
import {
  type EndpointSign,
  newWindow,
  stepWindow,
  type Window,
  windowAllows,
} from '../../core/webhooks/subscription/index.ts'
import type { Random } from '../../ports/random.ts'
import type { StoreTime } from '../commit/index.ts'

/** How this node sends to an endpoint. */
export interface EndpointWindow {
  /** How many may be on their way at once. */
  readonly limit: number
  readonly inFlight: number
  /** Nothing is sent before; null: it does not wait. */
  readonly pausedUntil: Instant | null
}

export interface CallEnded {
  readonly startedAt: Instant
  readonly sign: EndpointSign
  readonly retryAfterMs: number | null
}

export interface Windows {
  /** How many more may be claimed; `until`: when to ask again, null: when one of its own is over. */
  room(tenant: TenantId, route: Route): { readonly max: number; readonly until: Instant | null }
  /** Until when it pauses; null: it does not. */
  pausedUntil(tenant: TenantId, consumer: string): Instant | null
  bears(tenant: TenantId, route: Route): boolean
  /** One more is in our hands. */
  begin(tenant: TenantId, consumer: string): void
  /** Its call is over, or none is made. */
  end(tenant: TenantId, consumer: string): void
  /** What a claim left: `isDry`, nothing that is due. */
  took(tenant: TenantId, consumer: string, isDry: boolean): void
  told(tenant: TenantId, consumer: string, ended: CallEnded): void
  /** A person wants the endpoint tried now: a pause is over. */
  forget(tenant: TenantId, consumer: string): void
  view(tenant: TenantId, consumer: string): EndpointWindow | null
}

interface Endpoint {
  readonly tenant: TenantId
  readonly consumer: string
  /** What it was learnt with; null: not known yet. */
  route: Route | null
  window: Window
  /** Calls that began before went elsewhere, or when nobody had mended it. */
  since: Instant
  inFlight: number
  /** More of it is due than it bears. */
  isBehind: boolean
  /** Since when there is room that nobody has claimed for; null: there was none at the last claim. */
  roomSince: Instant | null
}

/** Those that nobody sends to are forgotten beyond this. */
const ENDPOINTS_MAX = 20_000
/** Room for less than this part of a window is claimed for after a moment, when there may be more: one claim for many. */
const GATHER_SHARE = 4
const GATHER_MS = 5

export function makeWindows(deps: {
  readonly time: StoreTime
  readonly random: Pick<Random, 'unit'>
  wake(delayMs: number): void
  /** There is room for some that wait, now or in a moment. */
  room(delayMs: number): void
}): Windows {
  const { time, random } = deps
  const all = new Map<string, Endpoint>()

  /** The one that was asked for last: most come several times in a row. */
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
      window: newWindow(null),
      since: Number.NEGATIVE_INFINITY,
      inFlight: 0,
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
    for (const [name, { window, inFlight }] of all) {
      if (inFlight === 0 && (window.pause === null || window.pause.until <= now)) all.delete(name)
      if (all.size < ENDPOINTS_MAX / 2) return
    }
  }

  /** With the limit that its subscription has by now. */
  const current = (tenant: TenantId, route: Route): Endpoint => {
    const { consumer, document } = route
    const endpoint = endpointOf(tenant, consumer)
    const limit = document.concurrency?.limit ?? null
    if (endpoint.route !== route) {
      // Somebody mended it, perhaps its address, or put it to work again: what was learnt before, and what is on its way, say nothing.
      const isOther = endpoint.route !== null && endpoint.route.hash !== route.hash
      if (endpoint.route !== null && (isOther || endpoint.window.pause !== null))
        endpoint.window = newWindow(limit)
      if (endpoint.route !== null) endpoint.since = time.now()
      endpoint.route = route
    }
    if (limit === null ? endpoint.window.limit < DEFAULT_LIMIT : endpoint.window.limit !== limit)
      endpoint.window = stepWindow(endpoint.window, { type: 'limit', limit })
    return endpoint
  }

  return {
    room(tenant, route) {
      const endpoint = current(tenant, route)
      const { window, inFlight } = endpoint
      const allowed = windowAllows(window, time.now())
      if (allowed === 0) return { max: 0, until: window.pause?.until ?? null }
      if (inFlight >= allowed) endpoint.isBehind = true
      const max = Math.max(0, allowed - inFlight)
      const { roomSince } = endpoint
      if (roomSince !== null && isLittle(max, allowed) && time.now() < roomSince + GATHER_MS)
        return { max: 0, until: roomSince + GATHER_MS }
      return { max, until: null }
    },
    pausedUntil(tenant, consumer) {
      const pause = findEndpoint(tenant, consumer)?.window.pause ?? null
      return pause !== null && time.now() < pause.until ? pause.until : null
    },
    bears(tenant, route) {
      const endpoint = current(tenant, route)
      const { window, inFlight, isBehind } = endpoint
      const allowed = windowAllows(window, time.now())
      if (inFlight < (isBehind ? Math.ceil(allowed / 2) : allowed)) return true
      endpoint.isBehind = true
      return false
    },
    begin(tenant, consumer) {
      endpointOf(tenant, consumer).inFlight += 1
    },
    end(tenant, consumer) {
      const endpoint = endpointOf(tenant, consumer)
      endpoint.inFlight = Math.max(0, endpoint.inFlight - 1)
      if (!endpoint.isBehind) return
      const now = time.now()
      const allowed = windowAllows(endpoint.window, now)
      if (endpoint.inFlight >= allowed) return
      endpoint.roomSince ??= now
      deps.room(isLittle(allowed - endpoint.inFlight, allowed) ? GATHER_MS : 0)
    },
    took(tenant, consumer, isDry) {
      const endpoint = findEndpoint(tenant, consumer)
      if (endpoint === undefined) return
      endpoint.isBehind = !isDry
      endpoint.roomSince = null
    },
    told(tenant, consumer, { startedAt, sign, retryAfterMs }) {
      const endpoint = endpointOf(tenant, consumer)
      if (startedAt < endpoint.since) return
      const at = time.now()
      const before = endpoint.window.pause?.until ?? null
      const jitter = random.unit()
      endpoint.window = stepWindow(endpoint.window, {
        type: 'ended',
        startedAt,
        at,
        sign,
        retryAfterMs,
        jitter,
      })
      const until = endpoint.window.pause?.until ?? null
      if (until !== null && until !== before) deps.wake(Math.max(0, until - at))
    },
    forget(tenant, consumer) {
      const endpoint = findEndpoint(tenant, consumer)
      if (endpoint === undefined || endpoint.window.pause === null) return
      endpoint.window = stepWindow(newWindow(null), { type: 'limit', limit: endpoint.window.limit })
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

function isLittle(room: number, allowed: number): boolean {
  return room * GATHER_SHARE < allowed
}

const DEFAULT_LIMIT = newWindow(null).limit
