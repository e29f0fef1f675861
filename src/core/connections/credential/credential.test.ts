import { createHash, createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AuthModel } from '../../definitions/documents/index.ts'
import { MINUTE, SECOND } from '../../foundation/time/index.ts'
import {
  applyHmac,
  applyValue,
  type CredentialEvent,
  type CredentialState,
  causeOfRefusal,
  decideRefusal,
  NEW_CREDENTIAL,
  nextRotationAt,
  type Rotation,
  rotationToken,
  saysScopeMissing,
  stepCredential,
  VERSIONS_MAX,
} from './index.ts'

const AT = 1_700_000_000_000
const ROTATION: Rotation = {
  token: 't1',
  reason: 'request',
  note: null,
  by: 'ada',
  begunAt: AT,
  workId: 'wrk_1' as Rotation['workId'],
  from: 1,
}
const of = (version: number) => ({ version, fingerprint: `f${version}` })

function following(...events: readonly CredentialEvent[]): CredentialState {
  return events.reduce((state, event) => stepCredential(state, event) ?? state, NEW_CREDENTIAL)
}

const FOUND: CredentialEvent = { type: 'found', at: AT, current: of(1), by: 'vault' }
const BEGUN: CredentialEvent = { type: 'begun', at: AT + 1, rotation: ROTATION }
const SUPPLIED: CredentialEvent = { type: 'supplied', at: AT + 2, pending: of(2), by: 'ada' }
const PROMOTED: CredentialEvent = { type: 'promoted', at: AT + 3, token: 't1', current: of(2), by: 'ada' }
const FAILED: CredentialEvent = { type: 'failed', at: AT + 3, token: 't1', error: 'answered 401', pending: 2 }

