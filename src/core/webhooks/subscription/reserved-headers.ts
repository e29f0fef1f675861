// Names of headers that a subscription's own may not have: those that we send ourselves, and those that belong to the connection.

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

/** In any case. `webhook-` as a whole is kept for what the standard may add. */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase()
  return RESERVED.has(lower) || lower.startsWith('webhook-')
}
