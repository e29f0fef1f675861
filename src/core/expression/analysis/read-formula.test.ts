import { describe, expect, test } from 'vitest'
import { isSameFormula, readFormula } from '../index.ts'

describe('the prefix of a formula', () => {
  test.each([
    ["'SAP:HOURS:' + payload.id", ['SAP:HOURS:']],
    ["'A:' + 'B:' + payload.id + ':c'", ['A:B:']],
    ["'A:' + ('B:' + payload.id)", ['A:B:']],
    ["payload.id + ':A'", ['']],
    ['payload.id', ['']],
    ["payload.big ? 'BIG:' + payload.id : 'SMALL:' + payload.id", ['BIG:', 'SMALL:']],
    ["extRef('sap', 'hours', payload.kind, payload.id)", ['sap:hours:']],
    ["['A', payload.id].join('-')", ['A-']],
    ["join(['A', 'B', payload.id], ':')", ['A:B:']],
    ["join(payload.list, ':')", ['']],
    ["'V' + 2 + ':' + payload.id", ['V2:']],
    ['hash(payload)', ['']],
  ])('%s', (text, starts) => {
    expect(readFormula(text)?.starts).toEqual(starts.map((one) => ({ text: one, isWhole: false })))
  })

  test('a whole value is distinguished from a prefix', () => {
    expect(readFormula("'ONE'")?.starts).toEqual([{ text: 'ONE', isWhole: true }])
    expect(readFormula("payload.x ? 'ONE' : payload.id")?.starts).toEqual([
      { text: 'ONE', isWhole: true },
      { text: '', isWhole: false },
    ])
    expect(readFormula('A-{{ payload.id }}', 'template')?.starts).toEqual([{ text: 'A-', isWhole: false }])
  })
})

describe('the reads of a formula', () => {
  test.each([
    ["'A' + payload.a.id + payload['b']", ['payload.a.id', 'payload.b']],
    ['hash(payload, header.date)', ['payload via hash', 'header.date via hash']],
    ['payload.items.map(x, x.id + payload.a)[0]', ['payload.items', 'payload.a']],
    ['payload[payload.name]', ['payload', 'payload.name']],
    ['payload.list[*].id', ['payload.list[*].id']],
    ["payload.a == 'x' ? 'A' : event.id", ['payload.a', 'event.id']],
    ['payload.a.trim().lower()', ['payload.a via lower,trim']],
  ])('%s', (text, reads) => {
    const found = readFormula(text)?.reads.map(({ path, through }) =>
      through.length === 0 ? path : `${path} via ${through.join()}`,
    )
    expect(found).toEqual(reads)
  })

  test('a template, and a text that does not compile', () => {
    expect(readFormula('x-{{ payload.id }}-{{ extRef }}', 'template')?.reads.map(({ path }) => path)).toEqual(
      ['payload.id', 'extRef'],
    )
    expect(readFormula('payload.')).toBeNull()
    expect(readFormula("extRef('a', 'b', 'c', payload.id, 'update')")?.extRefParts).toBe(5)
  })
})

test.each([
  ["'A:' + payload.id", '"A:"   +  payload.id', true],
  ["'A:' + payload.id", "('A:' + payload.id)", true],
  ["'A:' + payload.id", "'B:' + payload.id", false],
  ["'A:' + payload.id", "'A:' + payload.key", false],
  ['payload.', 'payload.', true],
  ['payload.', 'payload', false],
  ["'A' + 9007199254740993", "'A' + 9007199254740992", false],
])('whether %s and %s are one formula: %s… %#', (one, other, isSame) => {
  expect(isSameFormula(one, other)).toBe(isSame)
})
