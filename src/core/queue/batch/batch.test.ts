import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { batchKey, batchScope, compileBatch, splitBatch } from './index.ts'

const keys = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 40 })

test('[BA1] the key is independent of the members’ order, and differs for other members', () => {
  fc.assert(
    fc.property(keys, fc.nat(), (members, seed) => {
      const turned = [...members.slice(seed % members.length), ...members.slice(0, seed % members.length)]
      expect(batchKey(turned.reverse())).toBe(batchKey(members))
      expect(batchKey([...members, 'one more than before'])).not.toBe(batchKey(members))
    }),
    { seed: 61 },
  )
  expect(batchKey(['a', 'b,c'])).not.toBe(batchKey(['a,b', 'c']))
})

test('[BA2] splitting keeps every member once, and ends with single members', () => {
  fc.assert(
    fc.property(keys, (members) => {
      let open: readonly (readonly string[])[] = [members]
      let rounds = 0
      while (open.some((batch) => batch.length > 1)) {
        open = open.flatMap((batch) => splitBatch(batch) ?? [batch])
        expect(open.flat()).toEqual(members)
        rounds += 1
      }
      expect(open).toHaveLength(members.length)
      expect(rounds).toBeLessThanOrEqual(Math.ceil(Math.log2(members.length)))
    }),
    { seed: 62 },
  )
  expect(splitBatch(['a'])).toBeNull()
})

test('a batch sees its members and nothing of a single event', () => {
  const scope = {
    event: { id: 'e' },
    payload: { n: 1 },
    header: {},
    source: 's',
    tenant: 't',
    vars: { a: 1 },
    line: 7,
  }
  expect(batchScope([{ key: 'K', scope }], 'batch:x', 'line')).toEqual({
    batch: [{ key: 'K', event: { id: 'e' }, payload: { n: 1 }, header: {}, source: 's', line: 7 }],
    payload: [{ key: 'K', event: { id: 'e' }, payload: { n: 1 }, header: {}, source: 's', line: 7 }],
    key: 'batch:x',
    tenant: 't',
    vars: { a: 1 },
  })
})

describe('outcomes', () => {
  const rules = compileBatch({
    size: 10,
    maxWaitMs: 1,
    results: 'result.body.items',
    item: { key: 'item.ref', ok: 'item.ok' },
  })
  const tell = (items: unknown) => rules.outcomesOf(['a', 'b'], { body: { items } }).map(({ as }) => as)

  test.each([
    [
      'both well',
      [
        { ref: 'a', ok: true },
        { ref: 'b', ok: true },
      ],
      ['done', 'done'],
    ],
    [
      'one refused',
      [
        { ref: 'b', ok: false },
        { ref: 'a', ok: true },
      ],
      ['done', 'refused'],
    ],
    ['one not named', [{ ref: 'a', ok: true }], ['done', 'untold']],
    [
      'said twice alike',
      [
        { ref: 'a', ok: true },
        { ref: 'a', ok: true },
        { ref: 'b', ok: false },
      ],
      ['done', 'refused'],
    ],
    [
      'said twice otherwise',
      [
        { ref: 'a', ok: true },
        { ref: 'a', ok: false },
        { ref: 'b', ok: true },
      ],
      ['untold', 'done'],
    ],
    [
      'neither true nor false',
      [
        { ref: 'a', ok: 'yes' },
        { ref: 'b', ok: null },
      ],
      ['untold', 'untold'],
    ],
    ['strangers', [{ ref: 'z', ok: false }, { ref: null, ok: true }, 7], ['untold', 'untold']],
    ['no list', { a: true }, ['untold', 'untold']],
    ['nothing', null, ['untold', 'untold']],
  ])('[BA3] %s', (_name, items, outcomes) => {
    expect(tell(items)).toEqual(outcomes)
  })

  test('[BA3] every member gets exactly one outcome, whatever the response says', () => {
    fc.assert(
      fc.property(keys, fc.jsonValue(), (members, items) => {
        const told = rules.outcomesOf(members, { body: { items } })
        expect(told).toHaveLength(members.length)
        for (const { as } of told) expect(['done', 'refused', 'untold']).toContain(as)
      }),
      { seed: 63 },
    )
  })

  test('[BA3] without `results` all share the outcome', () => {
    const whole = compileBatch({ size: 2, maxWaitMs: 1 })
    expect(whole.isPartial).toBe(false)
    expect(whole.outcomesOf(['a', 'b'], null).map(({ as }) => as)).toEqual(['done', 'done'])
  })

  test('a refusal preserves the vendor’s words', () => {
    expect(
      rules.outcomesOf(['a'], { body: { items: [{ ref: 'a', ok: false, message: 'closed' }] } }),
    ).toEqual([{ as: 'refused', words: 'closed' }])
  })
})
