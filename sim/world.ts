// One simulated run: nodes, data, vendor, operators and chaos from one seed. First things go wrong for a while; then
// everything heals, and within a computed time all must be settled.

import type { NodeId, TenantId, WorkId } from '../src/core/foundation/ids/index.ts'
import { MINUTE } from '../src/core/foundation/time/index.ts'
import { ALL_ROLES, type Role } from '../src/core/queue/node-role/index.ts'
import { DECISIONS } from '../src/engine/index.ts'
import { StoreError } from '../src/ports/store.ts'
import type { Bug } from './bug.ts'
import { makeBusWorld } from './bus-world.ts'
import { makeCircuitChecks } from './check-circuits.ts'
import { checkEnd, hasUnsettled, healingMs, unsettled, waitingForOperator } from './check-end.ts'
import { makeFlowControlChecks } from './check-flow-control.ts'
import { makeLaneChecks } from './check-lanes.ts'
import { makeRetentionChecks } from './check-retention.ts'
import { makeRoleChecks } from './check-roles.ts'
import { makeRowChecks } from './check-rows.ts'
import { makeScheduleChecks } from './check-schedules.ts'
import { makeSendChecks } from './check-sends.ts'
import { makeSystemEventChecks } from './check-system-events.ts'
import { checkTenants } from './check-tenants.ts'
import { makeWindowChecks } from './check-windows.ts'
import { makeWorkflowChecks } from './check-workflows.ts'
import { makeMachineClock, makeVirtualTime } from './clock.ts'
import { makeConnectionWorld } from './connection-world.ts'
import { makeCounting } from './count-features.ts'
import { type Data, makeData, type StoreKind } from './data.ts'
import { makeDefiners } from './definition-editors.ts'
import { type Draw, drawKeen, drawNodes, drawSharp } from './draw.ts'
import {
  drawProfile,
  type Faults,
  makeRandomFaults,
  type Profile,
  withBus,
  withCases,
  withConnections,
  withFleet,
  withHooks,
  withNodes,
} from './faults.ts'
import { drawRoles, drawSome, type FleetPlan } from './fleet.ts'
import { type Life, type NodeDeps, short, startLife } from './node.ts'
import { type Outside, pickLife } from './node-access.ts'
import { NO_PARTS, type Parts } from './parts.ts'
import { makePrimary } from './primary.ts'
import { makeRng, type Rng } from './random.ts'
import { type Counts, makeObservations, type Violation } from './run-observations.ts'
import { BUNDLES, HEALED, type ScenarioRoute, withConnectionRoutes, withHmac } from './scenario.ts'
import { actAsOperator, decideAll, drawMessage, type Message, startSender } from './senders-and-operator.ts'
import { makeNodeStore, type StoreWatch } from './store.ts'
import { makeHookWorld } from './subscription-world.ts'
import { makeTwinWorld } from './twin.ts'
import { TWIN } from './twin-tenant.ts'
import { makeVendor, type Vendor, type VendorWatch } from './vendor.ts'
import { drawCases, isCaseKind } from './workflows.ts'

/** Parts that are named are there, or are not, whatever the seed or the bug says. */
export interface RunOptions extends Partial<Parts> {
  readonly seed: number | string
  readonly store: StoreKind
  readonly bug?: Bug
  /** Gets one stable line per thing that happens. */
  readonly onLine?: (line: string) => void
  /** Left out: `first`, which the pinned seeds were found with. */
  readonly draw?: Draw
  /** Instead of what the seed would draw. */
  readonly profile?: Profile
  readonly faults?: Faults
  readonly messages?: readonly Message[]
  /** See the profile's field: no seed draws it. */
  readonly hasTriggerCircuits?: true
  /** Instances migrate, in place and to new instances. Of workflows. */
  readonly hasMigrations?: true
  /** How many nodes come back whenever they end. */
  readonly nodes?: number
}

/** Versions change often, and so does what a user asks for. */
const MIGRATING = { hasMigrations: true, redefineEveryMs: 8_000, operatorEveryMs: 1_000 } as const

export interface RunReport {
  readonly seed: number | string
  readonly store: StoreKind
  readonly violations: readonly Violation[]
  readonly counts: Counts
  readonly steps: number
  readonly virtualMs: number
}

