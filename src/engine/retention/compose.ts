// Composes retention with the retention times of the deployed definitions.

import type { RouteDocument, SourceDocument } from '../../core/definitions/documents/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { EngineConfig, EngineDeps } from '../config.ts'
import { keepTimesOf, ledgerKeepTimesOf, makeRetention, type Retention } from './retention.ts'

/** What is deployed. */
interface Deployed {
  sources(tenant: TenantId): readonly { readonly document: SourceDocument }[]
  pollers(tenant: TenantId): readonly { readonly source: { readonly document: SourceDocument } }[]
  routes(tenant: TenantId): readonly { readonly document: RouteDocument }[]
  hasUnusable(tenant: TenantId): boolean
}

export function composeRetention(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'log'> & {
    readonly registry: Deployed
    /** Whose times are known here. */
    tenants(): Promise<readonly TenantId[]>
  },
  config: Pick<
    EngineConfig,
    'retentionEveryMs' | 'retentionMs' | 'canonicalRetentionMs' | 'ledgerRetentionMs'
  >,
): Retention {
  const { registry } = deps
  const keepTimes = (tenant: TenantId) => {
    const pollers = registry.pollers(tenant).map(({ source }) => source)
    const sources = [...registry.sources(tenant), ...pollers].map(({ document }) => document)
    return keepTimesOf(sources, config.retentionMs, config.canonicalRetentionMs)
  }
  const ledgerKeepTimes = (tenant: TenantId) => {
    const routes = registry.routes(tenant).map(({ document }) => document)
    return ledgerKeepTimesOf(routes, keepTimes(tenant), config.ledgerRetentionMs)
  }
  const hasUnusable = (tenant: TenantId) => registry.hasUnusable(tenant)
  return makeRetention(
    { ...deps, hasUnusable, keepTimes, ledgerKeepTimes, factMs: config.canonicalRetentionMs },
    config,
  )
}
