// Who is asking: `authorization: Bearer <key>`, or the console's session in a cookie; and whether their role is enough for
// the route.
//
// A browser sends the cookie automatically, whichever site caused the request. So a cookie counts only from the console's own
// address, and changes something only with a header that no other site's page can add without asking.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { isAllowed } from '../core/access/callers/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { Access, Caller } from '../engine/access/index.ts'
import { neededRole } from './operations.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for everything under /v1 that is not open. */
    caller: Caller
  }
  interface FastifyInstance {
    /** `MILLRACE_PUBLIC_URL` is an https address. */
    isPublicByTls: boolean
  }
  interface FastifyContextConfig {
    /** The request or its response contains a secret. Neither may be stored, so the route takes no idempotency key. */
    answerIsSecret?: true
  }
}

type Authenticators = Pick<Access, 'byKey' | 'bySession'>

/** Every route added to the scope after this has a caller with the role it needs. */
export function addAuthentication(scope: FastifyInstance, access: () => Authenticators): void {
  scope.decorateRequest('caller')
  scope.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const { url = '', config } = request.routeOptions
    const needed = neededRole({ url, method: request.method, config })
    if (needed === 'open') return
    const caller = await authenticate(request, access())
    assertRole(caller, needed)
    request.caller = caller
  })
}

export function assertRole(caller: Caller, needed: Parameters<typeof isAllowed>[1]): void {
  if (isAllowed(caller, needed)) return
  const detail =
    needed === 'node'
      ? 'only the node’s own admin key may do this'
      : `this needs the role ${needed}; the caller’s is ${caller.role}`
  throw new AppError('not_allowed', detail, { details: { needed, role: caller.role } })
}

/** The caller, by key or session; throws if neither is known. */
export async function authenticate(request: FastifyRequest, access: Authenticators): Promise<Caller> {
  const { authorization } = request.headers
  if (authorization !== undefined) {
    const match = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization)
    if (match === null)
      throw new AppError('not_authenticated', 'the authorization header is not a bearer key')
    return access.byKey(match[1] as string, addressGroup(request.ip))
  }
  const session = readCookie(request.headers.cookie)
  if (session === null)
    throw new AppError('not_authenticated', 'there is neither an authorization header nor a session')
  const caller = await access.bySession(session)
  assertFromConsole(request)
  return caller
}

/** Also for signing in, which has no session yet: another site must not sign a browser in without its user. */
export function assertOwnOrigin(request: FastifyRequest): void {
  const { origin, host } = request.headers
  if (origin === undefined) return
  if (!URL.canParse(origin) || new URL(origin).host !== ownHost(origin, host))
    throw new AppError('wrong_origin', 'the `origin` header names another address than the one called')
}

function assertFromConsole(request: FastifyRequest): void {
  assertOwnOrigin(request)
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (!isRead && request.headers['millrace-console'] !== '1')
    throw new AppError('wrong_origin', 'a session needs the header `millrace-console: 1` here')
}

/** The host as the origin's scheme would write it: without the port that the scheme implies. */
function ownHost(origin: string, host: string | undefined): string | null {
  const own = `${new URL(origin).protocol}//${host ?? ''}`
  return URL.canParse(own) ? new URL(own).host : null
}

const COOKIE = 'millrace_session'

function readCookie(header: string | undefined): string | null {
  for (const part of header?.split(';') ?? []) {
    const equals = part.indexOf('=')
    if (part.slice(0, equals).trim() === COOKIE) return part.slice(equals + 1).trim() || null
  }
  return null
}

/** An empty token ends the cookie. */
export function sessionCookie(request: FastifyRequest, token: string, lifeMs: number): string {
  const secure = isSecure(request) ? '; Secure' : ''
  const maxAge = Math.max(0, Math.floor(lifeMs / 1_000))
  return `${COOKIE}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure}`
}

/** The address that the caller used, as far as it can be known. */
export function baseUrl(request: FastifyRequest): string {
  return `${isSecure(request) ? 'https' : 'http'}://${request.headers.host ?? 'localhost'}`
}

/**
 * The operator says where the node is reached, or a proxy that ends TLS says so. A client that lies about it only gets a cookie that its
 * plain connection never sends. A browser that signs in says it itself, by its `origin`.
 */
function isSecure(request: FastifyRequest): boolean {
  const { origin = '' } = request.headers
  if (request.server.isPublicByTls || /^https:/i.test(origin)) return true
  const forwarded = request.headers['x-forwarded-proto']
  const first = (Array.isArray(forwarded) ? forwarded[0] : forwarded)?.split(',')[0]
  return request.protocol === 'https' || first?.trim().toLowerCase() === 'https'
}

/** One household counts as one: an IPv6 network of 64 bits is a single customer's. */
export function addressGroup(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return `${(parsed as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
