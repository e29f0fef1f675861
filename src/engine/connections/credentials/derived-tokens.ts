// Tokens that are derived from a secret: access tokens of OAuth 2, of installations of an app, of service accounts. They are
// stored encrypted in the vault, so that a restart and the other nodes use them too, and cached in memory while they are valid.
//
// Invariants: CD4 one refresh, whatever the number of waiting calls and of nodes. CD9 a token is replaced before it expires,
// and calls continue with it meanwhile. CD8 no error contains any part of a token or a secret.

import type { CredentialState } from '../../../core/connections/credential/index.ts'
import {
  ageOf,
  KeyError,
  readTokenAnswer,
  type Token,
  type TokenRequest,
} from '../../../core/connections/oauth/index.ts'
import type { CredentialDocument } from '../../../core/definitions/documents/index.ts'
import { ExpressionError } from '../../../core/expression/index.ts'
import { AppError, messageOf } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import { makeRedact, OWN_SECRETS } from '../../../core/secrets/index.ts'
import type { EngineBase } from '../../commit/index.ts'
import { type NoValue, unreadable } from '../../secrets/index.ts'
import type { CredentialStateCache } from './credential-state-cache.ts'
import type { Value } from './credential-values.ts'
import { renderRequest, type TokenQuestion } from './token-requests.ts'

/** As it is in the vault. */
interface StoredToken {
  readonly accessToken: string
  readonly refreshToken: string | null
  readonly expiresAt: Instant | null
  readonly since: Instant
  /** The version of the secret that it was issued for. */
  readonly of: number
}

export interface HeldToken extends StoredToken {
  readonly ok: true
  /** Of its entry in the vault: grows with every refresh. */
  readonly version: number
}

export interface Tokens {
  /** One that is valid now. */
  get(question: TokenQuestion): Promise<HeldToken | NoValue>
  /** One that is issued for this very value, to verify it: nothing else uses it. */
  tryOut(question: TokenQuestion): Promise<HeldToken | NoValue>
  /** Stores the first one of a user's consent. */
  keep(tenant: TenantId, credential: CredentialDocument, token: Token, value: Value): Promise<HeldToken>
  /** Sends a request to the token address. */
  ask(
    tenant: TenantId,
    request: TokenRequest,
    isRefresh: boolean,
  ): Promise<{ readonly ok: true; readonly token: Token } | NoValue>
}

/** The name of its tokens in the vault. */
function tokenSecretOf(credential: string): string {
  return `${OWN_SECRETS}${credential}`
}

export function isDerived({ auth }: Pick<CredentialDocument, 'auth'>): boolean {
  return auth === 'oauth2' || auth === 'githubApp' || auth === 'serviceAccount'
}

const ASK_TIMEOUT_MS = 10_000
/** Longer than the request and the writes after it. */
const LOCK_MS = 20_000
const LOOK_AGAIN_MS = 200
/** No caller waits for longer than two locks. */
const WAIT_MS_MAX = 2 * LOCK_MS
/** Of a lock, while the vault is slow. */
const RENEWALS_MAX = 6
/** After an unusable response of the token address. */
const PAUSE_MS_MIN = 500
const PAUSE_MS_MAX = 30_000
const PAUSE_GROWTH = 2
const ANSWER_BYTES_MAX = 65_536
const BY = 'millrace'

