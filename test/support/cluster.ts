// Senders that do not give up, for several nodes: signed GitHub events at full speed, each sent again under the same
// delivery id, to any running node, until one acknowledges it. Disturbances are timed by the number of acknowledged
// events.

import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { request } from 'undici'
import type { Load } from './load.ts'
import { makeDelivery, makeSignal } from './load.ts'
import type { NodeProcess } from './node-process.ts'

export interface ClusterLoad extends Omit<Load, 'node'> {
  /** The longest wait of any event for its acknowledgement. */
  readonly longestMs: number
}

export interface Disturbance {
  readonly afterAcknowledged: number
  /**
   * The load continues meanwhile, up to the start of the next one: a slow machine must not run out of events before.
   */
  disturb(): Promise<void>
}

const SENDERS = 32
/** A sender without a response asks the next node. */
const ANSWER_MS_MAX = 5_000
const AGAIN_MS = 50
/** A cluster that accepts nothing for this long is a failure, and not a test that hangs. */
const GIVE_UP_MS = 90_000

/** `nodes` is called at each attempt: they may come and go. */
export async function runClusterLoad(
  events: number,
  nodes: () => readonly Pick<NodeProcess, 'url'>[],
  disturbances: readonly Disturbance[],
): Promise<ClusterLoad> {
  const waiting = Array.from({ length: events }, () => makeDelivery())
  const acknowledged = new Map<string, string>()
  const counted = new EventTarget()
  let duplicates = 0
  let failedTries = 0
  let longestMs = 0

  const tryOnce = async (url: string, { headers, body }: ReturnType<typeof makeDelivery>) => {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX)
    try {
      const answer = await request(`${url}/in/default/github`, { method: 'POST', headers, body, signal })
      return { status: answer.statusCode, text: await answer.body.text() }
    } catch (error) {
      return { status: 0, text: (error as Error).message }
    }
  }

  const sendOne = async (delivery: ReturnType<typeof makeDelivery>, first: number): Promise<void> => {
    const startedAt = performance.now()
    for (let tried = first; ; tried += 1) {
      const all = nodes()
      const { status, text } = await tryOnce(all[tried % all.length]?.url ?? 'http://127.0.0.1:1', delivery)
      if (status === 202) {
        const { eventId, duplicate } = JSON.parse(text) as { eventId: string; duplicate: boolean }
        acknowledged.set(delivery.id, eventId)
        if (duplicate) duplicates += 1
        longestMs = Math.max(longestMs, performance.now() - startedAt)
        counted.dispatchEvent(new Event('acknowledged'))
        return
      }
      failedTries += 1
      if (status !== 0 && status !== 503) throw new Error(`a sender was answered ${status}: ${text}`)
      if (performance.now() - startedAt > GIVE_UP_MS)
        throw new Error(`nobody took an event for ${GIVE_UP_MS} ms: ${text}`)
      await wait(AGAIN_MS)
    }
  }

  /** How many may be sent by now. */
  let allowed = 0
  let more = makeSignal()
  const send = async (_: unknown, sender: number): Promise<void> => {
    for (;;) {
      while (waiting.length > 0 && events - waiting.length >= allowed) await more.fired
      const delivery = waiting.pop()
      if (delivery === undefined) return
      await sendOne(delivery, sender)
    }
  }
  const allow = (next: Disturbance | undefined) => {
    allowed = next?.afterAcknowledged ?? events
    more.fire()
    more = makeSignal()
  }
  const disturbAll = async (): Promise<void> => {
    for (const [index, { afterAcknowledged, disturb }] of disturbances.entries()) {
      allow(disturbances[index + 1])
      while (acknowledged.size < afterAcknowledged) await once(counted, 'acknowledged')
      await disturb()
    }
    allow(undefined)
  }

  const startedAt = performance.now()
  await Promise.all([disturbAll(), ...Array.from({ length: SENDERS }, send)])
  const seconds = (performance.now() - startedAt) / 1_000
  return { acknowledged, duplicates, failedTries, longestMs, eventsPerSecond: events / seconds }
}
