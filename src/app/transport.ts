// The configured transport between nodes and to other systems: the bus, and the channel for wake-ups. Neither is the
// source of truth: an unavailable server delays things, and the node starts and runs without it.

import type { Config } from '../config/index.ts'
import type { Bus } from '../ports/bus.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import { NO_WAKES, type Wakes } from '../ports/wakes.ts'

export interface Transport extends AsyncDisposable {
  /** null: none is configured. */
  readonly bus: Bus | null
  readonly wakes: Wakes
}

/** Wake-ups use the bus if there is one, else the shared database, else there are none. */
export async function openTransport(
  config: Pick<Config, 'nats' | 'store'>,
  deps: { readonly node: string; readonly clock: Clock; readonly log: Log },
): Promise<Transport> {
  // The drivers are loaded only if configured: most nodes do not need them.
  if (config.nats !== null) {
    const { makeNatsBus } = await import('../adapters/bus-nats/index.ts')
    const { servers, credentialsFile, prefix } = config.nats
    const bus = makeNatsBus({ servers, credentialsFile, prefix, name: deps.node, clock: deps.clock })
    const unwatch = logBusState(bus, deps.log)
    return {
      bus,
      wakes: bus.wakes,
      async [Symbol.asyncDispose]() {
        unwatch()
        await bus[Symbol.asyncDispose]()
      },
    }
  }
  if (config.store.kind === 'sqlite')
    return { bus: null, wakes: NO_WAKES, [Symbol.asyncDispose]: async () => {} }
  const { makePostgresWakes } = await import('../adapters/store-postgres/index.ts')
  const wakes = makePostgresWakes({
    connection: config.store.url,
    onTrouble: (error) => deps.log.warn('wakes.away', { error: error.message }),
    onBack: () => deps.log.info('wakes.back', {}),
  })
  return { bus: null, wakes, [Symbol.asyncDispose]: () => wakes[Symbol.asyncDispose]() }
}

/** Logs each change once, and each warning once. */
export function logBusState(bus: Pick<Bus, 'status' | 'watch'>, log: Log): () => void {
  let isConnected: boolean | null = null
  const warned = new Set<string>()
  return bus.watch((status) => {
    if (status.isConnected !== isConnected) {
      if (status.isConnected) log.info('bus.connected', { version: status.version })
      else log.warn('bus.away', {})
      isConnected = status.isConnected
    }
    for (const message of status.warnings) {
      if (!warned.has(message)) log.warn('bus.doubtful', { message })
      warned.add(message)
    }
  })
}
