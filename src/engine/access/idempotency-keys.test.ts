import { describe, expect, test } from 'vitest'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import { makeMemoryStore } from '../../adapters/store-memory/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { type Store, StoreError } from '../../ports/store.ts'
import { type Begun, makeIdempotency } from './idempotency-keys.ts'

const NOON = Date.UTC(2026, 10, 15, 12)
const HOUR_MS = 3_600_000
const OTHER = 'other' as TenantId
const ANSWER = { status: 202, type: 'application/json', text: '{"workId":"wrk_1"}' }

function makeWorld(start = NOON) {
  let now = start
  const timers: (() => void)[] = []
  const store = makeMemoryStore({ now: () => now, defer: (callback) => queueMicrotask(callback) })
  const node = (life: string, over: Partial<Store> = {}) => {
    const log = makeMemoryLog()
    const idempotency = makeIdempotency({
      store: { ...store, commit: (commit) => store.commit(commit), ...over },
      clock: {
        now: () => now,
        monotonic: () => now,
        after(_delayMs, callback) {
          timers.push(callback)
          return () => {}
        },
        defer: (callback) => queueMicrotask(callback),
      },
      log,
      life,
      tenants: async () => [DEFAULT_TENANT, OTHER],
    })
    return { ...idempotency, log }
  }
  const count = async (tenant: TenantId = DEFAULT_TENANT) =>
    (await store.forTenant(tenant).records({ kind: 'idempotency', cursor: null, limit: 500 })).items.length
  return {
    node,
    store,
    count,
    timers,
    move: (ms: number) => {
      now += ms
    },
  }
}

type Node = ReturnType<ReturnType<typeof makeWorld>['node']>
const ask = (node: Node, over: { tenant?: TenantId; caller?: string; key?: string; request?: string } = {}) =>
  node.begin(
    over.tenant ?? DEFAULT_TENANT,
    over.caller ?? 'me',
    over.key ?? 'k',
    over.request ?? 'POST /a {}',
  )

function run(begun: Begun) {
  if (begun.do !== 'run') throw new Error('expected to run')
  return begun
}

