import { describe, expect, test } from 'vitest'
import { documentsOf, readDocument } from './documents.ts'
import { RECORDED } from './plans.ts'
import { publishable } from './publishable.ts'
import { type Measured, type Origin, type Results, readResults, type Table } from './results.ts'

const results = readResults()

const one = { median: 1, smallest: 1, largest: 1 }
const quiet: Origin = {
  date: '2026-01-02',
  commit: '0123456789',
  machine: '2 × test',
  cores: 2,
  rounds: 3,
  secondsPerRun: 5,
  loadBefore: 1.9,
}
const row = (name: string): Measured => ({
  name,
  of: null,
  asked: null,
  share: null,
  perSecond: one,
  cpuUs: one,
  mainCpuUs: null,
  bytes: null,
  flushes: null,
  rssMb: one,
  calls: null,
  errors: 0,
})
const table: Table = {
  ...quiet,
  rows: RECORDED.map(({ name }) => row(name)),
  steady: { perSecond: 200, doneP50Ms: 1, doneP99Ms: 2, responseP50Ms: 1, responseP99Ms: 2 },
  start: { startMs: one, startCpuMs: null, idleMb: null, idleSeconds: 5, commandMs: one },
}
const growth = {
  ...quiet,
  series: [{ name: 'rows', points: [0, 1_000].map((at) => ({ at, cpuUs: one, perSecond: one })) }],
}
const none: Results = { table: null, peers: null, growth: null }

describe('the figures of the documents', () => {
  test('are those of bench/results.json; write them with `npm run bench -- --documents`', () => {
    const documents = [...documentsOf(results, readDocument)]
    expect(documents.length).toBeGreaterThanOrEqual(3)
    const stale = documents.filter(([path, text]) => readDocument(path) !== text).map(([path]) => path)
    expect(stale).toEqual([])
  })

  test('may be published; measure them again on a quiet machine', () => {
    expect(publishable(results)).toEqual([])
  })

  test('cover every scenario of the table', () => {
    const measured = results.table ?? table
    expect(measured.rows.map(({ name }) => name)).toEqual(RECORDED.map(({ name }) => name))
  })

  test('come with what they were measured on', () => {
    const { date, commit } = table
    const documents = documentsOf({ ...none, table, growth }, readDocument)
    for (const path of ['bench/RESULTS.md', 'docs/performance.md'])
      expect(documents.get(path)).toContain(`Measured on ${date} at commit ${commit}`)
    expect(documents.get('README.md')).toContain(`Measured on ${date}`)
    expect([...documents.keys()]).toContain('docs/performance/rows.svg')
  })

  test('are not there before they are measured, and neither is a picture', () => {
    const documents = documentsOf(none, readDocument)
    expect([...documents.keys()]).toEqual(['README.md', 'bench/RESULTS.md', 'docs/performance.md'])
    for (const text of documents.values()) {
      expect(text).toContain('Not measured yet: `npm run bench -- ')
      expect(text).not.toMatch(/Measured on|\.svg/)
    }
  })
})

describe('figures may be published', () => {
  test('where none, or enough on a quiet machine, were measured', () => {
    expect(publishable(none)).toEqual([])
    expect(publishable({ table, peers: null, growth })).toEqual([])
  })

  test.each([
    ['of two rounds', { ...none, table: { ...table, rounds: 2 } }],
    ['of a machine with a load as high as its cores', { ...none, table: { ...table, loadBefore: 2 } }],
    ['of peers in one round', { ...none, peers: { ...quiet, rounds: 1, nodes: [], peers: [] } }],
    [
      'with a curve of one point',
      {
        ...none,
        growth: { ...growth, series: [{ name: 'rows', points: growth.series[0]?.points.slice(1) ?? [] }] },
      },
    ],
    ['whose load is not known', { ...none, table: { ...table, loadBefore: Number.NaN } }],
  ])('but not those %s', (_, results) => {
    expect(publishable(results)).toHaveLength(1)
  })
})
