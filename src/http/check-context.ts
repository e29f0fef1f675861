// What is known beside definitions that come over the network, and what they are checked against.

import { outboundEntries } from '../core/access/network/index.ts'
import type { ProfileDocument } from '../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../core/foundation/ids/index.ts'
import { type KnownBeside, streamsOf } from '../definitions/index.ts'
import type { HttpApi } from './api.ts'

export async function readSurroundings(
  api: Pick<
    HttpApi,
    | 'definitions'
    | 'secrets'
    | 'about'
    | 'busPrefix'
    | 'natsStreams'
    | 'secretEnv'
    | 'variableNames'
    | 'varSettings'
  >,
  tenant: TenantId,
  /** false: nothing in them names one. Every subscription has a secret of its own, so there may be thousands to list. */
  namesSecrets = true,
): Promise<KnownBeside> {
  const profiles = new Map<string, ProfileDocument>()
  const deployedDocuments = (await api.definitions.list(tenant)).map(({ document }) => document)
  for (const document of deployedDocuments) {
    if (document.kind === 'Profile') profiles.set(document.name, document)
  }
  const names = namesSecrets ? await api.secrets.names(tenant) : null
  return {
    profiles,
    deployedDocuments,
    emits: api.definitions.functionEmits(tenant).flatMap(({ subjects }) => subjects),
    secretNames: names,
    ...(api.variableNames === undefined ? {} : { variableNames: api.variableNames }),
    // The environment is the node's own: no other tenant's definitions may name what is in it.
    hasEnvironment: tenant === DEFAULT_TENANT,
    isProduction: api.about.environment === 'PROD',
    refusesLiterals: api.about.environment === 'PROD',
    environment: environmentOf(api.about.environment),
    busPrefix: api.busPrefix,
    streams: streamsOf(tenant, api.natsStreams),
    envNames: api.secretEnv,
    ...(tenant === DEFAULT_TENANT && api.varSettings !== undefined ? { varSettings: api.varSettings } : {}),
  }
}

export function environmentOf(text: string): 'DEV' | 'QA' | 'PROD' {
  return text === 'QA' || text === 'PROD' ? text : 'DEV'
}

/** Where the tenant's definitions may call, as data that can be sent to another thread. */
export function outboundJob({ outbound }: Pick<HttpApi, 'outbound'>, tenant: TenantId) {
  if (outbound === undefined) return {}
  const { within, ...own } = outbound(tenant)
  return {
    outboundAllow: outboundEntries(own),
    ...(within !== undefined && { outboundWithin: outboundEntries(within) }),
  }
}
