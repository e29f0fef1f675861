// Composes the engine folder by folder: each line uses what the lines above it made, and names what it uses beside the ground
// (engine-ground.ts). engine-api.ts says what the engine offers, lifecycle.ts how it starts and stops.

import { tenantsWithKnownTimes } from './commit/index.ts'
import type { EngineConfig, EngineDeps, RunningConfig } from './config.ts'
import { type Credentials, composeCredentials, makeConnections } from './connections/index.ts'
import { composeDeadLetters } from './dead-letters/index.ts'
import { makeDefinitions } from './definitions/index.ts'
import { composeEffects, endBatches, makeJobFailures, releaseLocks } from './effects/index.ts'
import type { Engine } from './engine-api.ts'
import { composeGround } from './engine-ground.ts'
import {
  makeFlowControl,
  makeFlowControlActions,
  makeSharedPermits,
  reportInternalEnds,
} from './flow-control/index.ts'
import { composeIngest } from './ingest/index.ts'
import { makeBeginJob } from './leases/index.ts'
import { makeLifecycle } from './lifecycle.ts'
import { composeObserve, makeInspect } from './observe/index.ts'
import { composePolls, makeBeginPolls } from './pollers/index.ts'
import { composeQueue, makeActions } from './queue/index.ts'
import { composeRetention } from './retention/index.ts'
import {
  composeEscalations,
  composeJobEnds,
  DECISIONS,
  type Decisions,
  listParticipants,
  makeSettler,
} from './settlement/index.ts'
import {
  composeSubscriptions,
  makeDeliveryActions,
  makeDeliveryRunner,
  makeDeliveryViews,
  makeSlotLending,
} from './webhooks/index.ts'
import {
  composeStarts,
  composeWorkflowJobs,
  endSteps,
  makeInstances,
  makeWorkflowOperatorApi,
} from './workflows/index.ts'

/** What tests put in place of what is made here. */
export interface EngineParts {
  readonly credentials?: Credentials
}

