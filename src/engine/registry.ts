// The definitions in force, per tenant, and the older ones that work still stands on.
//
// A definition is stored by its hash before it is used, so that work that began with it can be finished by any later
// process, whatever the folder says by then.

import {
  type DefinitionDocument,
  hashBundle,
  hashDocument,
  type RouteDocument,
} from '../core/definition/index.ts'
import type { TenantId } from '../core/ids/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../core/json/index.ts'
import { compileRoute, type Route } from '../core/route/index.ts'
import { compileSource, type Source } from '../core/source/index.ts'
import { makeTrie, type Trie } from '../core/subject/index.ts'
import type { Store, Write } from '../ports/store.ts'

interface Bundle {
  readonly hash: string
  readonly sources: ReadonlyMap<string, Source>
  readonly routes: ReadonlyMap<string, Route>
  candidates(subject: string): readonly Route[]
}

export interface Registry {
  /** Stores the documents and puts them in force; what is not among them is no longer in force. */
  apply(tenant: TenantId, documents: readonly DefinitionDocument[]): Promise<{ readonly hash: string }>
  source(tenant: string, name: string): Source | null
  /** Routes whose pattern fits, in the order written; their conditions are not yet tested. */
  candidates(tenant: TenantId, subject: string): readonly Route[]
  /** The one in force. */
  route(tenant: TenantId, consumer: string): Route | null
  /** The very version, in force or not. */
  pinned(tenant: TenantId, hash: string): Promise<Route | null>
  consumers(): readonly { readonly tenant: TenantId; readonly consumer: string; readonly paused: boolean }[]
}

const PINNED_MAX = 10_000

export function makeRegistry(deps: { readonly store: Store }): Registry {
  const bundles = new Map<string, Bundle>()
  const pinned = new Map<string, Route>()
  let consumers: ReturnType<Registry['consumers']> = []
  let applying: Promise<void> = Promise.resolve()

  const remember = (tenant: TenantId, route: Route) => {
    if (pinned.size >= PINNED_MAX) pinned.delete(pinned.keys().next().value as string)
    pinned.set(`${tenant}/${route.hash}`, route)
  }

  return {
    async apply(tenant, documents) {
      const bundle = compileBundle(documents)
      // One after the other: what was asked for last is what is in force, and what the store says is in force.
      const before = applying
      const saved = before.then(() => save(deps, tenant, documents, bundle.hash))
      applying = saved.catch(() => {})
      await saved
      bundles.set(tenant, bundle)
      for (const route of bundle.routes.values()) remember(tenant, route)
      consumers = [...bundles].flatMap(([name, { routes }]) =>
        [...routes.values()].map((route) => ({
          tenant: name as TenantId,
          consumer: route.consumer,
          // A disabled route keeps what is queued, as a paused one does; it differs in what arrives.
          paused: route.document.status !== 'active',
        })),
      )
      return { hash: bundle.hash }
    },
    source: (tenant, name) => bundles.get(tenant)?.sources.get(name) ?? null,
    candidates: (tenant, subject) => bundles.get(tenant)?.candidates(subject) ?? [],
    route: (tenant, consumer) => bundles.get(tenant)?.routes.get(consumer) ?? null,
    async pinned(tenant, hash) {
      const known = pinned.get(`${tenant}/${hash}`)
      if (known !== undefined) return known
      const record = await deps.store.forTenant(tenant).record('definition', hash)
      if (record === null) return null
      const route = compileRoute(parseJson(record.body) as unknown as RouteDocument)
      remember(tenant, route)
      return route
    },
    consumers: () => consumers,
  }
}

function compileBundle(documents: readonly DefinitionDocument[]): Bundle {
  const sources = new Map<string, Source>()
  const routes = new Map<string, Route>()
  for (const document of documents) {
    if (document.kind === 'Source') sources.set(document.name, compileSource(document))
    if (document.kind === 'Route') {
      const route = compileRoute(document)
      routes.set(route.consumer, route)
    }
  }
  const entries = [...routes.values()].flatMap((route) =>
    route.document.on.map((pattern) => ({ pattern, value: route })),
  )
  return { hash: hashBundle(documents), sources, routes, candidates: remembering(makeTrie(entries)) }
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

/** Records per commit: a large folder is stored in several. */
const RECORDS_PER_COMMIT = 100

async function save(
  deps: { readonly store: Store },
  tenant: TenantId,
  documents: readonly DefinitionDocument[],
  bundleHash: string,
): Promise<void> {
  const writes: Write[] = documents.map((document) => ({
    w: 'record.put',
    kind: 'definition',
    key: hashDocument(document),
    version: 1,
    body: stringifyJson(document as unknown as JsonValue),
  }))
  const current = await deps.store.forTenant(tenant).record('bundle', 'current')
  const body = stringifyJson({ hash: bundleHash, documents: documents.map(hashDocument) })
  if (current === null || current.body !== body) {
    writes.push({
      w: 'record.put',
      kind: 'bundle',
      key: 'current',
      version: (current?.version ?? 0) + 1,
      body,
    })
  }
  for (let index = 0; index < writes.length; index += RECORDS_PER_COMMIT) {
    const part = writes.slice(index, index + RECORDS_PER_COMMIT)
    await deps.store.commit({ tenant, guards: [], writes: part })
  }
}
