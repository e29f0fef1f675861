// A user's consent, by the authorization code of OAuth 2: the address that the user is sent to, and what the vendor's redirect
// returns.
//
// Invariants: CD15 a state is valid once, for ten minutes, and for the one credential of the one tenant that it was made for;
// only a hash of it is stored, and the verifier encrypted. CD7 with PKCE.

import {
  authorizeAddress,
  STATE_BYTES,
  tokenRequest,
  VERIFIER_BYTES,
  verifierOf,
} from '../../../core/connections/oauth/index.ts'
import { ExpressionError } from '../../../core/expression/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import { hashText } from '../../../core/foundation/hash/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { type Instant, MINUTE } from '../../../core/foundation/time/index.ts'
import type { Integrations } from '../connection-types.ts'
import type { CredentialDeps } from './credential-deps.ts'
import { AUTHORIZATION_PREFIX, type CredentialStateCache } from './credential-state-cache.ts'
import type { Values } from './credential-values.ts'
import type { Tokens } from './derived-tokens.ts'
import { renderAddress } from './token-requests.ts'
import { configOf } from './verify-secret.ts'

export interface Consent extends Pick<Integrations, 'authorizeUrl' | 'authorized'> {
  /** Deletes expired states. */
  tidy(tenant: TenantId): Promise<void>
}

/** What is stored under the hash of a state. */
interface Asked {
  readonly credential: string
  readonly callback: string
  /** Encrypted. */
  readonly verifier: string
  readonly expiresAt: Instant
  readonly by: string
}

const LIFE_MS = 10 * MINUTE
const PAGE = 100
const INVALID = 'the consent was not requested here, was already used, or has expired'

export function makeConsent(
  deps: CredentialDeps & {
    readonly stateCache: CredentialStateCache
    readonly values: Values
    readonly tokens: Tokens
    /** Calls that failed before may be made. */
    allowed(tenant: TenantId, credential: string): void
  },
): Consent {
  const { store, random, encryption, log, time, commits, registry, stateCache, values, tokens, vars } = deps

  const find = (tenant: TenantId, name: string) => {
    const found = registry.credential(tenant, name)?.document
    if (found === undefined) throw new AppError('not_found', `there is no credential ${name}`)
    const provider = registry.provider(tenant, found.provider)?.document
    const oauth2 = provider?.oauth2 ?? null
    if (found.oauth2?.grant !== 'authorizationCode' || oauth2 === null || oauth2.authorizeUrl === null)
      throw new AppError('conflict', `the credential ${name} needs no user consent`)
    const connection = registry
      .connections(tenant)
      .map(({ document }) => document)
      .find(({ credential }) => credential === name)
    return {
      document: found,
      client: found.oauth2,
      oauth2,
      authorizeUrl: oauth2.authorizeUrl,
      config: configOf(connection ?? null, vars(tenant)),
    }
  }

  const rendered = (text: string, config: Readonly<Record<string, unknown>>): string => {
    try {
      return renderAddress(text, config)
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      throw new AppError('conflict', `the address of the provider cannot be made: ${error.message}`)
    }
  }

  /** The state contains its tenant: the redirect names none. */
  const tenantOf = (state: string): TenantId | null => {
    const at = state.indexOf('.')
    if (at === -1) return null
    return Buffer.from(state.slice(at + 1), 'base64url').toString('utf8') as TenantId
  }

  return {
    async authorizeUrl(tenant, name, callback, { by }) {
      const { client, oauth2, authorizeUrl, config } = find(tenant, name)
      const owner = Buffer.from(tenant, 'utf8').toString('base64url')
      const state = `${Buffer.from(random.bytes(STATE_BYTES)).toString('base64url')}.${owner}`
      const verifier = verifierOf(random.bytes(VERIFIER_BYTES))
      const key = keyOf(state)
      const expiresAt = time.now() + LIFE_MS
      const asked: Asked = {
        credential: name,
        callback,
        verifier: encryption.encrypt({ tenant, row: key, part: 'evidence' }, verifier, []),
        expiresAt,
        by,
      }
      await commits.once(
        tenant,
        [{ g: 'version', of: 'credential', key, version: 0 }],
        [{ w: 'record.put', kind: 'credential', key, version: 1, body: JSON.stringify(asked) }],
      )
      const url = authorizeAddress(oauth2, {
        authorizeUrl: rendered(authorizeUrl, config),
        credential: client,
        callback,
        state,
        verifier,
      })
      return { url, expiresAt }
    },

    async authorized({ state, code, error }) {
      const tenant = tenantOf(state)
      if (tenant === null || !registry.tenants().includes(tenant))
        throw new AppError('oauth_state_invalid', INVALID)
      const key = keyOf(state)
      const record = await store.forTenant(tenant).record('credential', key)
      if (record === null) throw new AppError('oauth_state_invalid', INVALID)
      const asked = JSON.parse(record.body) as Asked
      // Used up, whatever the result: of two redirects with the same state, one succeeds.
      const taken = await commits.once(
        tenant,
        [{ g: 'version', of: 'credential', key, version: record.version }],
        [{ w: 'record.delete', kind: 'credential', key }],
      )
      if (!taken.ok || asked.expiresAt <= time.now()) throw new AppError('oauth_state_invalid', INVALID)
      const { credential: name } = asked
      if (code === null) throw new AppError('oauth_refused', `the vendor said no: ${wordOf(error)}`)
      const { document, client, oauth2, config } = find(tenant, name)
      const value = await values.read(tenant, document, 'current', stateCache.find(tenant, name))
      if (!value.ok) throw new AppError('credential_missing_value', value.error)
      const { text: verifier } = encryption.open({ tenant, row: key, part: 'evidence' }, asked.verifier)
      const request = tokenRequest(
        {
          tokenUrl: rendered(oauth2.tokenUrl, config),
          clientAuth: oauth2.clientAuth,
          clientId: client.clientId,
          clientSecret: value.value,
        },
        { grant: 'authorizationCode', code, verifier, callback: asked.callback },
      )
      const answer = await tokens.ask(tenant, request, false)
      if (!answer.ok)
        throw new AppError(answer.class === 'transient' ? 'oauth_unavailable' : 'oauth_refused', answer.error)
      await tokens.keep(tenant, document, answer.token, value)
      log.info('credential.authorized', { tenant, credential: name, by: asked.by })
      deps.allowed(tenant, name)
      return { tenant, credential: name }
    },

    async tidy(tenant) {
      const page = await store
        .forTenant(tenant)
        .records({ kind: 'credential', prefix: AUTHORIZATION_PREFIX, cursor: null, limit: PAGE })
      for (const { key, version, body } of page.items) {
        if ((JSON.parse(body) as Asked).expiresAt > time.now()) continue
        await commits.once(
          tenant,
          [{ g: 'version', of: 'credential', key, version }],
          [{ w: 'record.delete', kind: 'credential', key }],
        )
      }
    },
  }
}

function keyOf(state: string): string {
  return `${AUTHORIZATION_PREFIX}${hashText(state).slice('sha256:'.length)}`
}

/** Only the vendor's code: anything else in the redirect may be forged. */
function wordOf(error: string | null): string {
  return error !== null && /^[\w.-]{1,64}$/.test(error) ? error : 'without saying why'
}
