// The columns of rows as they are read, in one order everywhere.

const REPEATS =
  '(SELECT r.count FROM event_repeat AS r WHERE r.seq = event.seq) AS duplicates,' +
  ' (SELECT r.last_at FROM event_repeat AS r WHERE r.seq = event.seq) AS last_duplicate_at'

export const EVENT_SUMMARY_COLUMNS =
  'event.id, event.source, event.subject, event.object_type, event.object_id, event.occurred_at, event.correlation_id,' +
  ' event.causation_id, event.trace_id, event.dedup_key, event.payload_hash, event.matched, event.received_at,' +
  ` ${REPEATS}`

export const EVENT_COLUMNS = `${EVENT_SUMMARY_COLUMNS}, event.headers, event.data, event.raw`

export const WORK_COLUMNS =
  'id, state, due_at, owner, epoch, alone, attempts, waits, losses, created_at, expires_at, processed_at, consumer,' +
  ' event_id, kind, definition, code_hash, replay_of, key, class, last_error, effect_ref, http_status, duration_ms,' +
  ' element, lane, place, frozen, into_work, generation, instance, step'

export const LEDGER_COLUMNS =
  'seq, key, generation, state, proof, work, epoch, send_by, created_at, settled_at, consumer, event_id, object_id,' +
  ' payload_hash, correlation_id, effect_ref, result, previous'

export const INSTANCE_COLUMNS =
  'id, workflow, definition, version, event_id, correlation_id, parent, created_at, state, attention, revision,' +
  ' updated_at, ended_at, marking, body'

/** Different keys with one hash are distinguished by the key itself. */
export const CORRELATION_BY_HASH =
  'SELECT version, body FROM correlation WHERE hash = ? AND tenant = ? AND key = ?'
