import { describe, expect, test } from 'vitest'
import { renderTable } from './table.ts'
import { cut, pad, printable, shortTime, widthOf } from './text.ts'

const columns = [{ title: 'ID' }, { title: 'SUBJECT', min: 8 }, { title: 'N', align: 'right' as const }]
const cells = (...row: string[]) => row.map((text) => ({ text }))
const rows = [cells('evt_1', 'github.events.issues.opened', '7'), cells('evt_22', 'ping', '12')]

describe('a table', () => {
  test('[CL3] without a width keeps every value whole, in columns', () => {
    expect(renderTable(columns, rows, { width: null })).toEqual([
      'ID      SUBJECT                       N',
      'evt_1   github.events.issues.opened   7',
      'evt_22  ping                         12',
    ])
  })

  test.each([30, 24, 40, 200])('[CL3] fits %i columns, and cuts only what may be cut', (width) => {
    const lines = renderTable(columns, rows, { width })
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width)
    expect(lines[1]).toMatch(/^evt_1 /)
    expect(lines[2]).toMatch(/ 12$/)
  })

  test('is as wide as it must be if even the minimum does not fit', () => {
    expect(renderTable(columns, rows, { width: 5 })[1]).toBe('evt_1   github.…   7')
  })

  test('colours after cutting, so that colours take no space', () => {
    const red = (text: string) => `\u001b[31m${text}\u001b[39m`
    const [, line] = renderTable(
      [{ title: 'A', min: 4 }, { title: 'B' }],
      [[{ text: 'abcdefgh', paint: red }, { text: 'x' }]],
      {
        width: 8,
      },
    )
    expect(line).toBe(`${red('abcd…')}  x`)
  })
})

describe('text', () => {
  test('[CL10] contains no control characters', () => {
    expect(printable('a\u001b[31mb\u0007\u009bc\u202ed\ne\tf')).toBe('a\ufffd[31mb\ufffd\ufffdc\ufffdd e f')
  })

  test('is measured in columns', () => {
    expect(widthOf('abc')).toBe(3)
    expect(widthOf('Größe')).toBe(5)
    expect(widthOf('水車')).toBe(4)
    expect(widthOf('\u001b[31mab\u001b[39m')).toBe(2)
    expect(cut('水車小屋', 5)).toBe('水車…')
    expect(cut('abc', 3)).toBe('abc')
    expect(pad('水', 4)).toBe('水  ')
    expect(pad('7', 3, 'right')).toBe('  7')
  })

  test('of today shows a time, of another day its date', () => {
    const now = new Date(2026, 2, 4, 15, 0, 0)
    expect(shortTime(new Date(2026, 2, 4, 9, 5, 7).toISOString(), now)).toBe('09:05:07')
    expect(shortTime(new Date(2026, 2, 3, 9, 5, 7).toISOString(), now)).toBe('2026-03-03 09:05:07')
    expect(shortTime('never\u0007', now)).toBe('never\ufffd')
  })
})
