// Tokens that are derived from a secret: access tokens of OAuth 2, of installations of an app, of service accounts. They are kept sealed in
// the vault, so that a restart and the other nodes use them too, and in memory while they are good.
//
// Invariants: CD4 one refresh, whatever the number of those who wait and of nodes. CD9 a token is replaced before its end, and calls go on
// with it meanwhile. CD8 nothing of a token or a secret is in an error.

import type { CredentialState } from '../../core/credential/index.ts'
import type { CredentialDocument, ProviderDocument } from '../../core/definition/index.ts'
import { AppError, messageOf } from '../../core/errors/index.ts'
import { compileTemplate, ExpressionError } from '../../core/expression/index.ts'
import type { TenantId } from '../../core/ids/index.ts'
import type { JsonValue } from '../../core/json/index.ts'
import {
  ageOf,
  assertionRequest,
  githubAppJwt,
  installationRequest,
  KeyError,
  parseServiceAccountKey,
  readTokenAnswer,
  serviceAccountAssertion,
  type Token,
  type TokenRequest,
  tokenRequest,
} from '../../core/oauth/index.ts'
import { makeRedact } from '../../core/secret/index.ts'
import type { Instant } from '../../core/time/index.ts'
import type { EngineDeps } from '../deps.ts'
import type { StoreTime } from '../store-time.ts'
import type { CredentialBook } from './book.ts'
import { type NoValue, unreadable, type Value } from './values.ts'

export interface HeldToken {
  readonly ok: true
  /** Of its entry in the vault: grows with every refresh. */
  readonly version: number
  readonly accessToken: string
  readonly refreshToken: string | null
  readonly expiresAt: Instant | null
  readonly since: Instant
  /** The version of the secret that it was got by. */
  readonly of: number
}

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

export interface Tokens {
  /** One that is good now. */
  get(question: TokenQuestion): Promise<HeldToken | NoValue>
  /** One that is got by this very value, to see whether it can be: nobody else uses it. */
  tryOut(question: TokenQuestion): Promise<HeldToken | NoValue>
  /** Keeps the first one of a person's consent. */
  keep(tenant: TenantId, credential: CredentialDocument, token: Token, value: Value): Promise<HeldToken>
  /** Sends a request to the token address. */
  ask(
    request: TokenRequest,
    isRefresh: boolean,
  ): Promise<{ readonly ok: true; readonly token: Token } | NoValue>
}

/** The name of its tokens in the vault. */
function tokenSecretOf(credential: string): string {
  return `credentials.${credential}`
}

export function isDerived({ auth }: Pick<CredentialDocument, 'auth'>): boolean {
  return auth === 'oauth2' || auth === 'githubApp' || auth === 'serviceAccount'
}

const ASK_TIMEOUT_MS = 10_000
/** Longer than the request and what is written after it. */
const LOCK_MS = 20_000
const LOOK_AGAIN_MS = 200
/** Nobody waits for longer than two locks. */
const WAIT_MS_MAX = 2 * LOCK_MS
const ANSWER_BYTES_MAX = 65_536
const BY = 'millrace'

