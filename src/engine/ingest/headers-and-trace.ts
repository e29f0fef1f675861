// Selects which headers of an event are stored, and reads the trace that they name.

import { CANONICAL_HEADER } from '../../core/events/canonical/index.ts'
import { BODY_HEADER, UNREAD_HEADER } from '../../core/ingest/bus-message/index.ts'
import { isStoredHeader, type Source } from '../../core/ingest/source/index.ts'
import type { Registry } from '../definitions/index.ts'

/** Never stored, whatever the source: they carry credentials, or have a meaning inside Millrace that no sender may set. */
const DROPPED_HEADERS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-hub-signature',
  'x-hub-signature-256',
  'x-gitlab-token',
  'x-api-key',
  'millrace-hops',
  'millrace-mismatch',
  UNREAD_HEADER,
  BODY_HEADER,
  CANONICAL_HEADER,
])

/** Senders may invent names: beyond this many, a name is checked each time. */
const KNOWN_NAMES_MAX = 2_000

export interface StoredHeaders {
  of(tenant: string, header: Readonly<Record<string, string>>, source: Source): Record<string, string>
}

/** `also`: names that the operator wants stored; a name that ends in `*` is a prefix. */
export function makeStoredHeaders(
  registry: Pick<Registry, 'headersRead'>,
  also: readonly string[] = [],
): StoredHeaders {
  const prefixes = also.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1))
  const known = new Map<string, boolean>()
  const isStored = (name: string): boolean => {
    const before = known.get(name)
    if (before !== undefined) return before
    const is =
      isStoredHeader(name) || also.includes(name) || prefixes.some((prefix) => name.startsWith(prefix))
    if (known.size < KNOWN_NAMES_MAX) known.set(name, is)
    return is
  }
  return {
    of(tenant, header, source) {
      const read = registry.headersRead(tenant)
      const stored: Record<string, string> = {}
      for (const name in header) {
        if (DROPPED_HEADERS.has(name) || source.secretHeaders.has(name)) continue
        if (isStored(name) || read.has(name)) stored[name] = header[name] as string
      }
      return stored
    },
  }
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/

/** null: they name no trace. */
export function traceIdOf({ traceparent }: Readonly<Record<string, string>>): string | null {
  const match = traceparent === undefined ? null : TRACEPARENT.exec(traceparent)
  return match?.[1] ?? null
}
