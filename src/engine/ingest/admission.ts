// The first half of ingest: decides whether a request may become an event, and reads its body. The order: the source
// exists and is enabled, the address may send, the body is not too large, the signature is valid, it is not a
// handshake, the tenant's backlog and the source's rate allow it, the body can be read.
//
// Only verified requests use the rate limit, so a sender without the secret cannot use up another's share.

import { ExpressionError, type Scope } from '../../core/expression/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { SECOND } from '../../core/foundation/time/index.ts'
import { type Body, parseForm, readBody, readMediaType } from '../../core/ingest/request-body/index.ts'
import type { Answer, Handshake, Source, VerifyInput } from '../../core/ingest/source/index.ts'
import type { EngineDeps } from '../config.ts'
import type { Registry } from '../definitions/index.ts'
import type { SharedPermits } from '../flow-control/index.ts'
import { isVaultTrouble } from '../secrets/index.ts'
import { makeShares } from './source-rates.ts'
import type { TenantBacklog } from './tenant-backlog.ts'

export interface IntakeRequest {
  readonly tenant: string
  readonly source: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** As received. */
  readonly body: Uint8Array
  /** Left out: POST. */
  readonly method?: string
  /** Path and query as received. */
  readonly target?: string
  /** The sender's address, after trusted proxies; if omitted, it is in no allow list. */
  readonly address?: string
  /** The full URL as the sender saw it. */
  readonly publicUrl?: string
  /** Returns the body without its content encoding, if it has one. Throws AppError. `isVerified`: the sender is authenticated. */
  readonly inflate?: ((bytesMax: number, isVerified: boolean) => Promise<Uint8Array>) | undefined
}

export type Headers = Readonly<Record<string, string>>

export interface Admitted {
  readonly source: Source
  readonly header: Headers
  readonly body: Body
  /** Of the decoded body, without its content encoding. */
  readonly bytes: Uint8Array
}

/** What is known of a request before its body is read. */
export type Announced = Pick<IntakeRequest, 'tenant' | 'source' | 'address'>

export interface Admission {
  /** The source that a request may be for, by what is known before the body is read. Throws AppError on refusal. */
  find(request: Announced): Source
  /** Throws AppError on refusal. */
  admit(request: IntakeRequest): Promise<Admitted | { readonly handshake: Answer; readonly source: Source }>
}

export function makeAdmission(
  deps: Pick<EngineDeps, 'clock' | 'vault' | 'log'> & {
    readonly registry: Registry
    /** Rate permits shared by all nodes; null: this is the only node. */
    readonly sharedPermits: SharedPermits | null
    readonly backlog: Pick<TenantBacklog, 'check'>
    /** Whether another node may accept what this one cannot. */
    readonly isShared: boolean
  },
): Admission {
  const { clock, vault, log, registry } = deps
  const shares = makeShares({ clock, sharedPermits: deps.sharedPermits })

  const secretsOf = async (source: Source, tenant: string): Promise<readonly string[]> => {
    const { verify } = source.document
    if (!('secret' in verify)) return []
    let secrets: readonly string[]
    try {
      secrets = await vault.resolve(tenant as TenantId, verify.secret)
    } catch (error) {
      throw withoutName(error)
    }
    if (secrets.length > 0) return secrets
    log.error('source.secret-missing', { source: source.document.name, tenant })
    throw new AppError('secret_missing')
  }

  const refuseBeyond = (waitMs: number): void => {
    if (waitMs === 0) return
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / SECOND))
    const detail = `the source’s \`rateLimit\` is used up; send again in ${retryAfterSeconds} s`
    throw new AppError('rate_limited', detail, { details: { retryAfterSeconds } })
  }

  /** null: no wait is needed. */
  const takeShare = (source: Source, tenant: string): Promise<void> | null => {
    const waitMs = shares.take(tenant, source)
    if (typeof waitMs !== 'number') return waitMs.then(refuseBeyond)
    refuseBeyond(waitMs)
    return null
  }

  const find = (request: Announced): Source => {
    const source = registry.source(request.tenant, request.source)
    const tenant = request.tenant as TenantId
    // The source needs a newer version: a sender that gets "unknown" might not retry.
    if (source === null && registry.isUnusable(tenant, `source:${request.source}`))
      throw new AppError('source_unusable')
    if (source !== null && deps.isShared && registry.needsNewerVersion(tenant))
      throw new AppError('source_unusable')
    if (source === null || source.document.verify.scheme === 'closed') throw new AppError('unknown_source')
    if (source.status === 'disabled') throw new AppError('source_disabled')
    const { allows } = source.guards
    if (allows !== null && !allows(request.address ?? '')) {
      throw new AppError('address_refused', 'the source’s `allow` does not name the address of the sender')
    }
    return source
  }

  return {
    find,
    async admit(request) {
      const source = find(request)
      const { guards, document } = source
      const { limits } = document
      const header = flatten(request.headers)
      if ((request.method ?? 'POST') !== 'POST') {
        return { handshake: answerOther(source, request, header), source }
      }
      if (request.body.byteLength > limits.bodyBytes) {
        throw new AppError('body_too_large', `the limit is ${limits.bodyBytes} bytes`)
      }
      let bytes = request.body
      let isInflated = request.inflate === undefined
      const inflate = async (isVerified: boolean) => {
        if (!isInflated) bytes = (await request.inflate?.(limits.bodyBytes, isVerified)) ?? bytes
        isInflated = true
      }
      const secrets = 'secret' in document.verify ? await secretsOf(source, request.tenant) : NO_SECRETS
      const input = new Verified(request, header, bytes, secrets, clock.now())
      let verdict = source.verifier(input)
      if (!verdict.ok && verdict.code === 'signature_wrong' && !isInflated && source.signsBody) {
        // Some vendors sign the compressed body, others the inflated one.
        await inflate(false)
        verdict = source.verifier(input.withBody(bytes))
      }
      if (!verdict.ok) throw new AppError(verdict.code, verdict.detail)
      const read = async (): Promise<Body> => {
        await inflate(true)
        return readWith(header, bytes, limits.depth)
      }
      if (source.vendorHandshake !== null) {
        await inflate(true)
        const answer = source.vendorHandshake(input.withBody(bytes))
        if (answer !== null) return { handshake: answer, source }
      }
      let body: Body | null = null
      if (guards.handshake?.method === 'POST') {
        body = await read()
        const answer = answerOf(guards.handshake, scopeOf(source, request, header, body.payload))
        if (answer !== null) return { handshake: answer, source }
      }
      deps.backlog.check(request.tenant as TenantId)
      const taking = takeShare(source, request.tenant)
      if (taking !== null) await taking
      body ??= await read()
      return { source, header, body, bytes }
    },
  }
}

