// Sends one request: one exchange with an external system on a connection. It alone combines the address, the credential and
// the limits.
//
// Invariants: DR1 a credential goes to the connection's own addresses and nowhere else. DR2 a secret is resolved for one
// exchange and not stored. DR3 the result contains nothing of it. DR5 everything that is sent was counted by its buckets.

import { locate } from '../../core/connections/connection/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import { makeRedact, type Redact } from '../../core/secrets/index.ts'
import type { EngineConfig, EngineDeps } from '../config.ts'
import type { Account, Lookups } from '../definitions/index.ts'
import { redactOutcome, requestHead, responseHead } from '../effects/index.ts'
import { type Buckets, type CallAdmission, limitsSaid } from '../flow-control/index.ts'
import type { Authorized, Credentials, OutboundRequest, OutboundResponse } from './connection-types.ts'

export interface RequestSender {
  send(request: OutboundRequest): Promise<OutboundResponse>
  /** Whether the credential is available, if there is no call to verify it. */
  authorize(request: Pick<OutboundRequest, 'tenant' | 'connection'>): Promise<Authorized>
}

export function makeRequestSender(
  deps: Pick<EngineDeps, 'clock' | 'http'> & {
    readonly lookups: Lookups
    readonly buckets: Buckets
    readonly callAdmission: Pick<CallAdmission, 'spend'>
    readonly credentials: Pick<Credentials, 'authorize'>
  },
  config: Pick<EngineConfig, 'version'>,
): RequestSender {
  const { clock, http, lookups, buckets, callAdmission, credentials } = deps
  /** Keyed by the very list that a credential returns again: a redactor is expensive to make, and the same for every call. */
  const redacts = new WeakMap<readonly string[], Redact>()

  const redactOf = (secrets: readonly string[]): Redact => {
    let known = redacts.get(secrets)
    if (known === undefined) {
      known = makeRedact(secrets)
      redacts.set(secrets, known)
    }
    return known
  }

  const authorize = async (account: Account, request: OutboundRequest, url: string): Promise<Authorized> => {
    const { credential, provider, addresses } = account
    if (credential === null) return NOTHING
    return credentials.authorize({
      tenant: request.tenant,
      provider,
      credential,
      request: { method: request.method, url, body: request.body },
      config: configOf(addresses.config),
      base: addresses.base,
      secret: request.secret ?? 'current',
    })
  }

  return {
    async authorize({ tenant, connection }) {
      const found = lookups.find(tenant, connection)
      if (!found.ok) return { ok: false, class: 'config', code: found.code, error: found.why }
      const { base } = found.account.addresses
      return authorize(found.account, { ...EMPTY_REQUEST, tenant, connection }, base)
    },
    async send(request) {
      const { tenant, method, target, endpoint, by = '' } = request
      const found = lookups.find(tenant, request.connection)
      if (!found.ok)
        return notSent('config', `${found.code}: ${found.why}`, `${method} ${withoutQuery(target)}`)
      const { account } = found
      const place = locate(account.addresses, endpoint, target)
      if (!place.ok) return notSent('config', `connection_address: ${place.why}`, method)
      const allowed = await authorize(account, request, place.url)
      if (!allowed.ok) {
        const head = `${method} ${withoutQuery(place.url)}`
        const answer = notSent(allowed.class, `${allowed.code}: ${allowed.error}`, head)
        return allowed.wait === undefined ? answer : { ...answer, wait: allowed.wait }
      }
      if (request.sendBy !== undefined && clock.monotonic() > request.sendBy)
        return notSent('transient', 'the credential took too long; nothing was sent', method)
      const { hidden = [] } = request
      const redact =
        hidden.length === 0 ? redactOf(allowed.secrets) : makeRedact([...allowed.secrets, ...hidden])
      const url = withQuery(place.url, allowed.query)
      const own = {
        traceparent: request.traceparent,
        'user-agent': `millrace/${config.version}`,
        ...request.headers,
      }
      const isPaid = request.isCounted === true && callAdmission.spend(by)
      if (!isPaid) buckets.enter(tenant, account, request.buckets, by)
      const { onChunk } = request
      const raw = await http.send({
        tenant,
        method,
        url,
        // Authorization is the connection's to set.
        headers: { ...own, ...allowed.headers },
        body: request.body,
        timeoutMs: request.timeoutMs,
        maxResponseBytes: request.maxResponseBytes,
        ...(onChunk === undefined ? {} : { onChunk: (text: string) => onChunk(redact(text)) }),
      })
      const outcome = redactOutcome(raw, redact)
      const { isLimited, limits } = limitsSaid(outcome, clock.now())
      buckets.reportResult(tenant, account, request.buckets, { by, isLimited, limits })
      const resetMs = limits?.resetAt == null ? null : Math.max(0, limits.resetAt - clock.now())
      return {
        outcome,
        problem: null,
        isLimited,
        retryAfterMs: limits?.retryAfterMs ?? (isLimited ? resetMs : null),
        credentialVersion: allowed.version,
        requestHead: requestHead({ method, url: place.url, headers: own }, allowed.headers, redact),
        responseHead: responseHead(outcome),
      }
    },
  }
}

const NOTHING: Authorized = { ok: true, version: null, headers: {}, query: {}, secrets: [] }

const EMPTY_REQUEST: Omit<OutboundRequest, 'tenant' | 'connection'> = {
  endpoint: null,
  method: 'GET',
  target: '',
  headers: {},
  body: null,
  timeoutMs: 0,
  maxResponseBytes: 0,
  buckets: [],
  traceparent: '',
}

/** Nothing was sent, for this reason. */
export function notSent(failureClass: FailureClass, error: string, head: string): OutboundResponse {
  return {
    outcome: { kind: 'failed', sent: 'no', code: 'blocked', message: error, durationMs: 0 },
    problem: { class: failureClass, error },
    isLimited: false,
    retryAfterMs: null,
    credentialVersion: null,
    requestHead: head,
    responseHead: null,
  }
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '')
}

function withQuery(url: string, query: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(query).map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  )
  if (pairs.length === 0) return url
  const [address = '', fragment] = url.split('#', 2)
  const joined = `${address}${address.includes('?') ? '&' : '?'}${pairs.join('&')}`
  return fragment === undefined ? joined : `${joined}#${fragment}`
}

function configOf(config: unknown): Readonly<Record<string, unknown>> {
  const isMap = typeof config === 'object' && config !== null && !Array.isArray(config)
  return isMap ? (config as Readonly<Record<string, unknown>>) : {}
}
