import { createHash, generateKeyPairSync, verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../foundation/time/index.ts'
import {
  ageOf,
  assertionRequest,
  authorizeAddress,
  githubAppJwt,
  installationRequest,
  KeyError,
  parseServiceAccountKey,
  readTokenAnswer,
  serviceAccountAssertion,
  tokenRequest,
  verifierOf,
} from './index.ts'

const AT = 1_700_000_000_500
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const PEM = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string

function open(jwt: string): { header: unknown; claims: unknown } {
  const [header = '', claims = '', signature = ''] = jwt.split('.')
  expect(
    verify('sha256', Buffer.from(`${header}.${claims}`), publicKey, Buffer.from(signature, 'base64url')),
  ).toBe(true)
  const read = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  return { header: read(header), claims: read(claims) }
}

describe('signed claims', () => {
  test('[CD6] of an app of GitHub', () => {
    expect(open(githubAppJwt(PEM, '4711', AT))).toEqual({
      header: { alg: 'RS256', typ: 'JWT' },
      claims: { iss: '4711', iat: 1_699_999_940, exp: 1_700_000_540 },
    })
    const request = installationRequest('https://ghe.example/api/v3/', '12/3', 'j.w.t')
    expect(request.url).toBe('https://ghe.example/api/v3/app/installations/12%2F3/access_tokens')
    expect(request.headers.authorization).toBe('Bearer j.w.t')
  })

  test('[CD6] of a service account', () => {
    const file = {
      client_email: 'a@b',
      private_key: PEM,
      token_uri: 'https://t.example',
      private_key_id: 'k1',
    }
    const key = parseServiceAccountKey(JSON.stringify(file))
    const asked = { scopes: ['a', 'b'], subject: 'ada@b', audience: key.tokenUrl }
    expect(open(serviceAccountAssertion(key, asked, AT))).toEqual({
      header: { alg: 'RS256', typ: 'JWT', kid: 'k1' },
      claims: {
        iss: 'a@b',
        scope: 'a b',
        aud: 'https://t.example',
        iat: 1_700_000_000,
        exp: 1_700_003_600,
        sub: 'ada@b',
      },
    })
    expect(assertionRequest(key.tokenUrl, 'x').body).toBe(
      'grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=x',
    )
  })

  test('[CD6] an invalid key is refused without quoting it', () => {
    const secret = 'hunter2-that-nobody-may-see'
    const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      format: 'pem',
      type: 'pkcs8',
    }) as string
    for (const attempt of [
      () => githubAppJwt(secret, '1', AT),
      () => githubAppJwt(elliptic, '1', AT),
      () => parseServiceAccountKey(secret),
      () => parseServiceAccountKey(JSON.stringify({ private_key: secret })),
      () => parseServiceAccountKey('null'),
    ]) {
      const error = (() => {
        try {
          attempt()
        } catch (thrown) {
          return thrown
        }
      })()
      expect(error).toBeInstanceOf(KeyError)
      expect(String(error)).not.toContain(secret)
    }
  })
})