const NO_SECRETS: readonly string[] = []

/** Few schemes sign the URL, so it is built on demand. A class, because one is created for every request. */
class Verified implements VerifyInput {
  readonly method = 'POST'
  readonly headers: Headers
  readonly body: Uint8Array
  readonly secrets: readonly string[]
  readonly now: number
  readonly #request: IntakeRequest
  constructor(
    request: IntakeRequest,
    headers: Headers,
    body: Uint8Array,
    secrets: readonly string[],
    now: number,
  ) {
    this.#request = request
    this.headers = headers
    this.body = body
    this.secrets = secrets
    this.now = now
  }
  get url() {
    return this.#request.publicUrl ?? ''
  }
  withBody(body: Uint8Array): Verified {
    return new Verified(this.#request, this.headers, body, this.secrets, this.now)
  }
}

/** The vault logs which secret cannot be decrypted, and where; an unknown sender learns neither. */
function withoutName(error: unknown): unknown {
  return isVaultTrouble(error) ? new AppError(error.code, undefined, { cause: error }) : error
}

/** A request without a body carries no signature: the condition of the source's handshake is its check. */
function answerOther(source: Source, request: IntakeRequest, header: Headers): Answer {
  const { handshake } = source.guards
  if (request.method !== 'GET' || handshake?.method !== 'GET') {
    const allow = handshake?.method === 'GET' ? ['GET', 'POST'] : ['POST']
    throw new AppError('method_not_allowed', `the source takes ${allow.join(' and ')}`, {
      details: { allow },
    })
  }
  const answer = answerOf(handshake, scopeOf(source, request, header, null))
  if (answer === null) throw new AppError('handshake_refused')
  return answer
}

/** A condition that cannot be evaluated counts as false. */
function answerOf(handshake: Handshake, scope: Scope): Answer | null {
  try {
    return handshake.answer(scope)
  } catch (error) {
    if (error instanceof ExpressionError) return null
    throw error
  }
}

function readWith(header: Headers, bytes: Uint8Array, depth: number): Body {
  const media = readMediaType(header['content-type'])
  if (!media.ok) throw new AppError('wrong_type', media.detail)
  const read = readBody(media, bytes, depth)
  if (!read.ok) throw new AppError(read.code, read.detail)
  return read.body
}

function scopeOf(source: Source, request: IntakeRequest, header: Headers, payload: JsonValue): Scope {
  const { target = '' } = request
  const mark = target.indexOf('?')
  const query = mark === -1 ? null : parseForm(target.slice(mark + 1))
  return {
    header,
    payload,
    query: query?.ok === true ? query.fields : {},
    source: source.document.name,
    tenant: request.tenant,
  }
}

function flatten(headers: IntakeRequest['headers']): Headers {
  for (const name in headers) if (typeof headers[name] !== 'string') return joinLists(headers)
  return headers as Headers
}

function joinLists(headers: IntakeRequest['headers']): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return flat
}
