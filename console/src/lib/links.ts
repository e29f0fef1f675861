// Where the parts of an event lead.

/** An emitted event names the route that emitted it as `route:<name>`, a dispatched one its source as `source:<name>`. */
export function sourceHref(source: string): string {
  if (source.startsWith('route:')) return `/routes/${source.slice('route:'.length)}`
  if (source.startsWith('workflow:')) return `/workflows/${source.slice('workflow:'.length)}`
  return `/sources/${source.startsWith('source:') ? source.slice('source:'.length) : source}`
}

export function definitionHref(kind: string, name: string): string {
  return consumerHref({ kind: kind.toLowerCase(), name })
}

interface Consumer {
  readonly kind: string
  readonly name: string
}

const FOLDERS: Readonly<Record<string, string>> = {
  source: 'sources',
  workflow: 'workflows',
  subscription: 'subscriptions',
  provider: 'providers',
  connection: 'connections',
  credential: 'credentials',
}

/**
 * The owner of a failure, a dead letter or a job: a route, a workflow, a subscription, or the source that matches its
 * events.
 */
export function consumerHref({ kind, name }: Consumer): string {
  return `/${FOLDERS[kind] ?? 'routes'}/${name}`
}

/** As lists filter by it: a route by its name alone. */
export function consumerFilter({ kind, name }: Consumer): string {
  return kind === 'route' ? name : `${kind}:${name}`
}

const CONSUMERS: Readonly<Record<string, string>> = {
  intake: 'source',
  route: 'route',
  batch: 'route',
  delivery: 'subscription',
  rotation: 'credential',
}

/** Of a job, which does not name the kind of its consumer but its own. */
export function workConsumerKind({ kind }: { readonly kind: string }): string {
  return CONSUMERS[kind] ?? 'workflow'
}

export function workConsumerHref({ kind, consumer }: { readonly kind: string; readonly consumer: string }) {
  return consumerHref({ kind: workConsumerKind({ kind }), name: consumer })
}

/** The page that shows the most about a job. */
export function workHref({ kind, id }: { readonly kind: string; readonly id: string }): string {
  return kind === 'delivery' ? `/deliveries/${id}` : `/work/${id}`
}

export const ledgerHref = (key: string): string => `/ledger?key=${encodeURIComponent(key)}`

/** A path with the defined parts of its search. */
export function withSearch(path: string, parts: Readonly<Record<string, string | undefined>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(parts))
    if (value !== undefined && value !== '') search.set(name, value)
  return search.size === 0 ? path : `${path}?${search}`
}
