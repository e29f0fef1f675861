import { describe, expect, test } from 'vitest'
import { refusalWords } from './index.ts'

describe('[C8] the text of a refusal', () => {
  test.each([
    ['{"message":"title is too long"}', 'title is too long'],
    ['{"error":{"message":"no such account","code":7}}', 'no such account'],
    ['{"title":"Invalid","detail":"amount must be positive"}', 'amount must be positive'],
    ['{"errors":[{"message":"a"},{"message":"b"}]}', 'a'],
    ['{"error":"invalid_grant","error_description":"the code is used"}', 'the code is used'],
    ['"plain"', 'plain'],
    ['no JSON\n at  all', 'no JSON at all'],
    ['', null],
    ['{}', null],
    ['{"message":null,"title":""}', null],
    ['<html><body>502</body></html>', null],
    ['[[[[["deep"]]]]]', null],
  ])('%s', (body, words) => {
    expect(refusalWords(body)).toBe(words)
  })

  test('is bounded', () => {
    expect(refusalWords(JSON.stringify({ message: 'x'.repeat(10_000) }))).toHaveLength(300)
    expect(refusalWords(JSON.stringify({ message: 'x'.repeat(100_000) }))).toBeNull()
  })
})
