// What is kept of the headers that an event came with, and the trace that they name.

import { CANONICAL_HEADER } from '../core/canonical/index.ts'
import { BODY_HEADER, UNREAD_HEADER } from '../core/inlet/index.ts'
import type { Source } from '../core/source/index.ts'

/** Never stored, whatever the source: they open doors, or mean something to us that no sender may say. */
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

export function keptHeaders(
  header: Readonly<Record<string, string>>,
  source: Source,
): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name in header) {
    if (!DROPPED_HEADERS.has(name) && !source.secretHeaders.has(name)) kept[name] = header[name] as string
  }
  return kept
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/

/** null: they name none. */
export function traceIdOf({ traceparent }: Readonly<Record<string, string>>): string | null {
  const match = traceparent === undefined ? null : TRACEPARENT.exec(traceparent)
  return match?.[1] ?? null
}
