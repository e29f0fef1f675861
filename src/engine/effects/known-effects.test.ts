import { expect, test } from 'vitest'
import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { makeKnown } from './known-effects.ts'

const TENANT = 'default' as TenantId
const entry = (key: string, known: object = {}) =>
  ({
    tenant: TENANT,
    key,
    state: 'done',
    work: 'wrk_1',
    result: '"long"',
    evidence: [],
    ...known,
  }) as unknown as LedgerEntry

test('the latest are remembered without their results, and only those that are done', () => {
  const known = makeKnown(2)
  for (const key of ['a', 'b', 'c']) known.note(entry(key))
  known.note(entry('d', { state: 'reserved' }))
  expect(['a', 'b', 'c', 'd'].map((key) => known.find(TENANT, key)?.key ?? null)).toEqual([
    null,
    'b',
    'c',
    null,
  ])
  expect(known.find(TENANT, 'c')).toMatchObject({ result: null })
  expect(known.find('other' as TenantId, 'c')).toBeNull()
})

test('a later effect replaces an earlier one', () => {
  const known = makeKnown()
  known.note(entry('a'))
  known.note(entry('a', { work: 'wrk_2' }))
  expect(known.find(TENANT, 'a')).toMatchObject({ work: 'wrk_2' })
})
