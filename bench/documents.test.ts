import { describe, expect, test } from 'vitest'
import { documentsOf, readDocument } from './documents.ts'
import { RECORDED } from './plans.ts'
import { readResults } from './results.ts'

const results = readResults()
const documents = [...documentsOf(results, readDocument)]

describe('the figures of the documents', () => {
  test('are those of bench/results.json; write them with `npm run bench -- --documents`', () => {
    expect(documents.length).toBeGreaterThanOrEqual(3)
    const stale = documents.filter(([path, text]) => readDocument(path) !== text).map(([path]) => path)
    expect(stale).toEqual([])
  })

  test('cover every scenario of the table', () => {
    expect(results.table.rows.map(({ name }) => name)).toEqual(RECORDED.map(({ name }) => name))
  })

  test('come with what they were measured on', () => {
    const text = readDocument('bench/RESULTS.md')
    expect(text).toContain(`Measured on ${results.table.date} at commit ${results.table.commit}`)
  })
})
