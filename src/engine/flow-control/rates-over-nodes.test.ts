// Rates over several nodes: one memory store, nodes that share it, manual time. The vendor's own list of calls is what
// counts.

import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { MINUTE } from '../../core/foundation/time/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import { type Commit, StoreError } from '../../ports/store.ts'
import { documents, makeManualCredentials, makeShop } from '../connections/connections.fixture.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  makeWorld,
  type Node,
  type NodeOptions,
  PAID,
  ROUTE,
  SOURCE,
  type World,
} from '../engine.fixture.ts'
import { HOOK, SECRET } from '../webhooks/deliveries/deliveries.fixture.ts'
import { CASE, CREATE, instancesOf } from '../workflows/order-workflow.fixture.ts'

const NAMES = ['one', 'two', 'three'] as const
const SHARED = { isShared: true }

async function nodes(world: World, options: NodeOptions): Promise<readonly [Node, Node, Node]> {
  const [one, two, three] = NAMES
  const start = (name: string) => world.node({ ...options, name, config: { ...SHARED, ...options.config } })
  return [await start(one), await start(two), await start(three)]
}

let sent = 0
/** Events go to each node in rotation. */
async function flood(world: World, all: readonly Node[], count: number) {
  for (let index = 0; index < count; index += 1) {
    sent += 1
    await accept(world, all[index % all.length] as Node, { kind: 'paid', id: `r${sent}`, order: `r${sent}` })
  }
}

interface Policy {
  readonly perMinute: number
  readonly burst: number
}

function route(rate: Policy, over: Partial<RouteDocument> = {}): RouteDocument {
  return { ...ROUTE, rateLimit: { profile: null, ...rate }, ...over }
}

/** When each call started, by the vendor's clock. */
function makeCounted(answer: (call: number) => HttpOutcome = () => CREATED) {
  const at: number[] = []
  const world: World = makeWorld(
    (_request, call) => {
      at.push(world.now())
      return answer(call)
    },
    [SECRET],
  )
  return { world, at }
}

/** Checks the rate limit: never more calls than were granted since the first. */
function expectWithin(at: readonly number[], { perMinute, burst }: Policy) {
  at.forEach((time, index) => {
    const most = burst + ((time - (at[0] ?? time)) * perMinute) / MINUTE
    expect(index + 1).toBeLessThanOrEqual(most + 1e-3)
  })
}

const rateRecords = async (world: World) =>
  (await world.reads.records({ kind: 'rate', cursor: null, limit: 20 })).items

