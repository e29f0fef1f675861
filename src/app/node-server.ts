// The HTTP server of the node, with the interface it uses.

import type { BundleCode } from '../adapters/code-bundle/index.ts'
import type { Config } from '../config/index.ts'
import { DEFAULT_TENANT, type Ids } from '../core/foundation/ids/index.ts'
import type { Demo } from '../demo/index.ts'
import type { Access, Idempotency } from '../engine/access/index.ts'
import type { Engine } from '../engine/index.ts'
import { limitSecrets } from '../engine/secrets/index.ts'
import { type HttpServer, makeHttpServer, type RunCheck } from '../http/index.ts'
import type { Clock } from '../ports/clock.ts'
import type { HttpClient } from '../ports/http-client.ts'
import type { Log } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'
import type { SecretVault } from '../ports/vault.ts'
import { type Env, variableNames } from './demo-in-dev.ts'
import { makeApi } from './node-api.ts'
import type { NodeStart } from './node-start.ts'
import { outboundPolicyOf, vetSubscription } from './outbound.ts'
import { consoleFolder, packageVersion } from './package-files.ts'
import type { NodeReadiness } from './readiness.ts'
import type { SignedCode } from './signed-code.ts'
import type { Gate } from './start-gate.ts'

export function makeNodeServer(
  config: Config,
  deps: {
    readonly env: Env
    readonly clock: Clock
    readonly ids: Ids
    readonly log: Log
    readonly store: Store
    readonly code: BundleCode
    readonly signedCode: SignedCode
    readonly http: HttpClient
    readonly secrets: SecretVault
    readonly node: string
    readonly engine: Engine
    readonly gate: Gate
    readonly start: NodeStart
    readonly access: Access
    readonly idempotency: Idempotency
    readonly readiness: NodeReadiness
    readonly demo: Demo | null
    readonly runCheck: RunCheck
  },
): HttpServer {
  const { engine, start, access, idempotency, readiness, demo, node } = deps
  const api = makeApi(deps.gate, engine, deps.code, deps.store, {
    access,
    secrets: {
      ...limitSecrets(deps.secrets, config.limits),
      onPending: (tenant, name, by) => engine.integrations.supplied(tenant, name, by),
    },
    about: { environment: config.environment, version: packageVersion(), node, roles: config.roles },
    runCheck: deps.runCheck,
    variableNames: variableNames(deps.env, config.environment),
    outbound: (tenant) => outboundPolicyOf(config, tenant),
    busPrefix: config.nats?.prefix,
    natsStreams: config.nats?.streams,
    secretEnv: config.secretEnv,
    varSettings: config.vars,
    differingVars: async (tenant) =>
      tenant === DEFAULT_TENANT ? ((await start.running()?.differingVars()) ?? new Map()) : new Map(),
    demo,
    idempotency,
    vetSubscription: (tenant, document, beside = []) =>
      vetSubscription(deps.http, engine.definitions.vars(tenant, beside), tenant, document),
    now: () => deps.clock.now(),
    health: readiness.ask,
    confirmCopy: start.confirmCopy,
    refusedCode: deps.signedCode.api,
    gauges: () => start.running()?.gauges() ?? [],
  })
  return makeHttpServer(api, {
    roles: new Set(config.roles),
    pause: start.pause,
    consoleFolder: consoleFolder(),
    bodyBytesMax: config.bodyBytesMax,
    heldBytesMax: config.heldBytesMax,
    connectionsPerAddressMax: config.connectionsPerAddressMax,
    trustedProxies: config.trustedProxies,
    publicUrl: config.publicUrl,
    closeMs: config.shutdownMs,
    requestId: () => deps.ids.uuid(),
    log: deps.log,
  })
}
