// The deployed definitions, per tenant, compiled, and the older ones that jobs are pinned to.
//
// It is the engine's cache of what src/engine/definitions stores: looked up for every event, changed only when definitions are
// applied, paused or resumed.

import type {
  ConnectionDocument,
  CredentialDocument,
  DefinitionDocument,
  DefinitionKind,
  DefinitionStatus,
  DocumentOf,
  EnvironmentName,
  PollerDocument,
  ProviderDocument,
  RouteDocument,
  SetVars,
  SourceDocument,
  SubscriptionDocument,
  VarSettings,
  VarValues,
  WorkflowDocument,
} from '../../core/definitions/documents/index.ts'
import {
  applyVarSettings,
  definitionId,
  HMAC_LANGUAGE,
  hashDocument,
  LANGUAGE,
  valuesIn,
} from '../../core/definitions/documents/index.ts'
import { makeTrie, type Trie } from '../../core/events/subject/index.ts'
import { type Keyed, mayUseHmac } from '../../core/expression/index.ts'
import { AppError, messageOf } from '../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { parseJson } from '../../core/foundation/json/index.ts'
import {
  compileSource as compileSourceFresh,
  headersReadBy as headersReadByFresh,
  type Source,
} from '../../core/ingest/source/index.ts'
import {
  compilePoller as compilePollerFresh,
  POLLER_PREFIX,
  type Poller,
} from '../../core/polling/poller/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import { compileRoute as compileRouteFresh, type Route, type Vars } from '../../core/routing/index.ts'
import {
  compileSubscription as compileSubscriptionFresh,
  SUBSCRIPTION_PREFIX,
  type Subscription,
  type SubscriptionStatus,
} from '../../core/webhooks/subscription/index.ts'
import {
  compileWorkflow as compileWorkflowFresh,
  lockConsumer,
  parseStepName,
  type Workflow,
} from '../../core/workflows/machine/index.ts'
import type { Random } from '../../ports/random.ts'
import type { Store } from '../../ports/store.ts'
import { type HmacKeys, makeHmacKeys } from '../secrets/index.ts'
import { makeDeployedSubscriptions, subscriptionOf } from './deployed-subscriptions.ts'

/** A document that others refer to by name. */
export interface Deployed<Document> {
  readonly document: Document
  readonly hash: string
}

interface Bundle {
  readonly sources: ReadonlyMap<string, Source>
  readonly routes: ReadonlyMap<string, Route>
  /** By consumer. */
  readonly pollers: ReadonlyMap<string, Poller>
  /** By consumer. */
  readonly workflows: ReadonlyMap<string, Workflow>
  /** Whose jobs wait for a lock: several workflows may share one. */
  readonly locks: ReadonlySet<string>
  /** By name, what others refer to. */
  readonly byKind: { readonly [Kind in DefinitionKind]?: ReadonlyMap<string, Deployed<DocumentOf<Kind>>> }
  candidates(subject: string): readonly Route[]
}

/** A document that this node cannot compile: made by another version, or by a bug of ours. */
export interface Unusable {
  readonly document: Pick<DefinitionDocument, 'kind' | 'name'>
  readonly error: string
}