describe('routes', () => {
  test('[PA7] [PA19] [PA20] three nodes together respect the rate, use it fully, and all get a share', async () => {
    const rate = { perMinute: 120, burst: 4 }
    const { world, at } = makeCounted()
    const all = await nodes(world, { documents: [SOURCE, route(rate)], config: { concurrency: 4 } })
    await flood(world, all, 150)
    await world.pass(60_000)
    expectWithin(at, rate)
    // The burst and the rate of one minute, minus expired permits.
    expect(at.length).toBeGreaterThanOrEqual(110)
    const counts = NAMES.map((name) => world.calls.filter((call) => call.node === name).length)
    expect(Math.min(...counts)).toBeGreaterThan(10)
    expect((await rateRecords(world)).map(({ key }) => key)).toEqual(['consumer/route:book'])
  })

  test('[PA19] permits of a crashed node expire with it, and the others go on', async () => {
    const rate = { perMinute: 600, burst: 10 }
    const { world, at } = makeCounted()
    const all = await nodes(world, { documents: [SOURCE, route(rate)] })
    await world.pass(5_000)
    await flood(world, all, 100)
    all[0].crash()
    await world.pass(1_000)
    all[1].crash()
    await world.pass(60_000)
    expectWithin(at, rate)
    // The interrupted jobs of the dead node run isolated, one at a time.
    expect(new Set(world.calls.map(({ request }) => request.url)).size).toBe(100)
  })

  test('[PA19] nodes with a slow store connection still respect the rate', async () => {
    const rate = { perMinute: 600, burst: 5 }
    const { world, at } = makeCounted()
    let commits = 0
    const slow: NodeOptions['faults'] = {
      async commit(_commit, pass) {
        const result = await pass()
        commits += 1
        // As if the response were old, or from a clock that is ahead.
        return { ...result, at: result.at + (result.ok ? 700 : -700) }
      },
    }
    const documents = [SOURCE, route(rate)]
    const one = await world.node({ name: 'one', documents, config: SHARED })
    const two = await world.node({ name: 'two', documents, config: SHARED, faults: slow })
    await flood(world, [one, two], 100)
    await world.pass(30_000)
    expect(at.length).toBe(100)
    // No job is claimed for a permit that then does not exist.
    expect(commits).toBeLessThan(600)
    // A clock that is 700 ms ahead may use what becomes valid in 700 ms.
    expectWithin(at, { ...rate, burst: rate.burst + 7 })
  })

  test('[PA21] an empty bucket costs no commit, and no claim beyond the regular poll, until its next permit is near', async () => {
    const asked = { claims: 0, commits: 0 }
    const { world, at } = makeCounted()
    const faults: NodeOptions['faults'] = {
      claim(pass) {
        asked.claims += 1
        return pass()
      },
      commit(_commit, pass) {
        asked.commits += 1
        return pass()
      },
    }
    const rate = { perMinute: 1, burst: 1 }
    const node = await world.node({ documents: [SOURCE, route(rate)], config: SHARED, faults })
    await flood(world, [node], 5)
    expect(at).toHaveLength(1)
    await world.pass(2_000)
    asked.commits = 0
    asked.claims = 0
    await world.pass(50_000)
    expect(at).toHaveLength(1)
    expect(asked.commits).toBe(0)
    expect(asked.claims).toBeLessThanOrEqual(52)
    await world.pass(10_000)
    expect(at).toHaveLength(2)
  })

  test('[PA23] a single node writes nothing for its rates', async () => {
    const { world, at } = makeCounted()
    const node = await world.node({ documents: [SOURCE, route({ perMinute: 60, burst: 2 })] })
    await flood(world, [node], 5)
    await world.pass(10_000)
    expect(at).toHaveLength(5)
    expect(await rateRecords(world)).toEqual([])
  })

  test('[PA7] [PA19] ledger hits return their permits, over nodes too', async () => {
    const { world, at } = makeCounted()
    const rate = { perMinute: 600, burst: 3 }
    const all = await nodes(world, { documents: [SOURCE, route(rate, { key: "'K:' + payload.key" })] })
    for (let index = 0; index < 12; index += 1)
      await accept(world, all[index % 3] as Node, { kind: 'paid', id: `h${index}`, order: 'o', key: 1 })
    await world.pass(5_000)
    expect(at).toHaveLength(1)
    const left = await world.reads.workList({ state: 'ready', cursor: null, limit: 20 })
    expect(left.items).toEqual([])
  })

  test('[PA19] a batch takes one permit per call, also if it waits long for its members', async () => {
    const rate = { perMinute: 60, burst: 1 }
    const { world, at } = makeCounted()
    const many = { ...HTTP, url: 'https://vendor.example/many', body: { items: '{{ batch.map(b, b.key) }}' } }
    const batched = route(rate, { batch: { size: 5, maxWaitMs: 8_000 }, do: many })
    const all = await nodes(world, { documents: [SOURCE, batched] })
    await flood(world, all, 12)
    await world.pass(60_000)
    expectWithin(at, rate)
    const { items } = await world.reads.workList({ cursor: null, limit: 50 })
    expect(items.map(({ state }) => state).filter((state) => state !== 'done')).toEqual([])
    expect(at.length).toBeLessThanOrEqual(9)
  })
})

describe('subscriptions', () => {
  test('[PA7] [PA19] deliveries of one subscription respect its rate over all nodes', async () => {
    const rate = { perMinute: 300, burst: 3 }
    const { world, at } = makeCounted(() => answered(200))
    const limited = { ...HOOK, rateLimit: { profile: null, ...rate } }
    const all = await nodes(world, { documents: [SOURCE, limited] })
    await flood(world, all, 60)
    await world.pass(30_000)
    expect(at).toHaveLength(60)
    expectWithin(at, rate)
  })
})

