// Operations that will be removed: their responses say since when they are deprecated (RFC 9745), when they go (RFC 8594), and what to use instead.

import type { FastifyInstance, RouteOptions } from 'fastify'
import type { Caller } from '../engine/access/index.ts'
import type { Log } from '../ports/log.ts'

/** Days are UTC, `2026-11-18`. */
export interface Deprecation {
  readonly since: string
  /** A year after `since` at the earliest. */
  readonly sunset: string
  /** The operation to use instead: `GET /v1/events`. */
  readonly use: string
}

declare module 'fastify' {
  interface FastifyContextConfig {
    deprecated?: Deprecation
  }
}

const NOTICE_DAYS_MIN = 365
const DAY_MS = 86_400_000
/** Callers that were logged; more than these are not. */
const LOGGED_MAX = 1_000

/** Why an operation may not be deprecated like this; null: it may. */
export function deprecationFault({ since, sunset, use }: Deprecation): string | null {
  const [from, to] = [since, sunset].map((day) => Date.parse(`${day}T00:00:00Z`)) as [number, number]
  if (Number.isNaN(from) || Number.isNaN(to)) return 'its days are not of the form 2026-11-18'
  if (to - from < NOTICE_DAYS_MIN * DAY_MS)
    return `it goes less than ${NOTICE_DAYS_MIN} days after its deprecation`
  if (!/^[A-Z]+ \/v1\/\S+$/.test(use))
    return 'what to use instead is not an operation such as `GET /v1/events`'
  return null
}

export function deprecationHeaders({ since, sunset, use }: Deprecation): Readonly<Record<string, string>> {
  const [from, to] = [since, sunset].map((day) => Date.parse(`${day}T00:00:00Z`)) as [number, number]
  return {
    deprecation: `@${from / 1000}`,
    sunset: new Date(to).toUTCString(),
    link: `<${use.slice(use.indexOf(' ') + 1)}>; rel="successor-version"`,
  }
}

/** For every route added to the scope after this. Each caller of a deprecated operation is logged once per start of the node. */
export function addDeprecation(scope: FastifyInstance, log: Pick<Log, 'warn'>): void {
  const logged = new Set<string>()
  scope.addHook('onRoute', (route: RouteOptions) => {
    const deprecated = route.config?.deprecated
    if (deprecated === undefined) return
    const headers = deprecationHeaders(deprecated)
    const operation = `${[route.method].flat()[0]} ${route.url}`
    route.onSend = async (request, reply) => {
      reply.headers(headers)
      // A request that was refused has none.
      const caller = request.caller as Caller | undefined
      if (caller === undefined) return
      const { actor, tenant } = caller
      const who = JSON.stringify([operation, tenant, actor])
      if (logged.has(who) || logged.size >= LOGGED_MAX) return
      logged.add(who)
      log.warn('api.deprecated', { operation, ...deprecated, tenantId: tenant, by: actor })
    }
  })
}
