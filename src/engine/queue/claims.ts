// The claim loop: takes due jobs from the store while slots are free, within the flow control of each consumer and the
// share of each tenant (src/engine/flow-control, src/core/queue/fairness).
//
// It sleeps until a job is known to be due, until a wake-up signal, or for `pollMs`, whichever comes first. One claim
// runs at a time.

import { messageOf } from '../../core/foundation/errors/index.ts'
import type { Incarnation, TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { type Contender, shareOf, shareSlots } from '../../core/queue/fairness/index.ts'
import { isIsolated } from '../../core/queue/work/index.ts'
import { type ClaimResult, StoreError } from '../../ports/store.ts'
import type { EngineBase } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import { type Registry, subscriptionOf } from '../definitions/index.ts'
import { type FlowControl, nameOf } from '../flow-control/index.ts'
import { type Item, type JobSlots, makeItem } from '../leases/index.ts'
import type { LostClaims } from './lost-claims.ts'

export interface Claims {
  start(): void
  /** A job may be due now, or will be after `delayMs`. */
  wake(delayMs?: number): void
  /** A job of this consumer was added here. If no definition names the consumer, the loop looks for its jobs at once. */
  expect(tenant: TenantId, consumer: string): void
  /** An endpoint can take more calls, now or after `delayMs`. Where slots are the bottleneck, the loop waits for a free one. */
  room(delayMs: number): void
  /** A slot is free again: jobs left for lack of a slot can be claimed. */
  freed(item: Item | null): void
  /** Whether the last claim found due jobs that this node had no slot for. */
  isBehind(): boolean
  /** Whether this node takes a new job of the consumer at once. */
  takes(consumer: string): boolean
  /** How many slots a tenant's jobs leased on insert may take. While due jobs wait for a slot, half are left to them. */
  shareOnInsert(tenant: TenantId): number
  /** Makes no further claims; resolves when the current one has ended. */
  stop(): Promise<void>
}

const CLAIM_MAX = 128
/** A node that is behind waits this long for more slots while most are taken: one claim for many jobs costs one flush. */
const GATHER_MS = 5
const GATHER_SHARE = 4
/** How often the store is asked for jobs of consumers that are no longer defined. */
const LEFTOVERS_EVERY_MS = 30_000
/** From this many consumers on, the store is asked first which of them have jobs. */
const MANY = 64
/** While more jobs are due than there are slots, the list of busy consumers is reused for this long. */
const BRIEF_MS = 250
/** Endpoints that one brief look covers, in rotation: asking for an endpoint that gets nothing costs as much as a job. */
const BRIEF_MAX = 32
const ROUNDS_MAX = 1_000_000_000

interface Consumer {
  readonly tenant: TenantId
  readonly consumer: string
}

interface Candidate extends Consumer, Contender {
  readonly tenant: TenantId
  readonly limit: number | undefined
}

/** Why due jobs were left at the last claim. */
type Left = 'nothing' | 'no-slot' | 'paced' | 'runs-isolated'

export function makeClaims(
  deps: Pick<EngineBase, 'store' | 'clock' | 'code' | 'log' | 'time'> & {
    readonly registry: Registry
    readonly jobSlots: JobSlots
    readonly flowControl: FlowControl
    readonly lostClaims: LostClaims
    owner(): Incarnation | null
    /** Whether this node runs jobs of the consumer at all. */
    runs(consumer: string): boolean
    /** More jobs are due than this node has slots for: other nodes may take them. */
    leaveWork(): void
    /** Loads definitions that another node changed. */
    refresh(tenant: TenantId): Promise<void>
  },
  config: Pick<EngineConfig, 'pollMs' | 'concurrency'>,
): Claims {
  const { store, clock, code, log, registry, jobSlots, flowControl, time, lostClaims } = deps
  let started = false
  let stopped = false
  let active: Promise<void> | null = null
  let again = false
  let claimRound = 0
  let cancel: () => void = () => {}
  let wakeAt = Number.POSITIVE_INFINITY
  let left: Left = 'nothing'
  let leftovers: readonly Consumer[] = []
  let leftoversAt = Number.NEGATIVE_INFINITY
  /** Consumers, and their tenants, with more due jobs than were claimed. */
  let hungry: ReadonlySet<string> = new Set()
  let hungryTenants: ReadonlySet<TenantId> = new Set()
  /** The consumers that had jobs when the store was last asked. */
  let busy: readonly Consumer[] = []
  let busyAt = Number.NEGATIVE_INFINITY
  /** How many consumers were asked since some were first left out. */
  let round = 0
  /** Counts brief looks at endpoints, and the endpoints covered since one filled the slots. */
  let briefRound = 0
  /** Where the next look at a tenant's endpoints begins. */
  const briefAt = new Map<TenantId, number>()
  let briefCount = 0
  /** Tenants that had used their share when they were last asked. */
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

  /** Consumers that need a newer version wait for a node that runs it. */
  const isOurs = ({ tenant, consumer }: Consumer) =>
    deps.runs(consumer) && !registry.needsNewerVersion(tenant) && !registry.isUnusable(tenant, consumer)

  const findReady = async () => (await store.system('recovery').readyConsumers()).filter(isOurs)

  /**
   * Where many consumers are defined, most have no jobs: the store says which have, and only those are asked.
   * A drain is always asked, because the answer ends its cycle.
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

  /** More consumers than one claim can ask for. With several tenants, each has only its share of the slots. */
  const isMany = () => {
    const count = registry.consumers().length
    const tenants = registry.tenantCount()
    return count > MANY || (tenants > 1 && count > config.concurrency / tenants)
  }

  /** A few other endpoints each time, and all consumers that are not endpoints. */
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
    // The same number for each tenant, so that one with a thousand endpoints does not delay another's.
    const tenants = [...endpoints.keys()]
    const count = Math.min(BRIEF_MAX, tenants.length)
    const each = Math.floor(BRIEF_MAX / Math.max(1, count))
    const some: Consumer[] = []
    for (let n = 0; n < count; n += 1) {
      const tenant = tenants[(briefRound * count + n) % tenants.length] as TenantId
      const list = endpoints.get(tenant) ?? []
      const first = briefAt.get(tenant) ?? 0
      briefAt.set(tenant, (first + each) % list.length)
      for (let at = 0; at < Math.min(each, list.length); at += 1)
        some.push(list[(first + at) % list.length] as Consumer)
    }
    briefRound = (briefRound + 1) % ROUNDS_MAX
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
    // A consumer that another node defined meanwhile is not a leftover: it may be paused.
    const tenants = new Set(leftovers.filter(isUnknown).map(({ tenant }) => tenant))
    for (const tenant of tenants) await deps.refresh(tenant)
    const active =
      busy?.filter((one) => !registry.isHeld(one.tenant, one.consumer) && isOurs(one)) ??
      registry.consumers().filter((one) => !one.paused && isOurs(one))
    // Nor is one that, as the refresh showed, needs a newer version.
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
      maxIsolated: jobSlots.canRunIsolated() ? 1 : 0,
      codeHashes: code.hashes(),
    })

  /** Where every consumer is at its limit there is nothing to ask the store for: a claim without slots waited behind a flush. */
  const askFor = async (
    owner: Incarnation,
    slots: readonly (Candidate & { room: number })[],
    max: number,
  ): Promise<ClaimResult> => {
    if (slots.length === 0) return { items: [], nextDueAt: null, now: time.now() }
    const asked = slots.map(({ tenant, consumer, room, limit }) => ({ tenant, consumer, max: room, limit }))
    const result = await ask(owner, asked, max)
    time.heard(result.now)
    return result
  }

  /**
   * Some consumers must write something before they claim (a drain's cycle, a circuit's probe). They do so
   * only when a job is due, so waiting costs no write. Returns the consumers that may be claimed now; `next`
   * receives the time at which others will be due.
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
        flowControl.skip(one.tenant, one.consumer)
        if (found.nextDueAt !== null) next(found.nextDueAt)
      } else if (await flowControl.begin(one.tenant, one.consumer, owner)) begun.push(one)
      else {
        const offer = flowControl.offer(one.tenant, one.consumer)
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

  /** The consumers that may be claimed from; `next` receives the time at which others may. */
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
    // Jobs that wait on this node must not delay those that could run: only while there are slots enough for both.
    const isAhead = !isBrief && jobSlots.free() * 2 > config.concurrency
    for (const one of consumers) {
      const offer = flowControl.offer(one.tenant, one.consumer, isAhead)
      const isPart = isBrief && subscriptionOf(one.consumer) !== null
      if (offer.is === 'open')
        candidates.push(candidateOf(one, isPart ? Math.min(part, offer.max) : offer.max, offer.limit))
      else if (offer.is === 'ask') asking.push(one)
      else if (offer.untilAt !== null) next(offer.untilAt)
    }
    for (const one of await begin(owner, asking, next)) {
      const offer = flowControl.offer(one.tenant, one.consumer)
      if (offer.is === 'open') candidates.push(candidateOf(one, offer.max, offer.limit))
    }
    // A consumer may have been paused meanwhile, or replaced by a definition that this version cannot use.
    return candidates.filter((one) => !registry.isHeld(one.tenant, one.consumer) && isOurs(one))
  }

  const crowd = () => ({
    concurrency: config.concurrency,
    tenants: registry.tenantCount(),
    running: jobSlots.tenants(),
    hungry: hungryTenants,
  })

  /** Returns how long to sleep. */
  const claimOnce = async (): Promise<number> => {
    const owner = deps.owner()
    const free = Math.min(CLAIM_MAX, jobSlots.free(), jobSlots.roomForBytes())
    if (free <= 0) left = 'no-slot'
    if (owner === null || free <= 0) return config.pollMs
    let claiming: readonly Consumer[] = []
    try {
      for (const item of await lostClaims.collect(owner)) {
        if (!isIsolated(item.work) || jobSlots.canRunIsolated()) {
          flowControl.took(item.work.tenant, item.work.consumer, 1, false)
          launch(item)
        } else lostClaims.suspect()
      }
      let nextAt = Number.POSITIVE_INFINITY
      const isBrief = left === 'no-slot' && isMany() && briefCount <= busy.length
      const candidates = await findCandidates(owner, free, isBrief, (at) => {
        nextAt = Math.min(nextAt, at)
      })
      claimRound = (claimRound + 1) % Number.MAX_SAFE_INTEGER
      const tenants = new Set(candidates.map(({ tenant }) => tenant))
      const slots = shareSlots(candidates, crowd(), free, claimRound)
      const asked = new Set(slots.map(({ tenant }) => tenant))
      sated = new Set([...tenants].filter((tenant) => !asked.has(tenant)))
      claiming = slots
      const result = await askFor(owner, slots, free)
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
        flowControl.took(tenant, consumer, count, !isFull && count < room && jobSlots.canRunIsolated())
      }
      const due = isBrief || (result.nextDueAt !== null && result.nextDueAt <= result.now)
      hungry = new Set(due ? full.map(({ tenant, consumer }) => nameOf(tenant, consumer)) : [])
      hungryTenants = new Set(due ? full.map(({ tenant }) => tenant) : [])
      // A brief look knows nothing of the endpoints that it skipped.
      left = !due ? 'nothing' : isFull || isBrief ? 'no-slot' : full.length > 0 ? 'paced' : 'runs-isolated'
      if (due && isFull) deps.leaveWork()
      // Look at the endpoints that a brief look skipped before sleeping.
      if (isBrief && !isFull) return 0
      // Do not sleep either while consumers were left out because of their tenant's share and those that were asked had
      // nothing: each is asked in rotation.
      const isRound = !isFull && slots.length < candidates.filter(({ tenant }) => asked.has(tenant)).length
      round = isRound && round < candidates.length ? round + slots.length : 0
      if (round > 0) return 0
      return Math.min(sleepFor(result), Math.max(0, nextAt - time.now()))
    } catch (error) {
      if (error instanceof StoreError && error.applied === 'indeterminate') {
        lostClaims.suspect()
        for (const { tenant, consumer } of claiming) flowControl.tookUnknown(tenant, consumer)
      }
      log.warn('claims.failed', { error: messageOf(error) })
      return config.pollMs
    }
  }

  const launch = (item: Item) => {
    // Jobs leased on insert may have taken the slots meanwhile. Claimed jobs run anyway, and the next claim waits.
    jobSlots.takeAnyway()
    flowControl.claimed(item)
    jobSlots.start(item)
  }

  /** How long to wait for more slots before the free ones are filled. */
  const gatherMs = () =>
    jobSlots.free() >= Math.min(CLAIM_MAX, Math.ceil(config.concurrency / GATHER_SHARE)) ? 0 : GATHER_MS

  const sleepFor = ({ nextDueAt, now }: ClaimResult): number => {
    // A consumer that used its whole limit is not asked next time; that claim shows when the others are due.
    if (left === 'paced') return 0
    if (nextDueAt === null || nextDueAt <= now)
      return left === 'no-slot' && jobSlots.free() > 0 ? gatherMs() : config.pollMs
    return Math.min(config.pollMs, nextDueAt - now)
  }

  return {
    start() {
      started = true
      schedule(0)
    },
    wake: (delayMs = 0) => schedule(delayMs),
    room(delayMs) {
      // While a claim runs, the result of the last one says nothing about this one.
      if (left !== 'no-slot' || active !== null) schedule(delayMs)
    },
    isBehind: () => left === 'no-slot',
    takes: (consumer) => started && deps.runs(consumer) && jobSlots.free() > 0 && left !== 'no-slot',
    shareOnInsert(tenant) {
      const share = shareOf(tenant, crowd())
      return left === 'no-slot' ? Math.min(share, Math.ceil(config.concurrency / 2)) : share
    },
    expect(tenant, consumer) {
      const expected = { tenant, consumer }
      const isListed = leftovers.some((one) => one.tenant === tenant && one.consumer === consumer)
      if (!isListed && isOurs(expected) && isUnknown(expected)) leftovers = [...leftovers, expected]
      schedule(0)
    },
    freed(item) {
      const isMore = item !== null && flowControl.finished(item)
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
