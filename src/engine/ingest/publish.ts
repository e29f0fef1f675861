// Publishes events, as many at once as one request holds: each in its own commit, grouped with the others.
//
// Invariants: a publisher learns for each event whether it was stored. Publishing the same event again changes nothing.

import type { PublishDraft } from '../../core/events/cloudevent/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import type { Ids, TenantId } from '../../core/foundation/ids/index.ts'
import { stringifyJson } from '../../core/foundation/json/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { compileSource } from '../../core/ingest/source/index.ts'
import type { EngineConfig, EngineDeps } from '../config.ts'
import { refusalLine } from '../observe/index.ts'
import type { Accepted, Acceptor } from './accept-event.ts'
import type { TenantBacklog } from './tenant-backlog.ts'

export type Published =
  | (Accepted & { readonly ok: true })
  /** Nothing of it was stored. */
  | { readonly ok: false; readonly error: AppError }

export interface Publisher {
  /** Returns one result per draft, in order. Throws AppError if none was attempted. */
  publish(tenant: TenantId, drafts: readonly PublishDraft[]): Promise<readonly Published[]>
}

const DEDUP_WINDOW_MS = 7 * DAY

/** The settings for published events. They name their sources themselves; no document defines those. */
const SOURCE = compileSource({
  kind: 'Source',
  name: 'publish',
  description: null,
  verify: { scheme: 'closed' },
  subject: 'published',
  event: { id: null, objectType: null, objectId: null, occurredAt: null },
  dedup: { by: null, windowMs: DEDUP_WINDOW_MS },
  limits: { bodyBytes: 0, depth: 0 },
  status: 'active',
})

export function makePublisher(
  deps: Pick<EngineDeps, 'clock' | 'log'> & {
    readonly ids: Ids
    readonly acceptor: Acceptor
    readonly backlog: Pick<TenantBacklog, 'check'>
    isOpen(): boolean
  },
  config: Pick<EngineConfig, 'acceptsMax'>,
): Publisher {
  const { clock, log, ids, acceptor } = deps

  const publishOne = async (tenant: TenantId, draft: PublishDraft): Promise<Published> => {
    const startedAt = clock.monotonic()
    const correlationId = draft.correlationId ?? ids.uuid()
    try {
      const stored = await acceptor.keep({
        source: SOURCE,
        draft: {
          id: ids.event(),
          tenant,
          source: draft.source,
          subject: draft.subject,
          objectType: null,
          objectId: draft.objectId,
          occurredAt: draft.occurredAt,
          correlationId,
          causationId: null,
          traceId: draft.traceId ?? ids.uuid().replaceAll('-', ''),
          dedupKey: draft.dedupKey,
          payloadHash: hashText(draft.data),
          headers: stringifyJson(draft.headers),
          data: draft.data,
          raw: draft.raw,
          sensitive: [],
        },
        payload: draft.payload,
        header: draft.headers,
        startedAt,
      })
      if (stored === 'refused') throw new AppError('conflict')
      return { ok: true, ...stored }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      log.control(refusalLine(tenant, draft.source, error, Math.round(clock.monotonic() - startedAt)))
      return { ok: false, error }
    }
  }

  let waiting = 0
  return {
    async publish(tenant, drafts) {
      if (!deps.isOpen()) throw new AppError('shutting_down')
      deps.backlog.check(tenant)
      if (waiting + drafts.length > config.acceptsMax) throw new AppError('overloaded')
      waiting += drafts.length
      try {
        return await Promise.all(drafts.map((draft) => publishOne(tenant, draft)))
      } finally {
        waiting -= drafts.length
      }
    },
  }
}
