import { expect, test } from 'vitest'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import type { CommitResult } from '../../ports/store.ts'
import type { Planned } from '../commit/index.ts'
import { makeLeasedOnInsert } from './leased-on-insert.ts'

const APPLIED: CommitResult = { ok: true, at: 5, leased: [] }

test('an error in the end of a plan neither reaches the caller nor keeps the other plans from ending', () => {
  const ended: boolean[] = []
  const log = makeMemoryLog()
  const unused = () => {
    throw new Error('the plans have no jobs')
  }
  const leasedOnInsert = makeLeasedOnInsert({
    log,
    time: { now: unused, heard: unused } as never,
    start: unused,
    giveBack: unused,
    forgetLeased: unused,
    suspect: unused,
    wake: unused,
    logStored: unused,
  })
  const plan: Planned = {
    plans: [],
    ended(isStored) {
      ended.push(isStored)
      throw new Error('a defect')
    },
  }
  leasedOnInsert.end([plan, plan], true, APPLIED)
  leasedOnInsert.end([plan], false, null)
  expect(ended).toEqual([true, true, false])
  expect(log.messages.map(({ name }) => name)).toEqual(Array(3).fill('commit.watcher-failed'))
})
