// A node stops before or after each of its commits in turn, with batches and upserts in progress, and another node goes
// on. The vendor counts, and an operator who checks there resolves parked jobs. Then each effect must exist once, and
// every job must have ended.
import { describe, expect, test } from 'vitest'
import type { DefinitionDocument, UpsertActionDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import type { HttpOutcome, HttpRequest } from '../../../ports/http-client.ts'
import type { Commit, Write } from '../../../ports/store.ts'
import {
  answered,
  HTTP,
  LOST,
  makeWorld,
  type Node,
  ROUTE,
  SOURCE,
  type World,
} from '../../engine.fixture.ts'

interface Mishap {
  /** Which of the commits after the events were accepted. */
  readonly at: number
  readonly when: 'before' | 'after'
}

interface Story {
  readonly documents: readonly DefinitionDocument[]
  readonly events: readonly object[]
  makeVendor(): {
    serve(request: HttpRequest): HttpOutcome
    /** What an operator finds who looks for the effect of these keys. */
    has(keys: readonly string[]): boolean
    /** What is wrong at the end. */
    faults(items: readonly WorkRow[]): readonly string[]
  }
}

const ANN = { actor: 'ann', reason: 'looked there' }
const ROUNDS_MAX = 15
const NEVER = new Promise<never>(() => {})

/** Plays a scenario, and returns how many commits it took and what is wrong. `bend` plants a bug. */
async function play(
  story: Story,
  mishap: Mishap | null,
  bend: (commit: Commit) => Commit = (commit) => commit,
): Promise<{ commits: number; faults: readonly string[] }> {
  const vendor = story.makeVendor()
  const world = makeWorld(vendor.serve)
  const nodes: Node[] = []
  for (const name of ['one', 'two']) nodes.push(await world.node({ name, documents: story.documents }))
  let commits = 0
  let alive = nodes
  for (const node of nodes) {
    const crash = () => {
      node.crash()
      alive = alive.filter((one) => one !== node)
    }
    node.faults.commit = async (commit) => {
      const isHere = commits === mishap?.at
      commits += 1
      if (isHere && mishap.when === 'before') {
        crash()
        return NEVER
      }
      const result = await world.kept.commit(bend(commit))
      if (isHere) crash()
      return result
    }
  }
  // All at once, so that they overlap.
  for (const [index, event] of story.events.entries()) void nodes[index % 2]!.send(event)
  let items: readonly WorkRow[] = []
  let open: readonly WorkRow[] = []
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    await world.pass(60_000)
    items = (await world.reads.workList({ cursor: null, limit: 200 })).items
    open = items.filter(({ state }) => !['done', 'dead', 'skipped'].includes(state))
    if (open.length === 0) break
    await settleParked(world, alive[0]!, vendor.has)
  }
  const left = open.map(({ id, kind, state, lastError }) => `${kind} ${id} is ${state}: ${lastError}`)
  const held = await world.reads.ledgerList({ state: 'reserved', cursor: null, limit: 200 })
  const kept = open.length > 0 ? [] : held.items.map(({ key }) => `${key} is held, and nobody is at it`)
  return { commits, faults: [...left, ...kept, ...vendor.faults(items)] }
}

async function settleParked(
  world: World,
  node: Node,
  has: (keys: readonly string[]) => boolean,
): Promise<void> {
  const { items } = await world.reads.workList({ cursor: null, limit: 200, state: 'parked' })
  for (const { id, kind, key } of items) {
    const members = kind === 'batch' ? await world.reads.workMerged(id) : []
    const keys = kind === 'batch' ? members.map((one) => one.key ?? '') : [key ?? '']
    const as = has(keys) ? 'done' : 'released'
    const resolved = node.engine.resolve(DEFAULT_TENANT, id, { ...ANN, as })
    await world.pass()
    await resolved
  }
}

/** Stops at every point of the scenario, and returns what was wrong at each. */
async function sweep(story: Story, bend?: (commit: Commit) => Commit): Promise<readonly string[]> {
  const calm = await play(story, null, bend)
  const found = calm.faults.map((fault) => `calm: ${fault}`)
  for (let at = 0; at < calm.commits && found.length === 0; at += 1) {
    for (const when of ['before', 'after'] as const) {
      const { faults } = await play(story, { at, when }, bend)
      found.push(...faults.map((fault) => `${when} ${at}: ${fault}`))
    }
  }
  return found
}

const without = (commit: Commit, drops: (write: Write) => boolean): Commit => ({
  ...commit,
  writes: commit.writes.filter((write) => !drops(write)),
})