export interface Registry {
  /** The keys of `hmac`. A caller that deploys definitions that may call it loads the tenant's key first. */
  readonly hmacKeys: HmacKeys
  /**
   * Throws `secret_unreadable` if it calls `hmac`, and the key was not loaded. `language`: the one that it was stored with; a
   * document that is older than `hmac` needs no key.
   */
  compileSubscription(tenant: TenantId, document: SubscriptionDocument, language: number): Subscription
  /**
   * Deploys documents that are stored already; others are no longer deployed. A document that cannot be compiled is not
   * deployed, and is returned: it must not keep the rest, or other tenants, from being deployed.
   */
  put(
    tenant: TenantId,
    documents: readonly {
      readonly document: DefinitionDocument
      readonly hash: string
      /** Written by a version whose language this one does not know: what this one would ignore may matter. */
      readonly isNewer?: boolean
      /** Its language has no `hmac`: a text in it that looks like a call is none. */
      readonly isBeforeHmac?: boolean
    }[],
    /** By kind and name: operators' overrides beside the documents. */
    overrides: ReadonlyMap<string, DefinitionStatus>,
    /** Deployed as well, but they cannot be read here. */
    unreadable?: readonly Unusable[],
  ): readonly Unusable[]
  /** Deploys subscriptions of the API, beside the existing ones, with the status that each has. */
  putSubscriptions(tenant: TenantId, subscriptions: readonly Subscription[]): void
  putSubscription(tenant: TenantId, subscription: Subscription): void
  dropSubscription(tenant: TenantId, name: string): void
  /** Of one that the API has, and this version cannot use: this node cannot say which events it wants. */
  setSubscriptionUsable(tenant: TenantId, name: string, isUsable: boolean): void
  /**
   * The status of a subscription that overrides its document, now and whenever one of this name is deployed; null: the
   * document's.
   */
  setSubscriptionStatus(tenant: TenantId, name: string, status: SubscriptionStatus | null): void
  /** As it was set. */
  statusOf(tenant: TenantId, name: string): SubscriptionStatus | null
  /** The deployed one, of a folder or of the API. */
  subscription(tenant: TenantId, name: string): Subscription | null
  /** In no order. */
  subscriptions(tenant: TenantId): readonly Subscription[]
  /** Of the deployed documents, in this node's environment. Another object whenever definitions are deployed. */
  vars: Vars
  /** The same without what the node itself provides, and what settings of the node say of them. */
  setVars(tenant: TenantId): SetVars
  /** As they will be once these documents are deployed as well. */
  varsWith(tenant: TenantId, beside: readonly DefinitionDocument[]): VarValues
  /** Whether it has definitions. */
  isTenant(tenant: string): boolean
  /** Those that have definitions or subscriptions. */
  tenants(): readonly TenantId[]
  tenantCount(): number
  source(tenant: string, name: string): Source | null
  sources(tenant: string): readonly Source[]
  /**
   * Routes and triggers of workflows whose pattern fits, in the order written, then those of subscriptions by name; their
   * conditions are not yet tested.
   */
  candidates(tenant: TenantId, subject: string): readonly Route[]
  /** The deployed one, that of a subscription too. */
  route(tenant: TenantId, consumer: string): Route | null
  routes(tenant: TenantId): readonly Route[]
  /** The deployed one, with its current status. */
  workflow(tenant: TenantId, name: string): Workflow | null
  workflows(tenant: TenantId): readonly Workflow[]
  /** This very version, deployed or not. */
  pinned(tenant: TenantId, hash: string): Promise<Route | null>
  /** The same of a workflow. */
  pinnedWorkflow(tenant: TenantId, hash: string): Promise<Workflow | null>
  /** The same, if it is cached. */
  knownWorkflow(tenant: TenantId, hash: string): Workflow | null
  /** What a job runs: its route, or the part of its workflow; null: no definition says it, or it was removed. */
  routeOf(work: Pick<WorkRow, 'tenant' | 'kind' | 'consumer' | 'definition' | 'step'>): Promise<Route | null>
  poller(tenant: TenantId, name: string): Poller | null
  pollers(tenant: TenantId): readonly Poller[]
  consumers(): readonly { readonly tenant: TenantId; readonly consumer: string; readonly paused: boolean }[]
  /** Those of routes that work in cycles. */
  drained(): readonly { readonly tenant: TenantId; readonly consumer: string }[]
  /** Whether `consumers` contains it. */
  knows(tenant: TenantId, consumer: string): boolean
  /** Whether it is defined by a document that this version cannot use: a newer one can. */
  isUnusable(tenant: TenantId, consumer: string): boolean
  /** Whether any of its documents is such. */
  hasUnusable(tenant: TenantId): boolean
  /**
   * Whether one of them is more than a source, so that this node cannot say which consumers want an event: it accepts none, and
   * leaves the jobs of the tenant to others.
   */
  needsNewerVersion(tenant: TenantId): boolean
  /** Whether any consumer may want an event of this subject, including those that this version cannot use. */
  isWanted(tenant: TenantId, subject: string): boolean
  /** Whether it is defined and its jobs wait: it is paused or disabled. */
  isHeld(tenant: TenantId, consumer: string): boolean
  /** This very version of a source, deployed or not, if it is stored. */
  sourceDocument(tenant: TenantId, hash: string): Promise<SourceDocument | null>
  /** Names of headers that its documents read, including those of its subscriptions. */
  headersRead(tenant: string): ReadonlySet<string>
  /** A built-in one, or the tenant's own. */
  provider(tenant: TenantId, name: string): Deployed<ProviderDocument> | null
  /** By name; including the built-in ones. */
  providers(tenant: TenantId): readonly Deployed<ProviderDocument>[]
  isBuiltIn(provider: string): boolean
  connection(tenant: TenantId, name: string): Deployed<ConnectionDocument> | null
  connections(tenant: TenantId): readonly Deployed<ConnectionDocument>[]
  credential(tenant: TenantId, name: string): Deployed<CredentialDocument> | null
  credentials(tenant: TenantId): readonly Deployed<CredentialDocument>[]
}

