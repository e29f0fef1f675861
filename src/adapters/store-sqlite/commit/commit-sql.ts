// All statements of a commit, prepared once: its transaction, what a session reads again after a rollback, guards and
// writes.
//
// Writes of the common path are executed by `get`, which returns nothing: the object that `run` returns costs as much as a
// short statement (0.88 against 0.48 µs, 2026-11-18).

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { CORRELATION_BY_HASH, INSTANCE_COLUMNS, LEDGER_COLUMNS } from '../columns.ts'

export function prepareCommitSql(db: DatabaseSyncInstance) {
  return {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    lastGroup: db.prepare('SELECT number, at FROM newest_group'),
    noteGroup: db.prepare('UPDATE last_group SET number = ?, at = ? WHERE one = 1'),
    tenants: db.prepare('SELECT no, name FROM tenant'),
    addTenant: db.prepare('INSERT INTO tenant (name) VALUES (?)'),
    terms: db.prepare('SELECT no, text FROM term'),
    addTerm: db.prepare('INSERT INTO term (text) VALUES (?)'),
    lastEvent: db.prepare('SELECT max(seq) AS seq FROM event'),
    lastLedger: db.prepare('SELECT max(seq) AS seq FROM ledger'),
    incarnations: db.prepare('SELECT owner, until FROM incarnation WHERE fenced = 0'),

    addEvent: db.prepare(
      'INSERT INTO event (seq, tenant, id, source, subject, matched, received_at, dedup_until, dedup_key, object_type,' +
        ' object_id, occurred_at, correlation_id, causation_id, trace_id, payload_hash, headers, data, raw)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    eventSeq: db.prepare('SELECT seq FROM event WHERE id = ?2 AND tenant = ?1'),
    repeatEvent: db.prepare(
      'INSERT INTO event_repeat (seq, count, last_at) SELECT seq, ?3, ?4 FROM event WHERE id = ?2 AND tenant = ?1' +
        ' ON CONFLICT (seq) DO UPDATE SET count = count + excluded.count, last_at = excluded.last_at',
    ),
    matchEvent: db.prepare('UPDATE event SET matched = ?3 WHERE id = ?2 AND tenant = ?1'),
    eventKey: db.prepare('SELECT tenant, id, source, dedup_key, dedup_until FROM event WHERE seq = ?'),
    addWork: db.prepare(
      'INSERT INTO work (seq, tenant, id, state, due_at, owner, epoch, alone, attempts, waits, losses, created_at,' +
        ' expires_at, consumer, event, kind, definition, code_hash, replay_of)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    addOddWork: db.prepare(
      'INSERT INTO work (seq, tenant, id, state, due_at, owner, epoch, alone, attempts, waits, losses, created_at,' +
        ' expires_at, consumer, event, kind, definition, code_hash, replay_of, lane, place, element, generation,' +
        ' instance, step) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    lastOfEvent: db.prepare(
      'SELECT max(seq) AS seq FROM work WHERE seq BETWEEN ?1 * 65536 AND ?1 * 65536 + 65535',
    ),
    lastSpilled: db.prepare('SELECT min(seq) AS seq FROM work'),
    work: db.prepare(
      'SELECT seq, state, owner, epoch, lane, into_work FROM work WHERE id = ?2 AND tenant = ?1',
    ),
    settleWork: db.prepare(
      'UPDATE work SET state = ?, owner = NULL, processed_at = ?, attempts = ?, waits = ?, losses = ?, key = ?,' +
        ' class = ?, last_error = ?, effect_ref = ?, http_status = ?, duration_ms = ? WHERE seq = ?',
    ),
    againWork: db.prepare(
      'UPDATE work SET state = 2, owner = NULL, alone = 0, processed_at = NULL, due_at = ?, attempts = ?, waits = ?,' +
        ' losses = ?, key = ?, class = ?, last_error = ?, effect_ref = ?, http_status = ?, duration_ms = ? WHERE seq = ?',
    ),
    mergeWork: db.prepare('UPDATE work SET into_work = ? WHERE seq = ?'),
    expireWork: db.prepare('UPDATE work SET expires_at = ? WHERE seq = ?'),
    lanedWork: db.prepare(
      'SELECT seq, state, consumer, lane, place FROM work WHERE id = ?2 AND tenant = ?1 AND lane IS NOT NULL',
    ),
    dropLanePosition: db.prepare('UPDATE work SET place = NULL WHERE seq = ?'),
    takeLanePosition: db.prepare('UPDATE work SET place = 1 WHERE seq = ?'),
    waitWork: db.prepare('UPDATE work SET state = 3 WHERE seq = ?'),
    oldestWaiting: db.prepare(
      'SELECT seq FROM work WHERE state = 3 AND tenant = ? AND consumer = ? AND lane = ? ORDER BY created_at, id LIMIT 1',
    ),
    promoteWork: db.prepare('UPDATE work SET state = 2, place = 1, due_at = max(due_at, ?) WHERE seq = ?'),
    chooseWork: db.prepare('UPDATE work SET state = 2, place = 1, frozen = 1, due_at = ? WHERE seq = ?'),
    lane: db.prepare('SELECT width, places, waiting FROM lane WHERE tenant = ? AND consumer = ? AND key = ?'),
    putLane: db.prepare(
      'INSERT INTO lane (tenant, consumer, key, width, places, waiting, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)' +
        ' ON CONFLICT DO UPDATE SET width = excluded.width, places = excluded.places,' +
        ' waiting = excluded.waiting, updated_at = excluded.updated_at',
    ),
    versionLane: db.prepare(
      'UPDATE lane SET version = ?, updated_at = ? WHERE tenant = ? AND consumer = ? AND key = ?',
    ),
    addAttempt: db.prepare(
      'INSERT INTO attempt (work, number, started_at, duration_ms, outcome, class, http_status, error, response)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    addLedger: db.prepare(
      'INSERT INTO ledger (seq, tenant, key, generation, state, proof, work, epoch, send_by, created_at, settled_at,' +
        ' consumer, event_id, object_id, payload_hash, correlation_id, effect_ref, result)' +
        ' VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    addLedgerBlock: db.prepare('INSERT OR IGNORE INTO ledger_block (tenant, block) VALUES (?, ?)'),
    addGeneration: db.prepare(
      'INSERT INTO ledger (seq, tenant, key, state, proof, work, epoch, send_by, created_at, settled_at, consumer,' +
        ' event_id, object_id, payload_hash, correlation_id, effect_ref, result, generation, previous)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
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
        ' replays, last_error, key, correlation_id, payload_hash, runbook, severity, step, failure_id, created_at,' +
        ' updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)' +
        ' ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, state = excluded.state,' +
        ' class = excluded.class, reason = excluded.reason, consumer = excluded.consumer,' +
        ' event_id = excluded.event_id, work_id = excluded.work_id, attempts = excluded.attempts,' +
        ' replays = excluded.replays, last_error = excluded.last_error, key = excluded.key,' +
        ' correlation_id = excluded.correlation_id, payload_hash = excluded.payload_hash,' +
        ' runbook = excluded.runbook, severity = excluded.severity, step = excluded.step,' +
        ' failure_id = excluded.failure_id, updated_at = excluded.updated_at',
    ),
    putFailure: db.prepare(
      'INSERT INTO failure (tenant, id, state, work_id, consumer, event_id, class, reason, key, attempts, last_error,' +
        ' will_retry_at, correlation_id, severity, cause, created_at, updated_at)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)' +
        ' ON CONFLICT (tenant, id) DO UPDATE SET state = excluded.state, work_id = excluded.work_id,' +
        ' consumer = excluded.consumer, event_id = excluded.event_id, class = excluded.class,' +
        ' reason = excluded.reason, key = excluded.key, attempts = excluded.attempts,' +
        ' last_error = excluded.last_error, will_retry_at = excluded.will_retry_at,' +
        ' correlation_id = excluded.correlation_id, severity = excluded.severity, cause = excluded.cause,' +
        ' updated_at = excluded.updated_at',
    ),
    escalationVersion: db.prepare('SELECT version FROM escalation WHERE tenant = ? AND id = ?'),
    countEscalation: db.prepare(
      'UPDATE escalation SET count = count + 1, consumer = ?, class = ?, reason = ?, severity = ?, runbook = ?,' +
        " last_error = ?, work_id = ?, updated_at = ? WHERE tenant = ? AND cause = ? AND state = 'raised'",
    ),
    addEscalation: db.prepare(
      'INSERT INTO escalation (tenant, id, version, state, cause, consumer, class, reason, severity, runbook,' +
        ' last_error, work_id, count, announced, created_at, updated_at)' +
        " VALUES (?, ?, 1, 'raised', ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?, ?)",
    ),
    announceEscalation: db.prepare('UPDATE escalation SET announced = 1 WHERE tenant = ? AND id = ?'),
    acknowledgeEscalation: db.prepare(
      "UPDATE escalation SET state = 'acknowledged', acknowledged_by = ?, note = ? WHERE tenant = ? AND id = ?",
    ),
    touchEscalation: db.prepare(
      'UPDATE escalation SET version = version + 1, updated_at = ? WHERE tenant = ? AND id = ?',
    ),
    instance: db.prepare('SELECT seq, revision FROM instance WHERE tenant = ? AND id = ?'),
    // Unchanged columns are not set: no index over them is touched.
    stepInstance: db.prepare(
      'UPDATE instance SET state = ?1, attention = ?2, revision = ?3, updated_at = ?4, marking = ?5, body = ?6,' +
        ' ended_at = CASE ?1 WHEN 0 THEN NULL ELSE coalesce(ended_at, ?4) END WHERE seq = ?7 AND workflow = ?8' +
        ' AND definition = ?9 AND version = ?10 AND event_id = ?11 AND correlation_id = ?12 AND parent IS ?13',
    ),
    putInstance: db.prepare(
      `INSERT INTO instance (tenant, ${INSTANCE_COLUMNS})` +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)' +
        ' ON CONFLICT (tenant, id) DO UPDATE SET workflow = excluded.workflow, definition = excluded.definition,' +
        ' version = excluded.version, event_id = excluded.event_id, correlation_id = excluded.correlation_id,' +
        ' parent = excluded.parent, state = excluded.state, attention = excluded.attention,' +
        ' revision = excluded.revision, updated_at = excluded.updated_at, marking = excluded.marking,' +
        ' body = excluded.body, ended_at = CASE excluded.state WHEN 0 THEN NULL' +
        ' ELSE coalesce(instance.ended_at, excluded.updated_at) END',
    ),
    addHistory: db.prepare(
      'INSERT INTO history (tenant, instance, sequence, type, at, body) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    correlation: db.prepare(CORRELATION_BY_HASH),
    addCorrelation: db.prepare(
      'INSERT INTO correlation (hash, tenant, version, key, body) VALUES (?, ?, ?, ?, ?)',
    ),
    changeCorrelation: db.prepare(
      'UPDATE correlation SET version = ?, body = ? WHERE hash = ? AND tenant = ? AND key = ?',
    ),
    deleteCorrelation: db.prepare('DELETE FROM correlation WHERE hash = ? AND tenant = ? AND key = ?'),
    orphanVersion: db.prepare('SELECT version FROM orphan WHERE tenant = ? AND id = ?'),
    putOrphan: db.prepare(
      'INSERT INTO orphan (tenant, id, version, state, reason, workflow, trigger_id, event_id, work_id, keys, instance,' +
        ' closed_by, note, expires_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)' +
        ' ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, state = excluded.state,' +
        ' reason = excluded.reason, workflow = excluded.workflow, trigger_id = excluded.trigger_id,' +
        ' event_id = excluded.event_id, work_id = excluded.work_id, keys = excluded.keys,' +
        ' instance = excluded.instance, closed_by = excluded.closed_by, note = excluded.note,' +
        ' expires_at = excluded.expires_at, updated_at = excluded.updated_at',
    ),
    // The columns that lists search by never change and are not set: those indexes are touched once.
    putRun: db.prepare(
      'INSERT INTO run (tenant, id, connection, purpose, work_id, created_at, event_id, provider, operation,' +
        ' correlation_id, trace_id, replay_of, state, updated_at, key, attempt_count, class, http_status, duration_ms,' +
        ' error, external_ref, attempts)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)' +
        ' ON CONFLICT (tenant, id) DO UPDATE SET event_id = excluded.event_id, provider = excluded.provider,' +
        ' operation = excluded.operation, correlation_id = excluded.correlation_id, trace_id = excluded.trace_id,' +
        ' replay_of = excluded.replay_of, state = excluded.state, updated_at = excluded.updated_at,' +
        ' key = excluded.key, attempt_count = excluded.attempt_count, class = excluded.class,' +
        ' http_status = excluded.http_status, duration_ms = excluded.duration_ms, error = excluded.error,' +
        ' external_ref = excluded.external_ref, attempts = excluded.attempts',
    ),
    recordVersion: db.prepare('SELECT version FROM record WHERE tenant = ? AND kind = ? AND key = ?'),
    putRecord: db.prepare(
      'INSERT INTO record (tenant, kind, key, version, body) VALUES (?, ?, ?, ?, ?)' +
        ' ON CONFLICT (tenant, kind, key) DO UPDATE SET version = excluded.version, body = excluded.body',
    ),
    deleteRecord: db.prepare('DELETE FROM record WHERE tenant = ? AND kind = ? AND key = ?'),
    addFact: db.prepare('INSERT OR IGNORE INTO fact (tenant, id, created_at, body) VALUES (?, ?, ?, ?)'),
    addOutboxRow: db.prepare(
      'INSERT INTO outbox (tenant, id, subject, about, event_id, body, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    deleteOutboxRow: db.prepare('DELETE FROM outbox WHERE position = ? AND tenant = ?'),
  }
}