describe('requests', () => {
  const client = {
    tokenUrl: 'https://t.example/token',
    clientAuth: 'basic',
    clientId: 'me:1',
    clientSecret: 's p',
  } as const

  test('[CD7] client credentials, as basic and in the body', () => {
    const grant = { grant: 'clientCredentials', scopes: ['a', 'b'], audience: 'api' } as const
    const basic = tokenRequest(client, grant)
    expect(basic.body).toBe('grant_type=client_credentials&scope=a+b&audience=api')
    const pair = Buffer.from('me%3A1:s+p').toString('base64')
    expect(basic.headers.authorization).toBe(`Basic ${pair}`)
    expect(basic.secrets).toEqual(['s p', pair])
    const inBody = tokenRequest({ ...client, clientAuth: 'body' }, { ...grant, scopes: [], audience: null })
    expect(inBody.body).toBe('grant_type=client_credentials&client_id=me%3A1&client_secret=s+p')
    expect(inBody.headers.authorization).toBeUndefined()
  })

  test('[CD7] a code with its verifier, and a refresh', () => {
    const code = {
      grant: 'authorizationCode',
      code: 'c',
      verifier: 'v',
      callback: 'https://m.example/cb',
    } as const
    expect(tokenRequest(client, code).body).toBe(
      'grant_type=authorization_code&code=c&redirect_uri=https%3A%2F%2Fm.example%2Fcb&code_verifier=v',
    )
    const refresh = tokenRequest(client, { grant: 'refresh', refreshToken: 'r' })
    expect(refresh.body).toBe('grant_type=refresh_token&refresh_token=r')
    expect(refresh.secrets).toContain('r')
  })

  test('[CD7] the address that users are sent to', () => {
    const verifier = verifierOf(new Uint8Array(32).fill(7))
    expect(verifier).toMatch(/^[\w-]{43}$/)
    const url = new URL(
      authorizeAddress(
        {
          authorizeUrl: null,
          tokenUrl: '',
          scopes: ['read'],
          parameters: { prompt: 'consent', state: 'nobody else says it' },
          clientAuth: 'body',
        },
        {
          authorizeUrl: 'https://v.example/authorize?tenant=1',
          credential: { grant: 'authorizationCode', clientId: 'me', scopes: null, audience: null },
          callback: 'https://m.example/cb',
          state: 's1',
          verifier,
        },
      ),
    )
    expect(Object.fromEntries(url.searchParams)).toEqual({
      tenant: '1',
      prompt: 'consent',
      response_type: 'code',
      client_id: 'me',
      redirect_uri: 'https://m.example/cb',
      scope: 'read',
      state: 's1',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
  })
})

describe('responses', () => {
  const read = (status: number, body: unknown, isRefresh = false) =>
    readTokenAnswer({ status, body: typeof body === 'string' ? body : JSON.stringify(body) }, AT, isRefresh)

  test('[CD8] a token and its expiry', () => {
    expect(read(200, { access_token: 'a', expires_in: 3_600, refresh_token: 'r', scope: 'x y' })).toEqual({
      ok: true,
      token: { accessToken: 'a', expiresAt: AT + 3_600_000, refreshToken: 'r', scopes: ['x', 'y'] },
    })
    expect(read(201, { token: 'g', expires_at: '2024-01-01T00:00:00Z' })).toMatchObject({
      token: { accessToken: 'g', expiresAt: Date.UTC(2024, 0, 1), refreshToken: null, scopes: null },
    })
    expect(read(200, 'access_token=f&expires_in=60')).toMatchObject({
      token: { accessToken: 'f', expiresAt: AT + 60_000 },
    })
    expect(read(200, { access_token: 'a' })).toMatchObject({ token: { expiresAt: null } })
    expect(read(200, { access_token: 'a', expires_in: -1 })).toMatchObject({ token: { expiresAt: null } })
  })

  test.each([
    [400, { error: 'invalid_grant' }, true, 'auth', 'refresh_token_expired'],
    [400, { error: 'invalid_grant' }, false, 'auth', 'oauth_refused'],
    [200, { error: 'bad_refresh_token' }, true, 'auth', 'refresh_token_expired'],
    [401, { error: 'invalid_client' }, false, 'auth', 'oauth_refused'],
    [400, { error: 'invalid_scope' }, false, 'config', 'credential_scope_missing'],
    [400, { error: 'unsupported_grant_type' }, false, 'config', 'oauth_refused'],
    [400, { error: 'something_new' }, false, 'auth', 'oauth_refused'],
    [503, { error: 'temporarily_unavailable' }, false, 'transient', 'oauth_unavailable'],
    [503, 'gone', false, 'transient', 'oauth_unavailable'],
    [429, '', false, 'rate_limited', 'oauth_unavailable'],
    [401, '', false, 'auth', 'oauth_refused'],
    [404, '', false, 'config', 'oauth_refused'],
    [302, '', false, 'config', 'oauth_refused'],
    [200, '<html>', false, 'config', 'oauth_refused'],
    [200, 'null', false, 'config', 'oauth_refused'],
  ] as const)('[CD8] %d %j', (status, body, isRefresh, failureClass, code) => {
    expect(read(status, body, isRefresh)).toMatchObject({ ok: false, class: failureClass, code })
  })
})

test('[CD9] a token ages before it expires', () => {
  const hour = { since: AT, expiresAt: AT + 60 * MINUTE }
  expect(ageOf(hour, AT + 59 * MINUTE - 1)).toBe('fresh')
  expect(ageOf(hour, AT + 59 * MINUTE)).toBe('aging')
  expect(ageOf(hour, AT + 60 * MINUTE - 5 * SECOND - 1)).toBe('aging')
  expect(ageOf(hour, AT + 60 * MINUTE - 5 * SECOND)).toBe('over')
  const short = { since: AT, expiresAt: AT + 100 * SECOND }
  expect(ageOf(short, AT + 90 * SECOND - 1)).toBe('fresh')
  expect(ageOf(short, AT + 90 * SECOND)).toBe('aging')
  expect(ageOf({ since: AT, expiresAt: null }, AT + 1e12)).toBe('fresh')
  expect(ageOf({ since: AT, expiresAt: AT }, AT)).toBe('over')
})
