// Requests to an authorization server (RFC 6749, RFC 7636, RFC 7523), and the address where users grant access.

import { createHash } from 'node:crypto'
import type { CredentialDocument, ProviderDocument } from '../../definitions/documents/index.ts'
import { withoutTrailingSlashes } from '../../foundation/text/index.ts'

export interface TokenRequest {
  readonly method: 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Values to redact everywhere. */
  readonly secrets: readonly string[]
}

export interface Client {
  readonly tokenUrl: string
  readonly clientAuth: 'basic' | 'body'
  readonly clientId: string
  readonly clientSecret: string
}

export type Grant =
  | {
      readonly grant: 'clientCredentials'
      readonly scopes: readonly string[]
      readonly audience: string | null
    }
  | {
      readonly grant: 'authorizationCode'
      readonly code: string
      readonly verifier: string
      readonly callback: string
    }
  | { readonly grant: 'refresh'; readonly refreshToken: string }

export function tokenRequest(client: Client, grant: Grant): TokenRequest {
  const fields = new Map<string, string>(fieldsOf(grant))
  const headers: Record<string, string> = { ...FORM }
  const secrets = [client.clientSecret]
  if (client.clientAuth === 'basic') {
    const pair = Buffer.from(`${formText(client.clientId)}:${formText(client.clientSecret)}`).toString(
      'base64',
    )
    headers.authorization = `Basic ${pair}`
    secrets.push(pair)
  } else {
    fields.set('client_id', client.clientId)
    fields.set('client_secret', client.clientSecret)
  }
  if (grant.grant === 'authorizationCode') secrets.push(grant.code, grant.verifier)
  if (grant.grant === 'refresh') secrets.push(grant.refreshToken)
  return { method: 'POST', url: client.tokenUrl, headers, body: formOf(fields), secrets }
}

export function assertionRequest(tokenUrl: string, assertion: string): TokenRequest {
  const fields = new Map([
    ['grant_type', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    ['assertion', assertion],
  ])
  return { method: 'POST', url: tokenUrl, headers: FORM, body: formOf(fields), secrets: [assertion] }
}

/** A token of an app's installation. */
export function installationRequest(baseUrl: string, installationId: string, jwt: string): TokenRequest {
  return {
    method: 'POST',
    url: `${withoutTrailingSlashes(baseUrl)}/app/installations/${encodeURIComponent(installationId)}/access_tokens`,
    headers: {
      accept: 'application/vnd.github+json',
      'content-type': 'application/json',
      authorization: `Bearer ${jwt}`,
    },
    body: '{}',
    secrets: [jwt],
  }
}

/** From unguessable random bytes: 43 characters. */
export function verifierOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}

export const VERIFIER_BYTES = 32
export const STATE_BYTES = 24

/** The address where a user grants access. */
export function authorizeAddress(
  oauth2: NonNullable<ProviderDocument['oauth2']>,
  asked: {
    /** Rendered. */
    readonly authorizeUrl: string
    readonly credential: NonNullable<CredentialDocument['oauth2']>
    readonly callback: string
    readonly state: string
    readonly verifier: string
  },
): string {
  const { credential, callback, state, verifier } = asked
  const scopes = credential.scopes ?? oauth2.scopes
  const url = new URL(asked.authorizeUrl)
  const fields: Readonly<Record<string, string>> = {
    ...oauth2.parameters,
    response_type: 'code',
    client_id: credential.clientId,
    redirect_uri: callback,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    ...(credential.audience === null ? {} : { audience: credential.audience }),
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value)
  return url.toString()
}

const FORM = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' } as const

function fieldsOf(grant: Grant): readonly (readonly [string, string])[] {
  switch (grant.grant) {
    case 'clientCredentials':
      return [
        ['grant_type', 'client_credentials'],
        ...(grant.scopes.length === 0 ? [] : ([['scope', grant.scopes.join(' ')]] as const)),
        ...(grant.audience === null ? [] : ([['audience', grant.audience]] as const)),
      ]
    case 'authorizationCode':
      return [
        ['grant_type', 'authorization_code'],
        ['code', grant.code],
        ['redirect_uri', grant.callback],
        ['code_verifier', grant.verifier],
      ]
    case 'refresh':
      return [
        ['grant_type', 'refresh_token'],
        ['refresh_token', grant.refreshToken],
      ]
  }
}

function formOf(fields: ReadonlyMap<string, string>): string {
  return new URLSearchParams([...fields]).toString()
}

/** RFC 6749, 2.3.1: both halves are form-encoded. */
function formText(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}
