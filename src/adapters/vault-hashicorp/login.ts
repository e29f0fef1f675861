// The token that the node uses at the vault: given, read from a file, or obtained by a role. It is renewed by the next
// caller when two thirds of its life are over; a refused token is replaced if possible.
//
// Invariant: however many callers need a token at once, one requests it.

import { readFile } from 'node:fs/promises'
import { AppError } from '../../core/foundation/errors/index.ts'
import { SECOND } from '../../core/foundation/time/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import { failureOf, type VaultAnswer, type VaultClient } from './client.ts'

export type VaultLogin =
  | { readonly by: 'token'; readonly token: string }
  | { readonly by: 'file'; readonly file: string }
  | { readonly by: 'role'; readonly roleId: string; readonly secretId: string }

export interface Tokens {
  /** A token that should be valid. Throws `vault_denied`, `vault_sealed`, `vault_unavailable`. */
  get(): Promise<string>
  /** The token was refused; false: there is no other. */
  refused(token: string): Promise<boolean>
}

interface Token {
  readonly text: string
  /** null: never. By the monotonic clock. */
  readonly renewAtMs: number | null
  readonly endsAtMs: number | null
}

export function makeTokens(
  login: VaultLogin,
  deps: {
    readonly client: Pick<VaultClient, 'ask'>
    readonly clock: Pick<Clock, 'monotonic'>
    readonly log: Pick<Log, 'info' | 'warn'>
  },
): Tokens {
  const { client, clock, log } = deps
  let held: Token | null = null
  let getting: Promise<Token> | null = null

  const hold = (text: string, leaseS: unknown, isRenewable: boolean): Token => {
    const lifeMs = typeof leaseS === 'number' && leaseS > 0 ? leaseS * SECOND : null
    const now = clock.monotonic()
    return {
      text,
      renewAtMs: lifeMs === null || !isRenewable ? null : now + (lifeMs * 2) / 3,
      endsAtMs: lifeMs === null ? null : now + lifeMs,
    }
  }

  const enter = async (): Promise<Token> => {
    if (login.by !== 'role') return learn(await read(login))
    const path = 'auth/approle/login'
    const body = { role_id: login.roleId, secret_id: login.secretId }
    const answer = await client.ask({ method: 'POST', path, body, token: null })
    const auth = partOf(answer, 'auth')
    // The vault reports a wrong role or secret id as a bad request: here it means denied.
    if (answer.status === 400) throw new AppError('vault_denied', failureOf(answer, path).message)
    if (answer.status !== 200 || typeof auth.client_token !== 'string') throw failureOf(answer, path)
    log.info('vault.logged-in', { by: 'role', leaseSeconds: auth.lease_duration })
    return hold(auth.client_token, auth.lease_duration, auth.renewable === true)
  }

  /**
   * Looks up how long a given token lives. A token without permission to look itself up is used as it is; if the vault
   * cannot respond, the lookup is repeated, or the token would never be renewed.
   */
  const learn = async (text: string): Promise<Token> => {
    const path = 'auth/token/lookup-self'
    const answer = await client.ask({ method: 'GET', path, token: text })
    const { ttl, renewable } = partOf(answer, 'data')
    if (answer.status === 200) return hold(text, ttl, renewable === true)
    if (answer.status === 403 || answer.status === 404) return hold(text, null, false)
    throw failureOf(answer, path)
  }

  const renew = async (token: Token): Promise<Token> => {
    const path = 'auth/token/renew-self'
    const answer = await client.ask({ method: 'POST', path, body: {}, token: token.text })
    const { lease_duration, renewable } = partOf(answer, 'auth')
    if (answer.status !== 200) throw failureOf(answer, path)
    return hold(token.text, lease_duration, renewable === true)
  }

  const next = async (): Promise<Token> => {
    const now = clock.monotonic()
    if (held === null || (held.endsAtMs !== null && now >= held.endsAtMs)) return enter()
    try {
      return await renew(held)
    } catch (error) {
      if (login.by === 'role') return enter()
      // It is valid until it expires; the next caller tries again in a while.
      const reason = error instanceof AppError ? error.message : String(error)
      log.warn('vault.token-not-renewed', { reason })
      return { ...held, renewAtMs: now + RENEW_AGAIN_MS }
    }
  }

  const getOnce = (): Promise<Token> => {
    getting ??= next()
      .then((token) => {
        held = token
        return token
      })
      .finally(() => {
        getting = null
      })
    return getting
  }

  return {
    async get() {
      const now = clock.monotonic()
      const isGood =
        held !== null &&
        (held.renewAtMs === null || now < held.renewAtMs) &&
        (held.endsAtMs === null || now < held.endsAtMs)
      return isGood && held !== null ? held.text : (await getOnce()).text
    },
    async refused(token) {
      // Another caller has obtained the next one meanwhile.
      if (held !== null && held.text !== token) return true
      if (login.by === 'token') return false
      if (login.by === 'file' && (await read(login)) === token) return false
      held = null
      await getOnce()
      return true
    },
  }
}

const RENEW_AGAIN_MS = 10 * SECOND

async function read(login: Exclude<VaultLogin, { by: 'role' }>): Promise<string> {
  if (login.by === 'token') return login.token
  try {
    const text = (await readFile(login.file, 'utf8')).trim()
    if (text !== '') return text
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new AppError('vault_denied', `the token’s file ${login.file} cannot be read (${code ?? 'unknown'})`)
  }
  throw new AppError('vault_denied', `the token’s file ${login.file} is empty`)
}

function partOf({ body }: VaultAnswer, name: 'auth' | 'data'): Readonly<Record<string, unknown>> {
  const part = body?.[name]
  return typeof part === 'object' && part !== null ? (part as Record<string, unknown>) : {}
}
