// Wake-ups over plain NATS: they are not stored. Those of a few milliseconds travel together, each once.

import { type Msg, type NatsConnection, nuid } from '@nats-io/transport-node'
import type { Clock } from '../../ports/clock.ts'
import { MISSED, readWake, WAKE_BYTES_MAX, type Wake, type Wakes } from '../../ports/wakes.ts'
import type { Connection } from './connection.ts'

const GATHER_MS = 5
/** Together they stay far below a server's limit, unless it was configured lower. */
const TOGETHER_BYTES_MAX = 262_144

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
  let isOpen = true

  const send = () => {
    cancel = null
    const wakes = [...waiting.values()]
    waiting.clear()
    const nats = connection.current()
    if (nats === null || !isOpen) return
    try {
      const bytesMax = Math.min(nats.info?.max_payload ?? TOGETHER_BYTES_MAX, TOGETHER_BYTES_MAX)
      for (const envelope of packWakes(from, wakes, bytesMax)) nats.publish(subject, envelope)
    } catch {
      // The connection ended meanwhile: the other nodes look for work by themselves.
    }
  }
  const notifyListeners = (wakes: readonly Wake[]) => {
    for (const wake of wakes) for (const listener of [...listeners]) listener(wake)
  }
  const hear = (message: Msg) => {
    const envelope = readEnvelope(message)
    if (envelope !== null && envelope.from !== from) notifyListeners(envelope.wakes)
  }

  const stop = connection.onThere((nats) => {
    // The driver renews its subscriptions at the server.
    // Wake-ups sent meanwhile were missed.
    if (subscribed !== null) notifyListeners(MISSED)
    if (subscribed === nats) return
    subscribed = nats
    nats.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) hear(message)
      },
    })
  })

  return {
    send(wake) {
      if (!isOpen || connection.current() === null) return
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
      isOpen = false
      stop()
      cancel?.()
      listeners.clear()
    },
  }
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength
}

/**
 * As few messages as fit. A wake-up that is too long by itself is replaced by one that says only that there is more.
 */
function packWakes(from: string, wakes: readonly Wake[], bytesMax: number): readonly string[] {
  const head = `{"from":${JSON.stringify(from)},"wakes":[`
  const packed: string[] = []
  let list: string[] = []
  let size = head.length + 2
  const close = () => {
    if (list.length > 0) packed.push(`${head}${list.join(',')}]}`)
    list = []
    size = head.length + 2
  }
  const fits = (text: string) => head.length + 3 + byteLength(text) <= bytesMax
  for (const wake of wakes) {
    const whole = JSON.stringify(wake)
    const text = fits(whole) || wake.wake !== 'changes' ? whole : JSON.stringify({ ...wake, body: null })
    if (!fits(text)) continue
    if (size + byteLength(text) + 1 > bytesMax) close()
    list.push(text)
    size += byteLength(text) + 1
  }
  close()
  return packed
}

function readEnvelope(message: Msg): Envelope | null {
  try {
    const { from, wakes } = message.json<Record<string, unknown>>()
    if (typeof from !== 'string' || !Array.isArray(wakes)) return null
    return { from, wakes: wakes.flatMap((one) => readWake(one) ?? []) }
  } catch {
    return null
  }
}
