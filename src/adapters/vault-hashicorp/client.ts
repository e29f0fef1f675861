// Requests to a HashiCorp Vault. Its address is the operator's own setting and is usually in a private network: the
// guard for calls by definitions does not apply. Redirects are not followed, so the token goes nowhere else.
//
// A table translates the vault's failures here. Error texts contain paths and the vault's own message, never a value.

import { Agent } from 'undici'
import { AppError, messageOf } from '../../core/foundation/errors/index.ts'
import { SECOND } from '../../core/foundation/time/index.ts'

const TIMEOUT_MS = 5 * SECOND
const CONNECTIONS_MAX = 16
const ANSWER_BYTES_MAX = 8_388_608
const SAID_LENGTH_MAX = 300

export interface VaultRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** After `/v1/`; its parts are encoded. */
  readonly path: string
  readonly body?: unknown
  /** null: a login has none yet. */
  readonly token: string | null
}

export interface VaultAnswer {
  readonly status: number
  /** null: it has no body, or none that is JSON. */
  readonly body: Readonly<Record<string, unknown>> | null
}

export interface VaultClient extends AsyncDisposable {
  /** Returns a response of any status. Throws `vault_unavailable` if there is none. */
  ask(request: VaultRequest): Promise<VaultAnswer>
}

export function makeVaultClient(options: {
  readonly url: string
  readonly namespace: string | null
  readonly timeoutMs?: number
}): VaultClient {
  const base = new URL(options.url)
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS
  const agent = new Agent({ connections: CONNECTIONS_MAX, pipelining: 1, connect: { timeout: timeoutMs } })
  const fixed = {
    'x-vault-request': 'true',
    ...(options.namespace === null ? {} : { 'x-vault-namespace': options.namespace }),
  }
  return {
    async ask({ method, path, body, token }) {
      const headers = {
        ...fixed,
        ...(token === null ? {} : { 'x-vault-token': token }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      }
      try {
        const answer = await agent.request({
          origin: base.origin,
          path: `${base.pathname.replace(/\/$/, '')}/v1/${path}`,
          method,
          headers,
          body: body === undefined ? null : JSON.stringify(body),
          signal: AbortSignal.timeout(timeoutMs),
        })
        return { status: answer.statusCode, body: parse(await readBody(answer.body)) }
      } catch (error) {
        const isLate = error instanceof Error && error.name === 'TimeoutError'
        const why = isLate ? `nothing came within ${timeoutMs} ms` : codeOf(error)
        throw new AppError('vault_unavailable', `${base.host} does not answer: ${why}`, { cause: error })
      }
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  }
}

/** What a status other than success means, except where it means that nothing exists. */
export function failureOf({ status, body }: VaultAnswer, path: string): AppError {
  const said = saidIn(body)
  const detail = `${path}: ${said === '' ? `status ${status}` : said}`
  if (status === 501 || (status === 503 && /seal/i.test(said))) return new AppError('vault_sealed', detail)
  // Older ones answer 400 to a request without a token.
  if (status === 403 || status === 401 || /missing client token/.test(said))
    return new AppError('vault_denied', detail)
  if (status >= 300 && status < 400)
    return new AppError('vault_unavailable', `${detail}: it points elsewhere; name the node that is active`)
  return new AppError('vault_unavailable', detail)
}

export function saidIn(body: VaultAnswer['body']): string {
  const errors = Array.isArray(body?.errors) ? body.errors : []
  const texts = errors.filter((error): error is string => typeof error === 'string')
  return texts.join('; ').trim().replaceAll(/\s+/g, ' ').slice(0, SAID_LENGTH_MAX)
}

async function readBody(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.length
    if (length > ANSWER_BYTES_MAX) throw new Error(`its answer has more than ${ANSWER_BYTES_MAX} bytes`)
    parts.push(chunk)
  }
  return Buffer.concat(parts).toString('utf8')
}

function parse(text: string): VaultAnswer['body'] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } }
  const found = typeof code === 'string' ? code : cause?.code
  return typeof found === 'string' ? found : messageOf(error)
}
