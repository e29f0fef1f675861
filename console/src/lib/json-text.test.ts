import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatJson, JsonTextError, lineAndColumn, memberOf, parseJsonText } from './json-text.ts'

const errorOf = (text: string): JsonTextError => {
  try {
    parseJsonText(text)
  } catch (error) {
    if (error instanceof JsonTextError) return error
    throw error
  }
  throw new Error(`it was taken: ${text}`)
}

test('digits stay as they came', () => {
  const text = '{"big":9007199254740993,"exact":1.10,"tiny":1e-400,"minus":-0}'
  expect(formatJson(parseJsonText(text)).replaceAll(/\s/g, '')).toBe(text)
})

test('any JSON value comes back the same', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value)
      expect(JSON.parse(formatJson(parseJsonText(text)))).toEqual(JSON.parse(text))
    }),
  )
})

test('what JSON.parse refuses is refused here too', () => {
  fc.assert(
    fc.property(
      fc.json(),
      fc.nat(),
      fc.constantFrom('', ',', '}', ']', '"', ':', '01', 'nul'),
      (text, at, put) => {
        const cut = at % (text.length + 1)
        const broken = text.slice(0, cut) + put + text.slice(cut + 1)
        let isJson = true
        try {
          JSON.parse(broken)
        } catch {
          isJson = false
        }
        if (isJson) parseJsonText(broken)
        else expect(errorOf(broken).message).toMatch(/^expected /)
      },
    ),
  )
})

test('the position of a mistake is given by line and column', () => {
  const text = '{\n  "total": \n}'
  const error = errorOf(text)
  expect(error.message).toBe('expected a value, but there is "}"')
  expect(lineAndColumn(text, error.at)).toEqual({ line: 3, column: 1 })
  expect(errorOf('{"a":1').message).toBe('expected a comma or }, but the text ends')
})

test('members are found by name; anything but an object has none', () => {
  const node = parseJsonText('{"event":{"data":[1]}}')
  expect(memberOf(memberOf(node, 'event'), 'data')).toEqual({
    type: 'array',
    items: [{ type: 'number', text: '1' }],
  })
  expect(memberOf(node, 'toString')).toBeUndefined()
  expect(memberOf(undefined, 'event')).toBeUndefined()
})
