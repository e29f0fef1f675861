import { expect, test } from 'vitest'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { CommitResult, Store } from '../../ports/store.ts'
import { makeWorld } from '../engine.fixture.ts'
import { makeCommits } from './commits.ts'

test('[FD13] a watcher that throws does not fail a durable commit', async () => {
  const world = makeWorld()
  const log = makeMemoryLog()
  let commits = 0
  const store: Store = {
    ...world.store,
    commit(commit) {
      commits += 1
      return world.store.commit(commit)
    },
  }
  const clock = { now: () => 0, monotonic: () => 0, after: () => () => {}, defer: () => {} }
  const { once, firmly } = makeCommits({
    store,
    clock,
    time: { now: () => 0, heard: () => {} },
    log,
    onLost: () => {},
    onApplied() {
      throw new Error('a bug of a watcher')
    },
  })
  const put = { w: 'record.put', kind: 'setting', key: 'a', version: 1, body: 'one' } as const
  for (const make of [once, firmly]) {
    const made = make(DEFAULT_TENANT, [], [put])
    await world.pass()
    expect(await made).toMatchObject({ ok: true })
  }
  for (const how of ['once', 'firmly'] as const) {
    const order: string[] = []
    const then = (result: CommitResult) => {
      order.push('then')
      return result.ok
    }
    const rethrow = (error: unknown) => {
      throw error
    }
    const made =
      how === 'once'
        ? once(DEFAULT_TENANT, [], [put], then, rethrow)
        : firmly(DEFAULT_TENANT, [], [put], undefined, then)
    void made.then(() => order.push('caller'))
    await world.pass()
    expect(await made).toBe(true)
    expect(order).toEqual(['then', 'caller'])
  }
  expect(commits).toBe(4)
  expect(log.messages.map(({ name }) => name)).toEqual(Array(4).fill('commit.watcher-failed'))
})