describe('the state of a credential', () => {
  test('[CD19] the lock holder says which token is stored, and no other node can set it back', () => {
    const locked = following(
      { type: 'tokened', at: AT, version: 5, expiresAt: null },
      { type: 'locked', at: AT, by: 'one', until: AT + SECOND },
    )
    const tokened = { type: 'tokened', at: AT, version: 1, expiresAt: null } as const
    expect(stepCredential(locked, { ...tokened, by: 'one' })).toMatchObject({
      token: { version: 1 },
      refresh: null,
    })
    expect(stepCredential(locked, { ...tokened, by: 'two' })).toBeNull()
    expect(stepCredential(locked, { ...tokened, version: 6, by: 'two' })?.refresh?.by).toBe('one')
  })

  test('[CD1] a rotation puts the new version in use, and the prior one stays in use until then', () => {
    expect(NEW_CREDENTIAL.status).toBe('missing')
    expect(following(FOUND)).toMatchObject({ status: 'active', current: { version: 1, state: 'active' } })
    const rotating = following(FOUND, BEGUN, SUPPLIED)
    expect(rotating).toMatchObject({ status: 'rotating', current: { version: 1 } })
    expect(rotating.versions.map(({ version, state }) => [version, state])).toEqual([
      [2, 'pending'],
      [1, 'active'],
    ])
    const done = following(FOUND, BEGUN, SUPPLIED, PROMOTED)
    expect(done).toMatchObject({ status: 'active', rotation: null, lastRotatedAt: AT + 3, refused: null })
    expect(done.current).toMatchObject({ version: 2, by: 'ada', state: 'active' })
    expect(done.versions.map(({ version, state }) => [version, state])).toEqual([
      [2, 'active'],
      [1, 'former'],
    ])
  })

  test('[CD1] a failed rotation keeps the prior version and names the refused one', () => {
    const failed = following(FOUND, BEGUN, SUPPLIED, FAILED)
    expect(failed).toMatchObject({
      status: 'active',
      rotation: null,
      current: { version: 1 },
      lastFailure: { token: 't1', version: 1, error: 'answered 401' },
    })
    expect(failed.versions.find(({ version }) => version === 2)?.state).toBe('refused')
    expect(following(BEGUN, FAILED)).toMatchObject({ status: 'missing', current: null })
  })

  test('[CD2] an event of a different rotation changes nothing', () => {
    const other = { token: 't2' }
    expect(
      stepCredential(following(FOUND, BEGUN), { ...BEGUN, rotation: { ...ROTATION, ...other } }),
    ).toBeNull()
    expect(stepCredential(following(FOUND, BEGUN), { ...PROMOTED, ...other })).toBeNull()
    expect(stepCredential(following(FOUND, BEGUN), { ...FAILED, ...other })).toBeNull()
    expect(stepCredential(following(FOUND), PROMOTED)).toBeNull()
    expect(stepCredential(following(FOUND, BEGUN, SUPPLIED, PROMOTED), PROMOTED)).toBeNull()
    expect(rotationToken('crm', 1, 'x')).toBe(rotationToken('crm', 1, 'x'))
    const others = [
      rotationToken('crm', 2, 'x'),
      rotationToken('crm', null, 'x'),
      rotationToken('crn', 1, 'x'),
    ]
    expect(new Set([rotationToken('crm', 1, 'x'), ...others])).toHaveLength(4)
  })

  test('it waits for a user, and continues', () => {
    const waiting = following(FOUND, BEGUN, { type: 'waited', at: AT, token: 't1' })
    expect(waiting.status).toBe('waiting')
    expect(stepCredential(waiting, { type: 'waited', at: AT, token: 't1' })).toBeNull()
    expect(stepCredential(waiting, { type: 'resumed', at: AT, token: 't1' })?.status).toBe('rotating')
    expect(stepCredential(waiting, { type: 'resumed', at: AT, token: 't2' })).toBeNull()
  })

  test('the vault may lose its value, and get a new one', () => {
    const lost = following(FOUND, { type: 'found', at: AT, current: null, by: 'vault' })
    expect(lost).toMatchObject({ status: 'missing', current: null })
    expect(lost.versions.map(({ state }) => state)).toEqual(['former'])
    expect(stepCredential(following(FOUND), FOUND)).toBeNull()
    expect(following(FOUND, { ...FOUND, current: of(3) })).toMatchObject({ current: { version: 3 } })
  })

  test('[CD4] no other node takes the refresh lock before it expires', () => {
    const lock = (by: string, at: number) => ({ type: 'locked', at, by, until: at + 10 }) as const
    const locked = following(FOUND, lock('a', AT))
    expect(stepCredential(locked, lock('b', AT + 9))).toBeNull()
    expect(stepCredential(locked, lock('b', AT + 10))?.refresh).toEqual({ by: 'b', until: AT + 20 })
    expect(stepCredential(locked, { type: 'unlocked', at: AT, by: 'b' })).toBeNull()
    expect(stepCredential(locked, { type: 'unlocked', at: AT, by: 'a' })?.refresh).toBeNull()
    const token = { type: 'tokened', at: AT + 5, version: 4, expiresAt: AT + 1_000 } as const
    expect(stepCredential(locked, token)).toMatchObject({
      refresh: null,
      token: { version: 4, expiresAt: AT + 1_000, since: AT + 5 },
    })
    expect(stepCredential(following(token), { ...token, version: 3 })).toBeNull()
    const refused = { type: 'tokenRefused', at: AT + 7, version: 4 } as const
    expect(stepCredential(following(token), refused)?.token?.expiresAt).toBe(AT + 7)
    expect(stepCredential(following(token, refused), refused)).toBeNull()
    expect(stepCredential(following(token), { ...refused, version: 3 })).toBeNull()
  })
})

const at = fc.integer({ min: AT, max: AT + 100 })
const version = fc.integer({ min: 1, max: 4 })
const token = fc.constantFrom('t1', 't2')
const by = fc.constantFrom('a', 'b')
const happening: fc.Arbitrary<CredentialEvent> = fc.oneof(
  fc.record({ type: fc.constant('found' as const), at, current: fc.option(version.map(of)), by }),
  fc.record({ type: fc.constant('supplied' as const), at, pending: version.map(of), by }),
  fc.record({
    type: fc.constant('begun' as const),
    at,
    rotation: token.map((one) => ({ ...ROTATION, token: one })),
  }),
  fc.record({ type: fc.constant('waited' as const), at, token }),
  fc.record({ type: fc.constant('resumed' as const), at, token }),
  fc.record({ type: fc.constant('promoted' as const), at, token, current: version.map(of), by }),
  fc.record({
    type: fc.constant('failed' as const),
    at,
    token,
    error: fc.string(),
    pending: fc.option(version),
  }),
  fc.record({ type: fc.constant('refused' as const), at, version }),
  fc.record({ type: fc.constant('tokenRefused' as const), at, version }),
  fc.record({ type: fc.constant('locked' as const), at, by, until: at }),
  fc.record({ type: fc.constant('unlocked' as const), at, by }),
  fc.record({ type: fc.constant('tokened' as const), at, version, expiresAt: fc.option(at) }),
)

