// The other side of connections: which secrets and tokens open which account, and the moods of each vendor. Its own log is the oracle: who
// signed in with what, and what was answered.
//
// A secret is good from when it was made until the vendor ends it, by chance or because it was asked to; an access token for some seconds and
// no longer than its secret. While a vendor is out, limited or slow no request gets past its front. When the world heals all accounts work, and what is
// good stays so.

import type { TenantId } from '../src/core/foundation/ids/index.ts'
import type { HttpClient, HttpOutcome, HttpRequest } from '../src/ports/http-client.ts'
import type { VirtualTime } from './clock.ts'
import { ACCOUNTS, type AccountName, TOKEN_S } from './connections.ts'
import type { Life } from './node.ts'
import type { Rng } from './random.ts'
import type { Effect, Front } from './vendor.ts'
import type { VendorOperation } from './vendor-operation.ts'

const MOODS = { out: 40, refusing: 15, hanging: 15, limited: 20, slow: 10 } as const
type Mood = keyof typeof MOODS

interface Secret {
  readonly value: string
  readonly tenant: TenantId
  readonly provider: AccountName['provider']
  /** Its name in the engine; null: an operator made it. */
  readonly ref: string | null
  isGood: boolean
}

interface Access {
  readonly token: string
  readonly of: Secret
  readonly until: number
}

/** A caller asks for its identity: a test, a probe or a verification. */
export interface Look {
  readonly at: number
  readonly tenant: TenantId
  readonly provider: string
  /** The secret that the caller sent, or that its token came from; null: unknown. */
  readonly secret: string | null
  answered: number | null
  answeredAt: number
}

/** A caller requests an access token. */
export interface TokenRequest {
  readonly number: number
  readonly life: Life
  readonly secret: string
  readonly at: number
}

export interface Accounts {
  client(life: Life, others: HttpClient): HttpClient
  front(operation: VendorOperation, request: HttpRequest): Front
  took(effect: Effect): void
  /** A secret that opens the account, or one that does not. */
  make(account: AccountName, isGood: boolean): string
  isGood(value: string): boolean
  /** The vendor ends what is in use. */
  expire(account: AccountName, value: string | null): void
  readonly looks: readonly Look[]
  /** All that must be seen nowhere. */
  values(): readonly string[]
  heal(): void
}

const ORIGIN = /^https:\/\/(depot|mint)\.test\/(me|token)(?:\?|$)/

