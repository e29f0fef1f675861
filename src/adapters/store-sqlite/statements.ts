// Every statement of the writing side, prepared once.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'

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
  ' event_id, kind, definition, code_hash, replay_of, key, class, last_error, effect_ref, http_status, duration_ms'

export const LEDGER_COLUMNS =
  'seq, key, generation, state, proof, work, epoch, send_by, created_at, settled_at, consumer, event_id, object_id,' +
  ' payload_hash, correlation_id, effect_ref, result'

export type Statements = ReturnType<typeof prepareStatements>

export function prepareStatements(db: DatabaseSyncInstance) {
  return {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    lastGroup: db.prepare('SELECT number, at FROM last_group WHERE one = 1'),
    noteGroup: db.prepare('UPDATE last_group SET number = ?, at = ? WHERE one = 1'),

    tenants: db.prepare('SELECT no, name FROM tenant'),
    addTenant: db.prepare('INSERT INTO tenant (name) VALUES (?)'),

    lastEvent: db.prepare('SELECT max(seq) AS seq FROM event'),
    addEvent: db.prepare(
      'INSERT INTO event (seq, tenant, id, source, subject, matched, received_at, dedup_until, dedup_key, object_type,' +
        ' object_id, occurred_at, correlation_id, causation_id, trace_id, payload_hash, headers, data, raw)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    event: db.prepare(`SELECT ${EVENT_COLUMNS} FROM event WHERE id = ?2 AND tenant = ?1`),
    hasEvent: db.prepare('SELECT 1 FROM event WHERE id = ?2 AND tenant = ?1'),
    repeatEvent: db.prepare(
      'INSERT INTO event_repeat (seq, count, last_at) SELECT seq, ?3, ?4 FROM event WHERE id = ?2 AND tenant = ?1' +
        ' ON CONFLICT (seq) DO UPDATE SET count = count + excluded.count, last_at = excluded.last_at',
    ),
    matchEvent: db.prepare('UPDATE event SET matched = ?3 WHERE id = ?2 AND tenant = ?1'),
    eventKey: db.prepare('SELECT tenant, id, source, dedup_key, dedup_until FROM event WHERE seq = ?'),

    lastWork: db.prepare('SELECT max(seq) AS seq FROM work'),
    addWork: db.prepare(
      'INSERT INTO work (seq, tenant, id, state, due_at, owner, epoch, alone, attempts, waits, losses, created_at,' +
        ' expires_at, consumer, event_id, kind, definition, code_hash, replay_of)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    work: db.prepare('SELECT seq, state, owner, epoch FROM work WHERE id = ?2 AND tenant = ?1'),
    settleWork: db.prepare(
      'UPDATE work SET state = ?, owner = NULL, processed_at = ?, attempts = ?, waits = ?, losses = ?, key = ?,' +
        ' class = ?, last_error = ?, effect_ref = ?, http_status = ?, duration_ms = ? WHERE seq = ?',
    ),
    againWork: db.prepare(
      'UPDATE work SET state = 2, owner = NULL, alone = 0, processed_at = NULL, due_at = ?, attempts = ?, waits = ?,' +
        ' losses = ?, key = ?, class = ?, last_error = ?, effect_ref = ?, http_status = ?, duration_ms = ? WHERE seq = ?',
    ),
    leaseWork: db.prepare('UPDATE work SET state = 1, owner = ?, epoch = epoch + 1 WHERE seq = ?'),
    giveBack: db.prepare(
      'UPDATE work SET state = 2, owner = NULL, due_at = ?, losses = losses + alone, alone = 1 WHERE seq = ?',
    ),
    readyWork: db.prepare(
      `SELECT seq, ${WORK_COLUMNS} FROM work WHERE state = 2 AND tenant = ? AND consumer = ? ORDER BY due_at, id`,
    ),
    lostWork: db.prepare(
      'SELECT seq, id FROM work WHERE state = 1 AND owner IN (SELECT owner FROM incarnation WHERE fenced = 1)' +
        ' ORDER BY id LIMIT ?',
    ),
    addAttempt: db.prepare(
      'INSERT INTO attempt (work, number, started_at, duration_ms, outcome, class, http_status, error)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ),

    lastLedger: db.prepare('SELECT max(seq) AS seq FROM ledger'),
    addLedger: db.prepare(
      'INSERT INTO ledger (seq, tenant, key, generation, state, proof, work, epoch, send_by, created_at, settled_at,' +
        ' consumer, event_id, object_id, payload_hash, correlation_id, effect_ref, result)' +
        ' VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    reopenLedger: db.prepare(
      'UPDATE ledger SET state = ?, proof = ?, work = ?, epoch = ?, send_by = ?, settled_at = ?, consumer = ?,' +
        ' event_id = ?, object_id = ?, payload_hash = ?, correlation_id = ?, effect_ref = ?, result = ? WHERE seq = ?',
    ),
    settleLedger: db.prepare(
      'UPDATE ledger SET state = ?, proof = ?, effect_ref = ?, result = ?, settled_at = ? WHERE seq = ?',
    ),
    ledger: db.prepare(`SELECT tenant, ${LEDGER_COLUMNS} FROM ledger WHERE seq = ?`),
    addEvidence: db.prepare('INSERT INTO evidence (entry, body) VALUES (?, ?)'),
    evidence: db.prepare('SELECT body FROM evidence WHERE entry = ? ORDER BY seq'),

    deadLetterVersion: db.prepare('SELECT version FROM dead_letter WHERE tenant = ? AND id = ?'),
    putDeadLetter: db.prepare(
      'INSERT INTO dead_letter (tenant, id, version, state, class, reason, consumer, event_id, work_id, attempts,' +
        ' replays, last_error, key, correlation_id, payload_hash, runbook, severity, created_at, updated_at)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)' +
        ' ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, state = excluded.state,' +
        ' class = excluded.class, reason = excluded.reason, consumer = excluded.consumer,' +
        ' event_id = excluded.event_id, work_id = excluded.work_id, attempts = excluded.attempts,' +
        ' replays = excluded.replays, last_error = excluded.last_error, key = excluded.key,' +
        ' correlation_id = excluded.correlation_id, payload_hash = excluded.payload_hash,' +
        ' runbook = excluded.runbook, severity = excluded.severity, updated_at = excluded.updated_at',
    ),
    recordVersion: db.prepare('SELECT version FROM record WHERE tenant = ? AND kind = ? AND key = ?'),
    putRecord: db.prepare(
      'INSERT INTO record (tenant, kind, key, version, body) VALUES (?, ?, ?, ?, ?)' +
        ' ON CONFLICT (tenant, kind, key) DO UPDATE SET version = excluded.version, body = excluded.body',
    ),
    deleteRecord: db.prepare('DELETE FROM record WHERE tenant = ? AND kind = ? AND key = ?'),

    oldEvents: db.prepare(
      'SELECT seq, id, source, causation_id, received_at, dedup_until, dedup_key FROM event' +
        ' WHERE tenant = ? AND id > ? AND id < ? ORDER BY id LIMIT ?',
    ),
    // In the numbers of codes.ts: leased, ready, waiting, parked; and the ledger's reserved and unknown.
    openWork: db.prepare(
      'SELECT 1 FROM work WHERE event_id = ?2 AND +tenant = ?1 AND +state IN (1, 2, 3, 6) LIMIT 1',
    ),
    openLetter: db.prepare(
      "SELECT 1 FROM dead_letter WHERE event_id = ?2 AND +tenant = ?1 AND +state NOT IN ('resolved', 'discarded') LIMIT 1",
    ),
    openEntry: db.prepare(
      'SELECT 1 FROM work CROSS JOIN ledger ON ledger.work = work.id AND ledger.state IN (1, 3)' +
        ' AND +ledger.tenant = +work.tenant WHERE work.event_id = ?2 AND +work.tenant = ?1 LIMIT 1',
    ),
    pruneAttempts: db.prepare(
      'DELETE FROM attempt WHERE work IN (SELECT seq FROM work WHERE event_id = ?2 AND +tenant = ?1)',
    ),
    pruneWork: db.prepare('DELETE FROM work WHERE event_id = ?2 AND +tenant = ?1'),
    pruneLetters: db.prepare('DELETE FROM dead_letter WHERE event_id = ?2 AND +tenant = ?1'),
    pruneRepeats: db.prepare('DELETE FROM event_repeat WHERE seq = ?'),
    pruneEvent: db.prepare('DELETE FROM event WHERE seq = ?'),

    incarnations: db.prepare('SELECT owner, until FROM incarnation WHERE fenced = 0'),
    addIncarnation: db.prepare('INSERT INTO incarnation (node, until, fenced) VALUES (?, ?, 0)'),
    fenceNode: db.prepare('UPDATE incarnation SET fenced = 1 WHERE node = ? AND fenced = 0'),
    fenceExpired: db.prepare('UPDATE incarnation SET fenced = 1 WHERE fenced = 0 AND until <= ?'),
    forgetFenced: db.prepare(
      'DELETE FROM incarnation WHERE fenced = 1 AND owner NOT IN (SELECT owner FROM work WHERE state = 1)',
    ),
    fenceAll: db.prepare('UPDATE incarnation SET fenced = 1 WHERE fenced = 0'),
    fence: db.prepare('UPDATE incarnation SET fenced = 1 WHERE owner = ?'),
    renew: db.prepare('UPDATE incarnation SET until = ? WHERE owner = ?'),
  }
}