const DRAWN: Readonly<Record<Draw, (rng: Rng) => Profile>> = {
  first: (rng) => drawProfile(rng.fork('profile')),
  sharp: (rng) => drawSharp(rng.fork('sharp')),
  keen: (rng) => drawKeen(rng.fork('keen')),
}

/** Any instant will do; a round one, the beginning of a minute, makes traces easy to read. */
const START_AT = 1_800_000_000_000
/** Functions that do nothing to the outside. */
const PLAIN = new Set(['audit', 'note', 'told', 'bomb'])
const RESTART_MS_MAX = 3_000
const DRAIN_MS = 1_500
const OPERATOR_AGAIN_MS = 20_000
const APPLY_AGAIN_MS = 1_000
/** More at once would only take longer. */
const LIVES_MAX = 6
const LINGER_MS_MAX = 4_000

export async function simulate(options: RunOptions): Promise<RunReport> {
  const world = makeWorld(options)
  try {
    return await world.run()
  } finally {
    world.close()
  }
}

interface World {
  run(): Promise<RunReport>
  close(): void
}

function makeWorld(options: RunOptions): World {
  const { seed, onLine, bug } = options
  const rng = makeRng(seed)
  const draw = options.draw ?? (bug?.isMixed === true ? 'keen' : 'first')
  const isSharp = draw !== 'first'
  const drawn = options.profile ?? DRAWN[draw](rng)
  const { hasCases, hasHooks, hasConnections, hasFleet, hasBus } = partsOf(options, drawn)
  const about = withConnections(withHooks(withCases(drawn, hasCases), hasHooks), hasConnections)
  const fleet = withFleet(about, hasFleet, rng.fork('fleet'))
  const chosen = withBus(fleet, hasBus, rng.fork('bus'))
  const nodes = options.nodes ?? (isSharp && hasFleet ? drawNodes(rng.fork('nodes')) : undefined)
  const counted = nodes === undefined ? chosen : withNodes(chosen, nodes)
  const paused = {
    ...counted,
    ...(options.hasTriggerCircuits === true && { hasTriggerCircuits: true as const }),
    ...(options.hasMigrations === true && MIGRATING),
  }
  const profile = bug?.profile?.(paused) ?? paused
  const completed = (routes: readonly ScenarioRoute[]) => {
    const all = hasConnections ? withConnectionRoutes(routes) : routes
    return profile.hasHmac === true ? withHmac(all) : all
  }
  const bundles = BUNDLES.map(completed)
  const faults = options.faults ?? makeRandomFaults(profile, rng.fork('faults'))
  const startAt = START_AT - (profile.slotInMs ?? 0)
  const time = makeVirtualTime(startAt)
  const trace = (who: string, what: () => string) =>
    onLine?.(`${String(time.now() - startAt).padStart(8)} ${who.padEnd(6)} ${what()}`)
  const primary = makePrimary({ time, trace })
  const cases = profile.hasCases ? drawCases(rng.fork('net'), profile) : null
  const observations = makeObservations(trace, cases)
  const whole = makeData(options.store, () => faults.commit())
  const data = bug?.data?.(whole) ?? whole
  // The checks of the shop see nothing of its twin.
  const plain = profile.hasTwin === true ? withoutTwin(whole) : whole
  const vendorOf = (): Vendor => vendor
  const lanes = makeLaneChecks({ observations, data: plain })
  const rows = makeRowChecks({
    observations,
    data: plain,
    time,
    lanes,
    vendor: vendorOf,
    hasFailed: (step) => workflows.hasFailed(step),
  })
  const sends = makeSendChecks({
    observations,
    data: plain,
    time,
    vendor: vendorOf,
    lanes,
    wasDoubled: (life) => doubled.has(life),
  })
  const definersRng = rng.fork('definers')
  const definers = makeDefiners({
    observations,
    time,
    rng: definersRng,
    pickLife: () => pickLife({ lives: () => lives, rng: definersRng }),
    isHealed: () => isHealed,
    trace,
  })
  const schedules = makeScheduleChecks({ observations, time })
  const pace = makeFlowControlChecks({ observations, time, profile })
  const circuits = makeCircuitChecks({ observations, data: plain, time })
  const windows = makeWindowChecks({ observations, data: plain, time, profile })
  const roleChecks = makeRoleChecks({ observations })
  const systemEvents = makeSystemEventChecks({ observations, data: plain })
  const retention = makeRetentionChecks({ observations, data: plain, time })
  const counting = makeCounting({ observations, data: plain })
  const workflows = makeWorkflowChecks({ observations, time })
  const traced = tracedRows(rows, trace)
  const storeWatch: StoreWatch = {
    ...rows,
    trace,
    ...traced,
    joined(life, node, result) {
      // What a life asked for before it died may fence the one after it.
      for (const other of lives) if (other.node === node && other !== life) doubled.add(other)
      // And what it asked for before its connection broke may fence itself.
      const isAlive = [...life.owners].some((owner) => plain.incarnation(owner).until > time.now())
      if (isAlive) doubled.add(life)
      traced.joined?.(life, node, result)
    },
    applying: (commits) => buses.applying(commits),
    applied(life, all, allOutcomes) {
      roleChecks.applied(life, all, allOutcomes)
      buses.applied(all, allOutcomes)
      twins.applied(life, all, allOutcomes)
      const commits = all.filter(({ tenant }) => tenant !== TWIN)
      if (commits.length === 0) return
      const outcomes = allOutcomes.filter((_, index) => all[index]?.tenant !== TWIN)
      counting.applied(commits, outcomes)
      for (const [index, commit] of commits.entries()) {
        const outcome = outcomes[index]
        // A store that failed says nothing of the commit: one that is repeated may fail by it again, and is refused later.
        if (outcome?.ok === 'failed' && !(outcome.error instanceof StoreError)) workflows.broken(commit)
      }
      windows.applied(commits, outcomes)
      traced.applied?.(life, commits, outcomes)
      hooks.applied(life, commits, outcomes)
      links.applied(life, commits, outcomes)
      workflows.applied(commits, outcomes)
      schedules.applied(commits, outcomes)
      pace.applied(life, commits, outcomes)
      circuits.applied(life, commits, outcomes)
      systemEvents.applied(commits, outcomes)
    },
    reclaimed: (life, given) => traced.reclaimed?.(life, given.filter(isOfShop)),
    left: (life, given) => traced.left?.(life, given.filter(isOfShop)),
    claimed(life, request, result) {
      const items = result.items.filter(({ work }) => work.tenant !== TWIN)
      roleChecks.claimed(
        life,
        result.items.map((item) => item.work),
      )
      const work = items.map((item) => item.work)
      counting.claimed(work)
      traced.claimed?.(life, request, { ...result, items })
      hooks.claimed(life, work)
      pace.claimed(life, work)
    },
    pruning(life, request, prune) {
      roleChecks.pruned(life)
      if (request.tenant === TWIN) return twins.pruning(prune)
      return retention.pruning(request, prune)
    },
    claimAsked: (life, request) => definers.claimAsked(life, request),
  }
  const vendorWatch: VendorWatch = {
    ...sends,
    trace,
    sent(send) {
      sends.sent(send)
      pace.sent(send)
      circuits.sent(send)
      links.sent(send)
    },
    took(effect) {
      sends.took(effect)
      workflows.took(effect)
      links.took(effect)
    },
  }
  const vendor = makeVendor({
    time,
    rng: rng.fork('vendor'),
    faults,
    watch: vendorWatch,
    front: (operation, request) => links.front(operation, request),
  })
  const lives: Life[] = []
  /** Lives that were not the only one of their node. */
  const doubled = new Set<Life>()
  let routes: readonly ScenarioRoute[] = bundles[0]!
  let isHealed = false

  const outside: Outside = {
    time,
    data: plain,
    faults,
    profile,
    observations,
    rng: rng.fork('people'),
    vendor: vendorOf,
    lives: () => lives,
    trace,
  }

  const hooks = makeHookWorld(outside, rng.fork('hooks'), lanes, (life) => doubled.has(life))

  const links = makeConnectionWorld(outside, rng.fork('links'), hooks.secrets)

  const buses = makeBusWorld(outside, rng.fork('buses'), hasBus, (bus) => bug?.bus?.(bus) ?? bus)

  const twins = makeTwinWorld({ ...outside, data: whole }, rng.fork('twins'))

  /** Items of the twin are checked with it. */
  const isOfShop = (id: WorkId) => whole.work(TWIN, id) === null

  const drift = profile.fleet?.wallDrift ?? 0

  /** `isGuest`: when it ends, it does not come back. */
  const addNode = (name: string, roles: ReadonlySet<Role>, isGuest = false): NodeHandle => {
    const node = name as NodeId
    const chaos = rng.fork(`chaos/${name}`)
    const machine = makeMachineClock(
      time,
      profile.skewMs === 0 ? 0 : chaos.between(-profile.skewMs, profile.skewMs),
      drift === 0 ? 0 : chaos.fork('drift').between(-drift, drift) / 1_000,
    )
    let count = 0
    const deps: NodeDeps = {
      node,
      roles,
      isShared: profile.hasFleet === true || (hasBus && profile.nodes > 1),
      hasOutbox: buses.hasOutbox,
      connect: (life, clock) => buses.connect(life, clock),
      settings: (config) => bug?.config?.(config) ?? config,
      time,
      machine,
      rng: rng.fork('engine'),
      faults,
      config: profile,
      decisions: bug?.decisions?.(DECISIONS) ?? DECISIONS,
      clock: (clock) => bug?.clock?.(clock) ?? clock,
      store(life, clock) {
        const store = makeNodeStore({
          time,
          clock,
          life,
          data,
          faults,
          watch: storeWatch,
          primary,
          align: twins.align,
          inOrder: !profile.isRemote,
        })
        return bug?.store?.(store) ?? store
      },
      http: (life) => {
        const client = twins.client(life, links.client(life, hooks.client(life, vendor.client(life))))
        return bug?.http?.(client) ?? client
      },
      context: (context) => bug?.context?.(context) ?? context,
      routes: () => routes,
      definedBeside(wanted) {
        const bundle = wanted === bundles[1] ? 1 : 0
        return [
          ...(cases?.documents(bundle) ?? []),
          ...hooks.beside(bundle),
          ...links.beside(bundle),
          ...buses.beside,
        ]
      },
      others: [...hooks.others, ...links.others, ...twins.others],
      vault(life) {
        const vault = links.vault(life) ?? hooks.vault(life)
        return bug?.vault?.(vault) ?? vault
      },
      onLog(line) {
        if (profile.hasHooks !== true && profile.hasConnections !== true) return
        const text = JSON.stringify(line) ?? ''
        hooks.logged(text)
        links.logged(text)
      },
      onApply(life, wanted, applied) {
        observations.bundles.push(wanted)
        definers.applying(life, applied)
      },
      onCrash(life) {
        observations.counts.crashes += 1
        lives.splice(lives.indexOf(life), 1)
        buses.left(life)
        // A second process of the same node may be running already.
        if (lives.some((other) => other.node === node)) return
        if (isGuest) return
        if (profile.nodes === 1 && !profile.hasFleet) data.reopen()
        time.after(isHealed ? 100 : chaos.between(50, RESTART_MS_MAX), start)
      },
      onError(life, name, message) {
        // A node that was started a second time logs this error.
        const isKnown = name === 'node.name-taken' && doubled.has(life)
        if (!isKnown) observations.violate('BROKEN', `${life.name} ${name}: ${message}`)
      },
      onRun(life, run, attempt, event) {
        links.ran(life, run, event)
        // It runs while others that are leased to its node wait for a slot or for their commit (O3).
        if ((life.engine()?.health().running ?? 0) > profile.concurrency) observations.counts.ahead += 1
        trace(life.name, () => `runs ${run}, attempt ${attempt}`)
        // A function with effects may run again to look at one of them, which is no attempt.
        const policy = PLAIN.has(run)
          ? routes.find(({ document }) => document.name === run)?.document.retry
          : undefined
        if (policy !== undefined && attempt > policy.attempts)
          observations.violate('N6', `${run} runs a ${attempt}th time`)
      },
      trace,
    }
    const start = () => {
      if (lives.some((other) => other.node === node && !other.isPaused())) return
      count += 1
      const life = startLife(deps, `${name}.${count}`)
      hooks.started(life)
      links.started(life)
      circuits.started(life)
      // Two processes of one node fence each other, whichever of them asks.
      const others = lives.filter((other) => other.node === node)
      if (others.length > 0) for (const one of [...others, life]) doubled.add(one)
      lives.push(life)
    }
    start()
    return { name: node, machine, chaos, start }
  }

  interface NodeHandle {
    readonly name: NodeId
    readonly machine: { jump(ms: number): void }
    readonly chaos: Rng
    start(): void
  }

  const newest = (node: NodeHandle): Life | undefined => lives.findLast((life) => life.node === node.name)

  /** Again and again while faults are on, about every `everyMs`. */
  const repeat = (chaos: Rng, everyMs: number, act: () => void) => {
    if (everyMs === 0) return
    const next = () =>
      time.after(chaos.between(1, 2 * everyMs), () => {
        if (isHealed) return
        act()
        next()
      })
    next()
  }

  const disturb = (node: NodeHandle) => {
    const { chaos } = node
    repeat(chaos.fork('crash'), profile.crashEveryMs, () => {
      const life = newest(node)
      if (life !== undefined) endLife(life, chaos)
    })
    repeat(chaos.fork('jump'), profile.jumpEveryMs, () => {
      const ms = chaos.between(-10 * MINUTE, 10 * MINUTE)
      observations.counts.jumps += 1
      trace(node.name, () => `wall clock jumps by ${ms} ms`)
      node.machine.jump(ms)
    })
    repeat(chaos.fork('pause'), profile.pauseEveryMs, () => {
      const life = newest(node)
      if (life === undefined || life.isPaused()) return
      observations.counts.pauses += 1
      life.pause()
      links.paused(life)
      circuits.paused(life)
      // From a hiccup to far past the lease.
      const pauseMs = chaos.pick([300, 4_000, profile.leaseMs, 3 * profile.leaseMs])
      time.after(pauseMs, () => {
        life.resume()
        links.paused(life)
        circuits.paused(life)
      })
      // An operator starts the node a second time and ends the first process only later.
      if (profile.isRemote && chaos.chance(300)) {
        time.after(chaos.between(100, pauseMs), () => {
          node.start()
          time.after(pauseMs + chaos.between(1, 8_000), () => {
            if (newest(node) !== life) life.crash('as a leftover')
          })
        })
      }
    })
  }

  const endLife = (life: Life, chaos: Rng) => {
    const engine = life.engine()
    if (engine === null || chaos.chance(700)) life.crash('by chance')
    else life.pass(() => void engine.drain(DRAIN_MS).then(() => life.crash('as it was told to')))
  }

  const disturbFleet = (plan: FleetPlan) => {
    const chaos = rng.fork('chaos/fleet')
    let guests = 0
    repeat(chaos.fork('guest'), plan.guestEveryMs, () => {
      if (lives.length >= LIVES_MAX) return
      guests += 1
      observations.counts.guests += 1
      const guest = addNode(`g${guests}`, plan.hasRoles ? drawSome(chaos) : ALL_ROLES, true)
      disturb(guest)
      time.after(chaos.between(500, 2 * plan.guestEveryMs), () => {
        const life = newest(guest)
        if (life !== undefined) endLife(life, chaos)
      })
    })
    const breakStore = (awayMs: number | null) => {
      const lingerMs = chaos.pick([0, 0, chaos.between(1, LINGER_MS_MAX)])
      primary.breakAtNext({ isBefore: chaos.chance(500), awayMs, lingerMs })
    }
    repeat(chaos.fork('cut'), plan.cutEveryMs, () => {
      observations.counts.cuts += 1
      breakStore(null)
    })
    repeat(chaos.fork('fail-over'), plan.failOverEveryMs, () => {
      observations.counts.failOvers += 1
      breakStore(chaos.between(10, plan.awayMsMax))
    })
  }

  const disturbOperators = () => {
    const chaos = rng.fork('chaos/people')
    repeat(chaos.fork('person'), profile.operatorEveryMs, () => actAsOperator(outside))
    repeat(chaos.fork('define'), profile.redefineEveryMs, () => {
      routes = chaos.pick(bundles)
      redefine()
    })
    repeat(chaos.fork('control'), profile.controlEveryMs, () => definers.act())
    repeat(chaos.fork('keep'), hooks.everyMs, () => hooks.act())
    repeat(chaos.fork('connect'), links.everyMs, () => links.act())
  }

  const redefine = () => {
    for (const life of lives) applyTo(life)
  }

  /** The client that applies sees a failure of the store, and tries again. */
  const applyTo = (life: Life) => {
    life.pass(() => {
      const wanted = routes
      life.apply(wanted).catch(() => {
        time.after(APPLY_AGAIN_MS, () => {
          if (routes === wanted) applyTo(life)
        })
      })
    })
  }

  const heal = () => {
    isHealed = true
    faults.heal()
    primary.heal()
    trace('world', () => 'heals')
    routes = completed(HEALED)
    for (const life of [...lives]) {
      const isLeftover = lives.findLast((other) => other.node === life.node) !== life
      if (isLeftover) life.crash('as a leftover')
      else life.resume()
    }
    redefine()
    definers.resumeAll()
    hooks.heal()
    links.heal()
    buses.heal()
  }

  const run = async (): Promise<RunReport> => {
    const roles = profile.fleet?.hasRoles ? drawRoles(rng.fork('roles'), profile.nodes) : []
    const nodes = Array.from({ length: profile.nodes }, (_, index) =>
      addNode(`n${index + 1}`, roles[index] ?? ALL_ROLES),
    )
    for (const node of nodes) disturb(node)
    if (profile.fleet !== undefined) disturbFleet(profile.fleet)
    disturbOperators()
    buses.begin(repeat)
    const drawn = rng.fork('messages')
    const hubs = rng.fork('hubs')
    const own =
      options.messages ??
      Array.from({ length: profile.messages }, (_, index) => {
        const message = drawMessage(drawn, index + 1, profile.kinds)
        const isHubs = message.source === 'shop' && hubs.chance(250)
        return isHubs ? { ...message, source: 'hub' as const } : message
      })
    const messages = twins.withTwins(hooks.withOthers(own))
    const senders: { isOver(): boolean }[] = []
    for (const message of messages) {
      const at = drawn.int(Math.floor(profile.faultsMs * 0.8))
      time.after(at, () => senders.push(startSender(outside, message, twins.repeatAt)))
    }
    const isBroken = () => observations.violations.length > 0
    /** What must be over, by the name that a failure gives it. */
    const parts: Readonly<Record<string, () => boolean>> = {
      'a node': () => lives.some((life) => life.engine() !== null),
      'a sender': () => senders.length === messages.length && senders.every((sender) => sender.isOver()),
      'a job': () => !hasUnsettled(observations, workflows.model),
      'a replay': () => observations.replaying.size === 0,
      'the schedule': schedules.isSeen,
      'the twin': twins.isSettled,
      subscriptions: hooks.isMended,
      connections: links.isMended,
      'the bus': buses.isMended,
    }
    const isSettled = () => Object.values(parts).every((isOver) => isOver())
    const poisonous = messages.filter(({ kind }) => kind === 'exploded').length
    const ordered = messages.filter(({ kind }) => kind === 'moved' || isCaseKind(kind)).length
    const settle = async (isOver: () => boolean) => {
      const until = time.now() + healingMs(profile, poisonous, ordered)
      let lastSteps = Number.NEGATIVE_INFINITY
      await time.run(until, () => {
        if (isBroken()) return true
        // Looking at everything after every timer would cost more than the run itself.
        if (time.steps() - lastSteps < 25) return false
        lastSteps = time.steps()
        return isOver()
      })
      if (isBroken() || isOver()) return
      const left = unsettled(observations, workflows.model).map(
        (row) => `${short(row.id)} ${row.consumer} ${row.step ?? ''} ${row.state}`,
      )
      const parked = waitingForOperator(observations).length
      const open = Object.keys(parts).filter((name) => parts[name]?.() === false)
      const what = left.length > 0 ? left : open.length > 0 ? open : [`${parked} parked`]
      observations.violate('N12', `not settled in time: ${what.join(', ')}`)
    }
    await time.run(startAt + profile.faultsMs, isBroken)
    if (!isBroken()) {
      heal()
      await settle(isSettled)
    }
    if (!isBroken()) {
      checkEnd(observations, plain, workflows.model)
      schedules.end()
      twins.end()
      await checkTenants(observations, whole, data)
      hooks.end()
      links.end()
      buses.end()
    }
    // An operator can finish the rest: each decision is accepted sooner or later, and the waiting jobs continue.
    if (!isBroken() && waitingForOperator(observations).length > 0) {
      // What a guest leaves behind may have to be decided once more.
      const ask = () => {
        decideAll(outside)
        time.after(OPERATOR_AGAIN_MS, ask)
      }
      ask()
      await settle(() => isSettled() && waitingForOperator(observations).length === 0)
      if (!isBroken()) checkEnd(observations, plain, workflows.model)
    }
    return {
      seed,
      store: options.store,
      violations: observations.violations,
      counts: { ...observations.counts },
      steps: time.steps(),
      virtualMs: time.now() - startAt,
    }
  }

  return {
    run,
    close() {
      for (const life of [...lives]) life.crash('at the end')
      whole.close()
    },
  }
}