test('[CD1] [CD2] after any events, one version is in use and at most one rotation is under way', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 40 }), (events) => {
      let state = NEW_CREDENTIAL
      for (const event of events) {
        const next = stepCredential(state, event)
        if (next === null) continue
        if (next.current?.version !== state.current?.version)
          expect(['found', 'promoted']).toContain(event.type)
        if (next.rotation?.token !== state.rotation?.token)
          expect(state.rotation === null || next.rotation === null).toBe(true)
        const active = next.versions.filter((one) => one.state === 'active')
        expect(active).toHaveLength(next.current === null ? 0 : 1)
        expect(next.versions.length).toBeLessThanOrEqual(VERSIONS_MAX)
        expect(next.status === 'rotating' || next.status === 'waiting').toBe(next.rotation !== null)
        if (next.rotation === null) expect(next.status === 'missing').toBe(next.current === null)
        state = next
      }
    }),
  )
})

describe('a refusal', () => {
  const question = (known: Partial<Parameters<typeof decideRefusal>[0]> = {}) =>
    decideRefusal({
      state: following(FOUND),
      policy: { coolDownMs: 10 * MINUTE },
      version: 1,
      isDerived: false,
      canRotate: true,
      lacksScope: false,
      now: AT + MINUTE,
      ...known,
    })

  test('[CD3] of the version in use starts one rotation; of an earlier one, the call is repeated', () => {
    expect(question()).toEqual({ do: 'rotate' })
    expect(question({ version: null })).toEqual({ do: 'rotate' })
    expect(question({ state: following(FOUND, BEGUN) })).toEqual({ do: 'wait' })
    expect(question({ state: following(FOUND, BEGUN, SUPPLIED, PROMOTED) })).toEqual({ do: 'again' })
    // A version that was set meanwhile: the rotation examines it, and calls do not repeat endlessly.
    expect(question({ state: following(FOUND, BEGUN), version: 2 })).toEqual({ do: 'wait' })
    expect(question({ canRotate: false })).toEqual({ do: 'dead', code: 'credential_refused' })
  })

  test('[CD3] within the cool-down after a rotation starts none, whatever the result was', () => {
    const dead = { do: 'dead', code: 'rotation_cool_down' }
    const failed = following(FOUND, BEGUN, SUPPLIED, FAILED)
    const rotated = following(FOUND, BEGUN, SUPPLIED, PROMOTED)
    expect(question({ state: failed })).toEqual(dead)
    expect(question({ state: failed, now: AT + 10 * MINUTE + 2 })).toEqual(dead)
    expect(question({ state: failed, now: AT + 10 * MINUTE + 3 })).toEqual({ do: 'rotate' })
    expect(question({ state: rotated, version: 2 })).toEqual(dead)
    expect(causeOfRefusal(failed)).not.toBe(causeOfRefusal(following(FOUND)))
  })

  test('[CD3] for a missing scope starts none', () => {
    expect(question({ lacksScope: true })).toEqual({ do: 'dead', code: 'credential_scope_missing' })
    for (const text of [
      'answered 403, saying: insufficient_scope',
      'missing_scope',
      'Resource not accessible by integration',
    ])
      expect(saysScopeMissing(text)).toBe(true)
    for (const text of ['answered 401', 'answered 403', 'token expired'])
      expect(saysScopeMissing(text)).toBe(false)
  })

  test('[CD4] of a token gets a new token; of a new token it concerns the secret', () => {
    const tokened = following(FOUND, { type: 'tokened', at: AT, version: 7, expiresAt: AT + 60 * MINUTE })
    const derived = { isDerived: true, state: tokened }
    expect(question({ ...derived, version: 7, now: AT + MINUTE })).toEqual({ do: 'refresh' })
    expect(question({ ...derived, version: 7, now: AT + MINUTE - 1 })).toEqual({ do: 'rotate' })
    expect(question({ ...derived, version: 6 })).toEqual({ do: 'again' })
  })
})

