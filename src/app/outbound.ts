// One client for all outbound calls: addresses of mail servers go to the one, all others to the other. Both have the
// same guard.
//
// If tenants reach different private addresses, each part has its own client: a connection that was judged for one
// tenant and is kept alive must not carry another tenant's call.

import type { Config } from '../config/index.ts'
import { makeOutboundPolicy, type OutboundPolicy } from '../core/access/network/index.ts'
import type { SubscriptionDocument, VarValues } from '../core/definitions/documents/index.ts'
import { messageOf } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { compileAddress } from '../core/webhooks/subscription/index.ts'
import type { HttpClient, Vetted } from '../ports/http-client.ts'

const MAIL = /^smtps?:/i

export function combineClients(web: HttpClient, mail: HttpClient): HttpClient {
  return {
    send: (request) => (MAIL.test(request.url) ? mail : web).send(request),
    vet: (url, tenant) => (MAIL.test(url) ? mail : web).vet(url, tenant),
  }
}

export interface Outbound extends AsyncDisposable {
  readonly http: HttpClient
}

type Guarded = Pick<Config, 'environment' | 'outboundAllow' | 'outboundTenants'>

interface Guard {
  readonly allow: readonly string[]
  /** The upper bound; undefined: there is none. */
  readonly within: readonly string[] | undefined
}

/** `tenant` undefined: one that is not named. */
function guardOf(config: Guarded, tenant: string | undefined): Guard {
  const { environment, outboundAllow, outboundTenants } = config
  if (outboundTenants === null) return { allow: outboundAllow, within: undefined }
  const own = outboundTenants.find((one) => one.tenant === tenant)?.allow
  if (own?.includes('*')) return { allow: outboundAllow, within: outboundAllow }
  return { allow: own ?? (environment === 'DEV' ? ['loopback'] : []), within: outboundAllow }
}

/** What the tenant reaches besides public addresses. */
export function outboundPolicyOf(config: Guarded, tenant: TenantId): OutboundPolicy {
  const { allow, within } = guardOf(config, tenant)
  return makeOutboundPolicy(allow, within === undefined ? undefined : makeOutboundPolicy(within))
}

/** `make`: a client that calls what `allow` lists, as far as `within` lists it too. `tenant` undefined: it is shared by all that are not named. */
export function makeOutbound(
  config: Guarded,
  make: (guard: Guard, tenant: string | undefined) => HttpClient & Partial<AsyncDisposable>,
): Outbound {
  const clients = new Map(
    (config.outboundTenants ?? []).map(({ tenant }) => [tenant, make(guardOf(config, tenant), tenant)]),
  )
  const others = make(guardOf(config, undefined), undefined)
  const find = (tenant: TenantId | undefined) =>
    (tenant === undefined ? undefined : clients.get(tenant)) ?? others
  const byTenant: HttpClient = {
    send: (request) => find(request.tenant).send(request),
    vet: (url, tenant) => find(tenant).vet(url, tenant),
  }
  return {
    http: clients.size === 0 ? others : byTenant,
    async [Symbol.asyncDispose]() {
      for (const client of [...clients.values(), others]) await client[Symbol.asyncDispose]?.()
    },
  }
}

/** Whether a subscription's endpoint may be called, by the rules for every outbound call. */
export async function vetSubscription(
  http: Pick<HttpClient, 'vet'>,
  vars: VarValues,
  tenant: TenantId,
  document: SubscriptionDocument,
): Promise<Vetted> {
  let address: string
  try {
    address = compileAddress(document.url)({ vars })
  } catch (error) {
    return { ok: false, rule: 'url', message: `the address cannot be made: ${messageOf(error)}` }
  }
  return http.vet(address, tenant)
}
