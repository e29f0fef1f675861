import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { makeTrie, matchesPattern, parsePattern, parseSubject, patternsMeet } from './index.ts'

const problemOf = (result: ReturnType<typeof parseSubject>) => (result.ok ? null : result.problem)

describe('subjects', () => {
  test.each(['push', 'github.events.push', 'a.b-c.d_e', 'über.größe', 'a.$b', '1.2.3'])(
    '[M1] %s is a subject',
    (text) => {
      expect(parseSubject(text)).toEqual({ ok: true, tokens: text.split('.') })
    },
  )

  test.each([
    ['[M1]', '', 0, 'a subject is empty'],
    ['[M1]', '.a', 0, 'a token is empty'],
    ['[M1]', 'a..b', 2, 'a token is empty'],
    ['[M1]', 'a.b.', 4, 'a token is empty'],
    ['[M1]', 'a.b c', 3, 'no spaces or control characters'],
    ['[M1]', 'a.b\u0000', 3, 'no spaces or control characters'],
    ['[M1]', 'a\u00a0b', 1, 'no spaces or control characters'],
    ['[M2]', 'a'.repeat(256), 255, 'at most 255 characters'],
    ['[M2]', Array(33).fill('a').join('.'), 64, 'at most 32 tokens'],
    ['[M3]', 'a.*', 2, 'no wildcards'],
    ['[M3]', 'a.b>', 3, 'no wildcards'],
  ])('%s [M7] %j is refused at %i: %s', (_rule, text, offset, message) => {
    expect(problemOf(parseSubject(text))).toMatchObject({ offset, message: expect.stringContaining(message) })
  })

  test('[M2] the longest subject is accepted', () => {
    expect(parseSubject('a'.repeat(255)).ok).toBe(true)
    expect(parseSubject(Array(32).fill('a').join('.')).ok).toBe(true)
  })
})

describe('patterns', () => {
  test.each([
    ['[M5]', 'a.>.b', 2, 'put it last'],
    ['[M5]', '>.>', 0, 'put it last'],
    ['[M5]', 'a.b>', 3, 'whole tokens'],
    ['[M4]', 'a.b*', 3, 'whole tokens'],
    ['[M4]', 'a.**', 2, 'whole tokens'],
    ['[M1]', 'a..>', 2, 'a token is empty'],
  ])('%s [M7] %j is refused at %i: %s', (_rule, text, offset, message) => {
    expect(problemOf(parsePattern(text))).toMatchObject({ offset, message: expect.stringContaining(message) })
  })

  test.each([
    ['[M4]', 'a.*', 'a.b', true],
    ['[M4]', 'a.*', 'a', false],
    ['[M4]', 'a.*', 'a.b.c', false],
    ['[M4]', '*.b', 'a.b', true],
    ['[M5]', 'a.>', 'a.b', true],
    ['[M5]', 'a.>', 'a.b.c', true],
    ['[M5]', 'a.>', 'a', false],
    ['[M5]', '>', 'a', true],
    ['[M5]', '*.>', 'a', false],
    ['[M6]', 'a.B', 'a.b', false],
    ['[M6]', 'a.b', 'a.b', true],
    ['[M6]', 'a.b', 'a.b.c', false],
    ['[M6]', 'a.b.c', 'a.b', false],
  ])('%s %s against %s: %s', (_rule, pattern, subject, expected) => {
    expect(parsePattern(pattern).ok).toBe(true)
    expect(matchesPattern(pattern, subject)).toBe(expected)
    expect(makeTrie([{ pattern, value: 1 }]).find(subject)).toEqual(expected ? [1] : [])
  })
})

describe('trie', () => {
  const token = fc.constantFrom('a', 'b', 'c', 'constructor', '__proto__')
  const subject = fc.array(token, { minLength: 1, maxLength: 5 }).map((tokens) => tokens.join('.'))
  const pattern = fc
    .tuple(fc.array(fc.oneof(token, fc.constant('*')), { minLength: 1, maxLength: 4 }), fc.boolean())
    .map(([tokens, hasTail]) => [...tokens, ...(hasTail ? ['>'] : [])].join('.'))

  test('[M8] returns what testing every pattern returns, in the order of entry', () => {
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 30 }), subject, (patterns, text) => {
        const entries = patterns.map((one, value) => ({ pattern: one, value }))
        const naive = entries
          .filter((entry) => matchesPattern(entry.pattern, text))
          .map((entry) => entry.value)
        expect(makeTrie(entries).find(text)).toEqual(naive)
      }),
      { numRuns: 500 },
    )
  })

  test('[M8] a value that several patterns share is returned once, at its first position', () => {
    const trie = makeTrie([
      { pattern: 'a.>', value: 'one' },
      { pattern: 'a.b', value: 'two' },
      { pattern: 'a.*', value: 'one' },
    ])
    expect(trie.find('a.b')).toEqual(['one', 'two'])
  })

  test('[CA11] two patterns overlap when a subject matches both', () => {
    const subjects = ['a', 'b', 'c'].flatMap((x) => [
      x,
      `${x}.a`,
      `${x}.b`,
      `${x}.a.b`,
      `${x}.b.c.a`,
      `${x}.c.c.c.c`,
    ])
    fc.assert(
      fc.property(fc.array(pattern, { minLength: 1, maxLength: 6 }), pattern, (patterns, other) => {
        const meeting = patterns.filter((one) => patternsMeet(one, other))
        expect(makeTrie(patterns.map((one) => ({ pattern: one, value: 1 }))).meets(other)).toBe(
          meeting.length > 0,
        )
        for (const one of patterns) {
          expect(patternsMeet(other, one)).toBe(patternsMeet(one, other))
          const isShared = subjects.some((text) => matchesPattern(one, text) && matchesPattern(other, text))
          if (isShared) expect(patternsMeet(one, other)).toBe(true)
        }
      }),
      { seed: 5, numRuns: 500 },
    )
    expect(patternsMeet('a.*', 'a')).toBe(false)
    expect(patternsMeet('a.>', 'a')).toBe(false)
    expect(patternsMeet('a.*.c', 'a.b.*')).toBe(true)
    expect(patternsMeet('a.*.c', 'a.b.d')).toBe(false)
  })

  test('[M9] ten thousand patterns that do not match add no step', () => {
    const matching = [
      { pattern: 'github.events.push', value: 1 },
      { pattern: 'github.*.push', value: 2 },
      { pattern: 'github.>', value: 3 },
    ]
    const others = Array.from({ length: 10_000 }, (_, index) => ({
      pattern: `github.events.e${index}.>`,
      value: 0,
    }))
    const steps = (trie: { find(text: string): unknown }) => {
      const spy = vi.spyOn(Map.prototype, 'get')
      expect(trie.find('github.events.push')).toEqual([1, 2, 3])
      const count = spy.mock.calls.length
      spy.mockRestore()
      return count
    }
    const few = steps(makeTrie(matching))
    expect(few).toBeGreaterThan(0)
    expect(steps(makeTrie([...others, ...matching]))).toBe(few)
  })
})