describe('idempotency keys', () => {
  test('[AP5] return the first response again, for a day', async () => {
    const { node, move } = makeWorld()
    const one = node('a')
    await run(await ask(one)).finish(ANSWER)
    expect(await ask(one)).toEqual({ do: 'replay', answer: ANSWER })
    // Over midnight, and by another node.
    move(13 * HOUR_MS)
    expect(await ask(node('b'))).toEqual({ do: 'replay', answer: ANSWER })
    move(11 * HOUR_MS)
    expect((await ask(one)).do).toBe('run')
  })

  test('[AP5] are one per tenant and caller', async () => {
    const { node } = makeWorld()
    const one = node('a')
    await run(await ask(one)).finish(ANSWER)
    for (const over of [{ tenant: OTHER }, { caller: 'you' }, { key: 'k2' }]) {
      expect((await ask(one, over)).do).toBe('run')
    }
  })

  test('[AP6] refuse a different request, also while the first runs', async () => {
    const { node } = makeWorld()
    const one = node('a')
    const first = run(await ask(one))
    const other = ask(one, { request: 'POST /b {}' })
    await expect(other).rejects.toMatchObject({ code: 'idempotency_mismatch', status: 422 })
    await first.finish(ANSWER)
    await expect(ask(one, { request: 'POST /a {"x":1}' })).rejects.toMatchObject({
      code: 'idempotency_mismatch',
    })
  })

  test('[AP6] are taken by one of several concurrent requests; the others must wait', async () => {
    const { node } = makeWorld()
    const [one, two] = [node('a'), node('b')]
    const all = await Promise.allSettled([ask(one), ask(two), ask(one), ask(two)])
    const winners = all.filter((result) => result.status === 'fulfilled')
    expect(winners).toHaveLength(1)
    for (const result of all) {
      if (result.status === 'rejected') {
        expect(result.reason).toMatchObject({
          code: 'idempotency_running',
          details: { retryAfterSeconds: 1 },
        })
      }
    }
    await run((winners[0] as PromiseFulfilledResult<Begun>).value).finish(ANSWER)
    expect(await ask(two)).toEqual({ do: 'replay', answer: ANSWER })
  })

  test('[AP6] are one key around midnight, whichever day a node counts', async () => {
    const { node, move } = makeWorld(Date.UTC(2026, 10, 15, 23, 59, 59, 999))
    const [one, two] = [node('a'), node('b')]
    const early = ask(one)
    move(2)
    const late = ask(two)
    const all = await Promise.allSettled([early, late])
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  test('[AP6] run once, also if the reserve is read before its commit has returned', async () => {
    const { node, store } = makeWorld()
    let answerFirst = () => {}
    let begun = 0
    const one = node('a', {
      commit: async (commit) => {
        const result = await store.commit(commit)
        begun += 1
        if (begun === 1)
          await new Promise<void>((done) => {
            answerFirst = done
          })
        return result
      },
    })
    const first = ask(one)
    while (begun === 0) await Promise.resolve()
    // Its reserve is durable and visible, and its own incarnation does not know that yet.
    await expect(ask(one)).rejects.toMatchObject({ code: 'idempotency_running' })
    expect(begun).toBe(1)
    answerFirst()
    await run(await first).finish(ANSWER)
    expect(await ask(one)).toEqual({ do: 'replay', answer: ANSWER })
  })

  test('[AP6] are free again if the reserve is refused or throws', async () => {
    const { node, store } = makeWorld()
    const commits: Store['commit'][] = [
      () => Promise.reject(new StoreError('unavailable', 'gone')),
      async () => ({ ok: false, failed: { g: 'version', of: 'idempotency', key: 'x', version: 0 } }) as never,
    ]
    const one = node('a', { commit: (commit) => (commits.shift() ?? store.commit)(commit) })
    await expect(ask(one)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(ask(one)).rejects.toMatchObject({ code: 'idempotency_running' })
    expect((await ask(one)).do).toBe('run')
  })

  test('[AP7] of a request that failed on our side are free again', async () => {
    const { node, count } = makeWorld()
    const one = node('a')
    await run(await ask(one)).finish(null)
    expect(await count()).toBe(0)
    expect((await ask(one)).do).toBe('run')
  })

  test('[AP7] of a crashed node are free after a while, and a late response of the first run is not stored', async () => {
    const { node, move } = makeWorld()
    const [crashed, next] = [node('a'), node('b')]
    const lost = run(await ask(crashed))
    await expect(ask(next)).rejects.toMatchObject({ code: 'idempotency_running' })
    move(121_000)
    const second = run(await ask(next))
    await lost.finish({ ...ANSWER, text: 'late' })
    expect(crashed.log.messages).toMatchObject([{ level: 'warn', name: 'idempotency.lost' }])
    await expect(ask(next)).rejects.toMatchObject({ code: 'idempotency_running' })
    await second.finish(ANSWER)
    expect(await ask(next)).toEqual({ do: 'replay', answer: ANSWER })
  })

  test('[AP7] whose response could not be stored do not lose the response, and are free in the same incarnation at once', async () => {
    const { node, store } = makeWorld()
    let isBroken = false
    const one = node('a', {
      commit: (commit) =>
        isBroken ? Promise.reject(new StoreError('unavailable', 'the disk is full')) : store.commit(commit),
    })
    const begun = run(await ask(one))
    isBroken = true
    await begun.finish(ANSWER)
    expect(one.log.messages).toMatchObject([{ level: 'warn', name: 'idempotency.lost' }])
    isBroken = false
    expect((await ask(one)).do).toBe('run')
  })

  test('[AP7] store no response that is too large, and do not run it twice for that', async () => {
    const { node } = makeWorld()
    const one = node('a')
    await run(await ask(one)).finish({ ...ANSWER, text: 'x'.repeat(300_000) })
    await expect(ask(one)).rejects.toMatchObject({ code: 'conflict' })
  })

  test('[AP8] are removed when they are old, a page of each tenant in turn, until none is left', async () => {
    const { node, count, move, timers, store } = makeWorld()
    const removed: string[] = []
    const one = node('a', {
      commit: (commit) => {
        if (commit.writes[0]?.w === 'record.delete') removed.push(`${commit.tenant} ${commit.writes.length}`)
        return store.commit(commit)
      },
    })
    for (let key = 0; key < 2_250; key += 1) await run(await ask(one, { key: `k${key}` })).finish(ANSWER)
    await run(await ask(one, { tenant: OTHER })).finish(ANSWER)
    move(36 * HOUR_MS)
    await run(await ask(one, { key: 'young' })).finish(ANSWER)
    move(12 * HOUR_MS)
    one.start()
    while (timers.length === 0) await Promise.resolve()
    expect([await count(), await count(OTHER)]).toEqual([1, 0])
    const full = `${DEFAULT_TENANT} 100`
    expect(removed).toEqual([full, `${OTHER} 1`, ...new Array(21).fill(full), `${DEFAULT_TENANT} 50`])
    one.stop()
  })
})
