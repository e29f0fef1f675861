// Reads events for a caller: those about workflows that the caller may not see are left out (HD2).

import { NewerFactError } from '../core/events/canonical/index.ts'
import type { StoredEvent } from '../core/events/event/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { EventId } from '../core/foundation/ids/index.ts'
import { seenBy } from '../engine/index.ts'
import type { TenantReads } from '../ports/store.ts'
import type { HttpApi } from './api.ts'

type Caller = Parameters<HttpApi['workflows']['reading']['maySee']>[0]

export function seenByCaller(
  { workflows }: Pick<HttpApi, 'workflows'>,
  caller: Caller,
  reads: TenantReads,
): TenantReads {
  return seenBy(reads, (workflow) => workflows.reading.maySee(caller, workflow))
}

export async function readEvent(reads: Pick<TenantReads, 'event'>, id: EventId): Promise<StoredEvent | null> {
  try {
    return await reads.event(id)
  } catch (error) {
    if (!(error instanceof NewerFactError)) throw error
    throw new AppError(
      'conflict',
      'a newer version of Millrace stored this event; read it from a node of that version',
    )
  }
}
