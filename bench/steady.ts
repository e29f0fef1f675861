// Latency at a rate that leaves the node idle in between: 200 events a second, each sent when it is due, whether or not the one before was
// answered. From accept to durable completion the 99th percentile is to stay under 5 ms.

import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { SMALL } from './sample.ts'
import type { Server } from './scenario.ts'
import { percentile } from './statistics.ts'

export const STEADY = 'steady'
const PER_SECOND = 200
export const ASKED_P99_MS = 5

export interface SteadyMeasurement {
  readonly perSecond: number
  /** From the request to its response. */
  readonly responseP50Ms: number
  readonly responseP99Ms: number
  /** From accept to durable completion, in whole milliseconds of the store's clock. */
  readonly doneP50Ms: number
  readonly doneP99Ms: number
}

export async function measureSteady(
  server: Server,
  seconds: { warmUpSeconds: number; seconds: number },
): Promise<SteadyMeasurement> {
  await send(server.url, seconds.warmUpSeconds)
  const responses = (await send(server.url, seconds.seconds)).sort((a, b) => a - b)
  // The latest come first; those of the warm-up are after them.
  const done = (await server.ask<number[]>('completionMs')).slice(0, responses.length).sort((a, b) => a - b)
  const rounded = (sorted: readonly number[], share: number) =>
    Number((percentile(sorted, share) ?? Number.NaN).toFixed(1))
  return {
    perSecond: PER_SECOND,
    responseP50Ms: rounded(responses, 0.5),
    responseP99Ms: rounded(responses, 0.99),
    doneP50Ms: rounded(done, 0.5),
    doneP99Ms: rounded(done, 0.99),
  }
}

export function renderSteady(one: SteadyMeasurement): string {
  const verdict = one.doneP99Ms <= ASKED_P99_MS ? 'as asked' : 'MISSED'
  return `steady: ${one.perSecond}/s: responses p50 ${one.responseP50Ms} ms, p99 ${one.responseP99Ms} ms; accept to done p50 ${one.doneP50Ms} ms, p99 ${one.doneP99Ms} ms (asked: p99 at most ${ASKED_P99_MS} ms, ${verdict})\n`
}

/** Returns how long each response took. */
async function send(url: string, seconds: number): Promise<number[]> {
  const pool = new Pool(url, { connections: 32 })
  const took: number[] = []
  const under: Promise<void>[] = []
  const post = async () => {
    const sentAt = performance.now()
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/in/default/github',
      headers: {
        'content-type': 'application/json',
        'x-github-event': SMALL.event,
        'x-github-delivery': randomUUID(),
      },
      body: SMALL.body,
    })
    await body.dump()
    if (statusCode >= 300) throw new Error(`the node responded with HTTP ${statusCode}`)
    took.push(performance.now() - sentAt)
  }
  const startedAt = performance.now()
  for (let sent = 0; sent < seconds * PER_SECOND; sent += 1) {
    const wait = startedAt + (sent * 1_000) / PER_SECOND - performance.now()
    if (wait > 0) await pause(wait)
    under.push(post())
  }
  await Promise.all(under)
  await pool.close()
  return took
}