describe('connections', () => {
  const rate = { perMinute: 120, burst: 4 }

  async function shops(
    answer: (call: number) => HttpOutcome,
    buckets: Readonly<Record<string, Policy>> = { default: rate },
  ) {
    const at: number[] = []
    const world = makeShop((_request, call) => {
      at.push(world.now())
      return answer(call)
    })
    const given = {
      connection: { buckets },
      route: { retry: { profile: null, attempts: 9, delaysMs: Array(8).fill(2_000) } },
    }
    const all = await nodes(world, { documents: documents(given), credentials: makeManualCredentials() })
    await world.pass(10_000)
    return { world, all, at }
  }

  test('[RB1] [RB5] three nodes together start no more calls than the bucket allows', async () => {
    const { world, all, at } = await shops(() => CREATED)
    await flood(world, all, 100)
    await world.pass(40_000)
    expectWithin(at, rate)
    expect(at.length).toBeGreaterThanOrEqual(70)
    const counts = NAMES.map((name) => world.calls.filter((call) => call.node === name).length)
    expect(Math.min(...counts)).toBeGreaterThan(8)
  })

  test('[RB2] [RB5] a refusal on one node closes the bucket for all, and one of them probes', async () => {
    let isLimited = true
    const { world, all, at } = await shops(
      () => (isLimited ? answered(429, { 'retry-after': '20' }) : CREATED),
      {},
    )
    await accept(world, all[0], PAID)
    await world.pass(6_000)
    const before = at.length
    expect(before).toBe(1)
    await flood(world, all, 9)
    await world.pass(10_000)
    expect(at).toHaveLength(before)
    await world.pass(20_000)
    // Still refused: one probe for all three.
    expect(at).toHaveLength(before + 1)
    isLimited = false
    await world.pass(40_000)
    expect(at.length).toBeGreaterThanOrEqual(before + 11)
  })

  test('[RB1] [RB5] the vendor’s remaining quota is shared by all nodes', async () => {
    const headers = { 'x-ratelimit-remaining': '4', 'x-ratelimit-reset': '30' }
    const { world, all, at } = await shops(
      (call) => (call === 1 ? ({ ...CREATED, headers } as HttpOutcome) : CREATED),
      {},
    )
    await accept(world, all[0], PAID)
    await world.pass(6_000)
    await flood(world, all, 12)
    await world.pass(15_000)
    expect(at.length).toBeLessThanOrEqual(5)
    expect(at.length).toBeGreaterThanOrEqual(3)
    await world.pass(30_000)
    expect(at).toHaveLength(13)
  })
})

describe('triggers and sources', () => {
  test('[PA22] [TG17] events of one trigger wait for their permits over all nodes, and none is dropped', async () => {
    const slow = { ...CREATE, rateLimit: { profile: null, perMinute: 60, burst: 1 } }
    const world = makeWorld()
    const all = await nodes(world, { documents: [SOURCE, { ...CASE, triggers: [slow] }] })
    for (let index = 0; index < 9; index += 1)
      await accept(world, all[index % 3] as Node, { kind: 'ordered', id: `t${index}`, order: `t${index}` })
    expect(await instancesOf(world)).toHaveLength(1)
    await world.pass(4_100)
    expect(await instancesOf(world)).toHaveLength(5)
    await world.pass(6_000)
    expect(await instancesOf(world)).toHaveLength(9)
  })

  const limited = { ...SOURCE, rateLimit: { perMinute: 60, burst: 5 } }
  const ask = async (world: World, node: Node, id: string) => {
    const answer = node.send({ kind: 'paid', id, order: id }).then(
      () => 'kept',
      (error: { code: string }) => error.code,
    )
    await world.pass()
    return answer
  }

  test('[PA22] a source accepts its rate over all nodes, and refuses the rest without asking the store', async () => {
    let commits: readonly Commit[] = []
    const world = makeWorld(() => CREATED)
    const faults: NodeOptions['faults'] = {
      commit(commit, pass) {
        commits = [...commits, commit]
        return pass()
      },
    }
    const all = await nodes(world, { documents: [limited, ROUTE], faults })
    const answers: string[] = []
    for (let index = 0; index < 9; index += 1)
      answers.push(await ask(world, all[index % 3] as Node, `s${index}`))
    expect(answers.filter((one) => one === 'kept')).toHaveLength(5)
    expect(answers.filter((one) => one === 'rate_limited')).toHaveLength(4)
    commits = []
    expect(await ask(world, all[0], 's90')).toBe('rate_limited')
    expect(commits).toEqual([])
    await world.pass(2_000)
    const later = []
    for (const node of all) later.push(await ask(world, node, `s9${later.length + 1}`))
    expect(later.filter((one) => one === 'kept')).toHaveLength(2)
  })

  test('[PA22] while the store is down a sender gets the store’s error and not a rate limit', async () => {
    const world = makeWorld(() => CREATED)
    let isAway = false
    const node = await world.node({
      documents: [limited, ROUTE],
      config: SHARED,
      faults: {
        commit(_commit, pass) {
          if (isAway) throw new StoreError('unavailable', 'away')
          return pass()
        },
      },
    })
    isAway = true
    expect([await ask(world, node, 'a1'), await ask(world, node, 'a2')]).toEqual([
      'store_unavailable',
      'store_unavailable',
    ])
    isAway = false
    await world.pass(2_000)
    expect(await ask(world, node, 'a1')).toBe('kept')
  })
})

test('[N10] the buckets of two tenants are two records', async () => {
  const { world } = makeCounted()
  const node = await world.node({ documents: [SOURCE, route({ perMinute: 60, burst: 2 })], config: SHARED })
  await flood(world, [node], 1)
  const { records } = await world.store.system('verification').dump()
  const rates = records.filter(({ kind }) => kind === 'rate')
  expect(rates.map(({ tenant }) => tenant)).toEqual([DEFAULT_TENANT])
})