function unionOf(sets: readonly ReadonlySet<string>[]): ReadonlySet<string> {
  return new Set(sets.flatMap((set) => [...set]))
}

/**
 * A compiled document depends on the document alone, and documents never change: one that is checked, applied and applied again
 * is compiled once.
 */
function once<Document extends object, Compiled>(
  compile: (document: Document) => Compiled,
): (document: Document) => Compiled {
  const known = new WeakMap<Document, Compiled>()
  return (document) => {
    const found = known.get(document)
    if (found !== undefined) return found
    const compiled = compile(document)
    known.set(document, compiled)
    return compiled
  }
}

/** The same if a key takes part: then it depends on the tenant, too, and is compiled for each. */
function onceUnlessKeyed<Document extends object, Compiled>(
  compile: (document: Document, keyed: Keyed) => Compiled,
): (document: Document, keyed?: Keyed) => Compiled {
  const keyless = once((document: Document) => compile(document, {}))
  return (document, keyed = {}) => (keyed.hmac === undefined ? keyless(document) : compile(document, keyed))
}

const compileSource = onceUnlessKeyed(compileSourceFresh)
const compileRoute = onceUnlessKeyed(compileRouteFresh)
const compilePoller = onceUnlessKeyed(compilePollerFresh)
const headersReadBy = once(headersReadByFresh)
const compileWorkflow = onceUnlessKeyed(compileWorkflowFresh)
const compileSubscription = onceUnlessKeyed((document: SubscriptionDocument, keyed) =>
  compileSubscriptionFresh(document, document.status, keyed),
)
/** Whether it may call `hmac`. */
export const usesHmac = once((document: DefinitionDocument) => mayUseHmac(document))

/** `fire/3/book` runs as `fire/book`. */
function partOf(step: string): string {
  const named = parseStepName(step)
  return named === null ? step : `${named.type}/${named.name}`
}

const PINNED_MAX = 10_000
export const NEWER_LANGUAGE =
  'a newer version of Millrace wrote it, with words that this one does not know: upgrade this node'
const SOURCE_PREFIX = 'source:'
const WORKFLOW_PREFIX = 'workflow:'
const LOCK_PREFIX = 'lock:'
const CREDENTIAL_PREFIX = 'credential:'
const ACTIVE = { status: 'active' } as const

