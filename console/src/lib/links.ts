// Where the parts of an event lead.

/** An emitted event names the route that emitted it as `route:<name>`. */
export function sourceHref(source: string): string {
  return source.startsWith('route:') ? `/routes/${source.slice('route:'.length)}` : `/sources/${source}`
}

export function definitionHref(kind: string, name: string): string {
  return `/${kind === 'Source' ? 'sources' : 'routes'}/${name}`
}
