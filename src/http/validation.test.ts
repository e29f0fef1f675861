import { describe, expect, test } from 'vitest'
import { makeValidatorCompiler } from './validation.ts'

const broken = { type: 'object', properties: { name: { type: 'strnig' } } }

describe('a broken schema', () => {
  test.each(['body', 'querystring'])('of a %s fails at once where all are compiled', (httpPart) => {
    const compile = makeValidatorCompiler({ isEager: true })
    expect(() => compile({ schema: broken, httpPart, method: 'POST', url: '/' })).toThrow('schema is invalid')
  })

  test('costs a node its route alone', () => {
    const check = makeValidatorCompiler()({ schema: broken, httpPart: 'body', method: 'POST', url: '/' })
    expect(() => check({ name: 'a' })).toThrow('schema is invalid')
  })
})
