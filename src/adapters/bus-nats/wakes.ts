// Wake-ups over plain NATS: nothing is kept of them. Those of a few milliseconds travel together, each once.

import { type Msg, type NatsConnection, nuid } from '@nats-io/transport-node'
import type { Clock } from '../../ports/clock.ts'
import { WAKE_BYTES_MAX, type Wake, type Wakes } from '../../ports/wakes.ts'
import type { Connection } from './connection.ts'

const GATHER_MS = 5
/** Together they stay far below what a server takes at once. */
const TOGETHER_MAX = 50

interface Envelope {
  readonly from: string
  readonly wakes: readonly Wake[]
}

export function makeNatsWakes(options: {
  readonly connection: Connection
  readonly subject: string
  readonly clock: Clock
}): Wakes & { close(): void } {
  const { connection, subject, clock } = options
  const from = nuid.next()
  const listeners = new Set<(wake: Wake) => void>()
  const waiting = new Map<string, Wake>()
  let cancel: (() => void) | null = null
  let subscribed: NatsConnection | null = null

  const send = () => {
    cancel = null
    const wakes = [...waiting.values()]
    waiting.clear()
    const nats = connection.current()
    if (nats === null) return
    for (let start = 0; start < wakes.length; start += TOGETHER_MAX) {
      const envelope: Envelope = { from, wakes: wakes.slice(start, start + TOGETHER_MAX) }
      nats.publish(subject, JSON.stringify(envelope))
    }
  }
  const tellListeners = (wakes: readonly Wake[]) => {
    for (const wake of wakes) for (const listener of [...listeners]) listener(wake)
  }
  const hear = (message: Msg) => {
    const envelope = readEnvelope(message)
    if (envelope !== null && envelope.from !== from) tellListeners(envelope.wakes)
  }

  const stop = connection.onThere((nats) => {
    // The driver asks the server again for what was subscribed before.
    // What was told meanwhile is not known here.
    if (subscribed !== null) tellListeners([{ wake: 'work' }, { wake: 'outbox' }])
    if (subscribed === nats) return
    subscribed = nats
    nats.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) hear(message)
      },
    })
  })

  return {
    tell(wake) {
      if (connection.current() === null) return
      const isTooLong =
        wake.wake === 'changes' && wake.body !== null && byteLength(wake.body) > WAKE_BYTES_MAX
      const told: Wake = isTooLong ? { ...wake, body: null } : wake
      waiting.set(JSON.stringify(told), told)
      cancel ??= clock.after(GATHER_MS, send)
    },
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close() {
      stop()
      cancel?.()
      listeners.clear()
    },
  }
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength
}

const KINDS: ReadonlySet<string> = new Set<Wake['wake']>([
  'work',
  'definitions',
  'outbox',
  'watching',
  'changes',
])

/** Nodes of another version may tell of what this one does not know; others may publish anything there. */
function readEnvelope(message: Msg): Envelope | null {
  try {
    const { from, wakes } = message.json<Envelope>()
    if (typeof from !== 'string' || !Array.isArray(wakes)) return null
    return { from, wakes: wakes.filter((one) => KINDS.has(one?.wake)) }
  } catch {
    return null
  }
}
