import { expect, test } from 'vitest'
import { strictJson } from './json-comments.ts'
import { readDocuments } from './read.ts'

test('[F36] a comment ends at its first end, and a comma before a value stays', () => {
  const text =
    '{"kind": "Route", /* who */ "name": "a", "on": ["a.b" /* only these */], // */ ]\n "key": "1", /* last */ }'
  expect(JSON.parse(strictJson(text))).toEqual({ kind: 'Route', name: 'a', on: ['a.b'], key: '1' })
})

test('[F36] every position stays: comments and commas become as many blanks, and lines stay lines', () => {
  const text = '[1, /* 😀\r\n , ] */ 2 , // ]\n ]'
  expect(strictJson(text)).toBe('[1,      \r\n        2       \n ]')
  expect(strictJson('[1 /* open\n]')).toBe('[1        \n ')
})

test('[F36] what looks like a comment or a bracket in a string is text', () => {
  const text = String.raw`["// a", "/* b", ", ]", "\"/* c */", "\\" /* d */, "e,"]`
  expect(JSON.parse(strictJson(text))).toEqual(['// a', '/* b', ', ]', '"/* c */', '\\', 'e,'])
})

test('[F36] long runs of comments, commas and open strings take one pass', () => {
  const many = 50_000
  expect(JSON.parse(strictJson(`[1,${'/**/'.repeat(many)}2]`))).toEqual([1, 2])
  expect(JSON.parse(strictJson(`[1${' /*,*/ '.repeat(many)},${'//]\n'.repeat(many)}]`))).toEqual([1])
  for (const text of [`["${'\\"'.repeat(many)}`, `[${','.repeat(many)}`])
    expect(strictJson(text)).toHaveLength(text.length)
})

test('[F36] a mistake after comments is found where it is written', () => {
  const text = '{"kind": "Route", /* who */ "name": "a",\n "on": ["a.b" /* only these */],\n "key": oops }'
  const { findings } = readDocuments([{ path: 'a.json', text }])
  expect(findings).toMatchObject([{ line: 3, column: 9 }])
})
