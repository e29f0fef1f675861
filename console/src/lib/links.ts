// Where the parts of an event lead.

/** An emitted event names the route that emitted it as `route:<name>`, a dispatched one its source as `source:<name>`. */
export function sourceHref(source: string): string {
  if (source.startsWith('route:')) return `/routes/${source.slice('route:'.length)}`
  if (source.startsWith('workflow:')) return `/workflows/${source.slice('workflow:'.length)}`
  return `/sources/${source.startsWith('source:') ? source.slice('source:'.length) : source}`
}

export function definitionHref(kind: string, name: string): string {
  return `/${kind === 'Source' ? 'sources' : kind === 'Workflow' ? 'workflows' : 'routes'}/${name}`
}

/** Who a failure, a dead letter or an item is of: a route, a workflow, or the source that matches its events. */
export function consumerHref({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `/${kind === 'source' ? 'sources' : kind === 'workflow' ? 'workflows' : 'routes'}/${name}`
}

/** Of an item, which does not tell the kind of its consumer but its own. */
export function workConsumerHref({ kind, consumer }: { readonly kind: string; readonly consumer: string }) {
  if (kind === 'intake') return `/sources/${consumer}`
  return `/${kind === 'route' || kind === 'batch' ? 'routes' : 'workflows'}/${consumer}`
}

export const ledgerHref = (key: string): string => `/ledger?key=${encodeURIComponent(key)}`

/** A path with those parts of its search that are there. */
export function withSearch(path: string, parts: Readonly<Record<string, string | undefined>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(parts))
    if (value !== undefined && value !== '') search.set(name, value)
  return search.size === 0 ? path : `${path}?${search}`
}
