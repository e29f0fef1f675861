// Logs refused requests, bounded: per source and reason, the first few between two flushes get a full line, and one
// line counts the rest. A flood costs the log as little as the store.

import type { AppError } from '../../core/foundation/errors/index.ts'
import type { Log } from '../../ports/log.ts'
import { refusalLine } from '../observe/index.ts'

export interface RefusalLines {
  logRejection(
    request: { readonly tenant: string; readonly source: string },
    error: AppError,
    durationMs: number,
  ): void
  /** Logs the number of omitted lines, and starts over. */
  flush(): void
}

/** Per source and reason, between two flushes. */
export const LINES_MAX = 10
/** Combinations of source and reason; beyond that, nothing gets a full line. */
const KINDS_MAX = 1_000

interface Kind {
  readonly tenant: string | null
  readonly source: string | null
  readonly code: string
  count: number
}

export function makeRefusalLines({ log }: { readonly log: Pick<Log, 'control' | 'warn'> }): RefusalLines {
  let kinds = new Map<string, Kind>()
  let beyond = 0

  const kindOf = ({ tenant, source }: { tenant: string; source: string }, code: string): Kind | null => {
    // Names that unknown senders invent count as one kind.
    const isNamed = code !== 'unknown_source'
    const id = isNamed ? JSON.stringify([tenant, source, code]) : code
    const known = kinds.get(id)
    if (known !== undefined) return known
    if (kinds.size >= KINDS_MAX) return null
    const fresh: Kind = { tenant: isNamed ? tenant : null, source: isNamed ? source : null, code, count: 0 }
    kinds.set(id, fresh)
    return fresh
  }

  return {
    logRejection(request, error, durationMs) {
      const kind = kindOf(request, error.code)
      if (kind === null) {
        beyond += 1
        return
      }
      kind.count += 1
      if (kind.count <= LINES_MAX) log.control(refusalLine(request.tenant, request.source, error, durationMs))
    },
    flush() {
      for (const { tenant, source, code, count } of kinds.values()) {
        if (count > LINES_MAX)
          log.warn('ingest.refused-more', { tenant, source, code, count: count - LINES_MAX })
      }
      if (beyond > 0)
        log.warn('ingest.refused-more', { tenant: null, source: null, code: null, count: beyond })
      kinds = new Map()
      beyond = 0
    },
  }
}