/** The same, and of the twin nothing. */
function withoutTwin(data: Data): Data {
  const isOurs = ({ tenant }: { readonly tenant: TenantId }) => tenant !== TWIN
  const without = <Dump extends object>(dump: Dump): Dump =>
    Object.fromEntries(
      Object.entries(dump).map(([name, rows]) => [name, Array.isArray(rows) ? rows.filter(isOurs) : rows]),
    ) as Dump
  return { ...data, dump: () => without(data.dump()), prunable: () => without(data.prunable()) }
}

function partsOf(options: RunOptions, drawn: Profile): Parts {
  const names = Object.keys(NO_PARTS) as (keyof Parts)[]
  const given = options.bug === undefined || options.bug.isMixed === true ? drawn : options.bug
  const chosen = names.map((name) => [name, options[name] ?? given[name] === true])
  return Object.fromEntries(chosen) as Record<keyof Parts, boolean>
}

/** The same checks, with a line for each thing that was applied. */
function tracedRows(rows: ReturnType<typeof makeRowChecks>, trace: StoreWatch['trace']): Partial<StoreWatch> {
  return {
    applied(life, commits, outcomes) {
      for (const [index, commit] of commits.entries()) {
        trace(life.name, () => {
          const outcome = outcomes[index]!
          const result =
            outcome.ok === true
              ? 'ok'
              : outcome.ok === 'failed'
                ? 'failed'
                : `refused ${commit.guards[outcome.guard]?.g}`
          return `commit ${result}: ${commit.writes.map(describeWrite).join(', ')}`
        })
      }
      rows.applied(life, commits, outcomes)
    },
    claimed(life, request, result) {
      for (const { work } of result.items) {
        trace(life.name, () => `claims ${work.consumer} ${short(work.id)} epoch ${work.epoch}`)
      }
      rows.claimed(life, request, result)
    },
    joined(life, node, result) {
      trace(life.name, () => `joins as ${result.owner}`)
      rows.joined(life, node, result)
    },
    reclaimed(life, given) {
      for (const id of given) trace(life.name, () => `gives back ${short(id)}`)
      rows.reclaimed(life, given)
    },
    left(life, given) {
      for (const id of given) trace(life.name, () => `leaves ${short(id)}`)
      rows.left(life, given)
    },
  }
}

