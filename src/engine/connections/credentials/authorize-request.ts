// Authorizes a request at the vendor: by the value itself, a token that is derived from it, or a signature.
//
// Invariants: CD5 as the provider says. CD12 values are read when a call is about to be made, and leave by the request alone:
// the result lists what must not be stored of the exchange.

import {
  applyHmac,
  applyValue,
  bearer,
  type CredentialState,
} from '../../../core/connections/credential/index.ts'
import type { CredentialDocument, ProviderDocument } from '../../../core/definitions/documents/index.ts'
import { messageOf } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { StoreTime } from '../../commit/index.ts'
import type { EngineDeps } from '../../config.ts'
import type { Authorized, ToAuthorize } from '../connection-types.ts'
import type { CredentialStateCache } from './credential-state-cache.ts'
import type { Value, Values } from './credential-values.ts'
import { type HeldToken, isDerived, type Tokens } from './derived-tokens.ts'

type Good = Extract<Authorized, { ok: true }>

const NOTHING: Good = { ok: true, version: null, headers: {}, query: {}, secrets: [] }
const NEXT_BY_CODE: Readonly<Record<string, string>> = {
  refresh_token_expired: 'authorize it again, then replay what failed',
  oauth_refused: 'look whether the client, its secret and its scopes are as the vendor knows them',
  credential_scope_missing: 'give the account the scopes that it needs at the vendor',
}

export function makeAuthorize(
  deps: Pick<EngineDeps, 'clock' | 'log'> & {
    readonly time: StoreTime
    readonly stateCache: CredentialStateCache
    readonly values: Values
    readonly tokens: Tokens
  },
): (request: ToAuthorize) => Promise<Authorized> {
  const { clock, log, time, stateCache, values, tokens } = deps
  /** For values that are sent unchanged: the same for every request. */
  const made = new WeakMap<
    CredentialDocument,
    { readonly of: Value; readonly provider: ProviderDocument; readonly authorized: Good }
  >()

  /** The same for tokens, while they are held. */
  const borne = new WeakMap<HeldToken, { readonly of: string; readonly authorized: Good }>()
  const noting = new Set<string>()

  /** Records which value the vault has in use by now, for operators. */
  const note = (tenant: TenantId, name: string, value: Value) => {
    const { current, rotation } = stateCache.find(tenant, name)
    if (current?.version === value.version && current.fingerprint === value.fingerprint) return
    // A rotation records its own end.
    if (rotation !== null || noting.has(`${tenant}/${name}`)) return
    noting.add(`${tenant}/${name}`)
    const { version, fingerprint } = value
    stateCache
      .change(tenant, name, (state) =>
        state.rotation !== null || isFormer(state, value)
          ? null
          : { type: 'found', at: time.now(), current: { version, fingerprint }, by: 'vault' },
      )
      .catch((error: unknown) =>
        log.warn('credential.not-noted', { credential: name, error: messageOf(error) }),
      )
      .finally(() => noting.delete(`${tenant}/${name}`))
  }

  const derive = async (request: ToAuthorize, value: Value): Promise<Authorized> => {
    const { tenant, provider, credential, config } = request
    const question = { tenant, provider, credential, config, base: request.base ?? null, value }
    const token = request.secret === 'pending' ? await tokens.tryOut(question) : await tokens.get(question)
    if (!token.ok) {
      const next = NEXT_BY_CODE[token.code]
      const { version } = value
      return next === undefined ? token : { ...token, error: `${token.error}; ${next}`, version }
    }
    const known = borne.get(token)
    if (known?.of === value.value) return known.authorized
    const { headers, query, secrets } = bearer(token.accessToken)
    const authorized: Good = {
      ok: true,
      version: token.version,
      headers,
      query,
      secrets: [...secrets, value.value],
    }
    borne.set(token, { of: value.value, authorized })
    return authorized
  }

  return async (request) => {
    const { tenant, provider, credential } = request
    if (credential.auth === 'none') return NOTHING
    const state = stateCache.find(tenant, credential.name)
    const value = await values.read(tenant, credential, request.secret, state)
    if (!value.ok) return value
    if (request.secret === 'current') note(tenant, credential.name, value)
    if (isDerived(credential)) return derive(request, value)
    if (credential.auth === 'hmac') {
      const algorithm = credential.hmac?.algorithm ?? 'sha256'
      const signed = applyHmac(provider, algorithm, value.value, request.request, clock.now())
      return { ok: true, version: value.version, ...signed }
    }
    const known = made.get(credential)
    if (known?.provider === provider && known.of.value === value.value && known.of.version === value.version)
      return known.authorized
    const authorized: Good = {
      ok: true,
      version: value.version,
      ...applyValue(provider, credential, value.value),
    }
    if (request.secret === 'current') made.set(credential, { of: value, provider, authorized })
    return authorized
  }
}

/**
 * An earlier one that a vault may still remember. The versions of a secret that was removed and set again start over: an
 * unknown value is not a former one.
 */
function isFormer({ current, versions }: CredentialState, { version, fingerprint }: Value): boolean {
  if ((current?.version ?? 0) <= version) return false
  return versions.some((one) => one.version === version && one.fingerprint === fingerprint)
}
