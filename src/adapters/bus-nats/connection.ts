// The connection to NATS. It is made in the background and restored for ever: a node starts without its bus, and waits
// for it.

import {
  AuthorizationError,
  connect,
  type NatsConnection,
  type NodeConnectionOptions,
  PermissionViolationError,
  type Status,
  UserAuthenticationExpiredError,
} from '@nats-io/transport-node'
import type { Clock } from '../../ports/clock.ts'
import type { Warnings } from './warnings.ts'

const RETRY_MS_MIN = 250
const RETRY_MS_MAX = 5_000
const CONNECT_MS = 5_000
const FLUSH_MS = 2_000
/** A connection that died without being closed is noticed after two of these without a response. */
const PING_MS = 10_000

export interface Connection {
  /** null: not connected. */
  current(): NatsConnection | null
  /** Of the last server that was reached. */
  version(): string | null
  /** Called each time the connection is made or restored, and at once if it stands. Returns an unsubscribe function. */
  onThere(listener: (nats: NatsConnection) => void): () => void
  /** Called each time the connection is lost. Returns an unsubscribe function. */
  onGone(listener: () => void): () => void
  close(): Promise<void>
}

export function keepConnected(options: {
  readonly driver: NodeConnectionOptions
  readonly clock: Clock
  readonly warnings: Warnings
  /** The connection was made or lost. */
  readonly onChange: () => void
}): Connection {
  const { clock, warnings } = options
  const listeners = new Set<(nats: NatsConnection) => void>()
  const goneListeners = new Set<() => void>()
  let nats: NatsConnection | null = null
  let isThere = false
  let isOpen = true
  let version: string | null = null
  let stopWaiting = () => {}

  const wait = (ms: number) =>
    new Promise<void>((resolve) => {
      const cancel = clock.after(ms, resolve)
      stopWaiting = () => {
        cancel()
        resolve()
      }
    })

  const setThere = (there: boolean) => {
    if (there && nats !== null) {
      version = nats.info?.version ?? version
      warnings.set('connection', null)
    }
    isThere = there
    options.onChange()
    if (!there) for (const listener of [...goneListeners]) listener()
    else if (nats !== null) for (const listener of [...listeners]) listener(nats)
  }

  const follow = async (connection: NatsConnection) => {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') setThere(false)
      else if (status.type === 'reconnect') setThere(true)
      else if (status.type === 'error') warnOf(status, warnings)
    }
  }

  const run = async () => {
    let failures = 0
    while (isOpen) {
      try {
        nats = await connect({
          ...options.driver,
          reconnect: true,
          maxReconnectAttempts: -1,
          reconnectTimeWait: RETRY_MS_MIN,
          // A password that was changed on the server first becomes right later.
          ignoreAuthErrorAbort: true,
          timeout: CONNECT_MS,
          pingInterval: PING_MS,
          noAsyncTraces: true,
        })
        failures = 0
        if (!isOpen) return await nats.close()
        setThere(true)
        await follow(nats)
        if (isThere) setThere(false)
      } catch (error) {
        warnings.set('connection', describe(error))
        await wait(Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** failures))
        failures = Math.min(failures + 1, 10)
      }
    }
  }
  const running = run()

  return {
    current: () => (isThere ? nats : null),
    version: () => version,
    onThere(listener) {
      listeners.add(listener)
      if (isThere && nats !== null) listener(nats)
      return () => void listeners.delete(listener)
    },
    onGone(listener) {
      goneListeners.add(listener)
      return () => void goneListeners.delete(listener)
    },
    async close() {
      isOpen = false
      stopWaiting()
      if (nats !== null && !nats.isClosed()) {
        // Acknowledgements may be on their way; an unreachable server is not waited for.
        if (isThere) await Promise.race([nats.flush().catch(() => {}), wait(FLUSH_MS)])
        stopWaiting()
        await nats.close()
      }
      isThere = false
      await running
    },
  }
}

function warnOf(status: Extract<Status, { type: 'error' }>, warnings: Warnings): void {
  const { error } = status
  if (error instanceof PermissionViolationError) {
    const may = error.operation === 'subscription' ? 'subscribe to' : 'publish to'
    warnings.set(
      `permission ${error.operation} ${error.subject}`,
      `NATS does not let this node ${may} ${error.subject}; allow it for its user (docs/nats.md lists what is needed)`,
    )
  } else warnings.set('connection', describe(error))
}

function describe(error: unknown): string {
  const said = error instanceof Error && error.message !== '' ? error.message : String(error)
  if (error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError) {
    return `NATS does not let this node in (${said}); correct MILLRACE_NATS_CREDS, or the user and password in MILLRACE_NATS_URL`
  }
  return `NATS cannot be reached (${said}); it is tried again: see that MILLRACE_NATS_URL is right and the server runs`
}
