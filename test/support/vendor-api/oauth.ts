// A vendor's token endpoint: client credentials, authorization code with PKCE, rotating refresh tokens, signed
// assertions (service accounts) and installation tokens of an app. A refresh token that is used twice ends its whole
// family, as with vendors that rotate them: a double refresh is noticed.

import { createHash, createPublicKey, verify } from 'node:crypto'
import type { Tokens } from './tokens.ts'
import type { VendorCall, VendorReply } from './types.ts'

export interface OAuthOptions {
  readonly clientId: string
  readonly clientSecret: string
  /** Of access tokens; default an hour. */
  readonly accessTtlMs?: number
  /** false: a refresh token stays as it is. */
  readonly rotates?: boolean
  /** PEM of the key that assertions and apps sign with; without one they are refused. */
  readonly publicKey?: string
}

export interface OAuth {
  /** The response to the token request, or null if the path is not its own. */
  handle(call: VendorCall): VendorReply | null
  /** Grants that were given, in order. */
  readonly grants: readonly { readonly grant: string; readonly scope: string | null }[]
  /** From now on every refresh token is refused with `invalid_grant`. */
  endRefreshTokens(): void
}

interface Family {
  isOver: boolean
}

export function makeOAuth(options: OAuthOptions, tokens: Tokens, now: () => number): OAuth {
  const { accessTtlMs = 3_600_000, rotates = true } = options
  const grants: { grant: string; scope: string | null }[] = []
  const codes = new Map<string, { challenge: string | null; redirect: string; scope: string | null }>()
  const refreshTokens = new Map<string, { family: Family; isUsed: boolean; scope: string | null }>()
  let count = 0

  const issue = (grant: string, scope: string | null, family: Family | null): VendorReply => {
    grants.push({ grant, scope })
    const access = tokens.create('at_', now() + accessTtlMs)
    const body: Record<string, unknown> = {
      access_token: access,
      token_type: 'Bearer',
      expires_in: Math.floor(accessTtlMs / 1_000),
      ...(scope !== null && { scope }),
    }
    if (family !== null) {
      count += 1
      const refresh = `rt_${String(count).padStart(4, '0')}-planted-secret`
      refreshTokens.set(refresh, { family, isUsed: false, scope })
      body.refresh_token = refresh
    }
    return { status: 200, body }
  }

  const authorize = ({ query }: VendorCall): VendorReply => {
    const redirect = query.get('redirect_uri') ?? ''
    if (query.get('client_id') !== options.clientId || redirect === '')
      return { status: 400, body: { error: 'invalid_request' } }
    count += 1
    const code = `code_${count}`
    codes.set(code, { challenge: query.get('code_challenge'), redirect, scope: query.get('scope') })
    const back = new URL(redirect)
    back.searchParams.set('code', code)
    back.searchParams.set('state', query.get('state') ?? '')
    return { status: 302, headers: { location: back.href }, body: null }
  }

  const exchange = (form: URLSearchParams): VendorReply => {
    const code = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    if (code === undefined || code.redirect !== form.get('redirect_uri')) return refused('invalid_grant')
    if (code.challenge !== null && code.challenge !== challengeOf(form.get('code_verifier') ?? ''))
      return refused('invalid_grant')
    return issue('authorization_code', code.scope, { isOver: false })
  }

  const refresh = (form: URLSearchParams): VendorReply => {
    const value = form.get('refresh_token') ?? ''
    const found = refreshTokens.get(value)
    if (found === undefined || found.family.isOver) return refused('invalid_grant')
    if (found.isUsed) {
      found.family.isOver = true
      return refused('invalid_grant')
    }
    if (!rotates) return issue('refresh_token', found.scope, null)
    found.isUsed = true
    return issue('refresh_token', found.scope, found.family)
  }

  const isSigned = (jwt: string): boolean => {
    const [head, claims, signature] = jwt.split('.')
    if (options.publicKey === undefined || head === undefined || claims === undefined) return false
    const key = createPublicKey(options.publicKey)
    return verify(
      'RSA-SHA256',
      Buffer.from(`${head}.${claims}`),
      key,
      Buffer.from(signature ?? '', 'base64url'),
    )
  }

  return {
    grants,
    endRefreshTokens() {
      for (const { family } of refreshTokens.values()) family.isOver = true
    },
    handle(call) {
      if (call.method === 'GET' && call.path === '/oauth/authorize') return authorize(call)
      if (/^\/app\/installations\/[^/]+\/access_tokens$/.test(call.path)) {
        const jwt = /^Bearer (.+)$/.exec(call.headers.authorization ?? '')?.[1] ?? ''
        if (!isSigned(jwt)) return { status: 401, body: { message: 'A JSON web token could not be decoded' } }
        grants.push({ grant: 'installation', scope: null })
        const expiresAt = now() + accessTtlMs
        const token = tokens.create('ghs_', expiresAt)
        return { status: 201, body: { token, expires_at: new Date(expiresAt).toISOString() } }
      }
      if (call.method !== 'POST' || call.path !== '/oauth/token') return null
      const form = new URLSearchParams(call.body)
      if (form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer')
        return isSigned(form.get('assertion') ?? '')
          ? issue('assertion', form.get('scope'), null)
          : refused('invalid_grant')
      if (!isClient(call, form, options)) return { status: 401, body: { error: 'invalid_client' } }
      switch (form.get('grant_type')) {
        case 'client_credentials':
          return issue('client_credentials', form.get('scope'), null)
        case 'authorization_code':
          return exchange(form)
        case 'refresh_token':
          return refresh(form)
        default:
          return refused('unsupported_grant_type')
      }
    },
  }
}

function isClient(
  call: VendorCall,
  form: URLSearchParams,
  { clientId, clientSecret }: OAuthOptions,
): boolean {
  const basic = /^Basic (.+)$/.exec(call.headers.authorization ?? '')?.[1]
  if (basic === undefined)
    return form.get('client_id') === clientId && form.get('client_secret') === clientSecret
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString('utf8').split(':')
  return decodeURIComponent(id) === clientId && decodeURIComponent(secret) === clientSecret
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

function refused(error: string): VendorReply {
  return { status: 400, body: { error } }
}
