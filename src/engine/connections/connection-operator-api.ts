// The operator API of connections. Requests about credentials are passed on to credentials.

import type { ProbeResult } from '../../core/connections/connection/index.ts'
import type { ConnectionDocument } from '../../core/definitions/documents/index.ts'
import { definitionId, type ManagedBy } from '../../core/definitions/documents/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Page, StoredRecord } from '../../ports/store.ts'
import type { EngineBase } from '../commit/index.ts'
import type { Deployed, Lookups, Registry } from '../definitions/index.ts'
import type { Buckets } from '../flow-control/index.ts'
import type { ConnectionStateCache } from './connection-state-cache.ts'
import type { Tester } from './connection-tester.ts'
import type { ConnectionView, Integrations, ProviderView } from './connection-types.ts'
import { makeRunList } from './run-list.ts'

const RECORDS_PAGE = 200

export type ConnectionOperatorApi = Pick<
  Integrations,
  'providers' | 'provider' | 'connections' | 'connection' | 'test' | 'retire' | 'override' | 'run' | 'runs'
>

export function makeConnectionOperatorApi(
  deps: Pick<EngineBase, 'store' | 'log' | 'time'> & {
    readonly registry: Registry
    readonly lookups: Lookups
    readonly buckets: Buckets
    readonly stateCache: ConnectionStateCache
    readonly tester: Tester
    /** The owners of the deployed definitions, by kind and name. */
    owners(tenant: TenantId): ReadonlyMap<string, ManagedBy>
  },
): ConnectionOperatorApi {
  const { store, log, time, registry, lookups, buckets, stateCache, tester } = deps
  const runList = makeRunList(deps)

  const providerView = (tenant: TenantId, document: ProviderView['document']): ProviderView => ({
    document,
    managedBy: registry.isBuiltIn(document.name)
      ? 'built-in'
      : (deps.owners(tenant).get(definitionId(document)) ?? 'folder'),
    connections: registry.connections(tenant).filter((one) => one.document.provider === document.name).length,
  })

  const find = (tenant: TenantId, name: string): Deployed<ConnectionDocument> => {
    const found = registry.connection(tenant, name)
    if (found === null) throw new AppError('not_found', `there is no connection \`${name}\` in force`)
    return found
  }

  const view = (
    tenant: TenantId,
    { document }: Deployed<ConnectionDocument>,
    health: readonly ProbeResult[],
  ): ConnectionView => {
    const found = lookups.find(tenant, document.name)
    const state = stateCache.state(tenant, document.name)
    return {
      document,
      managedBy: deps.owners(tenant).get(definitionId(document)) ?? 'folder',
      state,
      lastProbe: latestOf(health[0] ?? null, state.lastTest),
      buckets: found.ok ? buckets.view(tenant, found.account) : [],
    }
  }

  const healthOf = async (tenant: TenantId, name: string): Promise<readonly ProbeResult[]> => {
    const record = await store.forTenant(tenant).record('health', name)
    return record === null ? [] : resultsOf(record.body)
  }

  /** Of all connections, by name. */
  const healthOfAll = async (tenant: TenantId): Promise<ReadonlyMap<string, readonly ProbeResult[]>> => {
    const all = new Map<string, readonly ProbeResult[]>()
    let cursor: string | null = null
    do {
      const page: Page<StoredRecord> = await store
        .forTenant(tenant)
        .records({ kind: 'health', cursor, limit: RECORDS_PAGE })
      for (const { key, body } of page.items) all.set(key, resultsOf(body))
      cursor = page.nextCursor
    } while (cursor !== null)
    return all
  }

  const reasonOf = (reason: string | null): string => {
    if (reason === null || reason.trim() === '')
      throw new AppError('invalid_request', 'say why: `reason` is missing')
    return reason
  }

  return {
    providers: (tenant) => registry.providers(tenant).map(({ document }) => providerView(tenant, document)),
    provider(tenant, name) {
      const found = registry.provider(tenant, name)
      if (found === null) throw new AppError('not_found', `there is no provider \`${name}\``)
      return providerView(tenant, found.document)
    },
    async connections(tenant) {
      await stateCache.learn(tenant)
      const deployed = registry.connections(tenant)
      const health = deployed.length === 0 ? new Map<string, never>() : await healthOfAll(tenant)
      return deployed.map((one) => view(tenant, one, health.get(one.document.name) ?? []))
    },
    async connection(tenant, name) {
      const found = find(tenant, name)
      await stateCache.learn(tenant)
      const health = await healthOf(tenant, name)
      return { ...view(tenant, found, health), health }
    },
    async test(tenant, name, { by }) {
      const found = find(tenant, name)
      await stateCache.learn(tenant)
      if (stateCache.state(tenant, name).status === 'retired')
        throw new AppError(
          'conflict',
          `the connection \`${name}\` is retired; apply its document again to use it`,
        )
      const { result, run } = await tester.test(tenant, name)
      log.info('connection.tested', { tenant, connection: name, ok: result.ok, by })
      const stored = await store.forTenant(tenant).run(run.id)
      if (stored === null) throw new Error('assertion failed: the run of a test is kept')
      return { ok: result.ok, run: stored, view: view(tenant, found, await healthOf(tenant, name)) }
    },
    async retire(tenant, name, { by, reason }) {
      const found = find(tenant, name)
      const why = reasonOf(reason)
      await stateCache.learn(tenant)
      await stateCache.change(tenant, name, { type: 'retired', at: time.now(), by, reason: why })
      return view(tenant, found, await healthOf(tenant, name))
    },
    async override(tenant, name, override, { by, reason }) {
      const found = find(tenant, name)
      const why = reasonOf(reason)
      const at = time.now()
      if (override?.until != null && override.until <= at)
        throw new AppError('invalid_request', '`until` has passed already')
      await stateCache.learn(tenant)
      const said = override === null ? null : { ...override, reason: why, by, since: at }
      await stateCache.change(tenant, name, { type: 'overridden', at, override: said })
      log.info('circuit.overridden', { tenant, connection: name, is: override?.is ?? null, by, reason: why })
      return view(tenant, found, await healthOf(tenant, name))
    },
    async run(tenant, id) {
      const run = await runList.one(tenant, id)
      if (run === null) throw new AppError('not_found', `there is no run ${id}`)
      return run
    },
    runs: runList.list,
  }
}

/** The latest first. */
function resultsOf(body: string): readonly ProbeResult[] {
  const { results } = JSON.parse(body) as { readonly results?: readonly ProbeResult[] }
  return [...(results ?? [])].sort((a, b) => b.window - a.window)
}

/** The connection's own record is written when its state changes, so its test may be older than the last scheduled probe. */
function latestOf(look: ProbeResult | null, test: ProbeResult | null): ProbeResult | null {
  if (look === null || test === null) return look ?? test
  return look.at >= test.at ? look : test
}
