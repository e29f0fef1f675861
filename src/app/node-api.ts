// The interface that the HTTP server uses: the engine behind the gate, and the parts beside it.

import type { BundleCode } from '../adapters/code-bundle/index.ts'
import { type Demo, makeDemoApi } from '../demo/index.ts'
import type { Engine } from '../engine/index.ts'
import type { HttpApi } from '../http/index.ts'
import type { Store } from '../ports/store.ts'
import { isDemoDeployed } from './demo-in-dev.ts'
import { behind, type Gate, pick } from './start-gate.ts'

/** What the engine does not provide. */
type ApiBeside = Pick<
  HttpApi,
  | 'access'
  | 'secrets'
  | 'about'
  | 'health'
  | 'gauges'
  | 'idempotency'
  | 'now'
  | 'vetSubscription'
  | 'outbound'
  | 'busPrefix'
  | 'natsStreams'
  | 'secretEnv'
  | 'varSettings'
  | 'differingVars'
  | 'runCheck'
  | 'variableNames'
  | 'confirmCopy'
  | 'refusedCode'
> & { readonly demo: Demo | null }

export function makeApi(
  gate: Gate,
  engine: Engine,
  code: Pick<BundleCode, 'find' | 'timeoutMs' | 'emits'>,
  store: Store,
  { demo, ...rest }: ApiBeside,
): HttpApi {
  return {
    ...rest,
    demo: makeDemoApi(demo, () => isDemoDeployed(engine)),
    // Read for every webhook: once the engine has started, these are the engine's own functions.
    get sourceBodyMax() {
      return gate.bodyBytesMax
    },
    get receive() {
      return gate.receive
    },
    refused: (request, error) => engine.refused(request, error),
    rejections: behind(gate, pick(engine.rejections, ['list'])),
    lanes: behind(gate, engine.lanes),
    flowControl: {
      ...pick(engine.flowControl, ['list', 'workflows']),
      ...behind(gate, pick(engine.flowControl, ['one', 'closeCircuit', 'closeWorkflowCircuit'])),
    },
    workflows: operatorApiBehind(gate, engine.workflows),
    orphans: behind(gate, pick(engine.orphans, ['correlate', 'discard', 'retry'])),
    subscriptions: behind(gate, engine.subscriptions),
    integrations: integrationsBehind(gate, engine.integrations),
    deliveries: {
      ...behind(gate, pick(engine.deliveries, ['find', 'list', 'retry', 'cancel', 'request'])),
      window: (tenant, name) => engine.deliveries.window(tenant, name),
    },
    definitions: {
      ...behind(gate, engine.definitions),
      setVars: engine.definitions.setVars,
      fires: (tenant, name) => engine.schedules.state(tenant, name),
      consumes: (tenant, name) => engine.busConsumers.state(tenant, name),
      functionHash: (tenant, name) => code.find(name, tenant),
      functionTimeoutMs: (tenant, name) => code.timeoutMs(name, tenant),
      functionEmits: (tenant) => code.emits(tenant),
    },
    inspect: behind(gate, engine.inspect),
    watch: (watcher) => engine.watch(watcher),
    ...behind(gate, pick(engine, ['publish'])),
    meter: engine.meter,
    reads: (tenant) => store.forTenant(tenant),
    deadLetters: behind(gate, pick(engine, ['ready', 'discard', 'edit', 'replay'])),
    work: behind(gate, pick(engine, ['resolve', 'probe', 'retry', 'cancel', 'allowed'])),
    replays: behind(gate, engine.replays),
    escalations: behind(gate, engine.escalations),
  }
}

function operatorApiBehind(gate: Gate, operatorApi: Engine['workflows']): Engine['workflows'] {
  const { list, one, reading, instanceActions, migrations } = operatorApi
  const { maySee, hide } = reading
  return {
    list,
    one,
    ...behind(gate, pick(operatorApi, ['start'])),
    instanceActions: behind(gate, instanceActions),
    migrations: behind(gate, migrations),
    reading: { maySee, hide, ...behind(gate, pick(reading, ['one', 'history', 'at', 'list'])) },
  }
}

/** Providers are known from the start. */
function integrationsBehind(gate: Gate, integrations: Engine['integrations']): HttpApi['integrations'] {
  const { providers, provider, ...asked } = integrations
  return { providers, provider, ...behind(gate, asked) }
}
