// Composes connections: the outbound client and the parts around it. src/engine/engine.ts wires them to the queue.

import type { ConnectionStatus } from '../../core/connections/connection/index.ts'
import type { ManagedBy } from '../../core/definitions/documents/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { EngineBase, UnitOfWork } from '../commit/index.ts'
import type { RunningConfig } from '../config.ts'
import { connectionOf, makeLookups, type Registry } from '../definitions/index.ts'
import type { FunctionConnections } from '../effects/index.ts'
import {
  type CallAdmission,
  makeBuckets,
  makeSharedBuckets,
  type SharedPermits,
} from '../flow-control/index.ts'
import type { Decisions } from '../settlement/index.ts'
import { makeCallAdmission } from './call-admission.ts'
import { type ConnectionCalls, makeConnectionCalls, makeJudge } from './connection-calls.ts'
import { connectionEvents } from './connection-events.ts'
import { type ConnectionOperatorApi, makeConnectionOperatorApi } from './connection-operator-api.ts'
import { makeConnectionStateCache } from './connection-state-cache.ts'
import { makeTester, type Tester } from './connection-tester.ts'
import type { Credentials, OutboundClient } from './connection-types.ts'
import { makeFunctionConnections } from './function-calls.ts'
import { makeRuns, type Runs } from './integration-runs.ts'
import { makeOperations, type Operations } from './provider-operations.ts'
import { makeRequestSender } from './request-sender.ts'

export interface Connections {
  readonly outboundClient: OutboundClient
  readonly callAdmission: CallAdmission
  readonly runs: Runs
  readonly calls: ConnectionCalls
  readonly operations: Operations
  readonly functions: FunctionConnections
  /** Registers, once, where calls get their credentials. */
  authorizeWith(credentials: Credentials): void
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
  deps: Pick<
    EngineBase,
    | 'store'
    | 'clock'
    | 'random'
    | 'http'
    | 'log'
    | 'commits'
    | 'ids'
    | 'time'
    | 'plan'
    | 'wake'
    | 'systemEvents'
    | 'now'
  > & {
    readonly registry: Registry
    readonly decisions: Decisions
    /** Permits of all nodes; null: this is the only one. */
    readonly sharedPermits: SharedPermits | null
    readonly unitOfWork: Pick<UnitOfWork, 'firmly' | 'settling'>
    owners(tenant: TenantId): ReadonlyMap<string, ManagedBy>
  },
  config: Pick<RunningConfig, 'vars' | 'version' | 'responseBytesMax' | 'roles'>,
): Connections {
  const { store, registry, time } = deps
  const { vars } = config
  // A call needs a credential, and a credential is verified by a call: `authorizeWith` registers them once both are made.
  let registered: Credentials
  const credentials: Credentials = {
    authorize: (request) => registered.authorize(request),
    refused: (...about) => registered.refused(...about),
    accepted: (...about) => registered.accepted(...about),
    gate: (tenant, credential) => registered.gate(tenant, credential),
  }
  const lookups = makeLookups({ registry, vars })
  const { sharedPermits } = deps
  const buckets = sharedPermits === null ? makeBuckets(deps) : makeSharedBuckets({ ...deps, sharedPermits })
  const stateCache = makeConnectionStateCache({
    ...deps,
    planNotices: (tenant, document, step) => connectionEvents(deps, tenant, document, step),
  })
  const callAdmission = makeCallAdmission({ time, lookups, stateCache, buckets, credentials })
  const requestSender = makeRequestSender({ ...deps, lookups, buckets, callAdmission, credentials }, config)
  const outboundClient: OutboundClient = {
    gate: callAdmission.gate,
    send: requestSender.send,
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
  const tester = makeTester(
    { ...deps, lookups, stateCache, outboundClient, requestSender, judge, vars },
    config,
  )

  const learn = async (tenant: TenantId) => {
    await stateCache.learn(tenant)
    tester.wake(tenant)
  }

  return {
    outboundClient,
    authorizeWith(given) {
      registered = given
    },
    callAdmission: {
      ...callAdmission,
      finished(hold) {
        callAdmission.finished(hold)
        runs.forget(hold)
      },
    },
    runs,
    tester,
    calls: makeConnectionCalls(
      { ...deps, lookups, stateCache, outboundClient, callAdmission, credentials, runs, judge },
      config,
    ),
    operations: makeOperations({ lookups, vars }, config),
    functions: makeFunctionConnections(
      { ...deps, lookups, callAdmission, outboundClient, credentials, runs, judge, vars },
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
