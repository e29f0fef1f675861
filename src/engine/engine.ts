// The engine: intake, leases, claims and the runner around one store. It starts by fencing and recovering what a crash
// left, and stops by finishing what runs.

import { type DefinitionDocument, definitionId } from '../core/definitions/documents/index.ts'
import { messageOf } from '../core/foundation/errors/index.ts'
import { makeIds, type TenantId } from '../core/foundation/ids/index.ts'
import { shareOf } from '../core/queue/fairness/index.ts'
import { type Role, roleOfConsumer } from '../core/queue/node-role/index.ts'
import type { Route } from '../core/routing/index.ts'
import type { Followed } from '../ports/wakes.ts'
import {
  type EventPlan,
  makeCommits,
  makeStoreTime,
  makeUnitOfWork,
  tenantsInStore,
  tenantsWithKnownTimes,
} from './commit/index.ts'
import type { EngineConfig, EngineDeps } from './config.ts'
import {
  type CredentialKeeping,
  type Credentials,
  type Integrations,
  makeConnections,
  makeCredentials,
  makeHealthWorker,
  type Watched,
} from './connections/index.ts'
import {
  type BulkReplays,
  type DeadLetterActions,
  makeBulkReplays,
  makeReplayer,
  makeWorkActions,
} from './dead-letters/index.ts'
import { type Definitions, followDefinitions, makeDefinitions, makeRegistry } from './definitions/index.ts'
import {
  type AgentProgress,
  endBatches,
  makeAgents,
  makeBatches,
  makeEffects,
  makeFreeze,
  makeFunctionEffects,
  makeFunctionEnds,
  makeGathering,
  makeInternalActions,
  makeLateAcks,
  makeOpenHttp,
  makeUpserts,
  releaseLocks,
} from './effects/index.ts'
import {
  type FlowControlActions,
  followCircuits,
  makeFlowControl,
  makeFlowControlActions,
  makeSharedPermits,
} from './flow-control/index.ts'
import {
  type Accepted,
  type BusConsumers,
  type Intake,
  type IntakeRequest,
  makeAcceptor,
  makeAdmission,
  makeBusConsumers,
  makeDuplicates,
  makeIntake,
  makeIntakeItems,
  makeMessages,
  makePublisher,
  makeRefusalLines,
  makeRejections,
  makeSchedules,
  makeStoredHeaders,
  makeTenantBacklog,
  makeTimetables,
  type Publisher,
  type Received,
  type Rejections,
  type Schedules,
} from './ingest/index.ts'
import { type Item, makeLease, makePool } from './leases/index.ts'
import {
  type Feed,
  type Inspect,
  type Meter,
  makeFeed,
  makeInspect,
  makeMeter,
  makeNodesFeed,
} from './observe/index.ts'
import { ALWAYS_HELD, makeLeaderLease, makeOutboxStore, makeRelay, type Relay } from './outbox/index.ts'
import { makeLeasedOnInsert, type PlanDeps, planAlone, planEvent } from './planning/index.ts'
import {
  type BacklogAges,
  type Claims,
  type LaneActions,
  makeActions,
  makeBacklog,
  makeClaims,
  makeDebouncer,
  makeExpandEach,
  makeLaneActions,
  makeLostClaims,
  makeNodeWakes,
  makeRunner,
} from './queue/index.ts'
import { keepTimesOf, ledgerKeepTimesOf, makeRetention } from './retention/index.ts'
import {
  DECISIONS,
  type Decision,
  type Decisions,
  type EscalationActions,
  listParticipants,
  makeEscalations,
  makeFailureSweep,
  makeFailures,
  makePlanEnd,
  makeSettler,
  type WorkActions,
} from './settlement/index.ts'
import {
  type DeliveryActions,
  type DeliveryViews,
  makeDeliveryActions,
  makeDeliveryRunner,
  makeDeliveryViews,
  makeSlotLending,
  makeSubscriptionKeeping,
  type Subscriptions,
} from './webhooks/index.ts'
import {
  endSteps,
  makeInlineStart,
  makeInstances,
  makeOrphans,
  makeScheduledTriggers,
  makeSignals,
  makeStartAction,
  makeStarter,
  makeSteps,
  makeTriggerRates,
  makeTriggers,
  makeWorkflowItems,
  makeWorkflowOperatorApi,
  type OrphanActions,
  type WorkflowOperatorApi,
} from './workflows/index.ts'

