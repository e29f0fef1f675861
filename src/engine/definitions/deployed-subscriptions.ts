// The deployed subscriptions, per tenant, for the registry: of a folder and of the API alike. They are matched by their own
// trie, because they change far more often than definitions, and there may be thousands.
//
// Invariants: DY1 a tenant without subscriptions pays one look-up per event. DY2 subscriptions that do not match cost an event
// nothing, however many there are. A change of status rebuilds nothing.

import { makeTrie, type Trie } from '../../core/events/subject/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Route } from '../../core/routing/index.ts'
import {
  SUBSCRIPTION_PREFIX,
  type Subscription,
  type SubscriptionStatus,
  withStatus,
} from '../../core/webhooks/subscription/index.ts'

export interface DeployedSubscriptions {
  /** Those of a tenant's definitions, all of them: others are no longer deployed. */
  putDefined(tenant: TenantId, subscriptions: readonly Subscription[]): void
  /** Those of its API, beside the existing ones. */
  put(tenant: TenantId, subscriptions: readonly Subscription[]): void
  drop(tenant: TenantId, name: string): void
  /** A status that overrides the document, now and whenever one of this name is deployed; null: the document's. */
  setStatus(tenant: TenantId, name: string, status: SubscriptionStatus | null): void
  statusOf(tenant: TenantId, name: string): SubscriptionStatus | null
  find(tenant: string, name: string): Subscription | null
  /** In no order. */
  list(tenant: string): readonly Subscription[]
  /** By name. */
  candidates(tenant: string, subject: string): readonly Route[]
  tenants(): readonly TenantId[]
  /** Grows with every change. */
  version(): number
}

/** Stays in the trie while the status of its subscription changes. */
interface Cell {
  /** null: it is not deployed. */
  current: Subscription | null
  isDefined: boolean
}

interface Tenant {
  readonly cells: Map<string, Cell>
  readonly said: Map<string, SubscriptionStatus>
  /** null: to be built at the next look-up. */
  trie: Trie<Cell> | null
  readonly found: Map<string, readonly Route[]>
}

const SUBJECTS_MAX = 4_096
const NONE: readonly Route[] = []

export function makeDeployedSubscriptions(): DeployedSubscriptions {
  const tenants = new Map<string, Tenant>()
  let version = 0

  const tenantOf = (name: TenantId): Tenant => {
    const known = tenants.get(name)
    if (known !== undefined) return known
    const made: Tenant = { cells: new Map(), said: new Map(), trie: null, found: new Map() }
    tenants.set(name, made)
    return made
  }

  const changed = (tenant: Tenant) => {
    version += 1
    tenant.found.clear()
  }

  const putOne = (tenant: Tenant, subscription: Subscription, isDefined: boolean) => {
    const { name } = subscription.document
    const said = tenant.said.get(name)
    const current = said === undefined ? subscription : withStatus(subscription, said)
    const cell = tenant.cells.get(name)
    if (cell === undefined) tenant.cells.set(name, { current, isDefined })
    else {
      if (!isSameList(cell.current?.document.on, current.document.on)) tenant.trie = null
      cell.current = current
      cell.isDefined = isDefined
    }
    if (cell === undefined) tenant.trie = null
    changed(tenant)
  }

  const dropOne = (tenant: Tenant, name: string) => {
    const cell = tenant.cells.get(name)
    if (cell === undefined) return
    // It stays in the trie until that is rebuilt, without a subscription.
    cell.current = null
    tenant.cells.delete(name)
    changed(tenant)
  }

  const trieOf = (tenant: Tenant): Trie<Cell> => {
    tenant.trie ??= makeTrie(
      [...tenant.cells]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .flatMap(([, cell]) =>
          (cell.current?.document.on ?? []).map((pattern) => ({ pattern, value: cell })),
        ),
    )
    return tenant.trie
  }

  return {
    putDefined(name, subscriptions) {
      if (subscriptions.length === 0 && !tenants.has(name)) return
      const tenant = tenantOf(name)
      const names = new Set(subscriptions.map(({ document }) => document.name))
      for (const [one, { isDefined }] of [...tenant.cells]) {
        if (isDefined && !names.has(one)) dropOne(tenant, one)
      }
      for (const subscription of subscriptions) putOne(tenant, subscription, true)
    },
    put(name, subscriptions) {
      if (subscriptions.length === 0) return
      const tenant = tenantOf(name)
      for (const subscription of subscriptions) putOne(tenant, subscription, false)
    },
    drop(name, subscription) {
      const tenant = tenants.get(name)
      if (tenant !== undefined) dropOne(tenant, subscription)
    },
    setStatus(name, subscription, status) {
      if (status === null && !tenants.has(name)) return
      const tenant = tenantOf(name)
      if (status === null) tenant.said.delete(subscription)
      else tenant.said.set(subscription, status)
      const cell = tenant.cells.get(subscription)
      if (cell === undefined || cell.current === null) return
      cell.current = withStatus(cell.current, status ?? cell.current.document.status)
      changed(tenant)
    },
    statusOf: (tenant, name) => tenants.get(tenant)?.said.get(name) ?? null,
    find: (tenant, name) => tenants.get(tenant)?.cells.get(name)?.current ?? null,
    list: (tenant) =>
      [...(tenants.get(tenant)?.cells.values() ?? [])].flatMap(({ current }) => current ?? []),
    candidates(name, subject) {
      const tenant = tenants.get(name)
      if (tenant === undefined || tenant.cells.size === 0) return NONE
      const known = tenant.found.get(subject)
      if (known !== undefined) return known
      const cells = trieOf(tenant).find(subject)
      const routes = cells.flatMap(({ current }) => current?.route ?? [])
      if (tenant.found.size >= SUBJECTS_MAX) tenant.found.clear()
      tenant.found.set(subject, routes)
      return routes
    },
    tenants: () => [...tenants].flatMap(([name, { cells }]) => (cells.size === 0 ? [] : [name as TenantId])),
    version: () => version,
  }
}

function isSameList(a: readonly string[] | undefined, b: readonly string[]): boolean {
  return a !== undefined && a.length === b.length && a.every((one, index) => one === b[index])
}

/** null: it is not a subscription's. */
export function subscriptionOf(consumer: string): string | null {
  return consumer.startsWith(SUBSCRIPTION_PREFIX) ? consumer.slice(SUBSCRIPTION_PREFIX.length) : null
}