const BATCHES: Story = {
  documents: [
    SOURCE,
    {
      ...ROUTE,
      batch: { size: 2, maxWaitMs: 1_000 },
      do: {
        ...HTTP,
        url: 'https://vendor.example/many',
        body: { items: '{{ batch[*].key }}' },
      },
    },
  ],
  // One event that the vendor refuses, and with it the rest of its batch.
  events: ['a', 'b', 'bad', 'c', 'd'].map((name) => ({ kind: 'paid', id: `d-${name}`, order: name })),
  makeVendor() {
    const counts = new Map<string, number>()
    return {
      serve({ body }) {
        const { items } = JSON.parse(body ?? '{}') as { items: string[] }
        if (items.includes('BOOK:bad')) return answered(422)
        for (const key of items) counts.set(key, (counts.get(key) ?? 0) + 1)
        return { kind: 'response', status: 200, headers: {}, body: '{}', durationMs: 1 }
      },
      has: (keys) => keys.every((key) => counts.has(key)),
      faults(items) {
        const members = items.filter(({ kind }) => kind === 'route')
        const wrong = members.flatMap(({ key, state }) => {
          const count = counts.get(key ?? '') ?? 0
          return count === (state === 'done' ? 1 : 0) ? [] : [`${key} is ${state}, with ${count} effects`]
        })
        const bad = members.find(({ key }) => key === 'BOOK:bad')
        return bad === undefined || bad.state === 'dead' ? wrong : [...wrong, 'the one at fault is not dead']
      },
    }
  },
}

const UPSERT: UpsertActionDocument = {
  type: 'upsert',
  baseUrl: 'https://vendor.example',
  headers: {},
  extRef: '{{ payload.order }}',
  find: {
    method: 'GET',
    path: '/things?ref={{ extRef }}',
    found: 'result.body.size()',
    id: null,
    afterMs: 1_000,
  },
  create: {
    method: 'POST',
    path: '/things',
    body: { ref: '{{ extRef }}' },
    idempotent: false,
    keyTtlMs: null,
  },
  update: { method: 'PUT', path: '/things?ref={{ extRef }}', body: null, idempotent: true, keyTtlMs: null },
  lock: 'single',
  timeoutMs: 10_000,
  classify: {},
}

const UPSERTS: Story = {
  documents: [SOURCE, { ...ROUTE, key: "'T:' + payload.id", do: UPSERT }],
  events: ['v1', 'v2', 'v3'].map((id) => ({ kind: 'paid', id, order: 'o1' })),
  makeVendor() {
    const things: string[] = []
    let posts = 0
    return {
      serve({ method, url, body }) {
        const ref = new URL(url).searchParams.get('ref')
        if (method === 'POST') {
          posts += 1
          things.push((JSON.parse(body ?? '{}') as { ref: string }).ref)
          // It creates the object, and drops the first response.
          return posts === 1 ? LOST : answered(201)
        }
        const found = JSON.stringify(things.filter((one) => one === ref))
        return { kind: 'response', status: 200, headers: {}, body: found, durationMs: 1 }
      },
      has: () => things.length > 0,
      faults(items) {
        const wrong = items.flatMap(({ key, state }) => (state === 'done' ? [] : [`${key} is ${state}`]))
        const isOne = things.length === (items.length === 0 ? 0 : 1)
        return isOne ? wrong : [...wrong, `there are ${things.length} objects of one reference`]
      },
    }
  },
}

const isLock = (key: string) => key.startsWith('millrace:lock:')

describe('wherever a node stops', () => {
  test('[BA17] no member of a batch is lost, and none is duplicated', async () => {
    expect(await sweep(BATCHES)).toEqual([])
  })

  test('[UP9] there is one object per reference, and every job has ended', async () => {
    expect(await sweep(UPSERTS)).toEqual([])
  })
})

describe('the sweep finds', () => {
  test('[BA17] a freeze that does not bind its members', async () => {
    const bend = (commit: Commit) =>
      without(commit, (write) => write.w === 'work.settle' && write.to === 'merged')
    expect(await sweep(BATCHES, bend)).not.toEqual([])
  })

  test('[BA17] a split that loses a member', async () => {
    const bend = (commit: Commit) => {
      const moved = commit.writes.filter((write) => write.w === 'work.settle' && write.to === 'merged')
      const isSplit = commit.writes.some((write) => write.w === 'work.settle' && write.to === 'skipped')
      return isSplit && moved.length > 0 ? without(commit, (write) => write === moved[0]) : commit
    }
    expect(await sweep(BATCHES, bend)).not.toEqual([])
  })

  test('[BA17] members that are not ended', async () => {
    const bend = (commit: Commit) => {
      const done = commit.writes.filter((write) => write.w === 'work.settle' && write.to === 'done')
      return done.length > 1 ? without(commit, (write) => write === done.at(-1)) : commit
    }
    expect(await sweep(BATCHES, bend)).not.toEqual([])
  })

  test('[UP9] a lock that is not taken', async () => {
    const bend = (commit: Commit): Commit => ({
      ...without(commit, (write) => 'entry' in write && isLock(write.entry.key)),
      guards: commit.guards.filter((guard) => !('key' in guard && isLock(guard.key))),
    })
    expect(await sweep(UPSERTS, bend)).not.toEqual([])
  })

  test('[UP9] a lock that is not released', async () => {
    const bend = (commit: Commit) =>
      without(commit, (write) => write.w === 'ledger.settle' && isLock(write.key))
    expect(await sweep(UPSERTS, bend)).not.toEqual([])
  })
})
