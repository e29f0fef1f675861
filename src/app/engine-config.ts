// The engine's settings, derived from the node's.

import { hostname } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { Config } from '../config/index.ts'
import { BUILT_IN_PROVIDERS } from '../connectors/index.ts'
import type { NodeId } from '../core/foundation/ids/index.ts'
import { ENGINE_DEFAULTS, type EngineConfig } from '../engine/index.ts'
import type { Env } from './demo-in-dev.ts'
import { runningBytesOf } from './heap-share.ts'
import { packageVersion } from './package-files.ts'

/** The default name of a node. */
const UNNAMED = 'node-1'

/** On a shared database two nodes of one name would fence each other forever: the machine's name distinguishes them. */
export function nodeName(config: Config, env: Env): string {
  // A program that embeds a node may name it only in the configuration.
  const isNamed = (env.MILLRACE_NODE ?? '').trim() !== '' || config.node !== UNNAMED
  return config.store.kind === 'postgres' && !isNamed ? hostname() : config.node
}

export function engineConfigOf(
  config: Config,
  {
    node,
    hasBus,
    vars,
  }: { readonly node: string; readonly hasBus: boolean; readonly vars: EngineConfig['vars'] },
): EngineConfig {
  const { runningBytes } = config
  return {
    ...ENGINE_DEFAULTS,
    providers: BUILT_IN_PROVIDERS,
    version: packageVersion(),
    vars,
    environment: config.environment,
    varSettings: config.vars,
    node: node as NodeId,
    roles: new Set(config.roles),
    isShared: config.store.kind === 'postgres',
    hasOutbox: hasBus,
    busPrefix: config.nats?.prefix ?? ENGINE_DEFAULTS.busPrefix,
    keptHeaders: config.keptHeaders,
    natsStreams: config.nats?.streams ?? ENGINE_DEFAULTS.natsStreams,
    messageBytesMax: config.heldBytesMax,
    limits: config.limits,
    openJobsMax: config.openJobsMax,
    leaseMs: config.leaseMs,
    concurrency: config.concurrency,
    runningBytesMax:
      runningBytes === 'auto' ? runningBytesOf(getHeapStatistics().heap_size_limit) : runningBytes,
    escalateAfterMs: config.escalateAfterMs,
    systemEvents: config.systemEvents,
    canonicalRetentionMs: config.canonicalRetentionMs,
    ledgerRetentionMs: config.ledgerRetentionMs,
    replayReadyPerMinute: config.replayReadyPerMinute,
  }
}
