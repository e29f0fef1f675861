import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type JsonValue, parseJson } from '../../foundation/json/index.ts'
import {
  encryptedProblem,
  findClearRead,
  HIDDEN,
  hiddenFrom,
  hiddenFromEndpoint,
  inheritSensitive,
  isEncrypted,
  makeScrub,
  makeScrubOfTexts,
  parseSensitivePath,
  redact,
  redactHeader,
  type SensitivePath,
  sensitivePathsOf,
  splitEncrypted,
} from './index.ts'

function pathOf(text: string): SensitivePath {
  const parsed = parseSensitivePath(text)
  if (!parsed.ok) throw new Error(parsed.problem.message)
  return parsed.path
}

describe('paths', () => {
  test.each([
    ['payload', 'payload', []],
    ['payload.user.email', 'payload', ['user', 'email']],
    ['payload.users[*].email', 'payload', ['users', { each: true }, 'email']],
    ["payload['e-mail']", 'payload', ['e-mail']],
    ['payload.cards[0]', 'payload', ['cards', 0]],
    ['header', 'header', []],
    ['header.X-User', 'header', ['x-user']],
  ])('[SE1] %s is a path', (text, root, steps) => {
    expect(pathOf(text)).toEqual({ text, root, steps })
  })

  test.each([
    ['', /begins with `payload` or `header`/],
    ['user.email', /begins with `payload` or `header`/],
    ['vars.secret', /begins with `payload` or `header`/],
    ['payload.', /field name is expected/],
    ['payload.users.map(u, u.email)', /only fixed names/],
    ['payload.a-b', /with a dash is written/],
    ['header.x-user.name', /a header is one text/],
    ['header[0]', /a header is one text/],
  ])('[SE1] %j is not a path, and the reason is reported', (text, message) => {
    const parsed = parseSensitivePath(text)
    expect(parsed.ok ? '' : parsed.problem.message).toMatch(message)
  })
})

describe('redact', () => {
  const payload = {
    id: 7,
    user: { name: 'Ada', email: 'ada@example.com' },
    users: [{ email: 'bob@example.com', ok: true }, { ok: false }],
  }

  test('[SE2] hides the paths in a copy, and nothing else', () => {
    const before = structuredClone(payload)
    expect(redact(payload, ['payload.user.email', 'payload.users[*].email', 'payload.none.here'])).toEqual({
      id: 7,
      user: { name: 'Ada', email: HIDDEN },
      users: [{ email: HIDDEN, ok: true }, { ok: false }],
    })
    expect(payload).toEqual(before)
    expect(redact(payload, ['payload', 'payload.id'])).toBe(HIDDEN)
    expect(redact(payload, ['header.x-user'])).toBe(payload)
    expect(redact([1, 2, 3], ['payload[1]', 'payload[9]'])).toEqual([1, HIDDEN, 3])
  })

  test('[SE2] hides a number like any other value, whatever represents it', () => {
    const value = parseJson('{"a":10.50,"b":1.0,"list":[1.000000000000000001]}')
    expect(redact(value, ['payload.a', 'payload.list[*]', 'payload.b.deeper'])).toEqual({
      a: HIDDEN,
      b: HIDDEN,
      list: [HIDDEN],
    })
    const scrub = makeScrub(['payload.list'], value, {})
    expect(scrub('we got 1.000000000000000001')).toBe(`we got ${HIDDEN}`)
  })

  test('[SE2] hides headers by name, in any case', () => {
    const header = { 'x-user': 'ada', accept: '*/*' }
    expect(redactHeader(header, ['header.X-User', 'payload'])).toEqual({ 'x-user': HIDDEN, accept: '*/*' })
    expect(redactHeader(header, ['header'])).toEqual({ 'x-user': HIDDEN, accept: HIDDEN })
  })

  test.each([
    ['a text where a map is expected', { user: 'ada@example.com' }, ['payload.user.email'], { user: HIDDEN }],
    ['a list where a map is expected', { user: [{ email: 'x' }] }, ['payload.user.email'], { user: HIDDEN }],
    [
      'a map where a list is expected',
      { users: { email: 'x' } },
      ['payload.users[*].email'],
      { users: HIDDEN },
    ],
    ['nothing', { user: null }, ['payload.user.email'], { user: null }],
    [
      'null at the place itself',
      { user: { email: null } },
      ['payload.user.email'],
      { user: { email: HIDDEN } },
    ],
  ])('[SE3] %s is hidden completely where there is a value', (_name, value, paths, expected) => {
    expect(redact(value as JsonValue, paths)).toEqual(expected)
  })

  test('[SE3] a path that does not parse hides everything', () => {
    expect(redact(payload, ['payload..'])).toBe(HIDDEN)
  })

  test('[SE2] names of the language’s prototypes are ordinary names', () => {
    const value = JSON.parse('{"__proto__":{"email":"x","a":1},"constructor":{"b":2}}') as JsonValue
    const copy = redact(value, [
      'payload.__proto__.email',
      'payload.constructor.prototype.c',
      'payload.toString',
    ])
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"email":"[hidden]","a":1},"constructor":{"b":2}}')
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>).email).toBeUndefined()
  })

  test('[SE2] for any value, nothing is thrown and no text at the path is left', () => {
    const mark = 'ada-4711-lovelace'
    const steps = fc.constantFrom('.a', '.b', '[*]', '[0]', "['__proto__']")
    const values = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constant(mark),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('value')),
      ),
    })).value
    fc.assert(
      fc.property(values, fc.array(steps, { maxLength: 3 }), (value, parts) => {
        const path = `payload${parts.join('')}`
        const once = redact(value, [path])
        expect(JSON.stringify(redact(once, [path]))).toBe(JSON.stringify(once))
        if (parts.length === 0) expect(JSON.stringify(once)).not.toContain(mark)
      }),
    )
  })
})

