import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileExpression } from '../core/expression/index.ts'
import { type ExprValue, expr } from './index.ts'

function evaluate(text: string): unknown {
  const compiled = compileExpression(text)
  if (!compiled.ok) throw new Error(`${text}: ${compiled.problem.message}`)
  return compiled.expression.evaluate({})
}

describe('expr', () => {
  test('[FN10] gives the text as it is written', () => {
    expect(expr`'SAP:' + payload.id`).toBe("'SAP:' + payload.id")
    expect(expr`re(payload.x, '\\d+\n')`).toBe("re(payload.x, '\\\\d+\\n')")
    expect(expr`'\`' + '\${x}'`).toBe("'`' + '${x}'")
  })

  test('[FN10] an inserted value is a literal', () => {
    const status = "it's \\ a\ntext"
    expect(expr`payload.status == ${status}`).toBe("payload.status == 'it\\'s \\\\ a\\ntext'")
    expect(expr`payload.n in ${[1, 2.5, true, null, 'x']}`).toBe("payload.n in [1, 2.5, true, null, 'x']")
    expect(expr`payload.big == ${12345678901234567890n}`).toBe('payload.big == 12345678901234567890')
  })

  test('[FN10] whatever it contains, it is that value', () => {
    const scalar = fc.oneof(fc.string({ unit: 'binary' }), fc.boolean(), fc.integer(), fc.constant(null))
    fc.assert(
      fc.property(fc.oneof(scalar, fc.array(scalar)), (value) => {
        expect(evaluate(expr`${value as ExprValue}`)).toEqual(value)
      }),
    )
  })

  test.each([undefined, Number.NaN, {}, () => 1])('[FN10] refuses %s', (value) => {
    expect(() => expr`${value as never}`).toThrow(/expr takes texts, numbers/)
  })
})