export function makeEngine(
  given: EngineDeps & EngineParts,
  settings: EngineConfig,
  decisions: Decisions = DECISIONS,
): Engine {
  let open = false
  const { ground, planning, outbox, runs } = composeGround(given, settings, decisions, () => open)
  const config: RunningConfig = { ...settings, vars: ground.vars }
  const { store, registry, jobSlots, lease, signals, unitOfWork, wake } = ground
  const { feed, nodesFeed, meter } = composeObserve(ground, config)

  // What is deployed, and what limits it.
  const definitions = makeDefinitions({
    ...ground,
    limits: config.limits,
    deployed: (tenant) => signals.changed.send(tenant, null),
  })
  const { refresh, owners } = definitions
  const sharedPermits = config.isShared
    ? makeSharedPermits({ ...ground, changed: (tenant) => signals.changed.send(tenant, 'rate') }, config)
    : null
  const connections = makeConnections({ ...ground, sharedPermits, owners }, config)
  const flowControl = makeFlowControl({
    ...ground,
    sharedPermits,
    callAdmission: connections.callAdmission,
    learnConnections: connections.learn,
    room: signals.room.send,
  })
  planning.limitBy(flowControl)

  // How jobs end. The participants live beside their subjects.
  const { failures, planEnd } = composeJobEnds(ground)
  const instances = makeInstances({
    ...ground,
    planning: planning.planning,
    planEnd,
    hasOutbox: outbox.hasOutbox,
  })
  const reportEnd = reportInternalEnds(flowControl)
  const settler = makeSettler({
    planEnd,
    participantsOf: listParticipants({
      runs: connections.runs,
      steps: endSteps({ ...ground, instances }),
      batches: endBatches(ground),
      locks: releaseLocks(ground),
    }),
    unitOfWork,
    onSettling(item, route, decision) {
      reportEnd(item, route, decision)
      // Last: the free slot may run other jobs in this turn.
      jobSlots.settling(item)
    },
    wake,
  })
  const { fail, hold, deadLetterJob } = makeJobFailures({ ...ground, settler })
  const begin = makeBeginJob(ground)

  // What jobs do.
  const { credentials, health } = composeCredentials(
    { ...ground, definitions, connections, settler, credentials: given.credentials },
    config,
  )
  const subscriptions = composeSubscriptions(
    { ...ground, settler, planFor: planning.planFor, refreshDefinitions: refresh },
    config,
  )
  definitions.storeSubscriptions(subscriptions.defined)
  const refreshSubscriptions = subscriptions.operatorApi.refresh
  const effects = composeEffects(
    { ...ground, settler, flowControl, fail, hold, feed, connections: connections.functions },
    config,
  )
  const { internal } = effects
  const starts = composeStarts({ ...ground, planning: planning.planning, instances, internal, fail, refresh })
  const pollers = makeBeginPolls(ground)
  const ingest = composeIngest(
    {
      ...ground,
      planning: planning.planning,
      settler,
      internal,
      fail,
      deadLetterJob,
      sharedPermits,
      inlineStart: starts.inline,
      triggers: starts.scheduled,
      pollers: pollers.timed,
      refresh,
      isOpen: () => open,
    },
    config,
  )
  const actions = makeActions({
    ...effects,
    time: ground.time,
    connections,
    start: starts.start,
    timetables: ingest.timetables,
    deadLetterJob,
  })
  const workflowJobs = composeWorkflowJobs({
    ...ground,
    instances,
    settler,
    sharedPermits,
    flowControl,
    actions,
    begin,
    deadLetterJob,
  })
  const deliveries = makeDeliveryRunner(
    {
      ...ground,
      settler,
      flowControl,
      slotLending: makeSlotLending({ clock: ground.clock, lend: jobSlots.lend }),
      lendSlot: jobSlots.lend,
      watch: subscriptions.watch,
      begin,
      isStored: subscriptions.isStored,
      refresh: refreshSubscriptions,
    },
    config,
  )

  // Who runs which job, and when.
  const queue = composeQueue(
    {
      ...ground,
      settler,
      flowControl,
      begin,
      deadLetterJob,
      actions,
      intakeItems: ingest.intakeItems,
      workflowItems: workflowJobs.items,
      deliveries,
      rotations: credentials.rotations,
      polls: composePolls(
        { ...ground, ...effects, settler, begin, connections, flowControl, acceptor: ingest.acceptor },
        config,
      ),
      runs,
      async refresh(tenant) {
        await refresh(tenant)
        await refreshSubscriptions(tenant)
      },
      async learn(tenant, kinds) {
        if (kinds === null) await refresh(tenant)
        if (kinds === null || kinds.has('subscription')) await subscriptions.refresh(tenant)
        if (kinds === null || kinds.has('credential')) await credentials.learn(tenant)
        await flowControl.learn(tenant, kinds)
        wake()
      },
    },
    config,
  )

  // What operators do, and what runs in the background.
  const tenants = () => registry.tenants()
  const { sweep, escalations } = composeEscalations({ ...ground, tenants }, config)
  const retention = composeRetention(
    { ...ground, tenants: () => tenantsWithKnownTimes(store, registry) },
    config,
  )
  const { forget: forgetBackoff } = flowControl.endpointConcurrency
  const deadLetters = composeDeadLetters(
    {
      ...ground,
      settler,
      failures,
      instances,
      steps: workflowJobs.steps,
      forgetBackoff,
      refresh: refreshSubscriptions,
      expect: queue.claims.expect,
      isBehind: queue.claims.isBehind,
    },
    config,
  )
  const { deadLetterActions, bulk } = deadLetters
  const { orphans } = workflowJobs
  definitions.onChange(({ tenant, version }) => {
    feed.announce(tenant, { type: 'definitions', version })
    ingest.busConsumers.look()
    ingest.schedules.wake(tenant)
    connections.tester.wake(tenant)
    orphans.changed(tenant)
  })

  const { start, drain } = makeLifecycle(
    {
      ...ground,
      definitions,
      flowControl,
      connections,
      credentials,
      health,
      subscriptions,
      ingest,
      gathering: effects.gathering,
      queue,
      nodesFeed,
      bulk,
      orphans,
      retention,
      sweep,
      outbox,
      tenants,
      setOpen(isOpen) {
        open = isOpen
      },
    },
    config,
  )

  return {
    ready: deadLetterActions.ready,
    discard: deadLetterActions.discard,
    edit: deadLetterActions.edit,
    replay: deadLetterActions.replay,
    ...deadLetters.actions,
    replays: bulk,
    escalations,
    definitions,
    lanes: queue.lanes,
    subscriptions: subscriptions.operatorApi,
    deliveries: {
      ...makeDeliveryViews({ ...ground, endpointConcurrency: flowControl.endpointConcurrency }, config),
      ...makeDeliveryActions({
        ...ground,
        forgetBackoff,
        refresh: refreshSubscriptions,
        actions: deadLetters.actions,
        replay: deadLetterActions.replay,
      }),
    },
    flowControl: makeFlowControlActions({ ...ground, flowControl }),
    integrations: { ...connections.operatorApi, ...credentials.operatorApi },
    workflows: makeWorkflowOperatorApi({
      ...ground,
      instances,
      deadLetters: deadLetterActions,
      starter: starts.starter,
    }),
    inspect: makeInspect({ ...ground, definitions }),
    apply: (tenant, documents) =>
      definitions.apply(tenant, {
        definitions: documents.map((document) => ({ document, authored: null })),
        managedBy: 'folder',
        prune: true,
        by: 'folder',
        reason: null,
      }),
    bodyBytesMax: ingest.intake.bodyBytesMax,
    receive: ingest.intake.receive,
    accept: ingest.intake.accept,
    refused: ingest.intake.refused,
    rejections: ingest.rejections,
    publish: ingest.publisher.publish,
    schedules: ingest.schedules,
    pollers: { run: pollers.run },
    busConsumers: ingest.busConsumers,
    orphans,
    start,
    drain,
    health: () => ({ open, alive: lease.owner() !== null, running: jobSlots.running() }),
    watch: (nodesFeed ?? feed).watch,
    relay: outbox.relay,
    backlog: queue.backlog,
    meter,
  }
}
