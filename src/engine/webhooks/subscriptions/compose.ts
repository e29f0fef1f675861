// Composes the management of subscriptions: the interfaces for definitions, deliveries and operators, and the background work.

import { messageOf } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Route } from '../../../core/routing/index.ts'
import type { Commits, PlanEvent, StoreTime, UnitOfWork } from '../../commit/index.ts'
import type { EngineDeps, RunningConfig } from '../../config.ts'
import type { DefinedSubscriptions, Registry } from '../../definitions/index.ts'
import type { Settler } from '../../settlement/index.ts'
import type { DeliveryWatch } from '../deliveries/index.ts'
import { makeDefinedSubscriptions } from './defined-subscriptions.ts'
import { makeEndpointHealth } from './endpoint-health.ts'
import { makeRemovals } from './removed-subscriptions.ts'
import { makeSigningSecrets } from './signing-secrets.ts'
import { type NoticeDeps, testEvent } from './subscription-events.ts'
import { makeSubscriptionStateCache } from './subscription-state-cache.ts'
import type { Subscriptions } from './subscription-types.ts'
import { makeSubscriptions } from './subscriptions.ts'
import { testSubscription } from './test-call.ts'
import { makeUnfinishedSecrets } from './unfinished-secrets.ts'

export interface ComposedSubscriptions {
  readonly operatorApi: Subscriptions
  /** For definitions. */
  readonly defined: DefinedSubscriptions
  /** For deliveries. */
  readonly watch: DeliveryWatch
  /** Whether the API or definitions have it, deployed on this node or not. */
  isStored(tenant: TenantId, name: string): boolean
  /** Checks whether another node changed something. */
  refresh(tenant: TenantId): Promise<void>
  /** After the definitions are loaded. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** How often a node checks whether another one changed a subscription. */
export function composeSubscriptions(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'random' | 'http' | 'vault' | 'secrets' | 'log'> &
    NoticeDeps & {
      readonly registry: Registry
      readonly commits: Pick<Commits, 'once'>
      readonly settler: Pick<Settler, 'settleUnheld'>
      readonly time: Pick<StoreTime, 'now'>
      /** Plans an event for one route alone, whatever else would match it. */
      planFor(route: Route): PlanEvent
      refreshDefinitions(tenant: TenantId): Promise<void>
      readonly unitOfWork: Pick<UnitOfWork, 'once' | 'release'>
      wake(): void
    },
  config: Pick<RunningConfig, 'vars' | 'version' | 'roles' | 'limits' | 'followMs'>,
): ComposedSubscriptions {
  const { store, clock, log, http, vault, registry, ids } = deps
  const now = () => deps.time.now()
  const signing = makeSigningSecrets(deps)
  const stateCache = makeSubscriptionStateCache(deps)
  const tenants = () => store.system('definitions').tenants()
  const removals = makeRemovals({
    ...deps,
    signing,
    tenants,
    refresh: deps.refreshDefinitions,
    left: (tenant) => defined.left(tenant),
  })
  const defined = makeDefinedSubscriptions({
    store,
    log,
    stateCache,
    signing,
    now,
    setStatus: registry.setSubscriptionStatus,
    gone: (tenant, name) => removals.begin(tenant, name, false),
  })
  const unfinishedSecrets = makeUnfinishedSecrets({ ...deps, stateCache, signing, now })
  const endpointHealth = makeEndpointHealth({ ...deps, stateCache })
  const operatorApi = makeSubscriptions({
    ...deps,
    stateCache,
    signing,
    removals,
    now,
    isDefined: defined.isDefined,
    limits: config.limits,
    planTest: (about, { route }) => testEvent({ ids, plan: deps.planFor(route) }, about),
    test: (tenant, subscription) =>
      testSubscription({ http, vault, ids, now, ...config }, tenant, subscription),
  })
  /** Whether this node finishes what others left half done. */
  const hasScheduleRole = config.roles.has('schedule')
  let isStopped = false
  let cancel = () => {}

  const follow = async () => {
    try {
      for (const tenant of await tenants()) {
        if (isStopped) return
        await stateCache.refresh(tenant)
        if (hasScheduleRole) await finishSecrets(tenant)
      }
    } catch (error) {
      log.warn('subscription.not-followed', { error: messageOf(error) })
    }
    next()
  }
  const next = () => {
    if (!isStopped) cancel = clock.after(config.followMs, () => void follow())
  }

  /** Of the definitions too: the node that made a record may have crashed before it made the secret. */
  const finishSecrets = async (tenant: TenantId) => {
    try {
      await unfinishedSecrets.look(tenant)
      await defined.prepare(tenant, definedOf(tenant))
    } catch (error) {
      log.warn('subscription.secret-not-generated', { tenant, error: messageOf(error) })
    }
  }
  const definedOf = (tenant: TenantId) =>
    registry
      .subscriptions(tenant)
      .flatMap(({ document }) => (defined.isDefined(tenant, document.name) ? [document] : []))

  return {
    operatorApi,
    defined,
    watch: endpointHealth,
    isStored: (tenant, name) =>
      stateCache.find(tenant, name)?.record.document != null || defined.isDefined(tenant, name),
    refresh: (tenant) => stateCache.refresh(tenant),
    async start() {
      for (const tenant of await tenants()) {
        await stateCache.prepare(tenant)
        if (hasScheduleRole) await finishSecrets(tenant)
      }
      // The node that removes a subscription finishes it; what crashed nodes left is for nodes with the role `schedule`.
      removals.start(hasScheduleRole)
      next()
    },
    async stop() {
      isStopped = true
      cancel()
      await removals.stop()
      await endpointHealth.idle()
    },
  }
}
