import { expect, test } from 'vitest'
import type { Change } from '../live.ts'
import type { EventRow } from '../types.ts'
import { applyChanges, mergeHead } from './event-rows.ts'

const rowOf = (id: string, state = 'ready') =>
  ({
    id,
    consumers: [{ kind: 'route', name: 'invoice', workId: `wrk-${id}`, state, attempts: 0 }],
  }) as unknown as EventRow
const rows = (...ids: string[]) => ids.map((id) => rowOf(id))
const idsOf = (all: readonly EventRow[]) => all.map(({ id }) => id).join(' ')
const workOf = (event: string, state: string, attempts = 1) =>
  ({
    type: 'work',
    id: `wrk-${event}`,
    eventId: event,
    consumer: 'route:invoice',
    state,
    attempts,
  }) as unknown as Change

test('new rows come before those shown, once', () => {
  const merged = mergeHead(rows('c', 'b', 'a'), rows('e', 'd', 'c', 'b'))
  expect(idsOf(merged.rows)).toBe('e d c b a')
  expect(merged).toMatchObject({ fresh: 2, isWhole: true })
})

test('a shown row is updated by the page that was read', () => {
  const merged = mergeHead(rows('b', 'a'), [rowOf('b', 'done')])
  expect(merged.rows[0]?.consumers[0]?.state).toBe('done')
  expect(merged.fresh).toBe(0)
})

test('if the new page does not overlap with what is shown, nothing between them is assumed', () => {
  const merged = mergeHead(rows('b', 'a'), rows('z', 'y'))
  expect(idsOf(merged.rows)).toBe('z y')
  expect(merged.isWhole).toBe(false)
})

test('the first page is whole by itself', () => {
  expect(mergeHead([], rows('b', 'a'))).toMatchObject({ fresh: 2, isWhole: true })
})

test('a change touches its own row only, and the last one counts', () => {
  const before = rows('b', 'a')
  const after = applyChanges(before, [workOf('a', 'leased'), workOf('a', 'done', 2)])
  expect(after[0]).toBe(before[0])
  expect(after[1]?.consumers[0]).toMatchObject({ state: 'done', attempts: 2 })
})

test('changes of rows that are not shown leave the very same list, so that nothing is redrawn', () => {
  const before = rows('b', 'a')
  expect(applyChanges(before, [workOf('zz', 'done')])).toBe(before)
  expect(applyChanges(before, [{ type: 'deadLetter', id: 'dlq', state: 'open' } as unknown as Change])).toBe(
    before,
  )
})

test('a repeated change of a job changes nothing', () => {
  const before = applyChanges(rows('a'), [workOf('a', 'done')])
  expect(applyChanges(before, [workOf('a', 'done')])).toBe(before)
})