describe('derived from sensitive data', () => {
  test('[SE10] a copy has the same sensitive paths, anything else is sensitive as a whole', () => {
    const paths = ['payload.user.email', 'header.x-user']
    expect(inheritSensitive([], false)).toEqual([])
    expect(inheritSensitive(paths, true)).toEqual(['payload.user.email'])
    expect(inheritSensitive(['header.x-user'], true)).toEqual([])
    expect(inheritSensitive(['header.x-user'], false)).toEqual(['payload'])
    expect(inheritSensitive(paths, false)).toEqual(['payload'])
  })

  test('[SE11] texts lose the sensitive values, also as spelled in JSON and addresses', () => {
    const payload = { user: { email: 'ada+x@example.com', note: 'a "b" c' }, id: 123_456, plain: 'kept-1' }
    const scrub = makeScrub(['payload.user', 'payload.id', 'header.x-user'], payload, {
      'x-user': 'lovelace',
    })
    expect(scrub('no ada+x@example.com for lovelace')).toBe('no [hidden] for [hidden]')
    expect(scrub('said "a \\"b\\" c" and a "b" c')).toBe('said "[hidden]" and [hidden]')
    expect(scrub('/users/ada%2Bx%40example.com/123456')).toBe('/users/[hidden]/[hidden]')
    expect(scrub('kept-1 is true')).toBe('kept-1 is true')
  })

  test('[SE11] a value inside another leaves no rest of it, and short values are not replaced', () => {
    const scrub = makeScrub(['payload'], ['lovelace', 'ada lovelace', 'a', true, 7], {})
    expect(scrub('ada lovelace has a true 7')).toBe('[hidden] has a true 7')
  })

  test('[SE11] a value in a different spelling, or truncated, is removed as well', () => {
    const scrub = makeScrub(['payload'], ['Ada.L@Example.com', 'Ada   King\n Lovelace', 'aaaaab'], {})
    expect(scrub('ada.l@example.com is taken')).toBe('[hidden] is taken')
    expect(scrub('nobody is called Ada King Lovelace')).toBe('nobody is called [hidden]')
    expect(scrub('taken: Ada.L@Exa… (422)')).toBe('taken: [hidden]… (422)')
    expect(scrub('taken: ada.l@exa')).toBe('taken: [hidden]')
    expect(scrub('aaaaaaa')).toBe('aa[hidden]')
    expect(scrub('Ada… is Ada')).toBe('Ada… is Ada')
  })

  test('[SE11] more values than can be searched for hide the whole text', () => {
    const many = Array.from({ length: 3_000 }, (_, index) => `value-${index}`)
    expect(makeScrub(['payload'], many, {})('anything')).toBe(HIDDEN)
  })

  test('texts are searched like values, also where the fast path finds none', () => {
    const value = fc.string({
      unit: fc.constantFrom(...'abAB+/=1_ "'.split('')),
      minLength: 1,
      maxLength: 10,
    })
    const spellings: readonly ((text: string) => string)[] = [
      (text) => text,
      (text) => text.toLowerCase(),
      encodeURIComponent,
      (text) => text.slice(0, 6),
      (text) => `${encodeURIComponent(text).slice(0, 5)}…`,
    ]
    const piece = fc.tuple(value, fc.constantFrom(...spellings), fc.boolean(), fc.nat({ max: 5 }))
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 5 }),
        fc.array(piece, { maxLength: 5 }),
        (values, pieces) => {
          const text = pieces
            .map(([other, spell, isOwn, at]) => spell(isOwn ? (values[at % values.length] as string) : other))
            .join('|')
          expect(makeScrubOfTexts(values)(text)).toBe(makeScrub(['payload'], values, {})(text))
        },
      ),
      { numRuns: 500 },
    )
  })

  test.each([
    ['expression', 'payload.user.email', 'payload.user.email'],
    ['expression', "'u:' + payload.user.email.lower()", 'payload.user.email'],
    ['expression', 'payload.user', 'payload.user'],
    ['expression', "coalesce(payload.id, header['X-User'])", "header['X-User']"],
    ['expression', 'payload.users.map(u, u.email)', 'payload.users'],
    ['template', 'users.{{ payload.user.email }}.changed', 'payload.user.email'],
    ['expression', 'hash(payload.user.email)', null],
    ['expression', "payload.user.email == 'x' ? 'a' : 'b'", null],
    ['expression', 'has(payload.user.email)', null],
    ['expression', 'size(payload.users)', null],
    ['template', 'users.{{ hash(payload.user.email) }}.{{ payload.user.id }}', null],
    ['template', 'users.changed', null],
  ] as const)('[SE4] the %s %s reads %s in clear', (as, text, read) => {
    const sensitive = ['payload.user.email', 'payload.users[*].email', 'header.x-user'].map(pathOf)
    expect(findClearRead(text, as, sensitive)?.read ?? null).toBe(read)
  })
})

