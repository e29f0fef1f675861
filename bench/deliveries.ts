// One measurement of deliveries that are already due: a node, or the bare loop, sends them for a while, and the durably
// completed ones are counted.

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Measurement, meter, perEvent, startServer } from './scenario.ts'

/** For one endpoint: the concurrency limit that a node reaches there. */
export const AT_ONCE = 64

export interface Endpoints {
  readonly healthy: number
  /** They accept requests, and never respond. */
  readonly hanging: number
  /** All are paths of one host. */
  readonly isShared?: boolean
}

export interface Draining {
  readonly entry: 'serve-node.mjs' | 'serve-bare-deliveries.mjs'
  readonly args: readonly string[]
  readonly warmUpSeconds: number
  readonly seconds: number
}

export async function measureDraining(options: Draining): Promise<Measurement> {
  const server = await startServer(options.entry, options.args)
  try {
    await pause(options.warmUpSeconds * 1_000)
    const before = await server.ask<number>('done')
    const used = await meter(server)
    const startedAt = performance.now()
    await pause(options.seconds * 1_000)
    // The clock is read when the response is there: counting takes a moment, in which others complete.
    const done = (await server.ask<number>('done')) - before
    const seconds = (performance.now() - startedAt) / 1_000
    const use = await used()
    await pause(500)
    if ((await server.ask<number>('done')) === before + done)
      throw new Error('nothing moves at the end: the store held too little, or the endpoints stand still')
    return {
      perSecond: done / seconds,
      p50Ms: null,
      p99Ms: null,
      completionP50Ms: null,
      completionP99Ms: null,
      rssMb: (await server.ask<number>('rssBytes')) / 1_048_576,
      ...perEvent(use, done),
      flushesPerEvent: null,
      errors: 0,
    }
  } finally {
    await server.stop()
  }
}

export function endpointName(number: number): string {
  return `endpoint-${number}`
}

/** A subscription for each address. Those that hang have a short timeout, so that a run sees its effect. */
export async function subscriptionFlows(folder: string, urls: readonly string[]): Promise<string> {
  await mkdir(folder, { recursive: true })
  const all = urls.map((url, index) =>
    [
      'kind: Subscription',
      `name: ${endpointName(index)}`,
      `url: ${url}`,
      'on: [github.events.issues.*]',
      'timeout: 3s',
    ].join('\n'),
  )
  await writeFile(join(folder, 'subscriptions.yaml'), all.join('\n---\n'))
  return folder
}