test('[CD10] when the policy requires a new secret', () => {
  const policy = (everyMs: number | null) => ({ everyMs, coolDownMs: 10 * MINUTE })
  const DAY = 24 * 60 * MINUTE
  expect(nextRotationAt(following(FOUND), policy(null))).toBeNull()
  expect(nextRotationAt(NEW_CREDENTIAL, policy(DAY))).toBeNull()
  expect(nextRotationAt(following(FOUND), policy(DAY))).toBe(AT + DAY)
  expect(nextRotationAt(following(FOUND, BEGUN, SUPPLIED, PROMOTED), policy(DAY))).toBe(AT + 3 + DAY)
  const failed = following(FOUND, BEGUN, SUPPLIED, FAILED)
  expect(nextRotationAt({ ...failed, lastRotatedAt: 1 }, policy(90 * DAY))).toBe(AT + 90 * DAY)
  const late = { ...failed, lastFailure: { at: AT + 95 * DAY, token: 't1', version: 1, error: '' } }
  expect(nextRotationAt(late, policy(90 * DAY))).toBe(AT + 96 * DAY)
  expect(nextRotationAt(late, policy(60 * SECOND))).toBe(AT + 95 * DAY + 60 * SECOND)
})

describe('into a request', () => {
  const by = (
    header: string | null,
    prefix = '',
    query: string | null = null,
    auth: readonly AuthModel[] = [],
  ) => ({ auth, authentication: { header, prefix, query } })

  test.each([
    [by('private-token'), 'apiKey', { 'private-token': 'v' }, {}],
    [by('authorization', 'Key '), 'apiKey', { authorization: 'Key v' }, {}],
    [by(null), 'apiKey', { 'x-api-key': 'v' }, {}],
    [by(null, '', 'sig'), 'apiKey', {}, { sig: 'v' }],
    [by(null), 'bearer', { authorization: 'Bearer v' }, {}],
    [by(null, 'token '), 'bearer', { authorization: 'token v' }, {}],
    [by('x-token'), 'bearer', { 'x-token': 'v' }, {}],
    [by('private-token', '', null, ['bearer', 'apiKey']), 'bearer', { authorization: 'Bearer v' }, {}],
    [by('private-token', '', null, ['bearer', 'apiKey']), 'apiKey', { 'private-token': 'v' }, {}],
    [by(null, '', 'key', ['apiKey', 'bearer']), 'bearer', { authorization: 'Bearer v' }, {}],
    [by(null), 'basic', { authorization: 'Basic YWRhOnY=' }, {}],
    [by(null), 'none', {}, {}],
  ] as const)('[CD5] %j sends %s as %j %j', (provider, auth, headers, query) => {
    const applied = applyValue(provider, { auth, username: 'ada' }, 'v')
    expect([applied.headers, applied.query]).toEqual([headers, query])
    expect(applied.secrets).toEqual(auth === 'none' ? [] : auth === 'basic' ? ['v', 'YWRhOnY='] : ['v'])
  })

  test('[CD5] hmac signs method, target, body and time', () => {
    const request = { method: 'post', url: 'https://a.example/x/y?b=2&a=1', body: '{"n":1}' }
    const applied = applyHmac(by('x-sig', 'v1='), 'sha256', 'key', request, AT + 999)
    const digest = createHash('sha256').update('{"n":1}').digest('hex')
    const text = `POST\n/x/y?b=2&a=1\n${digest}\n1700000000`
    const signature = createHmac('sha256', 'key').update(text).digest('hex')
    expect(applied.headers).toEqual({ 'x-sig': `v1=${signature}`, 'x-timestamp': '1700000000' })
    expect(applied.secrets).toEqual(['key', signature])
    const empty = applyHmac(by(null), 'sha512', 'key', { ...request, body: null }, AT)
    expect(empty.headers['x-signature']).toHaveLength(128)
  })
})
