import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../definitions/documents/index.ts'
import { ExpressionError } from '../expression/index.ts'
import { chooseRoutes, compileRoute, itemScope, type Route } from './index.ts'

const ROUTE: RouteDocument = {
  kind: 'Route',
  name: 'book',
  description: null,
  on: ['shop.events.paid'],
  where: null,
  status: 'active',
  key: null,
  uniqueness: 'operation',
  retry: { profile: null, attempts: 1, delaysMs: [] },
  maxWaitMs: 1,
  deadLetter: { severity: 'high', runbook: null },
  do: { type: 'emit', subject: 'shop.booked', data: null },
}

const routes = (...fanOuts: readonly string[]): readonly Route[] =>
  fanOuts.map((text, index) => {
    const [fanOut, status = 'active'] = text.split(' ') as [string, RouteDocument['status']]
    const said = fanOut === 'all' ? {} : { fanOut: fanOut as 'first' | 'one' }
    return compileRoute({ ...ROUTE, name: `r${index}`, status, ...said })
  })

describe('fanOut', () => {
  test.each([
    ['[FO1]', ['one'], 'r0'],
    ['[FO1]', ['one', 'all'], 'ambiguous r0 r1'],
    ['[FO1]', ['all', 'one', 'first'], 'ambiguous r0 r1 r2'],
    ['[FO1]', ['one', 'one'], 'ambiguous r0 r1'],
    ['[FO1]', ['one', 'all paused'], 'ambiguous r0 r1'],
    ['[FO1]', ['one', 'all disabled'], 'r0 r1'],
    ['[FO2]', ['all', 'all'], 'r0 r1'],
    ['[FO2]', ['first', 'first', 'all'], 'r0 r2'],
    ['[FO2]', ['all', 'first', 'first'], 'r0 r1'],
    ['[FO2]', ['first disabled', 'first'], 'r0 r1'],
    ['[FO2]', ['first paused', 'first'], 'r0'],
    ['[FO2]', [], ''],
  ])('%s %j: %s', (_rule, fanOuts, expected) => {
    const chosen = chooseRoutes(routes(...fanOuts))
    const text = chosen.ok
      ? chosen.routes.map(({ document }) => document.name).join(' ')
      : `ambiguous ${chosen.names.join(' ')}`
    expect(text).toBe(expected)
  })
})

describe('each', () => {
  const route = compileRoute({ ...ROUTE, each: { of: 'payload.entries', as: 'entry', max: 3 } })
  const scope = { event: { id: 'evt_1' } as never, payload: { entries: [{ n: 7 }, null] } }

  test('[FO3] a job sees its element under the name that the route gives it', () => {
    expect(itemScope(route, scope, 0)).toEqual({ ...scope, entry: { n: 7 } })
    expect(itemScope(route, scope, 1)).toEqual({ ...scope, entry: null })
    expect(itemScope(route, scope, null)).toBe(scope)
    expect(itemScope(compileRoute(ROUTE), scope, 0)).toBe(scope)
  })

  test('[FO3] its key without a formula names the element', () => {
    expect(route.keyOf(itemScope(route, scope, 1), 1)).toBe('book:evt_1:1')
    expect(route.keyOf(scope)).toBe('book:evt_1')
  })

  test.each([
    ['there is no such element', { entries: [1] }, 1, 'missing'],
    ['there is no list', { entries: { a: 1 } }, 0, 'type'],
    ['there is nothing', {}, 0, 'type'],
  ])('[FO4] %s', (_name, payload, index, code) => {
    expect(() => itemScope(route, { payload }, index)).toThrow(ExpressionError)
    expect(() => itemScope(route, { payload }, index)).toThrow(expect.objectContaining({ code }))
  })
})

test('[FO8] only a route without order, limits and buffers leases its jobs on insert', () => {
  expect(compileRoute(ROUTE).isImmediate).toBe(true)
  expect(compileRoute({ ...ROUTE, each: { of: 'payload', as: 'one', max: 2 } }).isImmediate).toBe(true)
  const policies: readonly Partial<RouteDocument>[] = [
    { order: { by: 'payload.id' } },
    { concurrency: { limit: 2 } },
    { debounce: { by: 'payload.id', windowMs: 1, maxWaitMs: 1 } },
    { drain: { profile: null, everyMs: 1, events: 1, cycles: 1 } },
    { rateLimit: { profile: null, perMinute: 1, burst: 1 } },
    { batch: { size: 2, maxWaitMs: 1 } },
  ]
  for (const policy of policies) expect(compileRoute({ ...ROUTE, ...policy }).isImmediate).toBe(false)
})
