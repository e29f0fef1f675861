// What goes wrong, and how often. Each seed draws its own mixture (some kinds of fault are off in most seeds), because a
// run in which everything fails at once hides the failures that need a quiet moment.
//
// A plan answers for one thing at a time what becomes of it. The random plan draws; the scripted one counts the points at
// which a node could die, and lets it die at one of them.

import { type BusPlan, drawBus, drawWakes } from './bus.ts'
import { CONNECTION_KINDS } from './connections.ts'
import { drawFleet, type FleetPlan, NODES_MAX } from './fleet.ts'
import { makeRng, type Rng } from './random.ts'
import { LANE_KINDS, PACED_KINDS, STOCK_KINDS } from './scenario.ts'
import { HOOK_KINDS } from './subscriptions.ts'
import { CASE_KINDS } from './workflows.ts'

export type StoreOperation = 'commit' | 'claim' | 'join' | 'renew' | 'reclaim' | 'prune' | 'read'

export interface StoreFate {
  readonly beforeMs: number
  readonly afterMs: number
  /**
   * `unavailable`: not applied, and reported. `lost` and `unanswered`: the caller cannot know; the first was not applied, the
   * second was. The crashes take the node down just before and just after it is applied.
   */
  readonly what: 'ok' | 'unavailable' | 'lost' | 'unanswered' | 'crash-before' | 'crash-after'
  /** Already on its way: it is applied even if the node dies first. */
  readonly outlives: boolean
}

const VENDOR_FATES = [
  'ok',
  'slow',
  'rejected',
  'auth',
  'config',
  'busy',
  'limited',
  'error',
  'lie',
  'refused',
  'reset-before',
  'reset-after',
  'timeout-before',
  'timeout-after',
  'late',
  'duplicated',
] as const
export type VendorFate = (typeof VENDOR_FATES)[number]

export type ProbeFate = 'ok' | 'error' | 'unclear' | 'reset' | 'timeout'
export type CodeFate = 'ok' | 'throws' | 'again' | 'terminal' | 'slow'
export type SendCrash = 'before' | 'after' | null

export interface Faults {
  store(operation: StoreOperation): StoreFate
  /** Inside SQLite's COMMIT. */
  commit(): 'before' | 'after' | null
  vendor(): VendorFate
  probe(): ProbeFate
  /** Whether this happens to one of several that share a call. */
  member(perMille: number): boolean
  code(): CodeFate
  /** The node dies between reserve and send, or between effect and answer. */
  send(): SendCrash
  /** An answer to a sender that never arrives. */
  answerLost(): boolean
  /** From now on nothing goes wrong. */
  heal(): void
}

/** The same with workflows, or without. */
export function withCases(profile: Profile, hasCases: boolean): Profile {
  const { hasCases: _, kinds, ...rest } = profile
  if (hasCases) return { ...rest, hasCases: true, kinds: CASE_KINDS }
  return kinds === undefined || kinds === CASE_KINDS ? rest : { ...rest, kinds }
}

/** The same with subscriptions, or without. */
export function withHooks(profile: Profile, hasHooks: boolean): Profile {
  const { hasHooks: _, kinds, ...rest } = profile
  if (hasHooks) return { ...rest, hasHooks: true, kinds: profile.hasCases ? CASE_KINDS : HOOK_KINDS }
  return kinds === undefined || kinds === HOOK_KINDS ? rest : { ...rest, kinds }
}

/** The same with connections, or without. */
export function withConnections(profile: Profile, hasConnections: boolean): Profile {
  const { hasConnections: _, kinds, ...rest } = profile
  if (hasConnections)
    return { ...rest, hasConnections: true, kinds: profile.hasCases ? CASE_KINDS : CONNECTION_KINDS }
  return kinds === undefined || kinds === CONNECTION_KINDS ? rest : { ...rest, kinds }
}

