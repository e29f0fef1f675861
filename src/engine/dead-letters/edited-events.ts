// The origin of an edited copy of an event: who edited it, why, and which fields differ. A record, written in the
// commit that appends the copy. It stores no values: both payloads are stored.

import { type Edit, editedFrom, type NewEvent, type StoredEvent } from '../../core/events/event/index.ts'
import { namedPart, parsePayload } from '../../core/events/sensitive/index.ts'
import type { EventId } from '../../core/foundation/ids/index.ts'
import {
  diffJson,
  JsonError,
  type JsonValue,
  placeText,
  stringifyJson,
} from '../../core/foundation/json/index.ts'
import type { TenantReads, Write } from '../../ports/store.ts'
import { type Decided, ENGINE_OWNER } from '../access/index.ts'

const CHANGED_MAX = 50
/**
 * Records whose copies retention deleted are removed with later edits, this many at a time, so that their
 * number stays close to that of the copies.
 */
const FORGOTTEN_MAX = 5

export async function editWrites(
  reads: Pick<TenantReads, 'records' | 'event'>,
  original: StoredEvent,
  copy: NewEvent,
  { actor = ENGINE_OWNER, reason }: Decided & { readonly reason: string },
): Promise<readonly Write[]> {
  const changed = changedFields(original, copy)
  const edit: Edit = {
    by: actor,
    reason,
    changed: changed.slice(0, CHANGED_MAX),
    hasMore: changed.length > CHANGED_MAX,
    payloadHashBefore: original.payloadHash,
  }
  const body = stringifyJson(edit as unknown as JsonValue)
  const put: Write = { w: 'record.put', kind: 'edit', key: copy.id, version: 1, body }
  return [put, ...(await forgottenWrites(reads))]
}

/** null: it is not an edited copy, or was created before edits were recorded. */
export async function readEdit(
  reads: Pick<TenantReads, 'record'>,
  event: Pick<StoredEvent, 'id' | 'dedupKey' | 'causationId'>,
): Promise<Edit | null> {
  if (editedFrom(event) === null) return null
  const record = await reads.record('edit', event.id)
  return record === null ? null : (JSON.parse(record.body) as Edit)
}

/** Ids grow with time, so the first records are those of the oldest copies. */
async function forgottenWrites(reads: Pick<TenantReads, 'records' | 'event'>): Promise<readonly Write[]> {
  const { items } = await reads.records({ kind: 'edit', cursor: null, limit: FORGOTTEN_MAX })
  const events = await Promise.all(items.map(({ key }) => reads.event(key as EventId)))
  return items
    .filter((_, index) => events[index] === null)
    .map(({ key }): Write => ({ w: 'record.delete', kind: 'edit', key }))
}

function changedFields(original: StoredEvent, copy: NewEvent): readonly string[] {
  try {
    const changes = diffJson(parsePayload(original.data), parsePayload(copy.data), CHANGED_MAX + 1)
    return [...new Set(changes.map(({ place }) => placeText(namedPart(place, original.sensitive))))]
  } catch (error) {
    // The original is not JSON, or cannot be decrypted.
    if (error instanceof JsonError) return ['']
    throw error
  }
}
