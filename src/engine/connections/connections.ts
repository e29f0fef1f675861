// Composes connections: the outbound client and the parts around it. src/engine/engine.ts wires it to the queue.

import type { ConnectionStatus } from '../../core/connections/connection/index.ts'
import type { ManagedBy } from '../../core/definitions/documents/index.ts'
import type { Ids, TenantId } from '../../core/foundation/ids/index.ts'
import type { Commits, PlanEvent, StoreTime, UnitOfWork } from '../commit/index.ts'
import type { EngineConfig, EngineDeps } from '../config.ts'
import { connectionOf, makeLookups, type Registry } from '../definitions/index.ts'
import type { FunctionConnections } from '../effects/index.ts'
import { type Entrance, makeBuckets, makeSharedBuckets, type SharedPermits } from '../flow-control/index.ts'
import type { Decisions } from '../settlement/index.ts'
import { makeEntrance } from './call-admission.ts'
import { type ConnectionCalls, makeConnectionCalls, makeJudge } from './connection-calls.ts'
import { connectionEvents } from './connection-events.ts'
import { type ConnectionOperatorApi, makeConnectionOperatorApi } from './connection-operator-api.ts'
import { makeConnectionStateCache } from './connection-state-cache.ts'
import { makeTester, type Tester } from './connection-tester.ts'
import type { Credentials, OutboundClient } from './connection-types.ts'
import { makeFunctionConnections } from './function-calls.ts'
import { makeRuns, type Runs } from './integration-runs.ts'
import { makeExchange } from './outbound-client.ts'
import { makeOperations, type Operations } from './provider-operations.ts'

export interface Connections {
  readonly outboundClient: OutboundClient
  readonly entrance: Entrance
  readonly runs: Runs
  readonly calls: ConnectionCalls
  readonly operations: Operations
  readonly functions: FunctionConnections
  /** Verifies credentials, and tests. */
  readonly tester: Tester
  readonly operatorApi: ConnectionOperatorApi
  /** As this node knows it. */
  status(tenant: TenantId, connection: string): ConnectionStatus
  /** Reads the stored state of a tenant, and tests what was never tested. */
  learn(tenant: TenantId): Promise<void>
  start(): Promise<void>
  stop(): void
}

/** Who makes the trial of a circuit if it is not a job. */
const PROBE = 'probe'

export function makeConnections(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'random' | 'http' | 'log'> & {
    readonly registry: Registry
    readonly commits: Commits
    readonly ids: Ids
    readonly time: StoreTime
    readonly decisions: Decisions
    /** Permits of all nodes; null: this is the only one. */
    readonly sharedPermits: SharedPermits | null
    /** Resolved when it is needed: it calls through the outbound client itself. */
    credentials(): Credentials
    plan: PlanEvent
    readonly unitOfWork: Pick<UnitOfWork, 'firmly' | 'settling'>
    owners(tenant: TenantId): ReadonlyMap<string, ManagedBy>
    wake(delayMs?: number): void
  },
  config: Pick<EngineConfig, 'vars' | 'version' | 'responseBytesMax' | 'roles'>,
): Connections {
  const { store, registry, time } = deps
  const { vars } = config
  const credentials: Credentials = {
    authorize: (request) => deps.credentials().authorize(request),
    refused: (...about) => deps.credentials().refused(...about),
    accepted: (...about) => deps.credentials().accepted(...about),
    gate: (tenant, credential) => deps.credentials().gate(tenant, credential),
  }
  const lookups = makeLookups({ registry, vars })
  const { sharedPermits } = deps
  const buckets = sharedPermits === null ? makeBuckets(deps) : makeSharedBuckets({ ...deps, sharedPermits })
  const stateCache = makeConnectionStateCache({
    ...deps,
    planNotices: (tenant, document, step) => connectionEvents(deps, tenant, document, step),
  })
  const entrance = makeEntrance({ time, lookups, stateCache, buckets, credentials })
  const exchange = makeExchange({ ...deps, lookups, buckets, entrance, credentials }, config)
  const outboundClient: OutboundClient = {
    gate: entrance.gate,
    send: exchange.send,
    reportResult: (tenant, connection, failureClass, isTry = false) =>
      stateCache.reportResult(tenant, connection, failureClass, isTry),
    mayTry: (tenant, connection) => stateCache.mayTry(tenant, connection, PROBE),
    probed: (tenant, connection, result, isTry) =>
      stateCache.note(tenant, connection, { type: 'probed', at: time.now(), result, isTry }),
  }
  const runs = makeRuns({
    ...deps,
    isOnConnection: (route) => route !== null && connectionOf(route.document.do) !== null,
  })
  const judge = makeJudge(deps)
  const tester = makeTester({ ...deps, lookups, stateCache, outboundClient, exchange, judge, vars }, config)

  const learn = async (tenant: TenantId) => {
    await stateCache.learn(tenant)
    tester.wake(tenant)
  }

  return {
    outboundClient,
    entrance: {
      ...entrance,
      finished(hold) {
        entrance.finished(hold)
        runs.forget(hold)
      },
    },
    runs,
    tester,
    calls: makeConnectionCalls(
      { ...deps, lookups, stateCache, outboundClient, entrance, credentials, runs, judge },
      config,
    ),
    operations: makeOperations({ lookups, vars }, config),
    functions: makeFunctionConnections(
      { ...deps, lookups, entrance, outboundClient, credentials, runs, judge, vars },
      config,
    ),
    operatorApi: makeConnectionOperatorApi({ ...deps, store, lookups, buckets, stateCache, tester }),
    status: (tenant, connection) => stateCache.state(tenant, connection).status,
    learn,
    async start() {
      for (const tenant of registry.tenants()) await stateCache.learn(tenant)
      if (config.roles.has('schedule')) tester.start()
      for (const tenant of registry.tenants()) tester.wake(tenant)
    },
    stop: tester.stop,
  }
}