function describeWrite(write: Parameters<StoreWatch['applied']>[1][number]['writes'][number]): string {
  switch (write.w) {
    case 'event.append':
      return `event ${short(write.event.id)} ${write.event.subject}`
    case 'work.add':
      return `add ${write.work.consumer} ${short(write.work.id)}${write.work.step === undefined ? '' : ` ${write.work.step}`}`
    case 'work.settle':
      return `${short(write.work)} ${write.to}`
    case 'work.again':
      return `${short(write.work)} again in ${write.delayMs}`
    case 'ledger.reserve':
    case 'ledger.done':
      return `${write.w} ${write.entry.key}`
    case 'ledger.settle':
      return `ledger ${write.key} ${write.to} (${write.proof})`
    case 'instance.put':
      return `instance ${short(write.row.id)} ${write.row.state} revision ${write.row.revision}`
    case 'history.append':
      return write.rows.map(({ type, sequence }) => `${sequence} ${type}`).join(' ')
    case 'orphan.put':
      return `orphan ${short(write.row.id)} ${write.row.state}`
    case 'run.put':
      return `run ${short(write.row.id)} ${write.row.state} ${write.row.attemptCount}`
    case 'deadLetter.put':
      return `dead letter ${short(write.row.id)} ${write.row.state}`
    default:
      return write.w
  }
}
