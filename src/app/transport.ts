// What carries between nodes and to other systems, as it is configured: the bus, and by what nodes wake each other. Neither is the
// truth: a server that is away delays things, and the node starts and goes on without it.

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

/** The bus wakes where there is one, else the database that nodes share, else nobody is to be woken. */
export async function openTransport(
  config: Pick<Config, 'nats' | 'store'>,
  deps: { readonly node: string; readonly clock: Clock; readonly log: Log },
): Promise<Transport> {
  // The drivers are loaded only where they are configured: most nodes have no use for them.
  if (config.nats !== null) {
    const { makeNatsBus } = await import('../adapters/bus-nats/index.ts')
    const { servers, credentialsFile, prefix } = config.nats
    const bus = makeNatsBus({ servers, credentialsFile, prefix, name: deps.node, clock: deps.clock })
    const unwatch = tellBus(bus, deps.log)
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

/** Each change once, and each warning once. */
export function tellBus(bus: Pick<Bus, 'status' | 'watch'>, log: Log): () => void {
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
