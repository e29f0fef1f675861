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
import { makeSourceRates } from './source-rates.ts'
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

export type Answered = Admitted | { readonly handshake: Answer; readonly source: Source }

/** What is known of a request before its body is read. */
export type Announced = Pick<IntakeRequest, 'tenant' | 'source' | 'address'>

export interface Admission {
  /** The source that a request may be for, by what is known before the body is read. Throws AppError on refusal. */
  find(request: Announced): Source
  /** Throws AppError on refusal. In one turn, unless a secret, an encoded body or a shared rate limit is waited for. */
  admit(request: IntakeRequest): Answered | Promise<Answered>
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
  const sourceRates = makeSourceRates({ clock, sharedPermits: deps.sharedPermits })

  const secretsOf = (source: Source, tenant: string): readonly string[] | Promise<readonly string[]> => {
    const { verify } = source.document
    if (!('secret' in verify)) return NO_SECRETS
    const found = vault.resolve(tenant as TenantId, verify.secret)
    const some = (secrets: readonly string[]): readonly string[] => {
      if (secrets.length > 0) return secrets
      log.error('source.secret-missing', { source: source.document.name, tenant })
      throw new AppError('secret_missing')
    }
    if (!(found instanceof Promise)) return some(found)
    return found.then(some, (error) => {
      throw withoutName(error)
    })
  }

  const refuseBeyond = (waitMs: number): void => {
    if (waitMs === 0) return
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / SECOND))
    const detail = `the source’s \`rateLimit\` is used up; send again in ${retryAfterSeconds} s`
    throw new AppError('rate_limited', detail, { details: { retryAfterSeconds } })
  }

  /** null: no wait is needed. */
  const takeShare = (source: Source, tenant: string): Promise<void> | null => {
    const waitMs = sourceRates.take(tenant, source)
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

  const checkLimits = (source: Source, tenant: string): Promise<void> | null => {
    deps.backlog.check(tenant as TenantId)
    return takeShare(source, tenant)
  }

  /** After the signature: handshake, limits, body. `bytes`: the body without its content encoding. */
  const admitVerified = (
    source: Source,
    request: IntakeRequest,
    input: Verified,
    bytes: Uint8Array,
  ): Answered | Promise<Answered> => {
    const { headers: header } = input
    const { depth } = source.document.limits
    const { handshake } = source.guards
    const own = source.vendorHandshake?.(input.body === bytes ? input : input.withBody(bytes)) ?? null
    if (own !== null) return { handshake: own, source }
    let body: Body | null = null
    if (handshake?.method === 'POST') {
      body = readWith(header, bytes, depth)
      const answer = answerOf(handshake, scopeOf(source, request, header, body.payload))
      if (answer !== null) return { handshake: answer, source }
    }
    const waits = checkLimits(source, request.tenant)
    const admit = (): Admitted => ({ source, header, body: body ?? readWith(header, bytes, depth), bytes })
    return waits === null ? admit() : waits.then(admit)
  }

  /** A body with a content encoding is inflated as late as possible: after the limits, if no handshake needs it. */
  const admitEncoded = async (
    source: Source,
    request: IntakeRequest,
    input: Verified,
    inflate: NonNullable<IntakeRequest['inflate']>,
  ): Promise<Answered> => {
    const { bodyBytes, depth } = source.document.limits
    const { headers: header } = input
    let verdict = source.verifier(input)
    let bytes: Uint8Array | null = null
    if (!verdict.ok && verdict.code === 'signature_wrong' && source.signsBody) {
      // Some vendors sign the compressed body, others the inflated one.
      bytes = await inflate(bodyBytes, false)
      verdict = source.verifier(input.withBody(bytes))
    }
    if (!verdict.ok) throw new AppError(verdict.code, verdict.detail)
    if (source.vendorHandshake !== null || source.guards.handshake?.method === 'POST') {
      bytes ??= await inflate(bodyBytes, true)
      return admitVerified(source, request, input, bytes)
    }
    await checkLimits(source, request.tenant)
    bytes ??= await inflate(bodyBytes, true)
    return { source, header, body: readWith(header, bytes, depth), bytes }
  }

  const admitWith = (
    source: Source,
    request: IntakeRequest,
    header: Headers,
    secrets: readonly string[],
  ): Answered | Promise<Answered> => {
    const { body, inflate } = request
    const input = new Verified(request, header, body, secrets, clock.now())
    if (inflate !== undefined) return admitEncoded(source, request, input, inflate)
    const verdict = source.verifier(input)
    if (!verdict.ok) throw new AppError(verdict.code, verdict.detail)
    return admitVerified(source, request, input, body)
  }

  return {
    find,
    admit(request) {
      const source = find(request)
      const { limits } = source.document
      const header = flatten(request.headers)
      if ((request.method ?? 'POST') !== 'POST') {
        return { handshake: answerOther(source, request, header), source }
      }
      if (request.body.byteLength > limits.bodyBytes) {
        throw new AppError('body_too_large', `the limit is ${limits.bodyBytes} bytes`)
      }
      const secrets = secretsOf(source, request.tenant)
      return secrets instanceof Promise
        ? secrets.then((known) => admitWith(source, request, header, known))
        : admitWith(source, request, header, secrets)
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