export function makeRegistry(deps: {
  readonly store: Store
  /** The built-in ones: their names are taken. */
  readonly providers?: readonly ProviderDocument[]
  /** Omitted: this process makes no keys of `hmac`. */
  readonly random?: Random
  /** What the node provides, whatever documents say. */
  readonly vars?: VarValues
  readonly environment?: EnvironmentName
  /** What settings of the node say of `vars`; they belong to the tenant of the node. */
  readonly varSettings?: VarSettings
}): Registry {
  const hmacKeys = makeHmacKeys(deps)
  /** What a document is compiled with. Throws `secret_unreadable`: no job may run without the key, or with another. */
  const keyedFor = (tenant: TenantId, document: DefinitionDocument, isBeforeHmac = false): Keyed => {
    if (isBeforeHmac || !usesHmac(document)) return {}
    const hmac = hmacKeys.known(tenant)
    if (hmac !== null) return { hmac }
    throw new AppError('secret_unreadable', hmacKeys.problem(tenant) ?? 'the key of `hmac` was not loaded')
  }
  const loadKeyed = async (
    tenant: TenantId,
    document: DefinitionDocument,
    language: number,
  ): Promise<Keyed> => {
    const isBeforeHmac = language < HMAC_LANGUAGE
    if (!isBeforeHmac && usesHmac(document)) await hmacKeys.load(tenant)
    return keyedFor(tenant, document, isBeforeHmac)
  }
  const builtIn = new Map(
    (deps.providers ?? []).map((document) => [document.name, { document, hash: hashDocument(document) }]),
  )
  const bundles = new Map<string, Bundle>()
  const environment = deps.environment ?? 'DEV'
  // Not copied: the node's own address is known only once it listens.
  const withOwn = (values: VarValues): VarValues =>
    Object.defineProperties(
      { ...values, env: environment },
      Object.getOwnPropertyDescriptors(deps.vars ?? {}),
    )
  const ownVars = withOwn({})
  const withSettings = (tenant: TenantId, values: VarValues) =>
    applyVarSettings(values, tenant === DEFAULT_TENANT ? (deps.varSettings ?? {}) : {})
  /** Of tenants that define some. */
  const varsOf = new Map<string, VarValues>()
  const setVars = new Map<string, SetVars>()
  /** Consumers whose documents another version wrote, and this one cannot use. */
  const unusables = new Map<TenantId, ReadonlySet<string>>()
  const newerVersionNeeded = new Set<TenantId>()
  /** The same, of subscriptions of the API. */
  const unusableHooks = new Map<TenantId, Set<string>>()
  const needsNewerVersion = (tenant: TenantId) => newerVersionNeeded.has(tenant) || unusableHooks.has(tenant)
  const subscriptions = makeDeployedSubscriptions()
  const pinned = new Map<string, Route>()
  const workflows = new Map<string, Workflow>()
  /** Of the bundles' definitions. */
  let defined: ReturnType<Registry['consumers']> = []
  /** Of these and of subscriptions, at a version of those. */
  let consumers: { readonly at: number; readonly all: ReturnType<Registry['consumers']> } | null = null
  let others = { at: 0, count: 0 }
  let drained: ReturnType<Registry['drained']> = []

  const headersOfBundles = new Map<string, ReadonlySet<string>>()
  /** These and those of subscriptions, at a version of those. */
  const headers = new Map<string, { readonly at: number; readonly names: ReadonlySet<string> }>()
  const headersRead = (tenant: string): ReadonlySet<string> => {
    const at = subscriptions.version()
    const held = headers.get(tenant)
    if (held?.at === at) return held.names
    const own = subscriptions.list(tenant as TenantId).map(({ document }) => headersReadBy(document))
    const names = unionOf([headersOfBundles.get(tenant) ?? new Set(), ...own])
    headers.set(tenant, { at, names })
    return names
  }

  const putVars = (tenant: TenantId, { byKind }: Bundle) => {
    const documents = [...(byKind.Vars?.values() ?? [])].map(({ document }) => document)
    const set = withSettings(tenant, valuesIn(documents, environment))
    setVars.set(tenant, set)
    if (documents.length === 0) varsOf.delete(tenant)
    else varsOf.set(tenant, withOwn(set.values))
  }

  const remember = (tenant: TenantId, route: Route) => {
    if (pinned.size >= PINNED_MAX) pinned.delete(pinned.keys().next().value as string)
    pinned.set(`${tenant}/${route.hash}`, route)
  }

  const rememberWorkflow = (tenant: TenantId, workflow: Workflow) => {
    if (workflows.size >= PINNED_MAX) workflows.delete(workflows.keys().next().value as string)
    workflows.set(`${tenant}/${workflow.hash}`, workflow)
  }

  const pinnedRoute: Registry['pinned'] = async (tenant, hash) => {
    const known = pinned.get(`${tenant}/${hash}`)
    if (known !== undefined) return known
    const record = await deps.store.forTenant(tenant).record('definition', hash)
    if (record === null) return null
    refuseNewer(record)
    const document = parseJson(record.body) as unknown as RouteDocument | SubscriptionDocument
    const keyed = await loadKeyed(tenant, document, record.version)
    const route =
      document.kind === 'Subscription'
        ? compileSubscription(document, keyed).route
        : compileRoute(document, keyed)
    remember(tenant, route)
    return route
  }

  const pinnedWorkflow: Registry['pinnedWorkflow'] = async (tenant, hash) => {
    const known = workflows.get(`${tenant}/${hash}`)
    if (known !== undefined) return known
    const record = await deps.store.forTenant(tenant).record('definition', hash)
    if (record === null) return null
    refuseNewer(record)
    const document = parseJson(record.body) as unknown as WorkflowDocument
    const workflow = compileWorkflow(document, await loadKeyed(tenant, document, record.version))
    rememberWorkflow(tenant, workflow)
    return workflow
  }

  const deliveryRoute = (tenant: TenantId, consumer: string): Route | null => {
    const name = subscriptionOf(consumer)
    return name === null ? null : (subscriptions.find(tenant, name)?.route ?? null)
  }

  /** Tenants that have subscriptions and no definitions. */
  const countOthers = (): number => {
    const at = subscriptions.version()
    if (others.at !== at)
      others = { at, count: subscriptions.tenants().filter((tenant) => !bundles.has(tenant)).length }
    return others.count
  }

  const putDefinedSubscriptions = (
    tenant: TenantId,
    documents: Parameters<Registry['put']>[1],
    unusable: Unusable[],
  ) => {
    const defined: Subscription[] = []
    for (const { document, hash, isBeforeHmac } of documents) {
      if (document.kind !== 'Subscription') continue
      const known = subscriptions.find(tenant, document.name)
      if (known?.hash === hash) defined.push(known)
      else
        usable(document, unusable, () =>
          defined.push(compileSubscription(document, keyedFor(tenant, document, isBeforeHmac))),
        )
    }
    subscriptions.putDefined(tenant, defined)
  }

  const candidates: Registry['candidates'] = (tenant, subject) => {
    const others = subscriptions.candidates(tenant, subject)
    const own = bundles.get(tenant)?.candidates(subject)
    if (own === undefined || own.length === 0) return others
    return others.length === 0 ? own : [...own, ...others]
  }

  const allConsumers: Registry['consumers'] = () => {
    const at = subscriptions.version()
    if (consumers?.at === at) return consumers.all
    const all = [...defined]
    for (const tenant of subscriptions.tenants()) {
      for (const { consumer, route } of subscriptions.list(tenant))
        all.push({ tenant, consumer, paused: route.status !== 'active' })
    }
    consumers = { at, all }
    return all
  }

  const find = (tenant: TenantId, consumer: string): Pick<Route, 'status'> | undefined => {
    const name = subscriptionOf(consumer)
    if (name !== null) return subscriptions.find(tenant, name)?.route
    const bundle = bundles.get(tenant)
    if (consumer.startsWith(LOCK_PREFIX)) return bundle?.locks.has(consumer) === true ? ACTIVE : undefined
    if (consumer.startsWith(WORKFLOW_PREFIX)) return bundle?.workflows.get(consumer)
    if (consumer.startsWith(CREDENTIAL_PREFIX))
      return bundle?.byKind.Credential?.has(consumer.slice(CREDENTIAL_PREFIX.length)) === true
        ? ACTIVE
        : undefined
    if (consumer.startsWith(POLLER_PREFIX)) return bundle?.pollers.get(consumer)
    if (!consumer.startsWith(SOURCE_PREFIX)) return bundle?.routes.get(consumer)
    return bundle?.sources.get(consumer.slice(SOURCE_PREFIX.length))
  }

  return {
    hmacKeys,
    compileSubscription: (tenant, document, language) =>
      compileSubscription(document, keyedFor(tenant, document, language < HMAC_LANGUAGE)),
    put(tenant, documents, overrides, unreadable = []) {
      const unusable: Unusable[] = [...unreadable]
      for (const { document, isNewer } of documents) {
        if (isNewer === true) unusable.push({ document, error: NEWER_LANGUAGE })
      }
      const ours = documents.filter(({ isNewer }) => isNewer !== true)
      const bundle = compileBundle(ours, overrides, bundles.get(tenant), unusable, (one, isOld) =>
        keyedFor(tenant, one, isOld),
      )
      bundles.set(tenant, bundle)
      putVars(tenant, bundle)
      headersOfBundles.set(tenant, unionOf(ours.map(({ document }) => headersReadBy(document))))
      headers.delete(tenant)
      putDefinedSubscriptions(tenant, ours, unusable)
      unusables.set(tenant, new Set(unusable.map(({ document }) => consumerOf(document))))
      if (unusable.some(({ document }) => document.kind !== 'Source')) newerVersionNeeded.add(tenant)
      else newerVersionNeeded.delete(tenant)
      for (const route of bundle.routes.values()) remember(tenant, route)
      for (const workflow of bundle.workflows.values()) rememberWorkflow(tenant, workflow)
      consumers = null
      others = { at: -1, count: 0 }
      defined = [...bundles].flatMap(
        ([name, { routes, sources, pollers, locks, workflows: nets, byKind }]) => {
          const tenant = name as TenantId
          // A disabled one keeps queued jobs, like a paused one; they differ in new events.
          return [
            ...[...routes.values(), ...nets.values(), ...pollers.values()].map(({ consumer, status }) => ({
              tenant,
              consumer,
              paused: status !== 'active',
            })),
            ...[...sources.values()].map(({ document, status }) => ({
              tenant,
              consumer: `${SOURCE_PREFIX}${document.name}`,
              paused: status !== 'active',
            })),
            ...[...locks].map((consumer) => ({ tenant, consumer, paused: false })),
            ...[...(byKind.Credential?.keys() ?? [])].map((credential) => ({
              tenant,
              consumer: `${CREDENTIAL_PREFIX}${credential}`,
              paused: false,
            })),
          ]
        },
      )
      drained = defined.filter(
        ({ tenant, consumer }) => bundles.get(tenant)?.routes.get(consumer)?.document.drain !== undefined,
      )
      return unusable
    },
    putSubscriptions: subscriptions.put,
    putSubscription: (tenant, subscription) => subscriptions.put(tenant, [subscription]),
    dropSubscription: subscriptions.drop,
    setSubscriptionUsable(tenant, name, isUsable) {
      const hooks = unusableHooks.get(tenant) ?? new Set()
      if (isUsable) hooks.delete(`${SUBSCRIPTION_PREFIX}${name}`)
      else hooks.add(`${SUBSCRIPTION_PREFIX}${name}`)
      if (hooks.size === 0) unusableHooks.delete(tenant)
      else unusableHooks.set(tenant, hooks)
    },
    setSubscriptionStatus: subscriptions.setStatus,
    statusOf: subscriptions.statusOf,
    subscription: subscriptions.find,
    subscriptions: subscriptions.list,
    headersRead,
    vars: (tenant) => varsOf.get(tenant) ?? ownVars,
    setVars: (tenant) => setVars.get(tenant) ?? withSettings(tenant, {}),
    varsWith(tenant, beside) {
      const written = beside.filter((one) => one.kind === 'Vars')
      const now = varsOf.get(tenant) ?? ownVars
      const { values } = withSettings(tenant, { ...now, ...valuesIn(written, environment) })
      return { ...values, ...ownVars }
    },
    isTenant: (tenant) => bundles.has(tenant),
    tenants: () => [...new Set([...bundles.keys(), ...subscriptions.tenants()])] as TenantId[],
    tenantCount: () => bundles.size + (subscriptions.version() === 0 ? 0 : countOthers()),
    sources: (tenant) => [...(bundles.get(tenant)?.sources.values() ?? [])],
    source: (tenant, name) => bundles.get(tenant)?.sources.get(name) ?? null,
    candidates,
    isWanted: (tenant, subject) => needsNewerVersion(tenant) || candidates(tenant, subject).length > 0,
    route(tenant, consumer) {
      const bundle = bundles.get(tenant)
      const own = bundle?.routes.get(consumer) ?? bundle?.pollers.get(consumer)?.route
      return own ?? deliveryRoute(tenant, consumer)
    },
    routes: (tenant) => [...(bundles.get(tenant)?.routes.values() ?? [])],
    poller: (tenant, name) => bundles.get(tenant)?.pollers.get(`${POLLER_PREFIX}${name}`) ?? null,
    pollers: (tenant) => [...(bundles.get(tenant)?.pollers.values() ?? [])],
    workflow: (tenant, name) => bundles.get(tenant)?.workflows.get(`${WORKFLOW_PREFIX}${name}`) ?? null,
    workflows: (tenant) => [...(bundles.get(tenant)?.workflows.values() ?? [])],
    pinned: pinnedRoute,
    pinnedWorkflow,
    knownWorkflow: (tenant, hash) => workflows.get(`${tenant}/${hash}`) ?? null,
    async routeOf({ tenant, kind, consumer, definition, step }) {
      switch (kind) {
        case 'delivery':
          return deliveryRoute(tenant, consumer) ?? pinnedRoute(tenant, definition)
        case 'route':
        case 'batch':
          return pinnedRoute(tenant, definition)
        case 'poll':
          return bundles.get(tenant)?.pollers.get(consumer)?.route ?? null
        case 'step': {
          const workflow = await pinnedWorkflow(tenant, definition)
          return workflow?.parts.get(partOf(step ?? '')) ?? null
        }
        case 'trigger': {
          const workflow = await pinnedWorkflow(tenant, definition)
          return workflow?.triggers.find(({ document }) => document.id === step)?.route ?? null
        }
        default:
          return null
      }
    },
    consumers: allConsumers,
    drained: () => drained,
    isUnusable: (tenant, consumer) =>
      unusables.get(tenant)?.has(consumer) === true || unusableHooks.get(tenant)?.has(consumer) === true,
    hasUnusable: (tenant) => (unusables.get(tenant)?.size ?? 0) > 0 || unusableHooks.has(tenant),
    needsNewerVersion,
    knows: (tenant, consumer) => find(tenant, consumer) !== undefined,
    isHeld(tenant, consumer) {
      const found = find(tenant, consumer)
      return found !== undefined && found.status !== 'active'
    },
    async sourceDocument(tenant, hash) {
      if (hash === '') return null
      const record = await deps.store.forTenant(tenant).record('definition', hash)
      const document = record === null ? null : (parseJson(record.body) as unknown as DefinitionDocument)
      return document?.kind === 'Source' ? document : null
    },
    provider: (tenant, name) => builtIn.get(name) ?? bundles.get(tenant)?.byKind.Provider?.get(name) ?? null,
    providers: (tenant) =>
      [...new Map([...(bundles.get(tenant)?.byKind.Provider ?? []), ...builtIn]).values()].sort(byName),
    isBuiltIn: (provider) => builtIn.has(provider),
    connection: (tenant, name) => bundles.get(tenant)?.byKind.Connection?.get(name) ?? null,
    connections: (tenant) => [...(bundles.get(tenant)?.byKind.Connection?.values() ?? [])].sort(byName),
    credential: (tenant, name) => bundles.get(tenant)?.byKind.Credential?.get(name) ?? null,
    credentials: (tenant) => [...(bundles.get(tenant)?.byKind.Credential?.values() ?? [])].sort(byName),
  }
}

