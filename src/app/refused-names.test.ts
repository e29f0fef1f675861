import { expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeManualTime } from '../engine/engine.fixture.ts'
import { makeRefusedNames } from './refused-names.ts'

function make() {
  const time = makeManualTime()
  const log = makeMemoryLog()
  const names = makeRefusedNames({ clock: time.clockFor(() => true), log })
  const refuse = (host: string, times = 1, tenant?: string) => {
    for (let index = 0; index < times; index += 1)
      names.note({ host, rule: 'private', addresses: ['10.0.0.1', '10.0.0.2'] }, tenant)
  }
  let seen = 0
  /** Since the last look. */
  const lines = () => {
    const fresh = log.messages.slice(seen).map(({ fields }) => fields)
    seen = log.messages.length
    return fresh
  }
  return { time, log, names, refuse, lines }
}
const line = (host: string, count: number, more = {}) => ({
  ...{ host, rule: 'private', addresses: '10.0.0.1, 10.0.0.2', count },
  ...more,
})

test('[OG32] a refused name is logged at once, and then once a minute with how often', async () => {
  const { time, refuse, lines } = make()
  refuse('crm.internal', 5)
  expect(lines()).toEqual([line('crm.internal', 1)])
  await time.pass(59_999)
  refuse('crm.internal', 3)
  expect(lines()).toEqual([])
  await time.pass(1)
  expect(lines()).toEqual([line('crm.internal', 7)])
  // A minute without any: the next one is logged at once again.
  await time.pass(60_000)
  expect(lines()).toEqual([])
  refuse('crm.internal')
  expect(lines()).toEqual([line('crm.internal', 1)])
})

test('[OG32] each name and tenant has its own line', () => {
  const { refuse, lines } = make()
  refuse('crm.internal', 2, 'acme')
  refuse('crm.internal', 2, 'beta')
  refuse('erp.internal', 2)
  expect(lines()).toEqual([
    line('crm.internal', 1, { tenant: 'acme' }),
    line('crm.internal', 1, { tenant: 'beta' }),
    line('erp.internal', 1),
  ])
})

test('[OG32] beyond a thousand names the others share one line', async () => {
  const { time, refuse, lines } = make()
  for (let index = 0; index < 1_000; index += 1) refuse(`n${index}.internal`)
  expect(lines()).toHaveLength(1_000)
  for (let index = 1_000; index < 1_010; index += 1) refuse(`n${index}.internal`)
  expect(lines()).toEqual([line('*', 1)])
  await time.pass(60_000)
  expect(lines()).toEqual([line('*', 9)])
})

test('[OG32] what was counted is logged when the node closes', async () => {
  const { time, names, refuse, lines } = make()
  refuse('crm.internal', 4)
  refuse('erp.internal')
  lines()
  names[Symbol.dispose]()
  expect(lines()).toEqual([line('crm.internal', 3)])
  await time.pass(60_000)
  expect(lines()).toEqual([])
})
