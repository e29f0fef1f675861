import { describe, expect, test } from 'vitest'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import { makeMemoryStore } from '../../adapters/store-memory/index.ts'
import type { ProbeResult } from '../../core/connections/connection/index.ts'
import { makeIds } from '../../core/foundation/ids/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import { makeCommits } from '../commit/commits.ts'
import { makeStoreTime } from '../commit/store-time.ts'
import { makeManualTime, makeRandom } from '../engine.fixture.ts'
import { DECISIONS } from '../settlement/decision-functions.ts'
import { HEALTH_RESULTS_MAX, makeHealthWorker, type Watched } from './connection-health.ts'
import type { OutboundRequest, OutboundResponse } from './connection-types.ts'
import { answered, CONNECTION, PROVIDER, TENANT } from './credentials/credentials.fixture.ts'

const WATCHED: Watched = { tenant: TENANT, connection: CONNECTION, provider: PROVIDER }
const LOST: HttpOutcome = {
  kind: 'failed',
  sent: 'maybe',
  code: 'timeout',
  message: 'no answer',
  durationMs: 5_000,
}

function makeHealthWorld(
  answer: (request: OutboundRequest, count: number) => HttpOutcome | Promise<HttpOutcome>,
) {
  const time = makeManualTime()
  const store = makeMemoryStore({ now: time.now, defer: (callback) => time.defer(callback, () => true) })
  const sent: { readonly node: string; readonly at: number; readonly request: OutboundRequest }[] = []
  const told: { readonly node: string; readonly result: ProbeResult; readonly isTry: boolean }[] = []
  const refused: (number | null)[] = []
  const accepted: (number | null)[] = []
  let watched: readonly Watched[] = [WATCHED]
  let isTry = false
  const node = (name: string) => {
    const clock = time.clockFor(() => true)
    const log = makeMemoryLog()
    const storeTime = makeStoreTime(clock)
    const random = makeRandom(name.length)
    const worker = makeHealthWorker(
      {
        store,
        clock,
        log,
        time: storeTime,
        ids: makeIds({ now: time.now, bytes: random.bytes }),
        commits: makeCommits({ store, clock, time: storeTime, log, onLost: () => {}, onApplied: () => {} }),
        decisions: DECISIONS,
        vars: () => ({}),
        outboundClient: {
          async send(request): Promise<OutboundResponse> {
            sent.push({ node: name, at: time.now(), request })
            const outcome = await answer(request, sent.length)
            return {
              outcome,
              problem: null,
              credentialVersion: 7,
              requestHead: '',
              responseHead: null,
            } as OutboundResponse
          },
        },
        watched: () => watched,
        begin: async () => isTry,
        probed: (_tenant, _name, result, tried) => told.push({ node: name, result, isTry: tried }),
        refused: (_watched, version) => refused.push(version),
        accepted: (_watched, version) => accepted.push(version),
      },
      { node: name, followMs: 5_000 },
    )
    worker.start()
    return worker
  }
  const history = async (worker: ReturnType<typeof node>) => {
    const reading = worker.history(TENANT, CONNECTION.name)
    await time.pass(0)
    return reading
  }
  return {
    node,
    sent,
    told,
    refused,
    accepted,
    history,
    pass: time.pass,
    setTry(value: boolean) {
      isTry = value
    },
    watch(...all: Watched[]) {
      watched = all
    },
  }
}

describe('a connection', () => {
  test('[HE1] is probed once per window, whatever the number of nodes', async () => {
    const world = makeHealthWorld(() => answered(200))
    const nodes = [world.node('one'), world.node('second'), world.node('the third')]
    await world.pass(10 * 60_000 - 1)
    expect(world.sent.length).toBeGreaterThanOrEqual(10)
    expect(world.sent.length).toBeLessThanOrEqual(11)
    expect(world.sent[0]?.request).toMatchObject({
      method: 'GET',
      target: '/me',
      connection: CONNECTION.name,
    })
    const windows = world.told.map(({ result }) => result.window)
    expect(new Set(windows).size).toBe(windows.length)
    for (const worker of nodes) expect(await world.history(worker)).toHaveLength(world.sent.length)
    expect(world.told.every(({ result }) => result.ok && result.class === null)).toBe(true)
    for (const worker of nodes) await worker.stop()
  })

  test('[HE1] that is not watched, has no probe or is not to be probed is left alone', async () => {
    const world = makeHealthWorld(() => answered(200))
    world.watch(
      { ...WATCHED, connection: { ...CONNECTION, probe: null } },
      { ...WATCHED, provider: { ...PROVIDER, probe: null } },
    )
    world.node('one')
    await world.pass(300_000)
    expect(world.sent).toEqual([])
  })

  test('[HE2] a result that comes after the next window began is dropped', async () => {
    let give: (outcome: HttpOutcome) => void = () => {}
    const late = new Promise<HttpOutcome>((resolve) => {
      give = resolve
    })
    const world = makeHealthWorld((_request, count) => (count === 1 ? late : answered(200)))
    const first = world.node('one')
    await world.pass(1_000)
    expect(world.sent).toHaveLength(1)
    const second = world.node('second')
    await world.pass(120_000)
    const before = await world.history(second)
    expect(before.length).toBeGreaterThan(0)
    give(answered(500))
    await world.pass(1_000)
    expect(await world.history(first)).toEqual(await world.history(second))
    expect(world.told.every(({ result }) => result.ok)).toBe(true)
  })

  test('[HE3] a failed probe is tried twice more within its window', async () => {
    const world = makeHealthWorld((_request, count) => (count < 3 ? LOST : answered(200)))
    const worker = world.node('one')
    await world.pass(20_000)
    expect(world.sent).toHaveLength(3)
    expect(await world.history(worker)).toMatchObject([{ ok: true }])
    const gone = makeHealthWorld(() => answered(503))
    gone.node('one')
    await gone.pass(20_000)
    expect(gone.sent).toHaveLength(3)
    expect(gone.told).toMatchObject([{ result: { ok: false, class: 'transient', httpStatus: 503 } }])
    const short = makeHealthWorld(() => answered(503))
    short.watch({ ...WATCHED, connection: { ...CONNECTION, probe: { everyMs: 5_500, timeoutMs: 5_000 } } })
    short.node('one')
    await short.pass(5_000)
    expect(short.sent).toHaveLength(short.told.length)
  })

  test('[HE3] [HE5] a clear response is not retried, and a refusal is reported', async () => {
    const world = makeHealthWorld(() => answered(401))
    world.node('one')
    await world.pass(20_000)
    expect(world.sent).toHaveLength(1)
    expect(world.told).toMatchObject([{ result: { ok: false, class: 'auth', httpStatus: 401 } }])
    expect(world.refused).toEqual([7])
  })

  test('[HE6] a probe that passes is reported with its secret', async () => {
    const world = makeHealthWorld(() => answered(200))
    world.node('one')
    await world.pass(20_000)
    expect([world.accepted, world.refused]).toEqual([[7], []])
  })

  test('[HE4] the sixty latest are stored, and a probe may be the trial of an open circuit', async () => {
    const world = makeHealthWorld(() => answered(200))
    const worker = world.node('one')
    world.setTry(true)
    await world.pass(65 * 60_000)
    const history = await world.history(worker)
    expect(history).toHaveLength(HEALTH_RESULTS_MAX)
    expect(history[0]?.window).toBeGreaterThan(history[1]?.window ?? 0)
    expect(world.told.every(({ isTry }) => isTry)).toBe(true)
  })
})
