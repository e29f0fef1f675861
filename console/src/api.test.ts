// What the console shows of data before and after: the digits that the node sent.

import { afterEach, expect, test, vi } from 'vitest'
import { planEdit, planMigration, planMigrations } from './api.ts'
import { formatJson, parseJsonText } from './lib/json-text.ts'

const CHANGES =
  '[{"path":"amount","before":9007199254740993,"after":1.000000000000000001},{"path":"note","hidden":true},{"path":"gone","before":[0.10]}]'

afterEach(() => vi.unstubAllGlobals())

function answer(text: string) {
  const sent: string[] = []
  vi.stubGlobal('fetch', async (_: unknown, init?: RequestInit) => {
    sent.push(String(init?.body ?? ''))
    return new Response(text, { headers: { 'content-type': 'application/json' } })
  })
  return sent
}

const shown = (changes: Awaited<ReturnType<typeof planEdit>>['changes']) =>
  changes.map(({ path, before, after, hidden }) => [
    path,
    before === undefined ? null : formatJson(before),
    after === undefined ? null : formatJson(after),
    hidden === true,
  ])

const EXPECTED = [
  ['amount', '9007199254740993', '1.000000000000000001', false],
  ['note', null, null, true],
  ['gone', '[\n  0.10\n]', null, false],
]

test('the diff of an edit has every digit, as has the request', async () => {
  const sent = answer(`{"changes":${CHANGES},"fires":["pay"]}`)
  const plan = await planEdit('ins_1', [
    ['amount', parseJsonText('1.000000000000000001')],
    ['gone', null],
  ])
  expect(shown(plan.changes)).toEqual(EXPECTED)
  expect(plan.fires).toEqual(['pay'])
  expect(sent).toEqual([
    '{"dryRun":true,"changes":[{"path":"amount","value":1.000000000000000001},{"path":"gone"}]}',
  ])
})

test('the diff of a migration has every digit', async () => {
  answer(`{"ok":true,"changes":${CHANGES}}`)
  expect(shown((await planMigration('ins_1')).changes)).toEqual(EXPECTED)
  answer(`{"items":[{"id":"a","changes":[]},{"id":"b","changes":${CHANGES}}],"nextCursor":null}`)
  const { items } = await planMigrations('order')
  expect(items.map(({ changes }) => shown(changes))).toEqual([[], EXPECTED])
})
