// The bus on NATS JetStream (docs/nats.md). It needs only what a server of version 2.9 can do.

import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { matchesPattern } from '../../core/events/subject/index.ts'
import { type Bus, BusError, type BusStatus, type Consumer } from '../../ports/bus.ts'
import type { Clock } from '../../ports/clock.ts'
import { keepConnected } from './connection.ts'
import { startConsumer } from './consumer.ts'
import { publishAll } from './publish.ts'
import { describeSync } from './server-durability.ts'
import { resolveServers } from './servers.ts'
import { ensureStream, ownStreams, tokensStream } from './streams.ts'
import { makeNatsWakes } from './wakes.ts'
import { makeWarnings } from './warnings.ts'

const ENSURE_AGAIN_MS = 2_000

export interface NatsBusOptions {
  /** `nats://` or `tls://`, of one cluster; they may contain a user and password, or a token. */
  readonly servers: readonly string[]
  /** A `.creds` file. */
  readonly credentialsFile: string | null
  /** First token of the subjects of Millrace's own streams. */
  readonly prefix: string
  /** The name that the server's operators see for this node. */
  readonly name: string
  readonly clock: Clock
  /** How long a publisher waits for a response. */
  readonly answerMs?: number
  /** A message without any response for this long is redelivered by the server. */
  readonly ackWaitMs?: number
}

export function makeNatsBus(options: NatsBusOptions): Bus {
  const { prefix, clock, answerMs = 5_000, ackWaitMs = 30_000 } = options
  const streams = ownStreams(prefix)
  const watchers = new Set<(status: BusStatus) => void>()
  const consumers = new Set<Consumer>()
  let isOpen = true
  let isSynced: boolean | null = null
  let tokensBirth: string | null = null
  let ensuring: Promise<void> | null = null
  let cancelEnsure: (() => void) | null = null

  const notifyWatchers = () => {
    const now = status()
    for (const watcher of [...watchers]) watcher(now)
  }
  const warnings = makeWarnings(notifyWatchers)
  const connection = keepConnected({
    driver: { ...resolveServers(options.servers, options.credentialsFile), name: options.name },
    clock,
    warnings,
    onChange: notifyWatchers,
  })
  const status = (): BusStatus => ({
    isConnected: isOpen && connection.current() !== null,
    version: connection.version(),
    isSynced,
    tokensBirth,
    warnings: warnings.list(),
  })

  const noteTokens = (birth: string | null) => {
    if (birth === tokensBirth) return
    tokensBirth = birth
    notifyWatchers()
  }

  const ensure = async (nats: NatsConnection) => {
    const manager = await jetstreamManager(nats, { checkAPI: false })
    let isInMemory = false
    for (const wanted of streams) {
      try {
        const made = await ensureStream(manager, wanted)
        isInMemory ||= made.isInMemory
        if (wanted.name === tokensStream(prefix)) noteTokens(made.birth)
        warnings.set(`stream ${wanted.name}`, made.warnings.join('; ') || null)
      } catch (error) {
        const said = error instanceof Error ? error.message : String(error)
        warnings.set(
          `stream ${wanted.name}`,
          `the stream ${wanted.name} could neither be found nor made (${said}); make it, or allow it for this node's user (docs/nats.md)`,
        )
      }
    }
    const sync = describeSync(nats.info?.version ?? null, isInMemory)
    isSynced = sync.isSynced
    warnings.set('sync', sync.warning)
  }
  /** One at a time; a failure became a warning, or the connection is lost and will be made again. */
  const ensureOnce = (nats: NatsConnection) => {
    ensuring ??= ensure(nats)
      .catch(() => {})
      .finally(() => {
        ensuring = null
      })
    return ensuring
  }
  const ensureSoon = () => {
    cancelEnsure ??= clock.after(ENSURE_AGAIN_MS, () => {
      cancelEnsure = null
      const nats = connection.current()
      if (nats !== null && isOpen) void ensureOnce(nats)
    })
  }
  connection.onThere((nats) => void ensureOnce(nats))
  const streamOf = (subject: string) =>
    streams.find(({ subjects }) => subjects.some((pattern) => matchesPattern(pattern, subject)))?.name ?? null
  const wakes = makeNatsWakes({ connection, subject: `${prefix}.wakes`, clock })

  return {
    async publish(messages) {
      if (!isOpen) throw new BusError('closed', 'the bus is closed')
      const nats = connection.current()
      if (nats === null) throw new BusError('unavailable', 'NATS cannot be reached; it is tried again')
      // The streams may be under creation; nothing is published before that.
      await ensuring
      return publishAll(nats, messages, { answerMs, streamOf, onMissing: ensureSoon })
    },
    consume(spec) {
      const consumer = startConsumer({ connection, clock, spec, ackWaitMs, warnings })
      consumers.add(consumer)
      return {
        close: async () => {
          await consumer.close()
          consumers.delete(consumer)
        },
      }
    },
    wakes,
    status,
    watch(listener) {
      watchers.add(listener)
      return () => void watchers.delete(listener)
    },
    async [Symbol.asyncDispose]() {
      if (!isOpen) return
      await Promise.all([...consumers].map((consumer) => consumer.close()))
      isOpen = false
      wakes.close()
      cancelEnsure?.()
      await connection.close()
      watchers.clear()
    },
  }
}
