// The tenants of the node: records in the scope of the first one, which is where the node's own admin lives.
//
// A tenant is usable as soon as its record exists: its keys, definitions and secrets need nothing else.

import { AppError } from '../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Page, PageRequest, Store } from '../../ports/store.ts'
import type { TenantRecord } from './access-records.ts'

export interface TenantRow {
  readonly name: string
  readonly description: string | null
  readonly createdAt: Instant
  readonly createdBy: string
}

export interface Tenants {
  list(page: PageRequest): Promise<Page<TenantRow>>
  make(name: string, description: string | null, by: string): Promise<TenantRow>
  has(name: string): Promise<boolean>
  /** Stores the first one, if it is not stored yet. */
  start(): Promise<void>
  /** All of them, for per-node background work. */
  all(): Promise<readonly TenantId[]>
}

const PAGE = 500

export function makeTenants(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
}): Tenants {
  const { store, clock, log } = deps
  const reads = () => store.forTenant(DEFAULT_TENANT)

  const put = async (name: string, description: string | null, by: string): Promise<TenantRow | null> => {
    const record: TenantRecord = { form: 1, description, createdAt: clock.now(), createdBy: by }
    const result = await store.commit({
      tenant: DEFAULT_TENANT,
      guards: [{ g: 'version', of: 'tenant', key: name, version: 0 }],
      writes: [{ w: 'record.put', kind: 'tenant', key: name, version: 1, body: JSON.stringify(record) }],
    })
    return result.ok ? show(name, record) : null
  }

  return {
    async list(page) {
      const { items, nextCursor } = await reads().records({ ...page, kind: 'tenant' })
      const shown = items.map(({ key, body }) => show(key, JSON.parse(body) as TenantRecord))
      return { items: shown, nextCursor }
    },
    async make(name, description, by) {
      const row = await put(name, description, by)
      if (row === null) throw new AppError('conflict', `there is a tenant ‘${name}’ already`)
      log.info('access.tenant-created', { tenant: name, by })
      return row
    },
    async has(name) {
      return name === DEFAULT_TENANT || (await reads().record('tenant', name)) !== null
    },
    async start() {
      if ((await reads().record('tenant', DEFAULT_TENANT)) === null) {
        await put(DEFAULT_TENANT, 'The first tenant', 'millrace')
      }
    },
    async all() {
      const names = new Set<TenantId>([DEFAULT_TENANT])
      let cursor: string | null = null
      do {
        const page: Page<{ readonly key: string }> = await reads().records({
          kind: 'tenant',
          cursor,
          limit: PAGE,
        })
        for (const { key } of page.items) names.add(key as TenantId)
        cursor = page.nextCursor
      } while (cursor !== null)
      return [...names]
    },
  }
}

function show(name: string, { description, createdAt, createdBy }: TenantRecord): TenantRow {
  return { name, description, createdAt, createdBy }
}
