// Header names that a subscription may not set: those that we send ourselves, and those of the connection.

export const RESERVED_HEADERS: readonly string[] = [
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'x-hub-signature-256',
  'user-agent',
  'content-type',
  'traceparent',
  'millrace-edited-from',
  'tracestate',
  'host',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'upgrade',
  'expect',
]

const RESERVED: ReadonlySet<string> = new Set(RESERVED_HEADERS)

/** In any case. `webhook-` as a whole is reserved for additions to the standard. */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase()
  return RESERVED.has(lower) || lower.startsWith('webhook-')
}
