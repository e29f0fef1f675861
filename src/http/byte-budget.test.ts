import { expect, test } from 'vitest'
import { makeByteBudget } from './byte-budget.ts'

const at = (remoteAddress: string) => ({ remoteAddress })

test('[AP21] one address holds half of the budget with unfinished bodies, and others the rest', () => {
  const budget = makeByteBudget(100, { bodyBytesMax: 30 })
  const [one, two] = [budget.hold(at('192.0.2.1')), budget.hold(at('192.0.2.1'))]
  const other = budget.hold(at('192.0.2.2'))
  expect(one.take(30)).toBeNull()
  expect(two.take(20)).toBeNull()
  expect(two.take(1)).toMatchObject({ code: 'overloaded', message: expect.stringContaining('this address') })
  expect(other.take(30)).toBeNull()
  // Complete bodies are held, and no longer part of the share.
  one.complete()
  expect(budget.held).toBe(80)
  expect(two.take(10)).toBeNull()
  expect(two.take(11)).toMatchObject({ code: 'overloaded', message: expect.stringContaining('the node') })
  for (const holding of [one, two, other]) holding.release()
  expect(budget.held).toBe(0)
  expect(budget.hold(at('192.0.2.1')).take(50)).toBeNull()
})

test('[AP21] an address always has room for one body, and networks of one customer are one address', () => {
  const budget = makeByteBudget(100, { bodyBytesMax: 80 })
  expect(budget.hold(at('2001:db8::1')).take(80)).toBeNull()
  expect(budget.hold(at('2001:db8::2')).take(1)).toMatchObject({ code: 'overloaded' })
  expect(budget.hold(at('2001:db8:0:1::1')).take(20)).toBeNull()
})

test('[AP21] what is released once takes nothing more', () => {
  const budget = makeByteBudget(100)
  const holding = budget.hold(at('192.0.2.1'))
  expect(holding.take(40)).toBeNull()
  holding.release()
  holding.release()
  expect(holding.take(1)).toMatchObject({ code: 'overloaded' })
  holding.complete()
  expect(holding.take(1)).toMatchObject({ code: 'overloaded' })
  expect(budget.held).toBe(0)
})