describe('encrypted text', () => {
  test('[SE5] is recognized by its first characters, and names its key to readers that cannot decrypt it', () => {
    expect(isEncrypted('{"mrs1.":1}')).toBe(false)
    expect(isEncrypted('mrs1.ab12.WyJh.AAAA')).toBe(true)
    expect(splitEncrypted('mrs1.ab12.WyJh.AAAA')).toEqual({ keyId: 'ab12', paths: 'WyJh', sealed: 'AAAA' })
    expect(splitEncrypted('mrs1.ab12')).toBeNull()
    expect(encryptedProblem('mrs1.ab12.WyJh.AAAA')).toContain('the master key ab12')
    expect(encryptedProblem('mrs1.<b>.x.y')).not.toContain('<b>')
  })
})

describe('classified fields', () => {
  const paths = sensitivePathsOf({
    sensitive: ['payload.note'],
    classification: { 'payload.a': 'public', 'payload.b': 'confidential', 'payload.c': 'restricted' },
  })

  test('[SE18] what is confidential or restricted is sensitive', () => {
    expect(paths).toEqual(['payload.note', 'payload.b', 'restricted:payload.c'])
    expect(sensitivePathsOf({ classification: { 'payload.a': 'internal' } })).toBeUndefined()
    expect(redact({ a: 1, b: 2, c: 3, note: 4 }, paths ?? [])).toEqual({
      a: 1,
      b: '[hidden]',
      c: '[hidden]',
      note: '[hidden]',
    })
  })

  test.each([
    [false, false, paths],
    [true, false, ['restricted:payload.c']],
    [true, true, []],
  ])('[SE19] who sees sensitive (%s) and restricted (%s) values', (seesSensitive, seesRestricted, hidden) => {
    expect(hiddenFrom(paths ?? [], { seesSensitive, seesRestricted })).toEqual(hidden)
  })

  test('[SE19] what comes of it is restricted as a whole, and `send` sends the rest', () => {
    expect(inheritSensitive(paths ?? [], true)).toEqual(paths)
    expect(inheritSensitive(paths ?? [], false)).toEqual(['restricted:payload'])
    expect(hiddenFromEndpoint(paths ?? [], 'send')).toEqual(['restricted:payload.c'])
    expect(hiddenFromEndpoint(paths ?? [], undefined)).toEqual(paths)
  })

  test('[SE21] a path that cannot be read hides the whole payload, as a former node does with the mark', () => {
    expect(redact({ a: 1 }, ['secret!payload.c'])).toBe('[hidden]')
  })
})
