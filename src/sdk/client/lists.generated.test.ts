import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { makeListTables, renderListTables } from '../../../scripts/lib/list-tables.ts'
import { readDocument } from '../../http/document.fixture.ts'
import { LIST_TABLES, memberOf } from './lists.generated.ts'

test('the tables of lists are up to date; write them with `npm run docs`', () => {
  const written = readFileSync(new URL('lists.generated.ts', import.meta.url), 'utf8')
  expect(written).toBe(renderListTables(makeListTables(readDocument())))
})

test('what a column is, and what a filter takes, come from the schemas', () => {
  const { columns, filters } = LIST_TABLES.listFailures
  const kinds = Object.fromEntries(columns.map(({ member, as }) => [member, as]))
  expect(kinds).toMatchObject({ createdAt: 'time', state: 'state', consumer: 'consumer', attempts: 'number' })
  expect(filters.map(({ name }) => name)).toEqual(['state', 'consumer', 'class', 'cause'])
  expect(filters[0]).toMatchObject({ choices: ['open', 'resolved', 'escalated'] })
})

test('a member of a row is found by its path; what is not there is undefined', () => {
  const row = { work: { id: 'wrk_1', state: 'dead' }, lane: null }
  expect(memberOf(row, 'work.id')).toBe('wrk_1')
  expect(memberOf(row, 'lane.name')).toBeUndefined()
  expect(memberOf(row, 'route')).toBeUndefined()
})

test('each list that is a page has an address and a key of its own', () => {
  const pages = Object.values(LIST_TABLES).flatMap(({ page }) => (page === undefined ? [] : [page]))
  expect(pages.length).toBeGreaterThan(0)
  for (const name of ['command', 'key'] as const) {
    expect(new Set(pages.map((page) => page[name])).size).toBe(pages.length)
  }
})
