import { describe, expect, test } from 'vitest'
import { ExpressionError } from '../../expression/index.ts'
import { compileAction } from './index.ts'

const SCOPE = { payload: { order: 'o1', kind: 'booked', n: 1 }, vars: {} }

describe('a function', () => {
  const document = { type: 'function', name: 'count', codeHash: 'h', with: null, timeoutMs: 5 } as const
  const input = (shape: typeof document | (Omit<typeof document, 'with'> & { with: object })) => {
    const action = compileAction(shape as typeof document)
    return action.type === 'function' ? action.input(SCOPE) : null
  }

  test('[A8] gets the whole payload, or the value of `with`', () => {
    expect(input(document)).toEqual(SCOPE.payload)
    expect(input({ ...document, with: { id: '{{ payload.order }}', gone: '{{ payload.x }}' } })).toEqual({
      id: 'o1',
    })
  })

  test('[A8] gets null where `with` produces nothing', () => {
    const action = compileAction({ ...document, with: '{{ payload.x }}' })
    expect(action.type === 'function' ? action.input(SCOPE) : undefined).toBeNull()
  })
})

describe('an emitted event', () => {
  const render = (subject: string, data: string | null) => {
    const action = compileAction({ type: 'emit', subject, data })
    return action.type === 'emit' ? action.render(SCOPE) : null
  }

  test('[A8] has the subject and the data of its templates', () => {
    expect(render('shop.{{ payload.kind }}', '{{ payload }}')).toEqual({
      subject: 'shop.booked',
      data: SCOPE.payload,
    })
    expect(render('shop.booked', '{{ payload.x }}')).toEqual({ subject: 'shop.booked', data: null })
  })

  test('[A8] is refused if its subject is not text', () => {
    expect(() => render('{{ payload.n }}', null)).toThrow(ExpressionError)
    expect(() => render('{{ payload.x }}', null)).toThrow(ExpressionError)
  })
})

test('a definition that was not checked is our bug', () => {
  expect(() => compileAction({ type: 'emit', subject: '{{ payload. }}', data: null })).toThrow(
    'unchecked definition',
  )
})