export function makeTokens(
  deps: Pick<EngineBase, 'clock' | 'http' | 'log' | 'secrets' | 'time'> & {
    readonly stateCache: CredentialStateCache
    /** Identifies one refresh. */
    newLock(): string
  },
): Tokens {
  const { clock, http, log, secrets, time, stateCache } = deps
  const held = new Map<string, HeldToken>()
  const flights = new Map<string, Promise<HeldToken | NoValue>>()
  /** Issued, and not in the vault yet. No other is requested while there is one: a refresh token is often valid once only. */
  const unstored = new Map<string, { readonly token: StoredToken; readonly before: number | null }>()
  const pauses = new Map<
    string,
    { readonly of: number; readonly answer: NoValue; readonly pauseMs: number; readonly until: number }
  >()
  const placeOf = (tenant: TenantId, name: string) => `${tenant}/${name}`

  const readStoredToken = async (
    tenant: TenantId,
    name: string,
    atLeast: number,
  ): Promise<HeldToken | null> => {
    const found = await secrets.current(tenant, tokenSecretOf(name), { atLeast })
    if (found === null) return null
    const token: HeldToken = { ...parseStoredToken(found.value, name), ok: true, version: found.version }
    held.set(placeOf(tenant, name), token)
    return token
  }

  const judge = (question: TokenQuestion, token: HeldToken | null | undefined, state: CredentialState) => {
    if (token == null) return 'over'
    const { credential, value } = question
    // A token by a user's consent outlives the client's secret; any other token ends with the secret that it was issued for.
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
    const pausing = pauses.get(place)
    if (pausing !== undefined && pausing.of === question.value.version && clock.monotonic() < pausing.until)
      return Promise.resolve(pausing.answer)
    const flight = refreshInTurn(question, false)
      .catch((error: unknown) => unreadable(error))
      .finally(() => flights.delete(place))
    flights.set(place, flight)
    return flight
  }

  /** An address that is down is left alone for a while, longer each time; another secret is tried at once. */
  const notePause = (place: string, of: number, answer: NoValue | null) => {
    if (answer === null || (answer.class !== 'transient' && answer.class !== 'rate_limited')) {
      pauses.delete(place)
      return
    }
    const before = pauses.get(place)
    const pauseMs = before?.of === of ? Math.min(PAUSE_MS_MAX, before.pauseMs * PAUSE_GROWTH) : PAUSE_MS_MIN
    pauses.set(place, { of, answer, pauseMs, until: clock.monotonic() + pauseMs })
  }

  /** `isForced`: by this very secret, however valid the token is. */
  const refreshInTurn = async (question: TokenQuestion, isForced: boolean): Promise<HeldToken | NoValue> => {
    const { tenant, credential, value } = question
    const { name } = credential
    const place = placeOf(tenant, name)
    const by = deps.newLock()
    const giveUpAt = clock.monotonic() + WAIT_MS_MAX
    let atLeast = 0
    let isLate: NoValue = WAITED_TOO_LONG
    const refreshOnce = async (): Promise<HeldToken | NoValue | null> => {
      const { state } = await stateCache.read(tenant, name)
      const storedToken = await readStoredToken(tenant, name, Math.max(atLeast, state.token?.version ?? 0))
      const age = judge(question, storedToken, state)
      const isGood = age === 'fresh' || (age === 'aging' && isLocked(state, by))
      if (storedToken !== null && isGood && !isForced) {
        unstored.delete(place)
        if (state.refresh?.by === by) await unlock(tenant, name, by)
        return storedToken
      }
      const after = isLocked(state, by) ? state : await stateCache.change(tenant, name, () => lockedBy(by))
      if (clock.monotonic() >= giveUpAt) {
        // A token that is not stored yet keeps the lock until it expires: other nodes would use a refresh token that is used
        // up.
        if (!unstored.has(place)) await unlock(tenant, name, by)
        return isLate
      }
      if (after.refresh?.by !== by) {
        await pause(LOOK_AGAIN_MS)
        return null
      }
      // Another node was quicker between our read and our lock.
      if (after.token?.version !== state.token?.version) {
        await unlock(tenant, name, by)
        return null
      }
      try {
        const known = unstored.get(place)
        if (known !== undefined && storedToken !== null && storedToken.version !== known.before)
          unstored.delete(place)
        if (!unstored.has(place)) {
          const asked = await askFor(question, storedToken)
          if (!isForced) notePause(place, value.version, asked.ok ? null : asked)
          if (!asked.ok && asked.code === 'refresh_token_expired') {
            // Used up by a node whose lock expired: its new token may be in the vault by now, or soon.
            atLeast = (storedToken?.version ?? 0) + 1
            const now = await readStoredToken(tenant, name, atLeast)
            if (now !== null && now.version !== storedToken?.version) return null
            return state.refresh === null ? asked : OUTCOME_UNKNOWN
          }
          if (!asked.ok) return asked
          unstored.set(place, {
            token: keptOf(asked.token, storedToken, value),
            before: storedToken?.version ?? null,
          })
        }
        const mine = await stateCache.change(tenant, name, (now) => (isLocked(now, by) ? null : lockedBy(by)))
        const next = unstored.get(place)
        if (mine.refresh?.by !== by || next === undefined) return null
        const stored = await whileLocked(tenant, name, by, () =>
          store(tenant, name, next.token, storedToken?.version ?? null, by),
        )
        unstored.delete(place)
        return !isForced || next.token.of === value.version ? stored : null
      } catch (error) {
        const isConflict = error instanceof AppError && error.code === 'conflict'
        if (!isConflict && !unstored.has(place)) throw error
        if (isConflict) atLeast = (storedToken?.version ?? 0) + 1
        else isLate = unreadable(error)
        await pause(LOOK_AGAIN_MS)
        return null
      } finally {
        if (!unstored.has(place)) await unlock(tenant, name, by)
      }
    }
    return await pollUntilFound(refreshOnce)
  }

  const isLocked = ({ refresh: lock }: CredentialState, by: string) =>
    lock !== null && lock.by !== by && lock.until > time.now()

  const lockedBy = (by: string) => {
    const at = time.now()
    return { type: 'locked', at, by, until: at + LOCK_MS } as const
  }

  const unlock = (tenant: TenantId, name: string, by: string) =>
    stateCache.change(tenant, name, (state) =>
      state.refresh?.by === by ? { type: 'unlocked', at: time.now(), by } : null,
    )

  /** A slow vault must not let the lock expire under a caller that waits for it; one that hangs must not hold it for ever. */
  const whileLocked = async <Result>(
    tenant: TenantId,
    name: string,
    by: string,
    doing: () => Promise<Result>,
  ): Promise<Result> => {
    let cancel = () => {}
    const renewLater = (left: number) => {
      if (left === 0) return
      cancel = clock.after(LOCK_MS / 2, () => {
        renewLater(left - 1)
        stateCache
          .change(tenant, name, (state) => (state.refresh?.by === by ? lockedBy(by) : null))
          .catch((error: unknown) =>
            log.warn('credential.not-locked', { tenant, credential: name, error: messageOf(error) }),
          )
      })
    }
    renewLater(RENEWALS_MAX)
    try {
      return await doing()
    } finally {
      cancel()
    }
  }

  const pause = (delayMs: number) => new Promise<void>((resolve) => clock.after(delayMs, resolve))

  const keptOf = (token: Token, before: HeldToken | null, value: Value): StoredToken => ({
    accessToken: token.accessToken,
    // A server that issues no new one means that the old one stays valid.
    refreshToken: token.refreshToken ?? before?.refreshToken ?? null,
    expiresAt: token.expiresAt,
    since: time.now(),
    of: value.version,
  })

  const store = async (
    tenant: TenantId,
    name: string,
    token: StoredToken,
    expectedVersion: number | null,
    by: string,
  ): Promise<HeldToken> => {
    const { version } = await secrets.set(tenant, tokenSecretOf(name), JSON.stringify(token), {
      isPending: false,
      by: BY,
      expectedVersion,
    })
    const next: HeldToken = { ...token, ok: true, version }
    held.set(placeOf(tenant, name), next)
    const { expiresAt } = next
    await stateCache.change(tenant, name, () => ({ type: 'tokened', at: time.now(), version, expiresAt, by }))
    log.info('credential.refreshed', { tenant, credential: name, token: version })
    return next
  }

  const askFor = async (question: TokenQuestion, storedToken: HeldToken | null) => {
    const request = requestOf(question, storedToken)
    if ('ok' in request) return request
    return ask(question.tenant, request, question.credential.oauth2?.grant === 'authorizationCode')
  }

  const requestOf = (question: TokenQuestion, storedToken: HeldToken | null): TokenRequest | NoValue => {
    try {
      return renderRequest(question, storedToken, clock.now())
    } catch (error) {
      if (error instanceof KeyError || error instanceof ExpressionError)
        return { ok: false, class: 'config', code: 'oauth_refused', error: error.message }
      throw error
    }
  }

  const ask: Tokens['ask'] = async (tenant, request, isRefresh) => {
    const { method, url, headers, body, secrets: hidden } = request
    const outcome = await http.send({
      tenant,
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
      const age = judge(question, known, stateCache.find(tenant, credential.name))
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
      // A refresh token is often valid once only: its result is stored.
      if (isConsented) return refreshInTurn(question, true).catch((error: unknown) => unreadable(error))
      try {
        const asked = await askFor(question, null)
        if (!asked.ok) return asked
        const { accessToken, expiresAt } = asked.token
        const of = question.value.version
        return { ok: true, version: 0, accessToken, refreshToken: null, expiresAt, since: time.now(), of }
      } catch (error) {
        return unreadable(error)
      }
    },
    async keep(tenant, { name }, token, value) {
      const by = deps.newLock()
      const giveUpAt = clock.monotonic() + WAIT_MS_MAX
      const keepOnce = async (): Promise<HeldToken | null> => {
        // The code is used up: it does not wait for a lock that is held for too long.
        const state = await stateCache.change(tenant, name, (now) =>
          isLocked(now, by) ? null : lockedBy(by),
        )
        const isLate = clock.monotonic() >= giveUpAt
        if (state.refresh?.by !== by && !isLate) {
          await pause(LOOK_AGAIN_MS)
          return null
        }
        try {
          const before = await readStoredToken(tenant, name, state.token?.version ?? 0)
          return await store(tenant, name, keptOf(token, before, value), before?.version ?? null, by)
        } catch (error) {
          if (isLate || !(error instanceof AppError) || error.code !== 'conflict') throw error
          return null
        } finally {
          await unlock(tenant, name, by)
        }
      }
      return await pollUntilFound(keepOnce)
    },
  }
}

/** Looks until there is a result: another node has the lock, or its token is not stored yet. `look` pauses, and knows when to give up. */
async function pollUntilFound<Value>(look: () => Promise<Value | null>): Promise<Value> {
  let found: Value | null = null
  while (found === null) found = await look()
  return found
}

const WAITED_TOO_LONG: NoValue = {
  ok: false,
  class: 'transient',
  code: 'oauth_unavailable',
  error: 'another node has been getting the next token for too long',
}

const OUTCOME_UNKNOWN: NoValue = {
  ok: false,
  class: 'transient',
  code: 'oauth_unavailable',
  error: 'another node may have got the next token, and has not kept it yet',
}

/** The text comes from the vault, and may be a user's secret: nothing of it is in the error. */
function parseStoredToken(text: string, name: string): StoredToken {
  try {
    const storedToken = JSON.parse(text) as Partial<StoredToken> | null
    if (typeof storedToken?.accessToken === 'string' && typeof storedToken.of === 'number')
      return storedToken as StoredToken
  } catch {
    // Reported below, in words of our own.
  }
  const secret = tokenSecretOf(name)
  throw new AppError(
    'secret_unreadable',
    `the secret ${secret} is where the tokens of the credential ${name} are kept, and is none: \`millrace secrets remove ${secret}\``,
  )
}
