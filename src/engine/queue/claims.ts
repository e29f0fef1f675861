// The claim loop: takes due work from the store while slots are free, as far as the pace of each consumer and the shares of
// tenants allow (src/engine/flow-control, src/core/queue/fairness).
//
// It sleeps until something is known to be due, until somebody wakes it, or for `pollMs`, whichever is first. One claim
// is under way at a time.

import { messageOf } from '../../core/foundation/errors/index.ts'
import type { Incarnation, TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { type Contender, shareSlots } from '../../core/queue/fairness/index.ts'
import { isIsolated } from '../../core/queue/work/index.ts'
import { type ClaimResult, StoreError } from '../../ports/store.ts'
import type { StoreTime } from '../commit/index.ts'
import type { EngineConfig, EngineDeps } from '../config.ts'
import { type Registry, subscriptionOf } from '../definitions/index.ts'
import { nameOf, type Pace } from '../flow-control/index.ts'
import { type Item, makeItem, type Pool } from '../leases/index.ts'
import type { Strays } from './lost-claims.ts'

export interface Claims {
  start(): void
  /** Something may be due now, or will be after `delayMs`. */
  wake(delayMs?: number): void
  /** Work of this consumer was added here: one that nobody defines is looked for at once. */
  expect(tenant: TenantId, consumer: string): void
  /** An endpoint can take more, at once or in a moment: where slots are what is short, one that is free is waited for. */
  room(delayMs: number): void
  /** A slot is free again: what was left for want of it can be claimed. */
  freed(item: Item | null): void
  /** Whether work was due, when it last looked, that this node had no slot for. */
  isBehind(): boolean
  /** Tenants of which more was due than was claimed. */
  hungry(): ReadonlySet<TenantId>
  /** No further claims; settles when the one under way is over. */
  stop(): Promise<void>
}

const CLAIM_MAX = 64
/** Behind with its work, a node waits so long for more slots while most are taken: one claim for many costs one flush. */
const GATHER_MS = 5
const GATHER_SHARE = 4
/** How often the store is asked for work of consumers that are no longer defined. */
const LEFTOVERS_EVERY_MS = 30_000
/** From so many consumers on, the store is asked first which of them have work. */
const MANY = 64
/** While more is due than there are slots, who has work is not asked again for so long. */
const BRIEF_MS = 250
/** And so many endpoints are looked at in turn, each for its part: a look at one that gets nothing costs as much as an item. */
const BRIEF_MAX = 32
const TURNS_MAX = 1_000_000_000

interface Consumer {
  readonly tenant: TenantId
  readonly consumer: string
}

interface Candidate extends Consumer, Contender {
  readonly tenant: TenantId
  readonly limit: number | undefined
}

/** Why due work was left at the last claim. */
type Left = 'nothing' | 'no-slot' | 'paced' | 'runs-isolated'

export function makeClaims(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'code' | 'log'> & {
    readonly registry: Registry
    readonly pool: Pool
    readonly pace: Pace
    readonly time: StoreTime
    readonly strays: Strays
    owner(): Incarnation | null
    /** Whether this node runs work of the consumer at all. */
    runs(consumer: string): boolean
    /** More is due than this node has slots for: others may take it. */
    leaveWork(): void
    /** Looks whether another node changed the definitions of a tenant. */
    refresh(tenant: TenantId): Promise<void>
  },
  config: Pick<EngineConfig, 'pollMs' | 'concurrency'>,
): Claims {
  const { store, clock, code, log, registry, pool, pace, time, strays } = deps
  let started = false
  let stopped = false
  let active: Promise<void> | null = null
  let again = false
  let turn = 0
  let cancel: () => void = () => {}
  let wakeAt = Number.POSITIVE_INFINITY
  let left: Left = 'nothing'
  let leftovers: readonly Consumer[] = []
  let leftoversAt = Number.NEGATIVE_INFINITY
  /** Consumers, and their tenants, of which more was due than was claimed. */
  let hungry: ReadonlySet<string> = new Set()
  let hungryTenants: ReadonlySet<TenantId> = new Set()
  /** Who had work when the store was last asked. */
  let busy: readonly Consumer[] = []
  let busyAt = Number.NEGATIVE_INFINITY
  /** How many were asked since some were first left out. */
  let round = 0
  /** Counts brief looks at endpoints, and how many endpoints were looked at since one filled the slots. */
  let briefTurn = 0
  /** Where the next look at the endpoints of a tenant begins. */
  const briefAt = new Map<TenantId, number>()
  let briefCount = 0
  /** Tenants that had their share when they were last asked. */
  let sated: ReadonlySet<TenantId> = new Set()

  const schedule = (delayMs: number) => {
    if (stopped || !started) return
    const at = clock.monotonic() + delayMs
    if (at >= wakeAt) return
    cancel()
    wakeAt = at
    cancel = clock.after(delayMs, () => {
      wakeAt = Number.POSITIVE_INFINITY
      kick()
    })
  }

  const kick = () => {
    if (stopped || !started) return
    if (active !== null) {
      again = true
      return
    }
    active = claimOnce().then((delayMs) => {
      active = null
      if (again) {
        again = false
        schedule(0)
      } else {
        schedule(delayMs)
      }
    })
  }

  const isUnknown = ({ tenant, consumer }: Consumer) => !registry.knows(tenant, consumer)

  /** What this version cannot read waits for one that can. */
  const isOurs = ({ tenant, consumer }: Consumer) =>
    deps.runs(consumer) && !registry.isBeyondUs(tenant) && !registry.isUnusable(tenant, consumer)

  const findReady = async () => (await store.system('recovery').readyConsumers()).filter(isOurs)

  /**
   * Where many are defined, most have nothing to do: the store says who has, and the others are not asked. A drain is asked
   * all the same, for its cycle ends by that.
   */
  const findBusy = async (): Promise<readonly Consumer[]> => {
    const ready = await findReady()
    leftovers = ready.filter(isUnknown)
    leftoversAt = clock.monotonic()
    const names = new Set(ready.map(({ tenant, consumer }) => nameOf(tenant, consumer)))
    const isBusy = ({ tenant, consumer }: Consumer) => names.has(nameOf(tenant, consumer))
    const drained = registry.drained().filter((one) => isOurs(one) && !isBusy(one))
    busy = [...ready.filter((one) => !isUnknown(one)), ...drained]
    busyAt = leftoversAt
    return busy
  }

  /** More than a claim can ask for: of several tenants each has a share of the slots alone. */
  const isMany = () => {
    const count = registry.consumers().length
    const tenants = registry.tenantCount()
    return count > MANY || (tenants > 1 && count > config.concurrency / tenants)
  }

  /** Another few endpoints each time, and all that is no endpoint. */
  const findSome = async (): Promise<readonly Consumer[]> => {
    if (clock.monotonic() - busyAt >= BRIEF_MS) await findBusy()
    const endpoints = new Map<TenantId, Consumer[]>()
    const others: Consumer[] = []
    for (const one of busy) {
      const list = endpoints.get(one.tenant)
      if (subscriptionOf(one.consumer) === null) others.push(one)
      else if (list === undefined) endpoints.set(one.tenant, [one])
      else list.push(one)
    }
    // As many of each tenant: one with a thousand of them does not put off those of another.
    const tenants = [...endpoints.keys()]
    const count = Math.min(BRIEF_MAX, tenants.length)
    const each = Math.floor(BRIEF_MAX / Math.max(1, count))
    const some: Consumer[] = []
    for (let n = 0; n < count; n += 1) {
      const tenant = tenants[(briefTurn * count + n) % tenants.length] as TenantId
      const list = endpoints.get(tenant) ?? []
      const first = briefAt.get(tenant) ?? 0
      briefAt.set(tenant, (first + each) % list.length)
      for (let at = 0; at < Math.min(each, list.length); at += 1)
        some.push(list[(first + at) % list.length] as Consumer)
    }
    briefTurn = (briefTurn + 1) % TURNS_MAX
    const isAll = some.length + others.length >= busy.length
    briefCount = isAll ? Number.POSITIVE_INFINITY : briefCount + some.length
    return [...others, ...some].filter(
      (one) =>
        isOurs(one) && registry.knows(one.tenant, one.consumer) && !registry.isHeld(one.tenant, one.consumer),
    )
  }

  const findConsumers = async (): Promise<readonly Consumer[]> => {
    const busy = isMany() ? await findBusy() : null
    if (clock.monotonic() - leftoversAt >= LEFTOVERS_EVERY_MS) {
      leftoversAt = clock.monotonic()
      leftovers = (await findReady()).filter(isUnknown)
    }
    // One that another node defined meanwhile is no leftover: it may be paused.
    const tenants = new Set(leftovers.filter(isUnknown).map(({ tenant }) => tenant))
    for (const tenant of tenants) await deps.refresh(tenant)
    const active =
      busy?.filter((one) => !registry.isHeld(one.tenant, one.consumer) && isOurs(one)) ??
      registry.consumers().filter((one) => !one.paused && isOurs(one))
    // Nor is one that the look has shown to be beyond this version.
    return [...active, ...leftovers.filter((one) => isUnknown(one) && isOurs(one))]
  }

  const ask = (
    owner: Incarnation,
    slots: readonly (Consumer & { max: number; limit?: number | undefined })[],
    max: number,
  ) =>
    store.claim({
      owner,
      slots: slots.map(({ tenant, consumer, max, limit }) =>
        limit === undefined ? { tenant, consumer, max } : { tenant, consumer, max, limit },
      ),
      max,
      maxIsolated: pool.canRunIsolated() ? 1 : 0,
      codeHashes: code.hashes(),
    })

  /**
   * Those that must write something down before they claim (a drain's cycle, a circuit's try) do so only when something is due:
   * waiting costs no write. Answers those that may be claimed by now; `next` hears when something of the others will be due.
   */
  const begin = async (owner: Incarnation, asking: readonly Consumer[], next: (at: Instant) => void) => {
    const look = (consumers: readonly Consumer[]) =>
      ask(
        owner,
        consumers.map(({ tenant, consumer }) => ({ tenant, consumer, max: 0 })),
        0,
      )
    const isDue = ({ nextDueAt, now }: ClaimResult) => nextDueAt !== null && nextDueAt <= now
    const begun: Consumer[] = []
    if (asking.length === 0) return begun
    const all = await look(asking)
    time.heard(all.now)
    for (const one of asking) {
      if (registry.isHeld(one.tenant, one.consumer)) continue
      const found = asking.length === 1 || !isDue(all) ? all : await look([one])
      if (!isDue(found)) {
        pace.skip(one.tenant, one.consumer)
        if (found.nextDueAt !== null) next(found.nextDueAt)
      } else if (await pace.begin(one.tenant, one.consumer, owner)) begun.push(one)
      else {
        const offer = pace.offer(one.tenant, one.consumer)
        if (offer.is === 'closed' && offer.untilAt !== null) next(offer.untilAt)
      }
    }
    return begun
  }

  const candidateOf = (
    { tenant, consumer }: Consumer,
    max: number,
    limit: number | undefined,
  ): Candidate => ({
    tenant,
    consumer,
    max,
    limit,
    priority: registry.route(tenant, consumer)?.document.priority ?? 'normal',
    isHungry: hungry.has(nameOf(tenant, consumer)),
  })

  /** Who may be claimed from; `next` hears when others may. */
  const findCandidates = async (
    owner: Incarnation,
    free: number,
    isBrief: boolean,
    next: (at: Instant) => void,
  ) => {
    const candidates: Candidate[] = []
    const asking: Consumer[] = []
    const consumers = isBrief ? await findSome() : await findConsumers()
    const part = isBrief ? Math.ceil((2 * free) / Math.max(1, Math.min(BRIEF_MAX, consumers.length))) : free
    for (const one of consumers) {
      const offer = pace.offer(one.tenant, one.consumer)
      const isPart = isBrief && subscriptionOf(one.consumer) !== null
      if (offer.is === 'open')
        candidates.push(candidateOf(one, isPart ? Math.min(part, offer.max) : offer.max, offer.limit))
      else if (offer.is === 'ask') asking.push(one)
      else if (offer.untilAt !== null) next(offer.untilAt)
    }
    for (const one of await begin(owner, asking, next)) {
      const offer = pace.offer(one.tenant, one.consumer)
      if (offer.is === 'open') candidates.push(candidateOf(one, offer.max, offer.limit))
    }
    // Somebody may have paused one meanwhile, or applied what this version cannot use.
    return candidates.filter((one) => !registry.isHeld(one.tenant, one.consumer) && isOurs(one))
  }

  /** Answers how long to sleep. */
  const claimOnce = async (): Promise<number> => {
    const owner = deps.owner()
    const free = Math.min(CLAIM_MAX, pool.free(), pool.roomForBytes())
    if (free <= 0) left = 'no-slot'
    if (owner === null || free <= 0) return config.pollMs
    let claiming: readonly Consumer[] = []
    try {
      for (const item of await strays.collect(owner)) {
        if (!isIsolated(item.work) || pool.canRunIsolated()) {
          pace.took(item.work.tenant, item.work.consumer, 1, false)
          launch(item)
        } else strays.suspect()
      }
      let nextAt = Number.POSITIVE_INFINITY
      const isBrief = left === 'no-slot' && isMany() && briefCount <= busy.length
      const candidates = await findCandidates(owner, free, isBrief, (at) => {
        nextAt = Math.min(nextAt, at)
      })
      turn = (turn + 1) % Number.MAX_SAFE_INTEGER
      const tenants = new Set(candidates.map(({ tenant }) => tenant))
      const crowd = {
        concurrency: config.concurrency,
        tenants: registry.tenantCount(),
        running: pool.tenants(),
        hungry: hungryTenants,
      }
      const slots = shareSlots(candidates, crowd, free, turn)
      const asked = new Set(slots.map(({ tenant }) => tenant))
      sated = new Set([...tenants].filter((tenant) => !asked.has(tenant)))
      claiming = slots
      const result = await ask(
        owner,
        slots.map(({ tenant, consumer, room, limit }) => ({ tenant, consumer, max: room, limit })),
        free,
      )
      time.heard(result.now)
      const counts = new Map<string, number>()
      for (const { work, event } of result.items) {
        const name = nameOf(work.tenant, work.consumer)
        counts.set(name, (counts.get(name) ?? 0) + 1)
        launch(makeItem(owner, work, event))
      }
      const isFull = result.items.length >= free
      if (isFull || !isBrief) briefCount = 0
      const full = slots.filter(
        ({ tenant, consumer, room }) => (counts.get(nameOf(tenant, consumer)) ?? 0) >= room,
      )
      for (const { tenant, consumer, room } of slots) {
        const count = counts.get(nameOf(tenant, consumer)) ?? 0
        pace.took(tenant, consumer, count, !isFull && count < room && pool.canRunIsolated())
      }
      const due = isBrief || (result.nextDueAt !== null && result.nextDueAt <= result.now)
      hungry = new Set(due ? full.map(({ tenant, consumer }) => nameOf(tenant, consumer)) : [])
      hungryTenants = new Set(due ? full.map(({ tenant }) => tenant) : [])
      // A brief look knows nothing of those that it passed over.
      left = !due ? 'nothing' : isFull || isBrief ? 'no-slot' : full.length > 0 ? 'paced' : 'runs-isolated'
      if (due && isFull) deps.leaveWork()
      // What a brief look passed over is looked at before anybody sleeps.
      if (isBrief && !isFull) return 0
      // Nor does one sleep on those whom the share of their tenant left out, while those who were asked had nothing: each has its turn.
      const isRound = !isFull && slots.length < candidates.filter(({ tenant }) => asked.has(tenant)).length
      round = isRound && round < candidates.length ? round + slots.length : 0
      if (round > 0) return 0
      return Math.min(sleepFor(result), Math.max(0, nextAt - time.now()))
    } catch (error) {
      if (error instanceof StoreError && error.applied === 'indeterminate') {
        strays.suspect()
        for (const { tenant, consumer } of claiming) pace.tookUnknown(tenant, consumer)
      }
      log.warn('claims.failed', { error: messageOf(error) })
      return config.pollMs
    }
  }

  const launch = (item: Item) => {
    // Births may have taken the slots meanwhile: claimed work runs all the same, and the next claim waits.
    pool.takeAnyway()
    pace.claimed(item)
    pool.start(item)
  }

  /** How long to wait for more slots before those that are free are filled. */
  const gatherMs = () =>
    pool.free() >= Math.min(CLAIM_MAX, Math.ceil(config.concurrency / GATHER_SHARE)) ? 0 : GATHER_MS

  const sleepFor = ({ nextDueAt, now }: ClaimResult): number => {
    // Who took all that it might is not asked the next time: then it is seen when the others are due.
    if (left === 'paced') return 0
    if (nextDueAt === null || nextDueAt <= now)
      return left === 'no-slot' && pool.free() > 0 ? gatherMs() : config.pollMs
    return Math.min(config.pollMs, nextDueAt - now)
  }

  return {
    start() {
      started = true
      schedule(0)
    },
    wake: (delayMs = 0) => schedule(delayMs),
    room(delayMs) {
      // While a claim is under way, what the last one left says nothing of how this one ends.
      if (left !== 'no-slot' || active !== null) schedule(delayMs)
    },
    isBehind: () => left === 'no-slot',
    hungry: () => hungryTenants,
    expect(tenant, consumer) {
      const expected = { tenant, consumer }
      const isListed = leftovers.some((one) => one.tenant === tenant && one.consumer === consumer)
      if (!isListed && isOurs(expected) && isUnknown(expected)) leftovers = [...leftovers, expected]
      schedule(0)
    },
    freed(item) {
      const isMore = item !== null && pace.finished(item)
      const isSated = item !== null && sated.has(item.work.tenant)
      const wasIsolated = left === 'runs-isolated' && item !== null && isIsolated(item.work)
      if (wasIsolated || isMore || isSated) schedule(0)
      else if (left === 'no-slot') schedule(gatherMs())
    },
    async stop() {
      stopped = true
      cancel()
      await active
    },
  }
}
