// Composes the engine around one store, folder by folder: each line uses what the lines above it made. engine-api.ts says what
// the engine offers, lifecycle.ts how it starts and stops.

import { makeIds } from '../core/foundation/ids/index.ts'
import { roleOfConsumer } from '../core/queue/node-role/index.ts'
import {
  makeCommits,
  makeEngineSignals,
  makeStoreTime,
  makeUnitOfWork,
  tenantsWithKnownTimes,
} from './commit/index.ts'
import type { EngineConfig, EngineDeps } from './config.ts'
import { type Credentials, composeCredentials, makeConnections } from './connections/index.ts'
import { composeDeadLetters } from './dead-letters/index.ts'
import { makeDefinitions, makeRegistry } from './definitions/index.ts'
import { composeEffects, endBatches, makeJobFailures, releaseLocks } from './effects/index.ts'
import type { Engine } from './engine-api.ts'
import {
  makeFlowControl,
  makeFlowControlActions,
  makeSharedPermits,
  reportInternalEnds,
} from './flow-control/index.ts'
import { composeIngest } from './ingest/index.ts'
import { makeBeginJob, makeJobSlots, makeLease } from './leases/index.ts'
import { makeLifecycle } from './lifecycle.ts'
import { composeObserve, makeInspect } from './observe/index.ts'
import { composeOutbox } from './outbox/index.ts'
import { composePlanning } from './planning/index.ts'
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
  config: EngineConfig,
  decisions: Decisions = DECISIONS,
): Engine {
  const { clock, random, log } = given
  const ids = makeIds({ now: () => clock.now(), bytes: (length) => random.bytes(length) })
  const time = makeStoreTime(clock)
  const signals = makeEngineSignals()
  const wake = signals.wake.send
  const runs = (consumer: string) => config.roles.has(roleOfConsumer(consumer))
  let open = false
  const isOpen = () => open

  // The commit path, the node's slots and lease, and planning.
  const outbox = composeOutbox({ ...given, ids, time }, config)
  const { store } = outbox
  const ports = { ...given, store, signals, ids, time, decisions, wake, vars: config.vars }
  const commits = makeCommits({ ...ports, onLost: signals.lost.send, onApplied: signals.applied.send })
  const { feed, nodesFeed, meter } = composeObserve(ports, config)
  const jobSlots = makeJobSlots(config)
  const lease = makeLease(ports, config, wake)
  const registry = makeRegistry({ store, providers: config.providers, random })
  const owner = () => (open ? lease.owner() : null)
  const composedPlanning = composePlanning({
    ...ports,
    registry,
    jobSlots,
    runs,
    owner,
    suspect: signals.lost.send,
  })
  const { planning, plan } = composedPlanning
  const unitOfWork = makeUnitOfWork({ log, commits, leasedOnInsert: composedPlanning.leasedOnInsert })
  const base = { ...ports, commits, unitOfWork, plan, registry, jobSlots, lease, now: () => time.now() }

  // What is deployed, and what limits it.
  const definitions = makeDefinitions({
    ...base,
    limits: config.limits,
    deployed: (tenant) => signals.changed.send(tenant, null),
  })
  const { refresh, owners } = definitions
  const sharedPermits = config.isShared
    ? makeSharedPermits({ ...base, changed: (tenant) => signals.changed.send(tenant, 'rate') }, config)
    : null
  const connections = makeConnections({ ...base, sharedPermits, owners }, config)
  const flowControl = makeFlowControl({
    ...base,
    sharedPermits,
    callAdmission: connections.callAdmission,
    learnConnections: connections.learn,
    room: signals.room.send,
  })
  composedPlanning.limitBy(flowControl)

  // How jobs end. The participants live beside their subjects.
  const { failures, planEnd } = composeJobEnds(base)
  const instances = makeInstances({ ...base, planning, planEnd, hasOutbox: outbox.hasOutbox })
  const reportEnd = reportInternalEnds(flowControl)
  const settler = makeSettler({
    planEnd,
    participantsOf: listParticipants({
      runs: connections.runs,
      steps: endSteps({ ...base, instances }),
      batches: endBatches(base),
      locks: releaseLocks(base),
    }),
    unitOfWork,
    onSettling(item, route, decision) {
      reportEnd(item, route, decision)
      // Last: the free slot may run other jobs in this turn.
      jobSlots.settling(item)
    },
    wake,
  })
  const settling = {
    ...base,
    settler,
    flowControl,
    sharedPermits,
    planning,
    instances,
    definitions,
    connections,
    refresh,
  }
  const { credentials, health } = composeCredentials(settling, config)
  const subscriptions = composeSubscriptions(
    { ...settling, planFor: composedPlanning.planFor, refreshDefinitions: refresh },
    config,
  )
  definitions.storeSubscriptions(subscriptions.defined)

  // What jobs do.
  const jobs = { ...settling, ...makeJobFailures(settling), ...makeBeginJob(base) }
  const effects = composeEffects({ ...jobs, feed, connections: connections.functions }, config)
  const { internal } = effects
  const starts = composeStarts({ ...jobs, internal })
  const ingest = composeIngest(
    { ...jobs, internal, inlineStart: starts.inline, triggers: starts.scheduled, isOpen },
    config,
  )
  const actions = makeActions({ ...jobs, ...effects, start: starts.start, timetables: ingest.timetables })
  const workflowJobs = composeWorkflowJobs({ ...jobs, actions })
  const refreshSubscriptions = subscriptions.operatorApi.refresh
  const deliveries = makeDeliveryRunner(
    {
      ...jobs,
      slotLending: makeSlotLending({ clock, lend: jobSlots.lend }),
      lendSlot: jobSlots.lend,
      watch: subscriptions.watch,
      isStored: subscriptions.isStored,
      refresh: refreshSubscriptions,
    },
    config,
  )

  // Who runs which job, and when.
  const queue = composeQueue(
    {
      ...jobs,
      actions,
      deliveries,
      runs,
      intakeItems: ingest.intakeItems,
      workflowItems: workflowJobs.items,
      rotations: credentials.rotations,
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
  const tenants = () => registry.tenants()
  const { sweep, escalations } = composeEscalations({ ...base, tenants }, config)
  const retention = composeRetention(
    { ...base, tenants: () => tenantsWithKnownTimes(store, registry) },
    config,
  )

  // What operators see and do.
  const { forget: forgetBackoff } = flowControl.endpointConcurrency
  const { expect, isBehind } = queue.claims
  const operatorApi = {
    ...jobs,
    failures,
    steps: workflowJobs.steps,
    forgetBackoff,
    refresh: refreshSubscriptions,
  }
  const deadLetters = composeDeadLetters({ ...operatorApi, expect, isBehind }, config)
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
      ...{
        ...base,
        definitions,
        flowControl,
        connections,
        credentials,
        health,
        ingest,
        queue,
        nodesFeed,
        outbox,
        tenants,
      },
      ...{ bulk, orphans, retention, sweep, subscriptions, gathering: effects.gathering },
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
      ...makeDeliveryViews({ ...base, endpointConcurrency: flowControl.endpointConcurrency }, config),
      ...makeDeliveryActions({
        ...operatorApi,
        actions: deadLetters.actions,
        replay: deadLetterActions.replay,
      }),
    },
    flowControl: makeFlowControlActions({ ...base, flowControl }),
    integrations: { ...connections.operatorApi, ...credentials.operatorApi },
    workflows: makeWorkflowOperatorApi({
      ...operatorApi,
      deadLetters: deadLetterActions,
      starter: starts.starter,
    }),
    inspect: makeInspect({ ...base, definitions }),
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