export function makeAccounts(deps: {
  readonly time: VirtualTime
  readonly rng: Rng
  /** Mean time between outages; 0: none. */
  readonly outageEveryMs: number
  trace(who: string, what: () => string): void
  /** Before a token is given out; answers what ends it. */
  asked(request: TokenRequest): () => void
  /** A caller used the secret of another account. */
  strayed(what: string): void
}): Accounts {
  const { time, rng, trace } = deps
  const secrets = new Map<string, Secret>()
  const tokens = new Map<string, Access>()
  const moods = new Map<string, { readonly mood: Mood; readonly until: number }>()
  const looks: Look[] = []
  let made = 0
  let asks = 0
  let isHealed = false

  const moodOf = (provider: string): Mood | null => {
    const known = moods.get(provider)
    return known === undefined || isHealed || time.now() >= known.until ? null : known.mood
  }

  const brood = (provider: string) => {
    if (deps.outageEveryMs === 0) return
    time.after(rng.between(1, 2 * deps.outageEveryMs), () => {
      if (isHealed) return
      const mood = rng.weighted(MOODS)
      moods.set(provider, { mood, until: time.now() + rng.between(3, 20) * 1_000 })
      trace('vendor', () => `${provider} is ${mood}`)
      brood(provider)
    })
  }
  for (const provider of ['depot', 'mint']) brood(provider)

  const add = (secret: Secret) => {
    secrets.set(secret.value, secret)
    return secret.value
  }

  /** What the caller shows, and the secret behind it. */
  const shown = (
    request: HttpRequest,
  ): { readonly text: string; readonly secret: Secret | null; readonly isGood: boolean } => {
    const text = (request.headers.authorization ?? '').replace(/^Bearer /, '')
    const access = tokens.get(text)
    if (access !== undefined)
      return { text, secret: access.of, isGood: access.of.isGood && time.now() < access.until }
    const secret = secrets.get(text) ?? null
    return { text, secret, isGood: secret?.isGood === true && secret.provider === 'depot' }
  }

  const checkTenant = (secret: Secret | null, request: HttpRequest) => {
    const account = request.headers['x-account']
    if (secret !== null && secret.tenant !== account)
      deps.strayed(`what opens the account of ${secret.tenant} is shown for that of ${account}`)
  }

  const byMood = (provider: string): Front => {
    switch (moodOf(provider)) {
      case 'out':
        return { status: 503, headers: {}, body: '' }
      case 'refusing':
        return 'refused'
      case 'hanging':
        return 'timeout'
      case 'limited':
        return {
          status: 429,
          headers: rng.chance(500)
            ? { 'retry-after': String(rng.between(1, 8)) }
            : {
                'x-ratelimit-limit': '10',
                'x-ratelimit-remaining': '0',
                'x-ratelimit-reset': String(rng.between(1, 8)),
              },
          body: '',
        }
      default:
        return null
    }
  }

  /** Says what it does not know, as vendors do. */
  const unknown = (text: string): Front => ({
    status: 401,
    headers: { 'www-authenticate': `Bearer error="${text}"` },
    body: JSON.stringify({ error: `${text} opens nothing` }),
  })

  const frontOf = (provider: string, request: HttpRequest): Front => {
    const seen = shown(request)
    checkTenant(seen.secret, request)
    return byMood(provider) ?? (seen.isGood ? null : unknown(seen.text))
  }

  const giveToken = (request: HttpRequest): Exclude<Front, null> => {
    const value = new URLSearchParams(request.body ?? '').get('client_secret') ?? ''
    const mood = byMood('mint')
    if (mood !== null) return mood
    const secret = secrets.get(value)
    if (secret?.isGood !== true || secret.provider !== 'mint')
      return {
        status: 401,
        headers: {},
        body: JSON.stringify({ error: 'invalid_client', error_description: value }),
      }
    const token = `mint-token-${tokens.size + 1}`
    tokens.set(token, { token, of: secret, until: time.now() + TOKEN_S * 1_000 })
    trace('vendor', () => `gives out ${token}`)
    const body = JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: TOKEN_S })
    return { status: 200, headers: { 'content-type': 'application/json' }, body }
  }

  const exchange = (life: Life, request: HttpRequest): Promise<HttpOutcome> =>
    new Promise((resolve) => {
      const [, provider, what] = ORIGIN.exec(request.url) as unknown as [string, string, 'me' | 'token']
      const isSlow = moodOf(provider) === 'slow'
      const there = rng.between(1, 40)
      const back = isSlow ? rng.between(200, 1_200) : rng.between(1, 40)
      const isLook = what === 'me'
      const look: Look = {
        at: time.now(),
        tenant: (request.headers['x-account'] ?? '') as TenantId,
        provider,
        secret: isLook ? (shown(request).secret?.value ?? null) : null,
        answered: null,
        answeredAt: 0,
      }
      if (isLook) looks.push(look)
      asks += 1
      const number = asks
      trace(life.name, () => `asks ${provider} for ${what} (${number})`)
      const ended = isLook
        ? () => {}
        : deps.asked({
            number,
            life,
            at: time.now(),
            secret: new URLSearchParams(request.body ?? '').get('client_secret') ?? '',
          })
      let isOver = false
      const give = (outcome: HttpOutcome) => {
        if (isOver) return
        isOver = true
        cancel()
        ended()
        trace(
          life.name,
          () =>
            `is told of ${what} (${number}) ${outcome.kind === 'response' ? outcome.status : outcome.code}`,
        )
        resolve(outcome)
      }
      const cancel = time.after(request.timeoutMs, () =>
        life.pass(() => give(failed('maybe', 'timeout', request.timeoutMs))),
      )
      time.after(there, () => {
        const front = isLook ? frontOf(provider, request) : giveToken(request)
        if (front === 'timeout') return
        if (front === 'refused') {
          time.after(back, () => life.pass(() => give(failed('no', 'refused', there))))
          return
        }
        const said = front ?? { status: 200, headers: {}, body: '{}' }
        look.answered = said.status
        look.answeredAt = time.now()
        time.after(back, () => life.pass(() => give({ kind: 'response', ...said, durationMs: there + back })))
      })
    })

  return {
    client: (life, others) => ({
      send(request) {
        if (!ORIGIN.test(request.url)) return others.send(request)
        return life.isDead() ? new Promise(() => {}) : exchange(life, request)
      },
      vet: (url) => others.vet(url),
    }),
    front: (operation, request) => frontOf(operation.connection ?? '', request),
    took({ id, send }) {
      if (send.operation.name === 'createkey') {
        const { tenant } = ACCOUNTS.find(({ provider }) => provider === 'mint') as AccountName
        add({ value: `mint-secret-${id}`, tenant, provider: 'mint', ref: id, isGood: true })
      }
      if (send.operation.name !== 'deletekey') return
      for (const secret of secrets.values()) if (secret.ref === send.ref) secret.isGood = false
    },
    make({ tenant, provider }, isGood) {
      made += 1
      const value = `${provider}-${isGood ? 'given' : 'wrong'}-${tenant}-${made}`
      return add({ value, tenant, provider, ref: null, isGood })
    },
    isGood: (value) => secrets.get(value)?.isGood === true,
    expire({ tenant, provider }, value) {
      const secret = value === null ? undefined : secrets.get(value)
      if (secret === undefined || isHealed) return
      trace('vendor', () => `ends what opens the account of ${tenant} at ${provider}`)
      secret.isGood = false
    },
    looks,
    values: () => [...secrets.keys(), ...tokens.keys()],
    heal() {
      isHealed = true
    },
  }
}

type Failure = Extract<HttpOutcome, { kind: 'failed' }>

function failed(sent: Failure['sent'], code: Failure['code'], durationMs: number): HttpOutcome {
  return { kind: 'failed', sent, code, message: 'simulated', durationMs }
}