/** The same with several nodes that share a store on another machine, or with as many as were drawn. */
export function withFleet(profile: Profile, hasFleet: boolean, rng: Rng): Profile {
  const { hasFleet: _, fleet, ...rest } = profile
  if (!hasFleet) return rest
  const nodes = rng.between(2, NODES_MAX)
  return { ...rest, nodes, isRemote: true, hasFleet: true, fleet: fleet ?? drawFleet(rng, profile.leaseMs) }
}

/** The same with a bus, or without: then nodes that share a store still wake each other. */
export function withBus(profile: Profile, hasBus: boolean, rng: Rng): Profile {
  const { hasBus: _, bus, ...rest } = profile
  if (hasBus) return { ...rest, hasBus: true, bus: bus ?? drawBus(rng) }
  return profile.hasFleet ? { ...rest, bus: bus ?? drawWakes(rng) } : rest
}

/** Several share a store on another machine. */
export function withNodes(profile: Profile, nodes: number): Profile {
  return { ...profile, nodes, isRemote: profile.isRemote || nodes > 1 }
}

/** What goes wrong with connections; mean times, 0: never. */
export interface ConnectionPlan {
  readonly outageEveryMs: number
  /** A secret ends at the vendor. */
  readonly expireEveryMs: number
  readonly operatorEveryMs: number
  readonly canRetire: boolean
}

export type WorkAct = 'retry' | 'probe' | 'cancel'

/** One seed's mixture. */
export interface Profile {
  /** That come back whenever they end. */
  readonly nodes: number
  /** The store is another machine: what is under way outlives the node, and groups pass each other. */
  readonly isRemote: boolean
  readonly faultsMs: number
  readonly messages: number
  /** What the messages are about, in shares; as the scenario says when left out. */
  readonly kinds?: Readonly<Record<string, number>>
  /** The operator's actions on jobs, in shares; a little of everything if left out. */
  readonly workActs?: Readonly<Partial<Record<WorkAct, number>>>
  readonly leaseMs: number
  readonly concurrency: number
  readonly pollMs: number
  readonly maxStoreMs: number
  /** In a thousand. */
  readonly slowStore: number
  readonly unavailable: number
  readonly indeterminate: number
  readonly crashAtStore: number
  readonly crashAtSend: number
  readonly commitFault: number
  readonly answerLost: number
  readonly vendor: Readonly<Partial<Record<VendorFate, number>>>
  readonly probe: Readonly<Partial<Record<ProbeFate, number>>>
  readonly code: Readonly<Partial<Record<CodeFate, number>>>
  /** Mean times between; 0: never. */
  readonly crashEveryMs: number
  readonly pauseEveryMs: number
  readonly jumpEveryMs: number
  readonly operatorEveryMs: number
  readonly redefineEveryMs: number
  /** Pauses, resumes, rolls back. */
  readonly controlEveryMs: number
  readonly skewMs: number
  /** How long events are stored; 0: forever, and retention does not run. */
  readonly keepMs: number
  /** Workflows are defined, and most messages are about them. */
  readonly hasCases?: true
  /** A trigger rejects what is over its limit. */
  readonly hasLimits?: true
  /** The trigger of the chain fails for every second amount, and has a circuit. */
  readonly hasTriggerCircuits?: true
  /** The second version of the workflows migrates instances of the first, and a user asks for it. */
  readonly hasMigrations?: true
  /** The run has subscriptions, with endpoints and operators, and a second tenant. */
  readonly hasHooks?: true
  /** The run has connections, with vendors, credentials and operators, and a second tenant. */
  readonly hasConnections?: true
  /** Left out: drawn. */
  readonly connections?: ConnectionPlan
  /** Several nodes, of which some come and go, and a store whose server is replaced. */
  readonly hasFleet?: true
  /** Left out: drawn. */
  readonly fleet?: FleetPlan
  /** So long at most is a commit under way, or what takes work back from the dead; left out: as long as everything else. */
  readonly commitMs?: number
  /** A second tenant has the same sources, routes, orders and keys. */
  readonly hasTwin?: true
  /** So long after the start the schedule has its first slot; left out: a minute. */
  readonly slotInMs?: number
  /** In a thousand: commits that are applied and not answered, beside those of `indeterminate`. A start makes none. */
  readonly unanswered?: number
  /** The store takes no time, so that windows are exact to the millisecond. */
  readonly isInstant?: true
  /** Keys of some routes are digests by the tenant's key. */
  readonly hasHmac?: true
  /** A bus is there, with those who publish on it. */
  readonly hasBus?: true
  /** Of wake-ups alone where no bus is. */
  readonly bus?: BusPlan
}

