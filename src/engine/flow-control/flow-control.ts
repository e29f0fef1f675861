// Flow control: decides what the claim loop may take now, which jobs may be leased on insert, and whether a call may
// start. It combines circuits, closed hosts, rates, drains and limits; the core decides.
//
// Invariants: PA4 a job that may not run is neither claimed nor leased on insert, and costs no write. PA7 a token is
// used by a call or returned. PA14 the store counts a limit; this node's count only saves a request.

import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { Circuit } from '../../core/flow-control/circuit/index.ts'
import type { Incarnation, TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { StoredRecord } from '../../ports/store.ts'
import type { Followed } from '../../ports/wakes.ts'
import type { EngineBase, UnitOfWork } from '../commit/index.ts'
import { connectionOf, type Registry } from '../definitions/index.ts'
import type { FlowControl as CallFlowControl } from '../effects/index.ts'
import type { Item } from '../leases/index.ts'
import { type Decisions, SHORT_WAIT_MS } from '../settlement/index.ts'
import { circuitName, makeCircuits } from './circuits.ts'
import { makeHosts } from './closed-hosts.ts'
import type { CallAdmission, Gate, Where } from './connection-gate.ts'
import { fixedHostOf, holdOf, nameOf } from './consumer-keys.ts'
import { makeDrains } from './drains.ts'
import { type EndpointConcurrency, makeEndpointConcurrency } from './endpoint-concurrency.ts'
import type { LimitsSaid } from './limits-said.ts'
import type { Token } from './node-permits.ts'
import { makeRates } from './route-rates.ts'
import { CONNECTION_BUCKETS } from './shared-connection-buckets.ts'
import type { SharedPermits } from './shared-permits.ts'

export type Offer =
  /** Up to `max` jobs may be claimed; `limit`: while no more than that are leased anywhere. */
  | { readonly is: 'open'; readonly max: number; readonly limit?: number }
  /** Something must be written first, if any job is due. */
  | { readonly is: 'ask' }
  /** null: until one of its own jobs ends. */
  | { readonly is: 'closed'; readonly untilAt: Instant | null }

export interface RouteFlowControl {
  readonly circuit: Circuit
  readonly rate: { readonly perMinute: number; readonly burst: number; readonly tokens: number } | null
  readonly host: { readonly name: string; readonly closedUntil: Instant | null } | null
  readonly drain: { readonly nextAt: Instant; readonly left: number } | null
  readonly limit: { readonly limit: number; readonly running: number } | null
  /** The connection that it calls on, and why its jobs wait for it; null: it names none. */
  readonly connection: { readonly name: string; readonly gate: Gate } | null
}

export interface FlowControl extends CallFlowControl {
  /** `isAhead`: a claim follows that may take jobs which wait on this node until their endpoint can take them. */
  offer(tenant: TenantId, consumer: string, isAhead?: boolean): Offer
  /** After `ask`, when a job is due. Returns whether it may be claimed by now. */
  begin(tenant: TenantId, consumer: string, owner: Incarnation): Promise<boolean>
  /** After `ask`, when nothing is due. */
  skip(tenant: TenantId, consumer: string): void
  /** `isDry`: all due jobs were claimed. */
  took(tenant: TenantId, consumer: string, count: number, isDry: boolean): void
  /** The claim got no response: how many jobs it took, or takes later, is unknown. */
  tookUnknown(tenant: TenantId, consumer: string): void
  /** Before the job runs. */
  claimed(item: Item): void
  /** The job has left this node. Returns whether its consumer may be offered more because of that. */
  finished(item: Item): boolean
  /** Whether a job may be leased on insert. */
  mayLeaseOnInsert(tenant: TenantId, route: Route): boolean
  /** Reads what is stored of a tenant. */
  learn(tenant: TenantId, kinds: ReadonlySet<Followed> | null): Promise<void>
  view(tenant: TenantId, route: Route): RouteFlowControl
  closeCircuit(tenant: TenantId, route: Route): Promise<boolean>
  circuitOf(tenant: TenantId, route: Route): Circuit
  /** Before a step or a trigger runs; null: its circuit lets it. */
  enterCircuit(item: Item, route: Route): { readonly delayMs: number; readonly why: string } | null
  /** An event of a trigger ended; null: well. */
  reportTrigger(item: Item, route: Route, failureClass: FailureClass | null): void
  /** It is tried again by the trigger's `retry`: as the trial of an open circuit it failed. */
  reportRetried(item: Item, route: Route): void
  /** A job is about to be leased on insert. */
  noteLeased(tenant: TenantId, route: Route): void
  /** It was not leased. */
  forgetLeased(tenant: TenantId, route: Route | null): void
  /** The call of a delivery that shares the limits of a connection has ended. */
  answered(item: Item, said: LimitsSaid): void
  /** The call of a delivery has ended: its endpoint can take the next one. */
  called(item: Item): void
  /** The concurrency of subscription endpoints. */
  readonly endpointConcurrency: EndpointConcurrency
}

/** What a job took when it was claimed. */
interface Ticket {
  readonly route: Route
  /** Claimed: it counts toward the limit and the cycle of its route. */
  readonly isCounted: boolean
  token: Token | null
  isCalled: boolean
}

const NO_TICKET = { token: null, isCalled: false }
const FREE: Offer = { is: 'open', max: Number.POSITIVE_INFINITY }
const RECORDS_PAGE = 200
/** For a step whose connection is closed without a known end; also the maximum, because it may open earlier. */
const STEP_WAIT_MS = 5_000
const STEP_WAIT_MS_MAX = 30_000

export function makeFlowControl(
  deps: Pick<EngineBase, 'store' | 'log' | 'random' | 'time' | 'ids' | 'commits' | 'plan' | 'wake'> & {
    readonly registry: Registry
    readonly decisions: Decisions
    /** Of the connections that routes and steps name. */
    readonly callAdmission: CallAdmission
    /** Rate permits shared by all nodes; null: this is the only node. */
    readonly sharedPermits: SharedPermits | null
    /** The same for connections, as far as stored. */
    learnConnections(tenant: TenantId): Promise<void>
    readonly unitOfWork: Pick<UnitOfWork, 'firmly'>
    /** An endpoint can take more. */
    room(delayMs: number): void
  },
): FlowControl {
  const { store, registry, time, callAdmission } = deps
  const circuits = makeCircuits(deps)
  const hosts = makeHosts(deps)
  const rates = makeRates(deps)
  const drains = makeDrains(deps)
  const endpointConcurrency = makeEndpointConcurrency(deps)
  const tickets = new Map<string, Ticket>()
  /** Of routes with a limit. */
  const running = new Map<string, number>()
  /** Claims that asked a host that is not open. */
  const entered = new Map<string, string>()

  const offer: FlowControl['offer'] = (tenant, consumer, isAhead = false) => {
    const route = registry.route(tenant, consumer)
    if (route === null) return FREE
    const gate = circuits.gate(tenant, consumer)
    if (gate.is === 'open') return { is: 'closed', untilAt: gate.untilAt }
    let max = gate.is === 'closed' ? Number.POSITIVE_INFINITY : 1
    const named = admissionOf(route)
    const offered = named === null ? null : callAdmission.offer(tenant, named)
    if (offered?.is === 'closed') return { is: 'closed', untilAt: offered.untilAt }
    if (offered?.is === 'open') max = Math.min(max, offered.max)
    if (route.of?.kind === 'delivery') {
      const room = endpointConcurrency.room(tenant, route, isAhead && isUnpaced(route))
      if (room.max === 0) return { is: 'closed', untilAt: room.until }
      max = Math.min(max, room.max)
    }
    if (!hosts.isQuiet()) {
      const host = fixedHostOf(route)
      const allows = host === null ? 'all' : hosts.allows(tenant, host)
      if (allows === 'none')
        return { is: 'closed', untilAt: host === null ? null : hosts.opensAt(tenant, host) }
      if (allows === 'one') max = 1
    }
    const { rateLimit, drain, batch } = route.document
    let mustAcquire = false
    if (rateLimit !== undefined) {
      const room = rates.room(tenant, consumer, rateLimit)
      const untilAt = room > 0 ? null : rates.nextAt(tenant, consumer, rateLimit)
      if (untilAt !== null) return { is: 'closed', untilAt }
      if (room === 0) mustAcquire = true
      max = Math.min(max, room * (batch?.size ?? 1))
    }
    const limit = limitOf(route)
    if (limit !== null) {
      const left = limit - (running.get(nameOf(tenant, consumer)) ?? 0)
      if (left <= 0) return { is: 'closed', untilAt: null }
      max = Math.min(max, left)
    }
    if (drain !== undefined) {
      const step = drains.step(tenant, route)
      if (step.do === 'wait') return { is: 'closed', untilAt: step.forCycle ? null : step.untilAt }
      if (step.do === 'begin') return { is: 'ask' }
      max = Math.min(max, step.max)
    }
    if (mustAcquire || gate.is === 'tryable' || offered?.is === 'ask') return { is: 'ask' }
    const fence = limit ?? drain?.events
    return fence === undefined ? { is: 'open', max } : { is: 'open', max, limit: fence }
  }

  const takeToken = (item: Item, route: Route, ticket: Ticket) => {
    const { rateLimit } = route.document
    if (rateLimit === undefined) return
    ticket.token = rates.take(item.work.tenant, item.work.consumer, rateLimit)
  }

  const acquireFor = async (tenant: TenantId, route: Route) => {
    const { rateLimit, batch } = route.document
    if (rateLimit === undefined || rates.room(tenant, route.consumer, rateLimit) > 0) return
    if (rates.nextAt(tenant, route.consumer, rateLimit) !== null) return
    // A batch makes its call when it is full or its time is over.
    await rates.acquire(tenant, route.consumer, rateLimit, batch?.maxWaitMs ?? 0)
  }

  const readAll = async (
    tenant: TenantId,
    kind: 'circuit' | 'bucket' | 'rate',
    prefix = '',
  ): Promise<readonly StoredRecord[]> => {
    const found: StoredRecord[] = []
    let cursor: string | null = null
    do {
      const page = await store.forTenant(tenant).records({ kind, prefix, cursor, limit: RECORDS_PAGE })
      found.push(...page.items)
      cursor = page.nextCursor
    } while (cursor !== null)
    return found
  }

  const mayCall: FlowControl['mayCall'] = (item, route, host) => {
    const { tenant, consumer } = item.work
    const paused = circuits.isQuiet() ? null : enterCircuit(item, route)
    if (paused !== null) return paused
    const { rateLimit } = route.document
    const ticket = tickets.size === 0 ? undefined : tickets.get(holdOf(item))
    const needsToken = rateLimit !== undefined && lacksToken(ticket)
    if (needsToken && rates.room(tenant, consumer, rateLimit) === 0) {
      const nextAt = rates.nextAt(tenant, consumer, rateLimit)
      const delayMs = nextAt === null ? SHORT_WAIT_MS : Math.max(1, nextAt - time.now())
      return { delayMs, why: 'the rate of its route is used up' }
    }
    if (host !== null && !hosts.isQuiet()) {
      const name = host.toLowerCase()
      if (!hosts.enter(item, name)) {
        // If the host is known beforehand, its jobs are not claimed until then.
        const opensAt = hosts.opensAt(tenant, name)
        const delayMs = Math.max(SHORT_WAIT_MS, (opensAt ?? 0) - time.now())
        return { delayMs, why: `${name} asked to be left alone for a while` }
      }
      entered.set(holdOf(item), name)
    }
    const closed = enterConnection(item, route)
    if (closed !== null) {
      leaveHost(item)
      return closed
    }
    if (needsToken) {
      const own: Ticket = ticket ?? { ...NO_TICKET, route, isCounted: false }
      own.isCalled = false
      takeToken(item, route, own)
      tickets.set(holdOf(item), own)
    }
    return null
  }

  /** null: it may go on, or there is no use in waiting. */
  const enterCircuit: FlowControl['enterCircuit'] = (item, route) => {
    if (circuits.isQuiet()) return null
    const { tenant } = item.work
    const name = circuitName(route)
    const gate = circuits.gate(tenant, name)
    if (gate.is === 'mine') circuits.claimed(item, name)
    if (gate.is === 'closed' || circuits.isTry(item, name)) return null
    if (name === route.consumer) return { delayMs: SHORT_WAIT_MS, why: 'too many calls of its route failed' }
    const why = `${route.document.name} paused itself, because too many of its jobs failed`
    if (gate.is === 'open')
      return { delayMs: Math.min(Math.max(SHORT_WAIT_MS, gate.untilAt - time.now()), STEP_WAIT_MS_MAX), why }
    // No claim asks for the trial of a step: the next job that comes is let in.
    if (gate.is === 'tryable') void circuits.begin(tenant, route).catch(() => {})
    return { delayMs: SHORT_WAIT_MS, why }
  }

  const enterConnection: (
    item: Item,
    route: Route,
  ) => { readonly delayMs: number; readonly why: string } | null = (item, route) => {
    const named = admissionOf(route)
    const closed = named === null ? null : callAdmission.enter(item.work.tenant, named, holdOf(item))
    if (closed === null) return null
    // Jobs of a route are not claimed until then; for a workflow, the next steps are unknown.
    const isKnown = item.work.kind === 'route' || item.work.kind === 'batch' || item.work.kind === 'delivery'
    const untilMs = closed.untilAt === null ? STEP_WAIT_MS : closed.untilAt - time.now()
    const delayMs = isKnown ? SHORT_WAIT_MS : Math.min(Math.max(SHORT_WAIT_MS, untilMs), STEP_WAIT_MS_MAX)
    return { delayMs, why: closed.why }
  }

  const leaveHost = (item: Item) => {
    if (entered.size === 0) return
    const host = entered.get(holdOf(item))
    if (host === undefined) return
    entered.delete(holdOf(item))
    hosts.leave(item, host)
  }

  return {
    offer,
    async begin(tenant, consumer, owner) {
      const route = registry.route(tenant, consumer)
      if (route === null) return true
      if (route.document.drain !== undefined && drains.step(tenant, route).do === 'begin') {
        if (!(await drains.begin(tenant, route, owner))) return false
      }
      if (circuits.gate(tenant, consumer).is === 'tryable') await circuits.begin(tenant, route)
      const named = admissionOf(route)
      if (named !== null && callAdmission.offer(tenant, named).is === 'ask')
        await callAdmission.begin(tenant, named)
      if (deps.sharedPermits !== null) await acquireFor(tenant, route)
      return offer(tenant, consumer).is === 'open'
    },
    skip(tenant, consumer) {
      const route = registry.route(tenant, consumer)
      if (route !== null && drains.step(tenant, route).do === 'begin') drains.skip(tenant, route)
    },
    took(tenant, consumer, count, isDry) {
      const route = registry.route(tenant, consumer)
      if (route?.document.drain !== undefined) drains.claimed(tenant, route, count, isDry)
      if (route?.of?.kind === 'delivery') endpointConcurrency.took(tenant, consumer, isDry)
    },
    tookUnknown(tenant, consumer) {
      const route = registry.route(tenant, consumer)
      if (route !== null) drains.skip(tenant, route)
    },
    claimed(item) {
      const { tenant, consumer, kind } = item.work
      if (kind === 'delivery') endpointConcurrency.begin(tenant, consumer)
      if (!circuits.isQuiet()) circuits.claimed(item, consumer)
      const route = kind === 'intake' ? null : registry.route(tenant, consumer)
      if (route === null) return
      const { rateLimit, drain, batch } = route.document
      const limit = limitOf(route)
      if (rateLimit === undefined && drain === undefined && limit === null) return
      const ticket: Ticket = { ...NO_TICKET, route, isCounted: true }
      tickets.set(holdOf(item), ticket)
      // For a batch the call takes one token, not each of its members.
      if (batch === undefined) takeToken(item, route, ticket)
      const name = nameOf(tenant, consumer)
      if (limit !== null) running.set(name, (running.get(name) ?? 0) + 1)
    },
    finished(item) {
      const { tenant, consumer } = item.work
      leaveHost(item)
      callAdmission.finished(holdOf(item))
      circuits.finished(item)
      if (item.work.kind === 'delivery' && item.slot.call !== 'over')
        endpointConcurrency.end(tenant, consumer, item.slot)
      const ticket = tickets.size === 0 ? undefined : tickets.get(holdOf(item))
      if (ticket === undefined) return false
      tickets.delete(holdOf(item))
      const { rateLimit, drain } = ticket.route.document
      let isFreed = false
      if (rateLimit !== undefined && ticket.token !== null && !ticket.isCalled) {
        rates.giveBack(tenant, consumer, rateLimit, ticket.token)
        isFreed = true
      }
      if (!ticket.isCounted) return isFreed
      const name = nameOf(tenant, consumer)
      const count = running.get(name)
      if (count !== undefined) {
        if (count <= 1) running.delete(name)
        else running.set(name, count - 1)
        isFreed = true
      }
      if (drain !== undefined && drains.finished(tenant, consumer)) isFreed = true
      return isFreed
    },
    answered: (item, said) => callAdmission.answered(holdOf(item), said),
    called: ({ work, slot }) => endpointConcurrency.end(work.tenant, work.consumer, slot),
    endpointConcurrency,
    noteLeased(tenant, route) {
      if (route.of?.kind === 'delivery') endpointConcurrency.begin(tenant, route.consumer)
    },
    forgetLeased(tenant, route) {
      if (route?.of?.kind === 'delivery') endpointConcurrency.end(tenant, route.consumer, null)
    },
    mayLeaseOnInsert(tenant, route) {
      const named = admissionOf(route)
      if (named !== null && !callAdmission.mayLeaseOnInsert(tenant, named)) return false
      if (route.of?.kind === 'delivery') return endpointConcurrency.mayLeaseOnInsert(tenant, route)
      if (circuits.isQuiet() && hosts.isQuiet()) return true
      if (circuits.gate(tenant, circuitName(route)).is !== 'closed') return false
      const host = fixedHostOf(route)
      return host === null || hosts.allows(tenant, host) === 'all'
    },
    prepare(item, route) {
      if (deps.sharedPermits === null) return null
      const { tenant } = item.work
      const named = admissionOf(route)
      const entering = named === null ? null : callAdmission.prepare(tenant, named)
      const { rateLimit } = route.document
      const isRated = rateLimit !== undefined && lacksToken(tickets.get(holdOf(item)))
      const drawing = isRated ? acquireFor(tenant, route) : null
      return entering === null && drawing === null ? null : prepared(entering, drawing)
    },
    mayCall,
    unused(item) {
      leaveHost(item)
      callAdmission.leave(holdOf(item))
    },
    reportResult({ item, route, host, class: reported, retryAfterMs, isSeenTo }) {
      const ticket = tickets.size === 0 ? undefined : tickets.get(holdOf(item))
      if (ticket !== undefined) ticket.isCalled = true
      if (host !== null) {
        const name = host.toLowerCase()
        entered.delete(holdOf(item))
        if (reported === 'rate_limited') hosts.limited(item, name, retryAfterMs)
        else hosts.answered(item, name)
      }
      if (isSeenTo === true) return callAdmission.used(holdOf(item))
      const failureClass = reported === 'done' ? null : reported
      const named = connectionOf(route.document.do)
      if (named !== null)
        callAdmission.reportResult(item.work.tenant, named.connection, holdOf(item), failureClass)
      // The route calls through a connection: the connection's circuit counts, unless the route declares its own.
      if (named === null || route.document.circuit !== undefined)
        circuits.reportResult(item, route, failureClass)
    },
    async learn(tenant, kinds) {
      const isAsked = (kind: Followed) => kinds === null || kinds.has(kind)
      const mark = circuits.mark()
      if (isAsked('circuit')) circuits.adopt(tenant, await readAll(tenant, 'circuit'), mark)
      if (isAsked('bucket')) hosts.adopt(tenant, await readAll(tenant, 'bucket'))
      if (deps.sharedPermits !== null && isAsked('rate'))
        deps.sharedPermits.learn(tenant, await readAll(tenant, 'rate', CONNECTION_BUCKETS))
      // A connection whose credential changed may have to be tested.
      if (isAsked('connection') || isAsked('credential')) await deps.learnConnections(tenant)
    },
    view(tenant, route) {
      const { rateLimit } = route.document
      const host = fixedHostOf(route)
      const limit = limitOf(route)
      const named = admissionOf(route)
      const tokens = rateLimit === undefined ? 0 : rates.left(tenant, route.consumer, rateLimit)
      return {
        circuit: circuits.view(tenant, circuitName(route)),
        rate:
          rateLimit === undefined ? null : { perMinute: rateLimit.perMinute, burst: rateLimit.burst, tokens },
        host: host === null ? null : { name: host, closedUntil: hosts.closedUntil(tenant, host) },
        drain: drains.view(tenant, route),
        connection:
          named === null
            ? null
            : {
                name: named.connection,
                gate: callAdmission.gate(tenant, named.connection, named.buckets),
              },
        limit: limit === null ? null : { limit, running: running.get(nameOf(tenant, route.consumer)) ?? 0 },
      }
    },
    closeCircuit: (tenant, route) => circuits.reset(tenant, route),
    enterCircuit,
    circuitOf: (tenant, route) => circuits.view(tenant, circuitName(route)),
    reportRetried(item, route) {
      if (!circuits.isQuiet() && circuits.isTry(item, circuitName(route)))
        circuits.reportResult(item, route, 'validation', 'bad')
    },
    reportTrigger(item, route, failureClass) {
      // It has no other side: whatever an event fails for, the next may fail for the same.
      circuits.reportResult(item, route, failureClass, failureClass === null ? 'good' : 'bad')
    },
  }
}

async function prepared(...parts: readonly (Promise<void> | null)[]): Promise<void> {
  for (const part of parts) await part
}

/** Each call takes one. */
function lacksToken(ticket: Ticket | undefined): boolean {
  return ticket === undefined || ticket.token === null || ticket.isCalled
}

/** The connection that has to admit its calls; null: none does. */
function admissionOf({ document, of }: Route): Where | null {
  if (of?.kind !== 'delivery') return connectionOf(document.do)
  const { connection } = of
  return connection === undefined ? null : { connection, buckets: [], isForLimits: true }
}

/** Whether each of its jobs may be leased before it can run. */
function isUnpaced(route: Route): boolean {
  const { concurrency, rateLimit, drain } = route.document
  return (
    concurrency === undefined &&
    rateLimit === undefined &&
    drain === undefined &&
    (route.of?.kind !== 'delivery' || route.of.connection === undefined)
  )
}

/** The limit of jobs leased at once; null: none, or one per key, which lanes enforce. */
function limitOf({ document }: Route): number | null {
  const { concurrency, batch } = document
  if (concurrency === undefined || concurrency.by !== undefined) return null
  // A batch holds its members until it is full.
  return concurrency.limit * (batch?.size ?? 1)
}
