import { expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeMemoryStore } from '../adapters/store-memory/index.ts'
import { shareVarSettings } from './var-settings-of-nodes.ts'

const MINUTE = 60_000

function makeWorld() {
  let now = 0
  const store = makeMemoryStore({ now: () => now, defer: (callback) => queueMicrotask(callback) })
  const log = makeMemoryLog()
  const due: (() => void)[] = []
  const clock = {
    now: () => now,
    after: (_ms: number, run: () => void) => {
      due.push(run)
      return () => {}
    },
  }
  const share = (node: string, settings: Record<string, string>) =>
    shareVarSettings({ store, clock: clock as never, log }, node, settings)
  const told = () =>
    log.messages.filter(({ name }) => name === 'vars.settings-differ').map(({ fields }) => fields)
  return {
    share,
    told,
    pass: (ms: number) => {
      now += ms
    },
  }
}

test('[VR18] nodes whose settings differ are named until they agree', async () => {
  const { share, told } = makeWorld()
  const first = await share('a', { batch: '25', crm: 'x' })
  expect(told()).toEqual([])
  const second = await share('b', { BATCH: '50', crm: 'x' })
  expect([...(await first.differing())]).toEqual([['BATCH', ['b']]])
  expect([...(await second.differing())]).toEqual([['BATCH', ['a']]])
  expect(told()).toMatchObject([{ node: 'b', settings: 'MILLRACE_VAR_BATCH (a)' }])
  // A restart with the same.
  await second.close()
  expect([...(await first.differing())]).toEqual([])
  await share('b', { batch: '25', crm: 'x' })
  expect([...(await first.differing())]).toEqual([])
  await share('c', { batch: '25' })
  expect([...(await first.differing())]).toEqual([['CRM', ['c']]])
})

test('[VR18] a node that ended without leaving does not count for long', async () => {
  const { share, pass } = makeWorld()
  await share('gone', { batch: '1' })
  pass(31 * MINUTE)
  const here = await share('here', {})
  expect([...(await here.differing())]).toEqual([])
})