export function drawProfile(rng: Rng): Profile {
  const some = (perMille: number, value: () => number) => (rng.chance(perMille) ? value() : 0)
  const nodes = rng.chance(350) ? 2 : 1
  const vendor: Partial<Record<VendorFate, number>> = { ok: rng.between(20, 400) }
  for (const fate of VENDOR_FATES) {
    if (fate !== 'ok' && rng.chance(450)) vendor[fate] = rng.between(5, 60)
  }
  return {
    nodes,
    isRemote: nodes === 2 || rng.chance(300),
    faultsMs: rng.between(20, 90) * 1_000,
    messages: rng.between(6, 22),
    leaseMs: rng.pick([10_000, 30_000]),
    concurrency: rng.pick([1, 2, 8, 64]),
    pollMs: rng.pick([1_000, 5_000, 15_000]),
    maxStoreMs: rng.pick([2, 10, 40]),
    slowStore: some(300, () => rng.between(5, 60)),
    unavailable: some(500, () => rng.between(5, 80)),
    indeterminate: some(500, () => rng.between(5, 80)),
    crashAtStore: some(500, () => rng.between(2, 12)),
    crashAtSend: some(400, () => rng.between(10, 100)),
    commitFault: some(300, () => rng.between(5, 300)),
    answerLost: some(500, () => rng.between(50, 300)),
    vendor,
    probe: {
      ok: 100,
      error: some(400, () => 60),
      unclear: some(200, () => 40),
      reset: some(300, () => 60),
      timeout: some(300, () => 60),
    },
    code: {
      ok: 100,
      throws: some(500, () => 60),
      again: some(500, () => 60),
      terminal: some(300, () => 30),
      slow: some(300, () => 60),
    },
    crashEveryMs: some(500, () => rng.between(5, 40) * 1_000),
    pauseEveryMs: some(450, () => rng.between(10, 50) * 1_000),
    jumpEveryMs: some(300, () => rng.between(5, 30) * 1_000),
    operatorEveryMs: some(700, () => rng.between(5, 25) * 1_000),
    redefineEveryMs: some(250, () => rng.between(10, 30) * 1_000),
    skewMs: some(400, () => rng.between(-120_000, 120_000)),
    controlEveryMs: some(350, () => rng.between(2, 15) * 1_000),
    keepMs: some(400, () => rng.between(1, 20) * 1_000),
    ...(rng.fork('lanes').chance(200) && { kinds: LANE_KINDS }),
    ...(rng.fork('pace').chance(200) && { kinds: PACED_KINDS }),
    ...(rng.fork('stock').chance(250) && { kinds: STOCK_KINDS }),
    ...(rng.fork('cases').chance(300) && { hasCases: true, kinds: CASE_KINDS }),
    ...(rng.fork('hooks').chance(350) && { hasHooks: true }),
    ...(rng.fork('connections').chance(300) && { hasConnections: true }),
    ...(rng.fork('fleet').chance(300) && { hasFleet: true }),
    ...(rng.fork('bus').chance(300) && { hasBus: true }),
  }
}

/** Nothing goes wrong by itself: for scripted crashes. */
export const CALM: Profile = {
  nodes: 1,
  isRemote: false,
  faultsMs: 8_000,
  messages: 0,
  leaseMs: 10_000,
  concurrency: 8,
  pollMs: 5_000,
  maxStoreMs: 2,
  slowStore: 0,
  unavailable: 0,
  indeterminate: 0,
  crashAtStore: 0,
  crashAtSend: 0,
  commitFault: 0,
  answerLost: 0,
  vendor: { ok: 1 },
  probe: { ok: 1 },
  code: { ok: 1 },
  crashEveryMs: 0,
  pauseEveryMs: 0,
  jumpEveryMs: 0,
  operatorEveryMs: 0,
  redefineEveryMs: 0,
  controlEveryMs: 0,
  skewMs: 0,
  keepMs: 0,
}