export interface EngineHealth {
  /** Takes events in. */
  readonly open: boolean
  /** Has a life in the store by its own clock. */
  readonly alive: boolean
  readonly running: number
}

export interface Engine extends DeadLetterActions, WorkActions {
  /** Dead letters by the many. */
  readonly replays: BulkReplays
  /** What people do about failures that they were told of. */
  readonly escalations: EscalationActions
  /** Load or apply before `start`, so that recovered work finds them. */
  readonly definitions: Definitions
  /** Who holds others up, and letting them go on. */
  readonly lanes: LaneActions
  /** Whose endpoints get which of our events. */
  readonly subscriptions: Subscriptions
  /** What is sent to the endpoints of subscriptions. */
  readonly deliveries: DeliveryViews & DeliveryActions
  /** When the work of routes may run. */
  readonly flowControl: FlowControlActions
  /** Somebody else's systems: providers, connections, credentials and runs. */
  readonly integrations: Integrations & Pick<CredentialKeeping['operatorApi'], 'supplied'>
  /** Workflows and their instances, as people see and change them. */
  readonly workflows: WorkflowOperatorApi
  /** What would happen, and why something did. */
  readonly inspect: Inspect
  /** Puts a tenant's definitions in force as its folder's, all of them: what is not among them goes. */
  apply(tenant: TenantId, documents: readonly DefinitionDocument[]): Promise<{ readonly hash: string }>
  start(): Promise<void>
  /** How many bytes of a body a source takes; throws AppError where the request is refused whatever its body is. */
  bodyBytesMax: Intake['bodyBytesMax']
  /** What a sender asks: an event, or a handshake that comes before events. */
  receive(request: IntakeRequest): Promise<Received>
  /** The same for requests that are events. */
  accept(request: IntakeRequest): Promise<Accepted>
  /** Tells of a request that was refused before it came here. */
  refused: Intake['refused']
  /** What was refused on the way in. */
  readonly rejections: Pick<Rejections, 'list'>
  /** Keeps events that somebody publishes. */
  publish: Publisher['publish']
  /** Events that found no instance: what people do about them. */
  readonly orphans: OrphanActions
  /** When sources fire by the clock. */
  readonly schedules: Pick<Schedules, 'state'>
  /** Whether sources take messages of the bus. */
  readonly busConsumers: Pick<BusConsumers, 'state'>
  /** Takes nothing new, finishes what runs (for at most `withinMs`), gives the rest to others, and stops. Answers how much that was. */
  drain(withinMs: number): Promise<{ readonly left: number }>
  health(): EngineHealth
  /** Tells what this node's commits change, as they become durable. Answers how to stop. */
  watch: Feed['watch']
  /** Telling the bus; null: this node does not. */
  readonly relay: Pick<Relay, 'status'> | null
  /** How long work has been due that more nodes could take; null: this node may not ask. */
  backlog(): Promise<BacklogAges | null>
  /** What this node has done, counted. */
  readonly meter: Omit<Meter, 'applied'>
}

/** For giving the rest to others: a store that is away must not keep a node from ending. */
const LEAVE_MS_MAX = 5_000

const NOBODY: ReadonlySet<string> = new Set()

/** What tests put in place of what is made here. */
export interface EngineParts {
  readonly credentials?: Credentials
}