function byName(a: Deployed<{ readonly name: string }>, b: Deployed<{ readonly name: string }>): number {
  return a.document.name < b.document.name ? -1 : 1
}

const inTrie = (document: RouteDocument | SubscriptionDocument) =>
  makeTrie(document.on.map((pattern) => ({ pattern, value: document })))

/** Kinds that only others use are not compiled. */
const COMPILERS: { readonly [Kind in DefinitionKind]?: (document: DocumentOf<Kind>) => unknown } = {
  Source: (document) => compileSource(document),
  Route: (document) => [compileRoute(document), inTrie(document)],
  Poller: (document) => compilePoller(document),
  Workflow: (document) => compileWorkflow(document),
  Subscription: (document) => [compileSubscription(document), inTrie(document)],
}

/** Compiles a document that is to be deployed, and throws what every load of it would throw. */
export function mustCompile(document: DefinitionDocument): void {
  const compile = COMPILERS[document.kind] as ((document: DefinitionDocument) => unknown) | undefined
  compile?.(document)
}

/** Jobs that are pinned to it wait for a node that knows all of it. */
function refuseNewer({ version }: { readonly version: number }): void {
  if (version > LANGUAGE) throw new AppError('source_unusable', NEWER_LANGUAGE)
}

/** As its jobs name it. */
function consumerOf({ kind, name }: Unusable['document']): string {
  return `${kind.toLowerCase()}:${name}`
}

