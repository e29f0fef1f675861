import { expect, test } from 'vitest'
import { RetryableError, TerminalError } from './errors.ts'

test('after is read as a duration', () => {
  const afterMs = (after: '250ms' | '30s' | '5m' | '1.5h' | '7d') =>
    new RetryableError('x', { after }).afterMs
  expect(afterMs('250ms')).toBe(250)
  expect(afterMs('30s')).toBe(30_000)
  expect(afterMs('5m')).toBe(300_000)
  expect(afterMs('1.5h')).toBe(5_400_000)
  expect(afterMs('7d')).toBe(604_800_000)
  expect(new RetryableError('x').afterMs).toBeNull()
})

test('a text that is not a duration is refused with what to write', () => {
  expect(() => new RetryableError('x', { after: '5 minutes' as '5m' })).toThrow(/write 250ms, 30s, 5m/)
})

test('both are errors with a name, a message and a cause', () => {
  const cause = new Error('inner')
  expect(new RetryableError('locked', { cause })).toMatchObject({
    name: 'RetryableError',
    message: 'locked',
    cause,
  })
  expect(new TerminalError('gone', { cause })).toMatchObject({
    name: 'TerminalError',
    message: 'gone',
    cause,
  })
})
