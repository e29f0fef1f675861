// A poller for tests, and a source of items that it reads.

import type { PollerDocument } from '../../core/definitions/documents/index.ts'
import type { HttpOutcome, HttpRequest } from '../../ports/http-client.ts'

export interface SourceItem {
  readonly id: string
  readonly at: string
  readonly name?: string
}

export const POLLER: PollerDocument = {
  kind: 'Poller',
  name: 'orders',
  description: null,
  status: 'active',
  cadence: { everyMs: 300_000 },
  list: {
    type: 'http',
    method: 'GET',
    url: 'https://source.example/orders?from={{ window.from }}&to={{ window.to }}&size={{ pageSize }}',
    headers: {},
    body: null,
    idempotent: true,
    keyTtlMs: null,
    probe: null,
    timeoutMs: 30_000,
    classify: {},
  },
  items: 'result.body.items',
  paging: { style: 'page', param: 'page', first: 1, total: null, pageSize: 2, maxPages: 50 },
  watermark: 'item.at',
  sinceMs: 86_400_000,
  overlapMs: 600_000,
  safetyLagMs: 30_000,
  subject: 'shop.events.paid',
  event: { id: null, objectType: 'order', objectId: 'item.id', occurredAt: null },
  data: { kind: 'paid', order: '{{ item.id }}', item: '{{ item }}' },
  retry: { profile: null, attempts: 3, delaysMs: [1_000, 1_000] },
  deadLetter: { severity: 'high', runbook: null },
}

export function ok(body: unknown, headers: Readonly<Record<string, string>> = {}): HttpOutcome {
  return { kind: 'response', status: 200, headers, body: JSON.stringify(body), durationMs: 1 }
}

/** A source that filters by time and has pages, as most do. */
export function makeSource(items: SourceItem[]) {
  const requests: URL[] = []
  const answer = (request: HttpRequest): HttpOutcome | null => {
    const url = new URL(request.url)
    if (url.hostname !== 'source.example') return ok({ id: 'v1' })
    requests.push(url)
    const [from, to] = ['from', 'to'].map((name) => url.searchParams.get(name) ?? '')
    const found = items
      .filter(({ at }) => at >= (from ?? '') && at < (to ?? ''))
      .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
    const size = Number(url.searchParams.get('size'))
    const page = Number(url.searchParams.get('page'))
    return ok({ items: found.slice((page - 1) * size, page * size) })
  }
  return { items, requests, answer }
}