function usable(document: DefinitionDocument, unusable: Unusable[], compile: () => void): void {
  try {
    compile()
  } catch (error) {
    unusable.push({ document, error: messageOf(error) })
  }
}

function compileBundle(
  documents: Parameters<Registry['put']>[1],
  overrides: ReadonlyMap<string, DefinitionStatus>,
  before: Bundle | undefined,
  unusable: Unusable[],
  keyedFor: (document: DefinitionDocument, isBeforeHmac?: boolean) => Keyed,
): Bundle {
  const sources = new Map<string, Source>()
  const routes = new Map<string, Route>()
  const pollers = new Map<string, Poller>()
  const workflows = new Map<string, Workflow>()
  const byKind: Partial<Record<DefinitionKind, Map<string, Deployed<DefinitionDocument>>>> = {}
  for (const { document, hash, isBeforeHmac } of documents) {
    if (!isRun(document)) {
      byKind[document.kind] ??= new Map()
      byKind[document.kind]?.set(document.name, { document, hash })
      continue
    }
    const status = overrides.get(definitionId(document)) ?? document.status
    usable(document, unusable, () => {
      if (document.kind === 'Workflow') {
        const known = before?.workflows.get(`${WORKFLOW_PREFIX}${document.name}`)
        const workflow =
          known?.hash === hash ? known : compileWorkflow(document, keyedFor(document, isBeforeHmac))
        workflows.set(workflow.consumer, withStatus(workflow, status))
      } else if (document.kind === 'Poller') {
        const known = before?.pollers.get(`${POLLER_PREFIX}${document.name}`)
        const poller =
          known?.hash === hash ? known : compilePoller(document, keyedFor(document, isBeforeHmac))
        pollers.set(poller.consumer, poller.status === status ? poller : withPollerStatus(poller, status))
      } else if (document.kind === 'Source') {
        const known = before?.sources.get(document.name)
        const source =
          known?.hash === hash ? known : compileSource(document, keyedFor(document, isBeforeHmac))
        sources.set(document.name, source.status === status ? source : { ...source, status })
      } else {
        const known = before?.routes.get(`route:${document.name}`)
        const route = known?.hash === hash ? known : compileRoute(document, keyedFor(document, isBeforeHmac))
        routes.set(route.consumer, route.status === status ? route : { ...route, status })
      }
    })
  }
  const triggers = [...workflows.values()].flatMap((workflow) =>
    workflow.triggers.flatMap(({ route }) => (route === null ? [] : [route])),
  )
  const entries = [...routes.values(), ...triggers].flatMap((route) =>
    route.document.on.map((pattern) => ({ pattern, value: route })),
  )
  const locks = new Set(
    [...workflows.values()].flatMap(({ document }) =>
      document.lock === undefined ? [] : [lockConsumer(document)],
    ),
  )
  return {
    sources,
    routes,
    pollers,
    workflows,
    locks,
    byKind: byKind as Bundle['byKind'],
    candidates: remembering(makeTrie(entries)),
  }
}

