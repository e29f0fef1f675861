// The requests to a token address, and which address: by the kind of the credential.

import {
  assertionRequest,
  githubAppJwt,
  installationRequest,
  parseServiceAccountKey,
  serviceAccountAssertion,
  type TokenRequest,
  tokenRequest,
} from '../../../core/connections/oauth/index.ts'
import type { CredentialDocument, ProviderDocument } from '../../../core/definitions/documents/index.ts'
import { compileTemplate, ExpressionError } from '../../../core/expression/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { NoValue } from '../../secrets/index.ts'
import type { Value } from './credential-values.ts'

export interface TokenQuestion {
  readonly tenant: TenantId
  readonly provider: ProviderDocument
  readonly credential: CredentialDocument
  readonly config: Readonly<Record<string, unknown>>
  /** The connection's own address; null: as the provider says. */
  readonly base: string | null
  /** Of the secret. */
  readonly value: Value
}

/** `stored`: the token that is to be replaced; null: there is none. Throws KeyError, ExpressionError. */
export function renderRequest(
  question: TokenQuestion,
  stored: { readonly refreshToken: string | null } | null,
  now: Instant,
): TokenRequest | NoValue {
  const { provider, credential, config, value } = question
  const { oauth2, githubApp, serviceAccount } = credential
  if (githubApp !== null) {
    const base = question.base ?? renderAddress(provider.baseUrl, config)
    return installationRequest(
      base,
      githubApp.installationId,
      githubAppJwt(value.value, githubApp.appId, now),
    )
  }
  if (serviceAccount !== null) {
    const key = parseServiceAccountKey(value.value)
    const tokenUrl = provider.oauth2 === null ? key.tokenUrl : renderAddress(provider.oauth2.tokenUrl, config)
    const { scopes, subject } = serviceAccount
    return assertionRequest(
      tokenUrl,
      serviceAccountAssertion(key, { scopes, subject, audience: key.tokenUrl }, now),
    )
  }
  if (oauth2 === null || provider.oauth2 === null)
    throw new ExpressionError('missing', `the provider ${provider.name} has no token address`, 'oauth2')
  const client = {
    tokenUrl: renderAddress(provider.oauth2.tokenUrl, config),
    clientAuth: provider.oauth2.clientAuth,
    clientId: oauth2.clientId,
    clientSecret: value.value,
  }
  if (oauth2.grant === 'clientCredentials') {
    const scopes = oauth2.scopes ?? provider.oauth2.scopes
    return tokenRequest(client, { grant: 'clientCredentials', scopes, audience: oauth2.audience })
  }
  if (stored === null)
    return notAuthorized(credential.name, 'credential_missing_value', 'it has not been authorized yet')
  if (stored.refreshToken === null)
    return notAuthorized(
      credential.name,
      'refresh_token_expired',
      'its token is over and the vendor gave no refresh token',
    )
  return tokenRequest(client, { grant: 'refresh', refreshToken: stored.refreshToken })
}

function notAuthorized(name: string, code: string, why: string): NoValue {
  const error = `${why}: \`millrace credentials authorize ${name}\``
  return { ok: false, class: 'auth', code, error }
}

/** Throws ExpressionError. */
export function renderAddress(text: string, config: Readonly<Record<string, unknown>>): string {
  const compiled = compileTemplate(text)
  const value = compiled.ok ? compiled.template.render({ config: config as JsonValue }) : undefined
  if (typeof value !== 'string' || !/^https?:\/\/[^/?#]+/i.test(value) || !URL.canParse(value))
    throw new ExpressionError('url', 'this is no http address', 'tokenUrl')
  return value
}
