import { expect, test } from 'vitest'
import { parseJson } from '../core/foundation/json/index.ts'
import { readCode } from './code.ts'

test('a number with exact digits stays one, in the document and in its YAML', () => {
  const value = parseJson('{"kind":"Route","name":"r","do":{"v":1.000000000000000001}}')
  const file = 'a.ts'
  const { documents } = readCode({
    files: [{ path: file, text: 'export const r = {}' }],
    exports: [{ file, name: 'r', value } as never],
    problems: [],
  })
  expect(documents[0]?.value).toStrictEqual(value)
  expect(documents[0]?.text).toContain('v: 1.000000000000000001\n')
})