export function makeEngine(
  deps: EngineDeps & EngineParts,
  config: EngineConfig,
  decisions: Decisions = DECISIONS,
): Engine {
  const { clock, random, http, vault, secrets, log, code, encryption, wakes, bus } = deps
  const hasOutbox = config.hasOutbox && bus !== null
  const store = hasOutbox ? makeOutboxStore(deps.store, wakeRelay) : deps.store
  const has = (role: Role) => config.roles.has(role)
  const runs = (consumer: string) => has(roleOfConsumer(consumer))
  const ids = makeIds({ now: () => clock.now(), bytes: (length) => random.bytes(length) })
  const time = makeStoreTime(clock)
  const feed = makeFeed()
  const meter = makeMeter({ clock })
  const commits = makeCommits({
    store,
    clock,
    time,
    log,
    onLost: suspect,
    onApplied(commit, result, about) {
      meter.applied(commit, result.at, about)
      feed.applied(commit, result, about)
      others?.applied(commit, result)
      if (commit.writes.some(({ w }) => w === 'escalation.raise')) sweep.wake()
    },
  })
  const unitOfWork = makeUnitOfWork({
    log,
    commits,
    leasedOnInsert: makeLeasedOnInsert({
      log,
      time,
      start: (item) => pool.start(item),
      giveBack: (id) => pool.giveBack(id),
      forgetLeased: (tenant, route) => flowControl.forgetLeased(tenant, route),
      suspect,
      wake: () => wake(),
    }),
  })
  const registry = makeRegistry({ store, providers: config.providers, random })
  /** null: this node is alone. */
  const others = config.isShared
    ? makeNodeWakes({
        clock,
        random,
        log,
        wakes,
        takes: (consumer) => runs(consumer) && pool.free() > 0 && claims?.isBehind() === false,
        wake: (delayMs) => wake(delayMs),
        learn: learnOfOthers,
      })
    : null
  const nodesFeed = config.isShared
    ? makeNodesFeed({ clock, wakes, feed, log, tenants: () => tenantsInStore(store) })
    : null
  const sharedPermits = config.isShared
    ? makeSharedPermits(
        {
          store,
          clock,
          log,
          random,
          time,
          commits,
          wake: (delayMs) => wake(delayMs),
          changed: (tenant) => others?.changed(tenant, 'rate'),
        },
        config,
      )
    : null
  const connections = makeConnections(
    {
      sharedPermits,
      store,
      clock,
      random,
      http,
      log,
      registry,
      commits,
      ids,
      time,
      decisions,
      credentials: () => deps.credentials ?? keys.credentials,
      plan: (...args) => plan(...args),
      unitOfWork,
      owners: (tenant) => definitions.owners(tenant),
      wake: (delayMs) => wake(delayMs),
    },
    config,
  )
  const failures = makeFailures({
    store,
    commits,
    ids,
    now: () => time.now(),
    plan: (...args) => plan(...args),
  })
  const lanes = {
    ids,
    decisions,
    vars: config.vars,
    plan: (...args: Parameters<typeof plan>) => plan(...args),
  }
  const planEnd = makePlanEnd({ store, commits, ids, failures, lanes })
  const settler = makeSettler({
    planEnd,
    participantsOf: listParticipants({
      runs: connections.runs,
      steps: endSteps({ store, commits, encryption, log, instances: () => instances }),
      batches: endBatches({
        store,
        commits,
        encryption,
        ids,
        random,
        time,
        log,
        decisions,
        vars: config.vars,
        wake: () => wake(),
      }),
      locks: releaseLocks({ store, commits }),
    }),
    unitOfWork,
    onSettling: tellInside,
    wake: (delayMs) => wake(delayMs),
  })
  let open = false
  let claims: Claims | null = null
  const wake = (delayMs = 0) => claims?.wake(delayMs)
  const lease = makeLease({ store, clock, time, log }, config, wake)
  const keeping = makeSubscriptionKeeping(
    {
      store,
      clock,
      random,
      http,
      vault,
      secrets,
      log,
      ids,
      registry,
      commits,
      time,
      settler,
      plan: (...args) => plan(...args),
      planFor: (route) => (draft, payload, header, dedupForMs) =>
        planAlone(planning, route, { ...draft, matched: 1 }, payload, header, dedupForMs),
      refreshDefinitions: (tenant) => definitions.refresh(tenant),
      unitOfWork,
      wake,
    },
    config,
  )
  const definitions = makeDefinitions({
    store,
    registry,
    code,
    log,
    subscriptions: keeping.defined,
    clock,
    limits: config.limits,
    enacted: (tenant) => others?.changed(tenant, null),
    now: () => time.now(),
    wake,
  })
  definitions.onChange(({ tenant, version }) => feed.announce(tenant, { type: 'definitions', version }))
  const inspect = makeInspect({ store, registry, definitions, vars: config.vars, log, now: () => time.now() })
  let unfollow = () => {}
  let unfollowCircuits = () => {}

  const runner = makeRunner({
    store,
    time,
    random,
    log,
    registry,
    settler,
    decisions,
    vars: config.vars,
    actions: () => actionsOfRoutes,
    intakeItems: () => intakeItems,
    workflowItems: () => workflowItems,
    deliveries: () => deliveries,
    rotations: () => keys.rotations,
    debouncer: () => debouncer,
    expandEach: () => expandEach,
  })
  const debouncer = makeDebouncer({ store, log, settler, commits, decisions, time, wake })
  const expandEach = makeExpandEach({ ids, settler, log, deadLetterJob: runner.deadLetterRouteJob, wake })
  const pool = makePool({
    concurrency: config.concurrency,
    runningBytesMax: config.runningBytesMax,
    run: (item) => runner.run(item),
    share: (tenant) => shareOnInsert(tenant),
    onFree: (item) => claims?.freed(item),
  })
  const gathering = makeGathering({
    clock,
    time,
    stepAside: (tenant) => pool.lend(tenant),
    freeze: makeFreeze(
      {
        store,
        commits,
        ids,
        pool,
        owner: () => lease.owner(),
        remember: (batch, members) => batches.remember(batch, members),
        wake,
      },
      config,
    ),
  })
  const batches = makeBatches({ store, settler, gathering, effects: () => effects }, config)
  const lostClaims = makeLostClaims({
    store,
    clock,
    log,
    pool,
    tenants: () => tenantsInStore(store),
  })
  const flowControl = makeFlowControl({
    sharedPermits,
    store,
    decisions,
    log,
    random,
    registry,
    time,
    ids,
    commits,
    entrance: connections.entrance,
    learnConnections: connections.learn,
    plan: (...args) => plan(...args),
    unitOfWork,
    wake,
    room: (delayMs) => claims?.room(delayMs),
  })
  const planning: PlanDeps = {
    registry,
    pool,
    mayLeaseOnInsert: flowControl.mayLeaseOnInsert,
    noteLeased: flowControl.noteLeased,
    code,
    ids,
    vars: config.vars,
    runs,
    owner: () => (open ? lease.owner() : null),
  }
  const plan = (
    ...args: Parameters<typeof planEvent> extends [unknown, ...infer Rest] ? Rest : never
  ): EventPlan => planEvent(planning, ...args)
  const instances = makeInstances({
    store,
    commits,
    encryption,
    time,
    planning,
    plan,
    planEnd,
    hasOutbox,
    unitOfWork,
  })
  const lateAcks = makeLateAcks({ store, commits, settler, wake })
  const keys = makeCredentials(
    {
      store,
      clock,
      random,
      http,
      vault,
      secrets,
      encryption,
      log,
      time,
      ids,
      commits,
      registry,
      settler,
      decisions,
      lease,
      vars: config.vars,
      plan,
      outboundClient: () => connections.outboundClient,
      unitOfWork,
      wake,
      managedBy: (tenant, name) =>
        definitions.owners(tenant).get(definitionId({ kind: 'Credential', name })) ?? 'folder',
    },
    config,
  )
  const health = makeHealthWorker(
    {
      store,
      clock,
      log,
      time,
      ids,
      commits,
      decisions,
      vars: config.vars,
      outboundClient: connections.outboundClient,
      watched: findWatched,
      begin: connections.outboundClient.mayTry,
      probed: connections.outboundClient.probed,
      refused({ tenant, connection }, version, error) {
        if (connection.credential === null) return
        const about = { version, correlationId: ids.uuid(), error }
        keys.credentials
          .refused(tenant, connection.credential, about)
          .catch((thrown: unknown) => log.warn('connection.not-probed', { error: messageOf(thrown) }))
      },
      accepted({ tenant, connection }, version, since) {
        if (connection.credential === null) return
        keys.credentials
          .accepted(tenant, connection.credential, version, since)
          .catch((thrown: unknown) => log.warn('connection.not-probed', { error: messageOf(thrown) }))
      },
    },
    config,
  )
  const effects = makeEffects(
    {
      store,
      encryption,
      clock,
      time,
      random,
      http,
      log,
      vault,
      commits,
      settler,
      lease,
      decisions,
      lateAcks,
      flowControl,
    },
    config,
  )
  const internal = makeInternalActions(
    {
      store,
      encryption,
      clock,
      code,
      log,
      ids,
      settler,
      lease,
      time,
      effects: makeFunctionEffects(
        { store, encryption, clock, random, log, commits, lease, time, decisions, lateAcks },
        config,
      ),
      ends: makeFunctionEnds({ store, random, log, time, commits, settler, decisions }),
      connections: connections.functions,
      plan,
      unitOfWork,
      fail: runner.fail,
      hold: runner.hold,
    },
    config,
  )
  const timetables = makeTimetables({
    store,
    clock,
    log,
    encryption,
    ids,
    time,
    plan,
    internal,
    unitOfWork,
    fail: runner.fail,
    changed: () => schedules.look(),
  })
  const starter = makeStarter({
    store,
    log,
    ids,
    vars: config.vars,
    registry,
    commits,
    instances,
    plan,
    unitOfWork,
    refresh: (tenant) => definitions.refresh(tenant),
  })
  const actionsOfRoutes = makeActions({
    time,
    effects,
    openHttp: makeOpenHttp({ clock, http, vault, decisions }, config),
    internal,
    batches,
    upserts: makeUpserts({ store, clock, http, vault, commits, time, decisions }, config),
    agents: makeAgents(
      {
        store,
        clock,
        http,
        log,
        vault,
        commits,
        decisions,
        progress: tellProgress,
      },
      config,
    ),
    start: makeStartAction({
      store,
      clock,
      starter: () => starter,
      internal,
      fail: runner.fail,
    }),
    timetables,
    connections,
    deadLetterJob: runner.deadLetterRouteJob,
  })
  const intakeItems = makeIntakeItems({
    store,
    log,
    planning,
    settler,
    deadLetterJob: runner.deadLetterJob,
    refresh: (tenant) => definitions.refresh(tenant),
    unitOfWork,
  })
  const steps = makeSteps({
    store,
    commits,
    instances,
    registry,
    settler,
    vars: config.vars,
    begin: runner.begin,
    actions: () => actionsOfRoutes,
    deadLetterJob: runner.deadLetterRouteJob,
  })
  const workflowItems = makeWorkflowItems({
    steps,
    signals: makeSignals({ instances, settler, deadLetterJob: runner.deadLetterRouteJob }),
    triggers: makeTriggers({
      store,
      log,
      ids,
      vars: config.vars,
      time,
      registry,
      settler,
      instances,
      rates: makeTriggerRates({ time, sharedPermits }),
      plan,
      wake,
    }),
  })
  const deliveries = makeDeliveryRunner(
    {
      store,
      clock,
      random,
      http,
      vault,
      log,
      ids,
      time,
      registry,
      lease,
      settler,
      decisions,
      flowControl,
      slotLending: makeSlotLending({ clock, lend: (tenant) => pool.lend(tenant) }),
      watch: keeping.watch,
      plan,
      begin: runner.begin,
      isStored: keeping.isStored,
      refresh: (tenant) => keeping.operatorApi.refresh(tenant),
      unitOfWork,
    },
    config,
  )
  const sweep = makeFailureSweep(
    {
      store,
      clock,
      log,
      time,
      ids,
      plan: (...args) => plan(...args),
      tenants: () => registry.tenants(),
      unitOfWork,
    },
    config,
  )
  const escalations = makeEscalations({
    store,
    log,
    ids,
    plan: (...args) => plan(...args),
    unitOfWork,
  })
  const refusalLines = makeRefusalLines({ log })
  const rejections = makeRejections({
    onFlush: () => refusalLines.flush(),
    store,
    clock,
    log,
    ids,
    isTenant: (tenant) => registry.isTenant(tenant),
    isSource: (tenant, source) => registry.source(tenant, source) !== null,
  })
  const duplicates = makeDuplicates({ store, clock, log })
  const keepTimes = (tenant: TenantId) =>
    keepTimesOf(
      registry.sources(tenant).map(({ document }) => document),
      config.retentionMs,
      config.canonicalRetentionMs,
    )
  const retention = makeRetention(
    {
      store,
      clock,
      log,
      tenants: () => tenantsWithKnownTimes(store, registry),
      hasUnusable: (tenant) => registry.hasUnusable(tenant),
      keepTimes,
      ledgerKeepTimes: (tenant) =>
        ledgerKeepTimesOf(
          registry.routes(tenant).map(({ document }) => document),
          keepTimes(tenant),
          config.ledgerRetentionMs,
        ),
    },
    config,
  )
  const relay =
    hasOutbox && has('schedule')
      ? makeRelay(
          {
            ...{ store, bus, clock, log, time },
            leaderLease: config.isShared ? makeLeaderLease({ store, time, by: ids.uuid() }) : ALWAYS_HELD,
          },
          config,
        )
      : null
  let unsubscribe = () => {}
  const inlineStart = makeInlineStart({ store, log, planning, instances, unitOfWork })
  const keptHeaders = makeStoredHeaders(registry, config.keptHeaders)
  const acceptor = makeAcceptor({
    ...{ store, clock, log, commits, planning, duplicates, inlineStart, unitOfWork },
    isShared: config.isShared,
  })
  const schedules = makeSchedules({
    store,
    clock,
    log,
    time,
    ids,
    registry,
    commits,
    acceptor,
    refresh: (tenant) => definitions.refresh(tenant),
    others: [makeScheduledTriggers({ store, ids, registry, unitOfWork, plan, wake }), timetables],
  })
  const backlogLimit = makeTenantBacklog({ store, clock, log }, config.openJobsMax)
  const busConsumers = makeBusConsumers(
    {
      clock,
      log,
      bus: deps.bus,
      registry,
      sharedPermits,
      messages: makeMessages(
        { clock, random, log, ids, acceptor, keptHeaders, backlog: backlogLimit, isOpen: () => open },
        config,
      ),
    },
    config,
  )
  definitions.onChange(() => busConsumers.look())
  definitions.onChange(({ tenant }) => schedules.wake(tenant))
  definitions.onChange(({ tenant }) => connections.tester.wake(tenant))
  const orphans = makeOrphans({ store, log, ids, vars: config.vars, registry, commits, wake })
  definitions.onChange(({ tenant }) => orphans.changed(tenant))
  const publisher = makePublisher(
    { clock, log, ids, acceptor, backlog: backlogLimit, isOpen: () => open },
    config,
  )
  const intake = makeIntake(
    {
      clock,
      log,
      ids,
      admission: makeAdmission({
        clock,
        vault,
        log,
        registry,
        sharedPermits,
        backlog: backlogLimit,
        isShared: config.isShared,
      }),
      keptHeaders,
      rejections,
      refusalLines,
      acceptor,
      isOpen: () => open,
    },
    config,
  )
  const { vars } = config
  const replayer = makeReplayer({
    store,
    log,
    registry,
    ids,
    vars,
    failures,
    instances: () => instances,
    unitOfWork,
    wake,
  })
  const bulk = makeBulkReplays(
    {
      store,
      clock,
      time,
      log,
      registry,
      vars,
      ids,
      commits,
      replayer,
      wake,
      expect: (tenant, consumer) => claims?.expect(tenant, consumer),
      isBehind: () => claims?.isBehind() ?? false,
      refresh: (tenant) => keeping.operatorApi.refresh(tenant),
      hurry: (tenant, consumer) => flowControl.endpointConcurrency.forget(tenant, consumer),
    },
    config,
  )
  const workflows = makeWorkflowOperatorApi({
    store,
    encryption,
    log,
    unitOfWork,
    ids,
    registry,
    instances,
    letters: replayer,
    starter,
    wake,
  })
  const actions = makeWorkActions(
    {
      ...{ store, log, http, registry, commits, time, steps, wake, settler },
    },
    config,
  )

  /** What other nodes changed of a tenant, of all that this one keeps a copy of. `kinds`: of records only these; null: anything. */
  async function learnOfOthers(tenant: TenantId, kinds: ReadonlySet<Followed> | null): Promise<void> {
    if (kinds === null) await definitions.refresh(tenant)
    if (kinds === null || kinds.has('subscription')) await keeping.refresh(tenant)
    if (kinds === null || kinds.has('credential')) await keys.learn(tenant)
    await flowControl.learn(tenant, kinds)
    wake()
  }

  function wakeRelay(): void {
    relay?.wake()
    if (config.isShared && relay?.isOurs() !== true) wakes.send({ wake: 'outbox' })
  }

  /** The claim loop looks for what the lost answer may have put into our hands. */
  function suspect(): void {
    feed.lost()
    lostClaims.suspect()
    wake()
  }

  /** What an agent says may quote what it was asked: of what is sensitive or sealed only the length is told. */
  function tellProgress({ item, agent, text, characters }: AgentProgress): void {
    const { tenant, id, consumer, instance } = item.work
    const security = registry.workflow(tenant, consumer.replace(/^workflow:/, ''))?.document.security
    const isOpen = item.event.sensitive.length === 0 && security === undefined
    const shown = isOpen ? text : ''
    feed.announce(tenant, { type: 'agent', agent, work: id, instance, text: shown, characters })
  }

  /** What ran inside the process has nobody else to tell how it went. */
  function tellInside(item: Item, route: Route | null, decision: Decision): void {
    const type = route?.action.type
    // What a trigger or a delivery does is told where it is done.
    const isElsewhere = route?.of?.kind === 'trigger' || route?.of?.kind === 'delivery'
    if (route === null || isElsewhere || (type !== 'function' && type !== 'emit')) return
    const isRun = decision.to === 'done' || decision.attempt !== null
    if (isRun)
      flowControl.reportResult({
        item,
        route,
        host: null,
        class: decision.note.class ?? 'done',
        retryAfterMs: null,
      })
  }

  /** Connections that are tested and not retired: the others run nothing, and nobody waits for them. */
  function findWatched(): readonly Watched[] {
    return registry.tenants().flatMap((tenant) =>
      registry.connections(tenant).flatMap(({ document }) => {
        const provider = document.probe === null ? null : registry.provider(tenant, document.provider)
        const status = connections.status(tenant, document.name)
        if (provider === null || status === 'pending' || status === 'retired') return []
        return [{ tenant, connection: document, provider: provider.document }]
      }),
    )
  }

  /** While work is due that waits for a slot, births leave half of them to it. */
  function shareOnInsert(tenant: TenantId): number {
    const crowd = {
      concurrency: config.concurrency,
      tenants: registry.tenantCount(),
      running: pool.tenants(),
      hungry: claims?.hungry() ?? NOBODY,
    }
    const share = shareOf(tenant, crowd)
    return claims?.isBehind() === true ? Math.min(share, Math.ceil(config.concurrency / 2)) : share
  }

  const atMost = async (withinMs: number, work: Promise<void>): Promise<void> => {
    let cancel: () => void = () => {}
    const late = new Promise<void>((resolve) => {
      cancel = clock.after(withinMs, resolve)
    })
    await Promise.race([work, late])
    cancel()
  }

  return {
    subscriptions: keeping.operatorApi,
    deliveries: {
      ...makeDeliveryViews({ store, registry, endpointConcurrency: flowControl.endpointConcurrency }, config),
      ...makeDeliveryActions({
        store,
        registry,
        commits,
        ids,
        vars,
        log,
        actions,
        replay: replayer.replay,
        hurry: flowControl.endpointConcurrency.forget,
        refresh: (tenant) => keeping.operatorApi.refresh(tenant),
        wake,
      }),
    },
    ready: replayer.ready,
    discard: replayer.discard,
    edit: replayer.edit,
    replay: replayer.replay,
    ...actions,
    escalations,
    replays: bulk,
    lanes: makeLaneActions({ store, log, commits, wake }),
    definitions,
    flowControl: makeFlowControlActions({ store, log, registry, flowControl }),
    workflows,
    integrations: { ...connections.operatorApi, ...keys.operatorApi },
    inspect,
    apply: (tenant, documents) =>
      definitions.apply(tenant, {
        definitions: documents.map((document) => ({ document, authored: null })),
        managedBy: 'folder',
        prune: true,
        by: 'folder',
        reason: null,
      }),
    async start() {
      await lease.start()
      await keeping.start()
      for (const tenant of registry.tenants()) await flowControl.learn(tenant, null)
      for (const tenant of registry.tenants()) await keys.learn(tenant)
      await connections.start()
      claims = makeClaims(
        {
          store,
          clock,
          time,
          code,
          log,
          registry,
          pool,
          flowControl,
          lostClaims,
          owner: () => lease.owner(),
          runs,
          leaveWork: () => others?.leaveWork(),
          refresh: async (tenant) => {
            await definitions.refresh(tenant)
            await keeping.operatorApi.refresh(tenant)
          },
        },
        config,
      )
      open = true
      others?.start()
      nodesFeed?.start()
      if (has('work') || has('deliver')) claims.start()
      if (has('work')) bulk.start()
      if (has('schedule')) {
        schedules.start()
        orphans.start()
        retention.start()
        sweep.start()
        health.start()
      }
      busConsumers.start()
      if (relay !== null) {
        relay.start()
        unsubscribe = wakes.listen(({ wake }) => wake === 'outbox' && relay.wake())
      }
      keys.start()
      unfollowCircuits = followCircuits({ flowControl, log, clock, tenants: () => registry.tenants() })
      unfollow = followDefinitions({
        definitions,
        store,
        log,
        after: (delayMs, callback) => clock.after(delayMs, callback),
      })
    },
    bodyBytesMax: intake.bodyBytesMax,
    receive: intake.receive,
    accept: intake.accept,
    publish: publisher.publish,
    schedules,
    busConsumers,
    orphans,
    refused: intake.refused,
    rejections,
    async drain(withinMs) {
      open = false
      // First of all: what is claimed now would have to be given back. All that ends is told so before any of it is waited for.
      const claiming = claims?.stop()
      others?.stop()
      nodesFeed?.stop()
      backlogLimit.stop()
      unfollow()
      unfollowCircuits()
      connections.stop()
      gathering.flush()
      const firing = schedules.stop()
      const taking = busConsumers.stop()
      const ending = [bulk.stop(), keeping.stop(), orphans.stop(), keys.stop(), health.stop()]
      const idle = async () => {
        await Promise.all([claiming, firing, taking, ...ending])
        await pool.idle()
        await rejections.flush()
        await duplicates.flush()
        await retention.stop()
        await sweep.stop()
        // Last of all: what ended until now has something to tell.
        await relay?.drain()
        await relay?.stop()
      }
      await atMost(withinMs, idle())
      rejections.stop()
      duplicates.stop()
      void retention.stop()
      void sweep.stop()
      unsubscribe()
      void relay?.stop()
      const left = pool.running()
      await atMost(LEAVE_MS_MAX, lease.leave())
      return { left }
    },
    watch: (watcher) => (nodesFeed ?? feed).watch(watcher),
    relay,
    backlog: makeBacklog({ store, code, registry, flowControl, owner: () => lease.owner(), runs }),
    meter,
    health: () => ({ open, alive: lease.owner() !== null, running: pool.running() }),
  }
}
