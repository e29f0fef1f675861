// Composes the actions that a job can perform: calls, upserts, batches and agents under the ledger, functions and emitted events.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { EngineBase } from '../commit/index.ts'
import type { RunningConfig } from '../config.ts'
import type { JobSlots, Lease } from '../leases/index.ts'
import type { Feed } from '../observe/index.ts'
import type { Decisions, Settler } from '../settlement/index.ts'
import { type AgentProgress, type Agents, makeAgents } from './agents/index.ts'
import { type Batches, type Gathering, makeBatches, makeFreeze, makeGathering } from './batches/index.ts'
import type { FlowControl } from './flow-control-hooks.ts'
import {
  type FunctionConnections,
  type InternalActions,
  makeFunctionEffects,
  makeFunctionEnds,
  makeInternalActions,
} from './functions/index.ts'
import { makeOpenHttp, type OpenHttp } from './http-with-secrets.ts'
import type { JobFailures } from './job-failures.ts'
import { makeLateAcks } from './late-acks.ts'
import { type Effects, makeEffects } from './run-call.ts'
import { makeUpserts, type Upserts } from './upserts/index.ts'

export interface EffectParts {
  readonly effects: Effects
  readonly openHttp: OpenHttp
  readonly upserts: Upserts
  readonly agents: Agents
  readonly batches: Batches
  /** The jobs that wait for others of their batch. */
  readonly gathering: Gathering
  /** Functions and emitted events. */
  readonly internal: InternalActions
}

interface Deps extends EngineBase, Pick<JobFailures, 'fail' | 'hold'> {
  readonly settler: Settler
  readonly decisions: Decisions
  readonly lease: Lease
  readonly jobSlots: JobSlots
  readonly flowControl: FlowControl
  /** For functions that call connections. */
  readonly connections: FunctionConnections
  readonly feed: Pick<Feed, 'announce'>
  readonly registry: {
    workflow(tenant: TenantId, name: string): { readonly document: { readonly security?: unknown } } | null
  }
}

export function composeEffects(
  deps: Deps,
  config: Pick<RunningConfig, 'vars' | 'sendWithinMs' | 'responseBytesMax' | 'resultBytesMax'>,
): EffectParts {
  const { jobSlots, lease } = deps
  const lateAcks = makeLateAcks(deps)
  const effects = makeEffects({ ...deps, lateAcks }, config)
  const frozen = new Map()
  const freeze = makeFreeze({ ...deps, frozen, owner: lease.owner }, config)
  const gathering = makeGathering({ ...deps, freeze, stepAside: jobSlots.lend })
  const functionEffects = makeFunctionEffects({ ...deps, lateAcks }, config)
  const ends = makeFunctionEnds(deps)
  return {
    effects,
    gathering,
    openHttp: makeOpenHttp(deps, config),
    upserts: makeUpserts(deps, config),
    agents: makeAgents({ ...deps, progress: reportProgress(deps) }, config),
    batches: makeBatches({ ...deps, gathering, frozen, effects }, config),
    internal: makeInternalActions({ ...deps, effects: functionEffects, ends }, config),
  }
}

/** What an agent says may quote its input: of a sensitive event or a secured workflow only the length is reported. */
function reportProgress({ registry, feed }: Pick<Deps, 'registry' | 'feed'>) {
  return ({ item, agent, text, characters }: AgentProgress): void => {
    const { tenant, id, consumer, instance } = item.work
    const security = registry.workflow(tenant, consumer.replace(/^workflow:/, ''))?.document.security
    const isOpen = item.event.sensitive.length === 0 && security === undefined
    const shown = isOpen ? text : ''
    feed.announce(tenant, { type: 'agent', agent, work: id, instance, text: shown, characters })
  }
}
