// The vendor on the loopback that other tests trust: it behaves as described.

import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { makeVendor, type VendorApi, type VendorOptions } from './support/vendor-api/index.ts'
import { LIMIT_DIALECTS } from './support/vendor-api/limits.ts'

const open: VendorApi[] = []
afterEach(async () => {
  for (const vendor of open.splice(0)) await vendor[Symbol.asyncDispose]()
})

async function make(options: VendorOptions = {}): Promise<VendorApi> {
  const vendor = await makeVendor(options)
  open.push(vendor)
  return vendor
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const form = (fields: Record<string, string>) => ({ method: 'POST', body: new URLSearchParams(fields) })

describe('a vendor on the loopback', () => {
  test('accepts only valid tokens, and says so to expired and revoked ones', async () => {
    let now = 1_000
    const vendor = await make({ tokens: ['a', 'b'], now: () => now })
    vendor.tokens.accept('c', 2_000)
    const statusOf = async (token: string) => (await fetch(vendor.url, bearer(token))).status
    expect(await Promise.all(['a', 'b', 'c', 'd'].map(statusOf))).toEqual([200, 200, 200, 401])
    vendor.tokens.revoke('a')
    vendor.tokens.expire('b')
    now = 2_000
    expect(await Promise.all(['a', 'b', 'c'].map(statusOf))).toEqual([401, 401, 401])
    expect(vendor.tokens.get('a')?.uses).toBe(2)
    expect(vendor.calls.map(({ token, isEffect }) => [token, isEffect])).toContainEqual(['d', false])
  })

  test('remembers keys, and counts its effects', async () => {
    const vendor = await make({ keyHeader: 'idempotency-key' })
    const post = (key: string) => fetch(vendor.url, { method: 'POST', headers: { 'idempotency-key': key } })
    const first = await (await post('k')).json()
    expect(await (await post('k')).json()).toEqual(first)
    await post('l')
    expect([...vendor.effects()]).toEqual([
      ['k', 1],
      ['l', 1],
    ])
  })

  test.each(LIMIT_DIALECTS)('limits in the format of %s, until its window is over', async (dialect) => {
    let now = 10_000
    const vendor = await make({ limit: { limit: 1, windowMs: 5_000, dialect }, now: () => now })
    expect((await fetch(vendor.url)).status).toBe(200)
    const over = await fetch(vendor.url)
    expect(over.status).toBe(dialect === 'github' ? 403 : 429)
    expect(over.headers.get('retry-after')).toBe(dialect === 'github' ? null : '5')
    if (dialect === 'github') expect(over.headers.get('x-ratelimit-reset')).toBe('15')
    if (dialect === 'ietf') expect(over.headers.get('ratelimit')).toBe('"default";r=0;t=5')
    now = 15_000
    expect((await fetch(vendor.url)).status).toBe(200)
  })

  test('is away, silent or wrong on request, and works again', async () => {
    const vendor = await make()
    const post = () => fetch(vendor.url, { method: 'POST', signal: AbortSignal.timeout(500) })
    vendor.outage(503, { calls: 1 })
    expect((await post()).status).toBe(503)
    for (const outage of ['reset-before', 'hang-before', 'reset', 'hang'] as const) {
      vendor.outage(outage, { calls: 1 })
      await expect(post()).rejects.toThrow()
    }
    expect(vendor.calls.map(({ isEffect }) => isEffect)).toEqual([false, false, false, true, true])
    for (const outage of ['wrong-json', 'html', 'cut'] as const) {
      vendor.outage(outage, { calls: 1 })
      await expect(post().then((answer) => answer.json())).rejects.toThrow()
    }
    await vendor.down()
    await expect(post()).rejects.toThrow()
    await vendor.up()
    expect((await post()).status).toBe(201)
  })

  test('responds by route, holds responses back, and records calls', async () => {
    const vendor = await make({
      answers: { 'GET /repos/:owner/:repo': ({ parts }) => ({ status: 200, body: parts }) },
    })
    expect(await (await fetch(`${vendor.url}/repos/a%2Fb/c?x=1`)).json()).toEqual({ owner: 'a/b', repo: 'c' })
    expect((await fetch(`${vendor.url}/other`)).status).toBe(404)
    expect(vendor.callsOf('GET /repos/:owner/:repo')).toHaveLength(1)
    vendor.answer('POST /x', { status: 202 })
    vendor.hold()
    const pending = fetch(`${vendor.url}/x`, { method: 'POST' })
    await vendor.seen(3)
    expect(vendor.held()).toBe(1)
    vendor.release()
    expect((await pending).status).toBe(202)
  })
})

describe('its token endpoint', () => {
  const oauth = { clientId: 'id', clientSecret: 'secret' }
  const client = { client_id: 'id', client_secret: 'secret' }

  test('gives tokens to clients, with both authentication methods', async () => {
    const vendor = await make({ oauth })
    const ask = (init: RequestInit) => fetch(`${vendor.url}/oauth/token`, init)
    const granted = await ask(form({ grant_type: 'client_credentials', ...client }))
    const { access_token } = (await granted.json()) as { access_token: string }
    expect((await fetch(vendor.url, bearer(access_token))).status).toBe(200)
    const basic = { authorization: `Basic ${btoa('id:secret')}` }
    expect((await ask({ ...form({ grant_type: 'client_credentials' }), headers: basic })).status).toBe(200)
    expect((await ask(form({ grant_type: 'client_credentials' }))).status).toBe(401)
  })

  test('accepts a code with its verifier once, and a refresh token once', async () => {
    const vendor = await make({ oauth })
    const verifier = 'v'.repeat(43)
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const query = new URLSearchParams({
      client_id: 'id',
      redirect_uri: 'http://localhost/cb',
      state: 's',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const sent = await fetch(`${vendor.url}/oauth/authorize?${query}`, { redirect: 'manual' })
    const back = new URL(sent.headers.get('location') ?? '')
    expect(back.searchParams.get('state')).toBe('s')
    const ask = async (fields: Record<string, string>) => {
      const answer = await fetch(`${vendor.url}/oauth/token`, form({ ...client, ...fields }))
      return (await answer.json()) as Record<string, string>
    }
    const exchange = {
      grant_type: 'authorization_code',
      code: back.searchParams.get('code') ?? '',
      redirect_uri: 'http://localhost/cb',
      code_verifier: verifier,
    }
    const first = await ask(exchange)
    expect(await ask(exchange)).toEqual({ error: 'invalid_grant' })
    const refresh = (token = '') => ask({ grant_type: 'refresh_token', refresh_token: token })
    const second = await refresh(first.refresh_token)
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(await refresh(first.refresh_token)).toEqual({ error: 'invalid_grant' })
    // A second use ends the family: the holder of the newest token has nothing either.
    expect(await refresh(second.refresh_token)).toEqual({ error: 'invalid_grant' })
    expect(vendor.oauth?.grants.map(({ grant }) => grant)).toEqual(['authorization_code', 'refresh_token'])
  })

  test('accepts only what is signed with the known key', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const vendor = await make({ oauth: { ...oauth, publicKey: pem } })
    const text = `${btoa('{"alg":"RS256"}')}.${btoa('{}')}`
    const jwt = `${text}.${sign('RSA-SHA256', Buffer.from(text), privateKey).toString('base64url')}`
    const app = `${vendor.url}/app/installations/7/access_tokens`
    expect((await fetch(app, { method: 'POST', ...bearer(jwt) })).status).toBe(201)
    expect((await fetch(app, { method: 'POST', ...bearer(`${text}.x`) })).status).toBe(401)
    const assertion = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: jwt }
    expect((await fetch(`${vendor.url}/oauth/token`, form(assertion))).status).toBe(200)
  })
})
