import { describe, expect, test } from 'vitest'
import type { DeadLetterId } from '../../foundation/ids/index.ts'
import { causeOf, groupByCause, type LikeDeadLetters } from './dead-letter-cause.ts'

describe('the cause of a dead letter', () => {
  test.each([
    ['answered 422: "email" of order 4711 is wrong', 'answered 422: «…» of order # is wrong'],
    ['HTTP 404', 'HTTP 404'],
    ['status code 503 after 12 ms', 'status code 503 after # ms'],
    ['answered 4220', 'answered #'],
    ['no answer within 10000 ms', 'no answer within # ms'],
    ['evt_0197c3f0-6c00-7000-8000-0097bf2f1e4d is gone', 'evt_… is gone'],
    ['row 0197C3F0-6C00-7000-8000-0097BF2F1E4D', 'row …'],
    ['commit 9f86d081884c7d65 refused', 'commit … refused'],
    ['facade deadbeefs stay', 'facade deadbeefs stay'],
    ["cannot read 'a b' of 'c'", 'cannot read «…» of «…»'],
    ["it can't be, it won't", "it can't be, it won't"],
    ['two\n  lines\tand `code`', 'two lines and «…»'],
    ['12,5 and 1.2.3', '# and #'],
    ['', ''],
  ])('[DL1] %j is %j', (error, cause) => {
    expect(causeOf(error)).toBe(cause)
  })

  test('[DL1] is bounded, and the same for errors that differ in values only', () => {
    expect(causeOf('x'.repeat(5_000))).toHaveLength(200)
    expect(causeOf('order 1 of "anna" failed')).toBe(causeOf('order 22 of "bert" failed'))
    expect(causeOf('answered 400')).not.toBe(causeOf('answered 422'))
    expect(causeOf(causeOf('order 1 of "anna" at 9f86d081884c7d65'))).toBe('order # of «…» at …')
  })
})

test('[DL2] dead letters are grouped by class, reason, consumer and cause, the largest group first', () => {
  const row = (id: string, at: number, fields: Partial<LikeDeadLetters>): LikeDeadLetters => ({
    class: 'validation',
    reason: 'rejected',
    consumer: 'route:crm',
    lastError: 'answered 422',
    count: 1,
    firstAt: at,
    latestAt: at,
    sampleId: id as DeadLetterId,
    ...fields,
  })
  const groups = groupByCause([
    row('dlq_1', 1, { lastError: 'order 1 is wrong' }),
    row('dlq_2', 2, {}),
    row('dlq_3', 3, { lastError: 'order 2 is wrong', count: 2, latestAt: 9 }),
    row('dlq_4', 4, { consumer: 'route:other' }),
    row('dlq_5', 5, { reason: 'expired' }),
    row('dlq_6', 6, { class: 'config' }),
  ])
  expect(groups.map(({ sampleId, count }) => [sampleId, count])).toEqual([
    ['dlq_3', 3],
    ['dlq_6', 1],
    ['dlq_5', 1],
    ['dlq_4', 1],
    ['dlq_2', 1],
  ])
  expect(groups[0]).toEqual({
    class: 'validation',
    reason: 'rejected',
    consumer: 'route:crm',
    cause: 'order # is wrong',
    count: 3,
    firstAt: 1,
    latestAt: 9,
    sampleId: 'dlq_3',
  })
})