export function makeTokens(
  deps: Pick<EngineDeps, 'clock' | 'http' | 'log' | 'secrets'> & {
    readonly time: StoreTime
    readonly book: CredentialBook
    /** Names one refresh. */
    newLock(): string
  },
): Tokens {
  const { clock, http, log, secrets, time, book } = deps
  const held = new Map<string, HeldToken>()
  const flights = new Map<string, Promise<HeldToken | NoValue>>()
  const placeOf = (tenant: TenantId, name: string) => `${tenant}/${name}`

  const readKept = async (
    tenant: TenantId,
    name: string,
    state: CredentialState,
  ): Promise<HeldToken | null> => {
    const atLeast = state.token?.version
    const found = await secrets.current(tenant, tokenSecretOf(name), atLeast === undefined ? {} : { atLeast })
    if (found === null) return null
    const kept = JSON.parse(found.value) as Omit<HeldToken, 'ok' | 'version'>
    const token: HeldToken = { ...kept, ok: true, version: found.version }
    held.set(placeOf(tenant, name), token)
    return token
  }

  const judge = (question: TokenQuestion, token: HeldToken | null | undefined, state: CredentialState) => {
    if (token == null) return 'over'
    const { credential, value } = question
    // What a person consented to outlives the client's secret; any other token ends with the secret that it came from.
    if (credential.oauth2?.grant !== 'authorizationCode' && token.of !== value.version) return 'over'
    const known = state.token
    if (known !== null && known.version > token.version) return 'over'
    const isRefused =
      known?.version === token.version && known.expiresAt !== null && known.expiresAt <= time.now()
    return isRefused ? 'over' : ageOf(token, time.now())
  }

  const refresh = (question: TokenQuestion): Promise<HeldToken | NoValue> => {
    const place = placeOf(question.tenant, question.credential.name)
    const known = flights.get(place)
    if (known !== undefined) return known
    const flight = refreshInTurn(question, false)
      .catch((error: unknown) => unreadable(error))
      .finally(() => flights.delete(place))
    flights.set(place, flight)
    return flight
  }

  /** `isForced`: by this very secret, however good the token is. */
  const refreshInTurn = async (question: TokenQuestion, isForced: boolean): Promise<HeldToken | NoValue> => {
    const { tenant, credential } = question
    const { name } = credential
    const by = deps.newLock()
    const giveUpAt = clock.monotonic() + WAIT_MS_MAX
    for (;;) {
      const { state } = await book.read(tenant, name)
      const kept = await readKept(tenant, name, state)
      const age = judge(question, kept, state)
      const isGood = age === 'fresh' || (age === 'aging' && isLocked(state, by))
      if (kept !== null && isGood && !isForced) return kept
      const after = isLocked(state, by) ? state : await book.change(tenant, name, () => lockedBy(by))
      if (after.refresh?.by !== by) {
        if (clock.monotonic() >= giveUpAt) return WAITED_TOO_LONG
        await pause(LOOK_AGAIN_MS)
        continue
      }
      // Somebody was quicker between our look and our lock.
      if ((after.token?.version ?? 0) > (kept?.version ?? 0)) {
        await unlock(tenant, name, by)
        continue
      }
      try {
        const asked = await askFor(question, kept)
        if (!asked.ok) return asked
        return await store(question, asked.token, kept)
      } catch (error) {
        if (error instanceof AppError && error.code === 'conflict') continue
        throw error
      } finally {
        await unlock(tenant, name, by)
      }
    }
  }

  const isLocked = ({ refresh: lock }: CredentialState, by: string) =>
    lock !== null && lock.by !== by && lock.until > time.now()

  const lockedBy = (by: string) => {
    const at = time.now()
    return { type: 'locked', at, by, until: at + LOCK_MS } as const
  }

  const unlock = (tenant: TenantId, name: string, by: string) =>
    book.change(tenant, name, (state) =>
      state.refresh?.by === by ? { type: 'unlocked', at: time.now(), by } : null,
    )

  const pause = (delayMs: number) => new Promise<void>((resolve) => clock.after(delayMs, resolve))

  const store = async (
    { tenant, credential, value }: Pick<TokenQuestion, 'tenant' | 'credential' | 'value'>,
    token: Token,
    before: HeldToken | null,
  ): Promise<HeldToken> => {
    const kept = {
      accessToken: token.accessToken,
      // A server that gives no new one means that the old one stays.
      refreshToken: token.refreshToken ?? before?.refreshToken ?? null,
      expiresAt: token.expiresAt,
      since: time.now(),
      of: value.version,
    }
    const { version } = await secrets.set(tenant, tokenSecretOf(credential.name), JSON.stringify(kept), {
      isPending: false,
      by: BY,
      expectedVersion: before?.version ?? null,
    })
    const next: HeldToken = { ...kept, ok: true, version }
    held.set(placeOf(tenant, credential.name), next)
    await book.change(tenant, credential.name, () => ({
      type: 'tokened',
      at: time.now(),
      version,
      expiresAt: next.expiresAt,
    }))
    log.info('credential.refreshed', { tenant, credential: credential.name, token: version })
    return next
  }

  const askFor = async (question: TokenQuestion, kept: HeldToken | null) => {
    const request = requestOf(question, kept)
    if ('ok' in request) return request
    return ask(request, question.credential.oauth2?.grant === 'authorizationCode')
  }

  const requestOf = (question: TokenQuestion, kept: HeldToken | null): TokenRequest | NoValue => {
    try {
      return renderRequest(question, kept, clock.now())
    } catch (error) {
      if (error instanceof KeyError || error instanceof ExpressionError)
        return { ok: false, class: 'config', code: 'oauth_refused', error: error.message }
      throw error
    }
  }

  const ask: Tokens['ask'] = async (request, isRefresh) => {
    const { method, url, headers, body, secrets: hidden } = request
    const outcome = await http.send({
      method,
      url,
      headers,
      body,
      timeoutMs: ASK_TIMEOUT_MS,
      maxResponseBytes: ANSWER_BYTES_MAX,
    })
    if (outcome.kind === 'failed') {
      const isHopeless = outcome.code === 'blocked' || outcome.code === 'bad_url'
      return {
        ok: false,
        class: isHopeless ? 'config' : 'transient',
        code: 'oauth_unavailable',
        error: `the token address did not answer (${outcome.code})`,
      }
    }
    const answer = readTokenAnswer(outcome, clock.now(), isRefresh)
    if (answer.ok) return answer
    return { ...answer, error: makeRedact(hidden)(answer.error) }
  }

  return {
    ask,
    async get(question) {
      const { tenant, credential } = question
      const known = held.get(placeOf(tenant, credential.name))
      const age = judge(question, known, book.find(tenant, credential.name))
      if (known !== undefined && age === 'fresh') return known
      if (known !== undefined && age === 'aging') {
        void refresh(question).then((next) => {
          if (!next.ok)
            log.warn('credential.not-refreshed', { tenant, credential: credential.name, error: next.error })
        })
        return known
      }
      return refresh(question)
    },
    async tryOut(question) {
      const isConsented = question.credential.oauth2?.grant === 'authorizationCode'
      // A refresh token is often good once alone: what came of it is kept.
      if (isConsented) return refreshInTurn(question, true).catch((error: unknown) => unreadable(error))
      try {
        const asked = await askFor(question, null)
        if (!asked.ok) return asked
        const { accessToken, expiresAt } = asked.token
        const of = question.value.version
        return { ok: true, version: 0, accessToken, refreshToken: null, expiresAt, since: time.now(), of }
      } catch (error) {
        return { ok: false, class: 'transient', code: 'oauth_unavailable', error: messageOf(error) }
      }
    },
    async keep(tenant, credential, token, value) {
      const { state } = await book.read(tenant, credential.name)
      const before = await readKept(tenant, credential.name, state)
      return store({ tenant, credential, value }, token, before)
    },
  }
}

const WAITED_TOO_LONG: NoValue = {
  ok: false,
  class: 'transient',
  code: 'oauth_unavailable',
  error: 'another node has been getting the next token for too long',
}

function renderRequest(
  question: TokenQuestion,
  kept: HeldToken | null,
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
  if (kept === null)
    return notAuthorized(credential.name, 'credential_missing_value', 'nobody has allowed it in yet')
  if (kept.refreshToken === null)
    return notAuthorized(
      credential.name,
      'refresh_token_expired',
      'its token is over and the vendor gave no refresh token',
    )
  return tokenRequest(client, { grant: 'refresh', refreshToken: kept.refreshToken })
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
