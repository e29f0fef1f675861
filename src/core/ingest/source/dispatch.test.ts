// The rules of a source in isolation.

import { expect, test } from 'vitest'
import { ExpressionError } from '../../expression/index.ts'
import { compileDispatch } from './dispatch.ts'

const scope = (payload: object) => ({
  event: {},
  payload,
  header: {},
  source: 'shop',
  tenant: 'default',
  vars: {},
})
const RULES = [
  { when: 'payload.kind == "paid"', emit: 'order.{{ payload.kind }}', data: { id: '{{ payload.id }}' } },
  { when: null, emit: 'order.seen', data: '{{ payload }}' },
]

test('[IN7] of several rules the first or all emit, each under its subject', () => {
  const select = (mode: 'first' | 'all', payload: object) =>
    compileDispatch({ mode, rules: RULES, otherwise: 'keep' }).select(scope(payload) as never)
  const paid = { kind: 'paid', id: 7 }
  expect(select('first', paid)).toEqual([{ name: 'order.paid', subject: 'order.paid', data: { id: 7 } }])
  expect(select('all', paid).map(({ subject }) => subject)).toEqual(['order.paid', 'order.seen'])
  expect(select('first', { kind: 'x' })).toEqual([
    { name: 'order.seen', subject: 'order.seen', data: { kind: 'x' } },
  ])
})

test('[IN7] rules that produce the same subject are numbered', () => {
  const [first, second] = RULES
  const rules = [second!, first!, second!, second!]
  const names = compileDispatch({ mode: 'all', rules, otherwise: 'keep' })
    .select(scope({ kind: 'paid', id: 7 }) as never)
    .map(({ name }) => name)
  expect(names).toEqual(['order.seen', 'order.paid', 'order.seen 2', 'order.seen 3'])
})

test('[IN9] a rule that fails is named, without any value of the payload', () => {
  const rules = [...RULES, { when: null, emit: '{{ payload.secret }}..', data: null }]
  const dispatch = compileDispatch({ mode: 'all', rules, otherwise: 'keep' })
  const select = () => dispatch.select(scope({ kind: 'x', secret: 's3cret' }) as never)
  expect(select).toThrow(ExpressionError)
  expect(select).toThrow(/^dispatch rule 3: /)
  expect(select).not.toThrow(/s3cret/)
})
