// Which streams of the bus the sources of a tenant may read.
//
// Invariants: the streams of the node itself are never readable, listed or not. A tenant reads what the list names for it and nothing
// else; without a list, the tenant `default`, which is the node owner's, reads any stream and the others read none.

import { DEFAULT_TENANT } from '../../foundation/ids/index.ts'

/** `stream` is a name, or a prefix with `*`. */
export interface StreamEntry {
  readonly tenant: string
  readonly stream: string
}

/** null: there is no list. */
export type StreamList = readonly StreamEntry[] | null

const NO_LIST: readonly StreamEntry[] = [{ tenant: DEFAULT_TENANT, stream: '*' }]
const ENTRY = /^([a-z0-9][a-z0-9-]*)=([A-Za-z0-9_-]*\*|[A-Za-z0-9_-]+)$/

/** `tenant=STREAM`, or null. */
export function parseStreamEntry(text: string): StreamEntry | null {
  const [, tenant, stream] = ENTRY.exec(text) ?? []
  return tenant === undefined || stream === undefined ? null : { tenant, stream }
}

/** `prefix`: the prefix of the node's own subjects. */
export function mayReadStream(list: StreamList, prefix: string, tenant: string, stream: string): boolean {
  if (isOwnStream(prefix, stream)) return false
  return (list ?? NO_LIST).some((entry) => entry.tenant === tenant && covers(entry.stream, stream))
}

export function mayReadAnyStream(list: StreamList, tenant: string): boolean {
  return (list ?? NO_LIST).some((entry) => entry.tenant === tenant)
}

/** As the adapters name the streams of events and tokens. */
function isOwnStream(prefix: string, stream: string): boolean {
  const name = prefix.toUpperCase().replaceAll('.', '_')
  return stream === `${name}_EVENTS` || stream === `${name}_TOKENS`
}

function covers(entry: string, stream: string): boolean {
  return entry.endsWith('*') ? stream.startsWith(entry.slice(0, -1)) : stream === entry
}
