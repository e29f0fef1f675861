// One measurement of a replay: all dead letters of a store by one filter, from the call that starts it until the last
// of them is done again.

import { setTimeout as pause } from 'node:timers/promises'
import { ADMIN_KEY } from './sample.ts'
import { type Measurement, meter, perEvent, type ScenarioOptions, startServer } from './scenario.ts'

/** A count reads every row of the store: too many would be measured with the replay. */
const LOOK_MS = 1_000
const STALLED_MS = 60_000

export async function measureReplay(
  { entry, args }: Pick<ScenarioOptions, 'entry' | 'args'>,
  letters: number,
): Promise<Measurement> {
  const server = await startServer(entry, args)
  try {
    const before = await server.ask<number>('done')
    const used = await meter(server)
    const startedAt = performance.now()
    const answer = await fetch(`${server.url}/v1/dead-letters/replay`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ filter: { state: 'open' }, reason: 'the benchmark' }),
    })
    if (answer.status !== 202) throw new Error(`the replay was refused: ${await answer.text()}`)
    const answeredMs = performance.now() - startedAt
    let done = 0
    let movedAt = startedAt
    while (done < letters) {
      await pause(LOOK_MS)
      const now = (await server.ask<number>('done')) - before
      if (now > done) movedAt = performance.now()
      else if (performance.now() - movedAt > STALLED_MS)
        throw new Error(`the replay stands still at ${done} of ${letters}`)
      done = now
    }
    const tookMs = performance.now() - startedAt
    return {
      perSecond: (letters / tookMs) * 1_000,
      p50Ms: answeredMs,
      p99Ms: answeredMs,
      completionP50Ms: null,
      completionP99Ms: null,
      rssMb: (await server.ask<number>('rssBytes')) / 1_048_576,
      ...perEvent(await used(), letters),
      flushesPerEvent: null,
      errors: 0,
    }
  } finally {
    await server.stop()
  }
}
