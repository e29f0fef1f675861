import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TenantId } from '../../foundation/ids/index.ts'
import { type ArchiveRows, decideMove, inPages, isSameDigest, makeDigest } from './index.ts'

type Row = ArchiveRows['records']

const anyText = fc.string({ unit: 'binary', maxLength: 12 })
const anyRow: fc.Arbitrary<Row> = fc.record({
  tenant: anyText as fc.Arbitrary<TenantId>,
  kind: anyText,
  key: anyText,
  version: fc.nat(),
  body: anyText,
})

function digestOf(rows: readonly Row[]) {
  const made = makeDigest('records')
  made.add(rows)
  return made.digest
}

describe('the digest of a table', () => {
  test('[MV4] is the same in any order and in any pages', () => {
    fc.assert(
      fc.property(fc.array(anyRow), fc.nat(), (rows, cut) => {
        const made = makeDigest('records')
        const at = cut % (rows.length + 1)
        made.add(rows.slice(at))
        made.add(rows.slice(0, at))
        expect(made.digest).toEqual(digestOf(rows))
      }),
      { seed: 71, numRuns: 300 },
    )
  })

  test('[MV4] differs when a row is missing, duplicated, or changed in one character', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { minLength: 1 }), fc.nat(), (rows, which) => {
        const at = which % rows.length
        const row = rows[at] as Row
        const before = digestOf(rows)
        const others = [
          rows.toSpliced(at, 1),
          [...rows, row],
          rows.with(at, { ...row, body: `${row.body}.` }),
          rows.with(at, { ...row, version: row.version + 1 }),
          // A value that moves from one field into the next makes a different row.
          rows.with(at, { ...row, kind: `${row.kind}${row.key}x`, key: '' }),
        ]
        for (const other of others) expect(isSameDigest(digestOf(other), before)).toBe(false)
      }),
      { seed: 72, numRuns: 200 },
    )
  })

  test('[MV4] detects a row that replaced another', () => {
    const row = { tenant: 'a' as TenantId, kind: 'k', key: '1', version: 1, body: '' }
    const other = { ...row, key: '2' }
    expect(isSameDigest(digestOf([row, row]), digestOf([row, other]))).toBe(false)
  })
})

describe('pages', () => {
  test('[MV3] are bounded in rows and text, and contain every row once', () => {
    const limits = { rowsMax: 5, charactersMax: 20 }
    fc.assert(
      fc.property(fc.array(fc.record({ body: fc.string({ maxLength: 30 }) })), (rows) => {
        const pages = [...inPages(rows, limits)]
        expect(pages.flat()).toEqual(rows)
        for (const page of pages) {
          expect(page.length).toBeGreaterThan(0)
          expect(page.length).toBeLessThanOrEqual(limits.rowsMax)
          const before = page.slice(0, -1).reduce((sum, { body }) => sum + body.length, 0)
          expect(before).toBeLessThan(limits.charactersMax)
        }
      }),
      { seed: 73, numRuns: 300 },
    )
  })
})

describe('the target of a move', () => {
  test.each([
    ['absent', false, false, 'begins'],
    ['empty', false, false, 'begins'],
    ['empty', true, false, 'begins'],
    ['absent', false, true, 'refused'],
    ['empty', true, true, 'refused'],
    ['unfinished', false, false, 'refused'],
    ['unfinished', true, false, 'wipes'],
    ['unfinished', true, true, 'wipes'],
    ['finished', true, false, 'refused'],
    ['used', true, false, 'refused'],
  ] as const)('[MV5] [MV6] [MV9] %s, again %s, marked %s: %s', (target, isAgain, isMarked, expected) => {
    const verdict = decideMove(target, { isAgain, isMarked })
    expect(verdict.ok ? (verdict.wipes ? 'wipes' : 'begins') : 'refused').toBe(expected)
    if (!verdict.ok) expect(verdict.next).toMatch(/\.$/)
  })
})
