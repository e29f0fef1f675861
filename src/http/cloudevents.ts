// Events as CloudEvents, for callers whose `accept` asks for them: one as `application/cloudevents+json`, a page of them as
// `application/cloudevents-batch+json`, whose next page stands in the header `link`.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { formatStructured, fromEvent } from '../core/events/cloudevent/index.ts'
import type { StoredEvent } from '../core/events/event/index.ts'
import type { Caller } from '../engine/access/index.ts'
import type { Log } from '../ports/log.ts'
import type { Page, TenantReads } from '../ports/store.ts'
import { showBodies } from './sensitive.ts'

export const CLOUD_EVENT = 'application/cloudevents+json'
export const CLOUD_BATCH = 'application/cloudevents-batch+json'

/** A page of these has at most as many events, and no more bytes of payload than this, but one event is always there. */
const BATCH_EVENTS_MAX = 100
const BATCH_BYTES_MAX = 8 * 1_024 * 1_024

export function asksFor(request: FastifyRequest, type: string): boolean {
  const { accept } = request.headers
  if (accept === undefined) return false
  return accept.split(',').some((one) => one.split(';', 1)[0]?.trim().toLowerCase() === type)
}

export function showCloudEvent(event: StoredEvent, caller: Caller, log: Pick<Log, 'info'>): string {
  const { headers, data, about } = showBodies(event, caller, log)
  const shown = fromEvent(event, { headers: JSON.parse(headers) as Record<string, string>, data })
  const isUnreadable = about.unreadable !== undefined
  return formatStructured(
    isUnreadable ? { ...shown, extensions: { ...shown.extensions, unreadable: true } } : shown,
  )
}

export function sendCloudEvent(
  reply: FastifyReply,
  type: typeof CLOUD_EVENT | typeof CLOUD_BATCH,
  text: string,
) {
  return reply.header('vary', 'accept').type(type).send(text)
}

/** The same page as a list; events whose payloads are large make it shorter. */
export async function readBatch(
  reads: Pick<TenantReads, 'event'>,
  page: (limit: number) => Promise<Page<{ readonly id: StoredEvent['id'] }>>,
  limit: number,
  show: (event: StoredEvent) => string,
): Promise<{ readonly text: string; readonly nextCursor: string | null }> {
  const asked = Math.min(limit, BATCH_EVENTS_MAX)
  const { items, nextCursor } = await page(asked)
  const texts: string[] = []
  let bytes = 0
  for (const [index, { id }] of items.entries()) {
    const event = await reads.event(id)
    // Pruned meanwhile.
    if (event === null) continue
    bytes += event.data.length
    if (bytes > BATCH_BYTES_MAX && texts.length > 0) {
      // A page of exactly those that fit knows where the next one begins.
      const { nextCursor: cut } = await page(index)
      return { text: `[${texts.join(',')}]`, nextCursor: cut }
    }
    texts.push(show(event))
  }
  return { text: `[${texts.join(',')}]`, nextCursor }
}

export function linkToNext(url: string, cursor: string | null): Readonly<Record<string, string>> {
  if (cursor === null) return {}
  const [path = '', query = ''] = url.split('?', 2)
  const params = new URLSearchParams(query)
  params.set('cursor', cursor)
  return { link: `<${path}?${params}>; rel="next"` }
}