/** The longest that a store takes; longer than a reserve may wait for its call. */
const SLOW_STORE_MS = 9_000

export function makeRandomFaults(profile: Profile, rng: Rng): Faults {
  const store = rng.fork('store')
  const commit = rng.fork('commit')
  const vendor = rng.fork('vendor')
  const members = rng.fork('members')
  const code = rng.fork('code')
  const send = rng.fork('send')
  let isHealed = false

  const what = (operation: StoreOperation): StoreFate['what'] => {
    if (operation === 'commit' && profile.unanswered !== undefined && store.chance(profile.unanswered))
      return 'unanswered'
    if (store.chance(profile.unavailable)) return 'unavailable'
    if (store.chance(profile.indeterminate)) return store.chance(500) ? 'lost' : 'unanswered'
    if (store.chance(profile.crashAtStore)) return store.chance(500) ? 'crash-before' : 'crash-after'
    return 'ok'
  }
  const latency = () => {
    if (profile.isInstant) return 0
    return store.chance(profile.slowStore)
      ? store.between(100, SLOW_STORE_MS)
      : store.int(profile.maxStoreMs + 1)
  }

  return {
    store(operation) {
      const healedMs = () => (profile.isInstant ? 0 : store.int(3))
      if (isHealed) return { beforeMs: healedMs(), afterMs: healedMs(), what: 'ok', outlives: false }
      return {
        beforeMs:
          (operation === 'commit' || operation === 'reclaim') && profile.commitMs !== undefined
            ? store.int(profile.commitMs + 1)
            : latency(),
        afterMs: latency(),
        what: what(operation),
        outlives: profile.isRemote && store.chance(500),
      }
    },
    commit: () =>
      !isHealed && commit.chance(profile.commitFault) ? (commit.chance(500) ? 'before' : 'after') : null,
    vendor: () => (isHealed ? 'ok' : vendor.weighted(profile.vendor)),
    probe: () => (isHealed ? 'ok' : vendor.weighted(profile.probe)),
    member: (perMille) => !isHealed && members.chance(perMille),
    code: () => (isHealed ? 'ok' : code.weighted(profile.code)),
    send: () =>
      !isHealed && send.chance(profile.crashAtSend) ? (send.chance(500) ? 'before' : 'after') : null,
    answerLost: () => !isHealed && send.chance(profile.answerLost),
    heal() {
      isHealed = true
    },
  }
}

/** One thing that can go wrong at a point: at an operation of the store, or at a call that is about to leave. */
export type Mishap = Exclude<StoreFate['what'], 'ok'>

export const MISHAPS: readonly Mishap[] = ['crash-before', 'crash-after', 'unavailable', 'lost', 'unanswered']

/** Points are counted as they are met: every operation of the store, and every call. */
export interface Script extends Faults {
  points(): number
}

/**
 * Nothing goes wrong but what is said, at the points whose numbers are given (from 0). At a call only the crashes mean
 * something: before it leaves, and after its effect.
 */
export function makeScript(
  mishaps: ReadonlyMap<number, Mishap>,
  vendorFates: readonly VendorFate[] = [],
): Script {
  const rng = makeRng('script')
  let met = 0
  let sends = 0
  return {
    points: () => met,
    store: () => ({
      beforeMs: rng.int(3),
      afterMs: rng.int(3),
      outlives: false,
      what: mishaps.get(met++) ?? 'ok',
    }),
    commit: () => null,
    vendor: () => vendorFates[sends++] ?? 'ok',
    probe: () => 'ok',
    member: () => false,
    code: () => 'ok',
    send() {
      const mishap = mishaps.get(met++)
      return mishap === 'crash-before' ? 'before' : mishap === 'crash-after' ? 'after' : null
    },
    answerLost: () => false,
    heal() {},
  }
}