/** Definitions that accept events or act on them; the others are used by these. */
function isRun(
  document: DefinitionDocument,
): document is SourceDocument | PollerDocument | RouteDocument | WorkflowDocument {
  return RUN_KINDS.has(document.kind)
}

const RUN_KINDS: ReadonlySet<DefinitionKind> = new Set(['Source', 'Poller', 'Route', 'Workflow'])

function withPollerStatus(poller: Poller, status: DefinitionStatus): Poller {
  return { ...poller, status, route: { ...poller.route, status } }
}

/** The status of a workflow holds for its triggers and for its steps. */
function withStatus(workflow: Workflow, status: DefinitionStatus): Workflow {
  if (workflow.status === status) return workflow
  const said = (route: Route): Route => ({ ...route, status })
  return {
    ...workflow,
    status,
    triggers: workflow.triggers.map((trigger) =>
      trigger.route === null ? trigger : { ...trigger, route: said(trigger.route) },
    ),
    parts: new Map([...workflow.parts].map(([name, part]) => [name, said(part)])),
  }
}

/** A source names its events by a handful of subjects, again and again. */
const SUBJECTS_MAX = 4_096

function remembering(trie: Trie<Route>): Bundle['candidates'] {
  const found = new Map<string, readonly Route[]>()
  return (subject) => {
    const known = found.get(subject)
    if (known !== undefined) return known
    const routes = trie.find(subject)
    if (found.size >= SUBJECTS_MAX) found.clear()
    found.set(subject, routes)
    return routes
  }
}
