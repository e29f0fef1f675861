// The columns of rows as they are read, in one order everywhere.

export const EVENT_REPEATS =
  '(SELECT r.count FROM event_repeat AS r WHERE r.seq = event.seq) AS duplicates,' +
  ' (SELECT r.last_at FROM event_repeat AS r WHERE r.seq = event.seq) AS last_duplicate_at'

export const EVENT_SUMMARY_COLUMNS =
  'event.id, event.source, event.subject, event.object_type, event.object_id, event.occurred_at, event.correlation_id,' +
  ' event.causation_id, event.trace_id, event.dedup_key, event.payload_hash, event.matched, event.received_at,' +
  ` ${EVENT_REPEATS}`

export const EVENT_COLUMNS = `${EVENT_SUMMARY_COLUMNS}, event.headers, event.data, event.raw`

/** The text behind a number, and the event that a job belongs to: a job's row has neither. */
export const term = (column: string) => `(SELECT text FROM term WHERE no = work.${column}) AS ${column}`
export const EVENT_OF_WORK =
  '(SELECT e.id FROM event AS e WHERE e.seq = coalesce(work.event, work.seq >> 16)) AS event_id'

export const WORK_COLUMNS =
  'work.id, work.state, work.due_at, work.owner, work.epoch, work.alone, work.attempts, work.waits, work.losses,' +
  ' work.created_at, work.expires_at, work.processed_at, work.consumer, work.kind, work.replay_of, work.key, work.class,' +
  ' work.last_error, work.effect_ref, work.http_status, work.duration_ms, work.element, work.lane, work.place,' +
  ' work.frozen, work.into_work, work.generation, work.instance, work.step,' +
  ` ${EVENT_OF_WORK}, ${term('definition')}, ${term('code_hash')}`

/** How many jobs of an event are numbered after it; those beyond have numbers below 0. */
export const WORK_PER_EVENT = 65_536

/** The jobs of the event with the number ?1. */
export const OF_EVENT =
  '(work.seq BETWEEN ?1 * 65536 AND ?1 * 65536 + 65535 OR (work.seq < 0 AND work.event = ?1))'

export const LEDGER_COLUMNS =
  'seq, key, generation, state, proof, work, epoch, send_by, created_at, settled_at, consumer, event_id, object_id,' +
  ' payload_hash, correlation_id, effect_ref, result, previous'

/** Entries are numbered in the order they came; a tenant's are found by the blocks of numbers in which it has some. */
export const LEDGER_BLOCK = 64
export const LEDGER_OF_TENANT =
  'ledger_block CROSS JOIN ledger ON ledger.seq BETWEEN ledger_block.block * 64 AND ledger_block.block * 64 + 63' +
  ' AND ledger.tenant = ledger_block.tenant'

export const INSTANCE_COLUMNS =
  'id, workflow, definition, version, event_id, correlation_id, parent, created_at, state, attention, revision,' +
  ' updated_at, ended_at, marking, body'

/** Different keys with one hash are distinguished by the key itself. */
export const CORRELATION_BY_HASH =
  'SELECT version, body FROM correlation WHERE hash = ? AND tenant = ? AND key = ?'
