import { describe, expect, test } from 'vitest'
import type { InstanceId, OrphanId, WorkId } from '../../foundation/ids/index.ts'
import {
  aheadOf,
  BUFFERED_MAX,
  type Buffered,
  bufferUpdate,
  type Correlation,
  decideTrigger,
  freeKey,
  LIVE_MAX,
  learnKey,
  NO_CORRELATION,
  nextBuffered,
  readCorrelation,
  unbuffer,
  writeCorrelation,
} from './index.ts'

const A = 'ins_a' as InstanceId
const B = 'ins_b' as InstanceId
const live = (...instances: InstanceId[]): Correlation => ({ ...NO_CORRELATION, live: instances })
const update = (name: string, also?: readonly string[]): Buffered => ({
  work: `wrk_${name}` as WorkId,
  orphan: `orp_${name}` as OrphanId,
  ...(also === undefined ? {} : { also }),
})
const waiting = (...buffered: Buffered[]): Correlation => ({ ...NO_CORRELATION, buffered })

describe('a row', () => {
  test('[CR1] names an instance and an update once, however often they are recorded', () => {
    const row = learnKey(learnKey(NO_CORRELATION, A, false) as Correlation, A, false)
    expect(row).toEqual(live(A))
    const one = bufferUpdate(NO_CORRELATION, update('1')) as Correlation
    expect(bufferUpdate(one, update('1'))?.buffered).toEqual([update('1')])
  })

  test('[CR2] that is empty is not stored, and a written one reads the same', () => {
    expect(writeCorrelation(freeKey(live(A), A))).toBeNull()
    const row: Correlation = { live: [A, B], ever: B, buffered: [update('1'), update('2', ['w/k/v'])] }
    expect(readCorrelation(writeCorrelation(row))).toEqual(row)
    expect(readCorrelation(null)).toEqual(NO_CORRELATION)
  })

  test('[CR6] remains when its key may be used only once', () => {
    const row = freeKey(learnKey(NO_CORRELATION, A, true) as Correlation, A)
    expect(row).toEqual({ live: [], ever: A, buffered: [] })
    expect(writeCorrelation(row)).not.toBeNull()
  })

  test('[CR7] is bounded in instances and waiting updates', () => {
    const full = live(...Array.from({ length: LIVE_MAX }, (_, index) => `ins_${index}` as InstanceId))
    expect(learnKey(full, A, false)).toBeNull()
    expect(learnKey(full, 'ins_7' as InstanceId, false)).toEqual(full)
    const crowd = waiting(...Array.from({ length: BUFFERED_MAX }, (_, index) => update(String(index))))
    expect(bufferUpdate(crowd, update('more'))).toBeNull()
  })
})

describe('waiting updates', () => {
  test('[CR3] are served in the order of arrival', () => {
    const row = waiting(update('1'), update('2'), update('3'))
    expect(nextBuffered(row)).toEqual([update('1')])
    expect(aheadOf(row, update('2').work)).toEqual([update('1')])
    expect(aheadOf(row, update('new').work)).toEqual(row.buffered)
    expect(nextBuffered(unbuffer(row, [update('1').work]))).toEqual([update('2')])
  })

  test('[CR8] do not block others if their instance needs more keys', () => {
    const row = waiting(update('1', ['w/k/v']), update('2'), update('3'))
    expect(nextBuffered(row)).toEqual([update('1', ['w/k/v']), update('2')])
    expect(aheadOf(row, update('2').work)).toEqual([])
    expect(aheadOf(row, update('3').work)).toEqual([update('2')])
  })
})

describe('an event', () => {
  const ask = { action: 'create', unique: null, rows: [], isBehind: false } as const
  const had: Correlation = { live: [], ever: A, buffered: [] }

  test.each([
    ['creates without keys', ask, { do: 'create' }],
    ['creates beside others', { ...ask, rows: [live(A)] }, { do: 'create' }],
    [
      'creates no second live one',
      { ...ask, unique: 'live', rows: [live(A)] },
      { do: 'exists', instance: A },
    ],
    ['creates one whose key is free again', { ...ask, unique: 'live', rows: [had] }, { do: 'create' }],
    ['creates never again', { ...ask, unique: 'ever', rows: [had] }, { do: 'exists', instance: A }],
    [
      'is refused by any of its keys',
      { ...ask, unique: 'live', rows: [NO_CORRELATION, live(B)] },
      { do: 'exists', instance: B },
    ],
    [
      'updates the one that has the key',
      { ...ask, action: 'update', rows: [live(A)] },
      { do: 'update', instance: A },
    ],
    [
      'updates the one that has all keys',
      { ...ask, action: 'update', rows: [live(A, B), live(B)] },
      { do: 'update', instance: B },
    ],
    ['waits for one', { ...ask, action: 'update', rows: [NO_CORRELATION] }, { do: 'wait', for: 'instance' }],
    [
      'waits for one that has the other key too',
      { ...ask, action: 'update', rows: [live(A), live(B)] },
      { do: 'wait', for: 'instance' },
    ],
    [
      'waits behind others',
      { ...ask, action: 'update', rows: [live(A)], isBehind: true },
      { do: 'wait', for: 'turn' },
    ],
    [
      'chooses nobody among several',
      { ...ask, action: 'update', rows: [live(A, B)] },
      { do: 'several', count: 2 },
    ],
    [
      'creates or updates: nobody there',
      { ...ask, action: 'createOrUpdate', rows: [NO_CORRELATION] },
      { do: 'create' },
    ],
    [
      'creates or updates: nobody there, others wait',
      { ...ask, action: 'createOrUpdate', rows: [waiting(update('1'))], isBehind: true },
      { do: 'create' },
    ],
    [
      'creates or updates: one is there',
      { ...ask, action: 'createOrUpdate', rows: [live(A)] },
      { do: 'update', instance: A },
    ],
    [
      'creates or updates: one was there',
      { ...ask, action: 'createOrUpdate', unique: 'ever', rows: [had] },
      { do: 'exists', instance: A },
    ],
  ] as const)('[CR9] %s', (_name, question, step) => {
    expect(decideTrigger(question)).toEqual(step)
  })
})
