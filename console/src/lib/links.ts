// Where the parts of an event lead.

/** An emitted event names the route that emitted it as `route:<name>`, a dispatched one its source as `source:<name>`. */
export function sourceHref(source: string): string {
  if (source.startsWith('route:')) return `/routes/${source.slice('route:'.length)}`
  return `/sources/${source.startsWith('source:') ? source.slice('source:'.length) : source}`
}

export function definitionHref(kind: string, name: string): string {
  return `/${kind === 'Source' ? 'sources' : 'routes'}/${name}`
}
