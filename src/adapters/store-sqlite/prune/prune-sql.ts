// All statements of retention on the writing side, prepared once.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { LEDGER_COLUMNS, LEDGER_OF_TENANT, OF_EVENT } from '../columns.ts'

export function preparePruneSql(db: DatabaseSyncInstance) {
  return {
    oldEvents: db.prepare(
      'SELECT seq, id, source, causation_id, received_at, dedup_until, dedup_key FROM event' +
        ' WHERE tenant = ? AND id > ? AND id < ? ORDER BY id LIMIT ?',
    ),
    // In the numbers of codes.ts: leased, ready, waiting, merged, parked; and the ledger's reserved and unknown.
    openWork: db.prepare(
      `SELECT 1 FROM work WHERE ${OF_EVENT} AND (+state IN (1, 2, 3, 5, 6) OR +place = 1) LIMIT 1`,
    ),
    openDeadLetter: db.prepare(
      "SELECT 1 FROM dead_letter WHERE event_id = ?2 AND +tenant = ?1 AND +state NOT IN ('resolved', 'discarded') LIMIT 1",
    ),
    openEntry: db.prepare(
      'SELECT 1 FROM work CROSS JOIN ledger ON ledger.work = work.id AND ledger.state IN (1, 3)' +
        ` AND +ledger.tenant = +work.tenant WHERE ${OF_EVENT} LIMIT 1`,
    ),
    activeInstance: db.prepare(
      'SELECT 1 FROM instance WHERE event_id = ?2 AND state = 0 AND +tenant = ?1 LIMIT 1',
    ),
    openOrphan: db.prepare(
      "SELECT 1 FROM orphan WHERE event_id = ?2 AND state IN ('waiting', 'open') AND +tenant = ?1 LIMIT 1",
    ),
    untold: db.prepare('SELECT 1 FROM outbox WHERE event_id = ?2 AND +tenant = ?1 LIMIT 1'),
    pruneAttempts: db.prepare(`DELETE FROM attempt WHERE work IN (SELECT seq FROM work WHERE ${OF_EVENT})`),
    pruneWork: db.prepare(`DELETE FROM work WHERE ${OF_EVENT}`),
    someFacts: db.prepare(
      'SELECT id, created_at FROM fact WHERE tenant = ? AND id > ? AND id < ? ORDER BY id LIMIT ?',
    ),
    pruneFact: db.prepare('DELETE FROM fact WHERE tenant = ? AND id = ?'),
    pruneRuns: db.prepare(
      'DELETE FROM run WHERE work_id IS NOT NULL AND work_id IN' +
        ` (SELECT id FROM work WHERE ${OF_EVENT}) AND +tenant = ?2`,
    ),
    pruneDeadLetters: db.prepare('DELETE FROM dead_letter WHERE event_id = ?2 AND +tenant = ?1'),
    pruneFailures: db.prepare('DELETE FROM failure WHERE event_id = ?2 AND +tenant = ?1'),
    pruneRepeats: db.prepare('DELETE FROM event_repeat WHERE seq = ?'),
    pruneEvent: db.prepare('DELETE FROM event WHERE seq = ?'),
    // The driver binds numbers of 2^31 and above as REAL, whose division keeps the fraction: hence the casts.
    entriesAfter: db.prepare(
      `SELECT ${LEDGER_COLUMNS} FROM ${LEDGER_OF_TENANT} WHERE ledger_block.tenant = ?1 AND ledger_block.block >= CAST(?2 AS INTEGER) / 64` +
        ' AND ledger.seq > ?2 ORDER BY ledger_block.block, ledger.seq LIMIT ?3',
    ),
    pruneBlock: db.prepare(
      'DELETE FROM ledger_block WHERE tenant = ?1 AND block = CAST(?2 AS INTEGER) / 64 AND NOT EXISTS' +
        ' (SELECT 1 FROM ledger WHERE seq BETWEEN CAST(?2 AS INTEGER) / 64 * 64 AND CAST(?2 AS INTEGER) / 64 * 64 + 63 AND tenant = ?1)',
    ),
    pruneEvidence: db.prepare('DELETE FROM evidence WHERE entry = ?'),
    pruneEntry: db.prepare('DELETE FROM ledger WHERE seq = ?'),
    someLanes: db.prepare(
      'SELECT consumer, key, places, waiting, updated_at FROM lane WHERE tenant = ? AND (consumer, key) > (?, ?)' +
        ' ORDER BY consumer, key LIMIT ?',
    ),
    pruneLane: db.prepare('DELETE FROM lane WHERE tenant = ? AND consumer = ? AND key = ?'),
    someEscalations: db.prepare(
      'SELECT seq, id, state, updated_at FROM escalation WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?',
    ),
    pruneEscalation: db.prepare('DELETE FROM escalation WHERE seq = ?'),
    someInstances: db.prepare(
      'SELECT seq, id, ended_at FROM instance WHERE tenant = ? AND id > ? AND id < ? ORDER BY id LIMIT ?',
    ),
    historyLength: db.prepare(
      'SELECT count(*) AS n FROM (SELECT 1 FROM history WHERE tenant = ? AND instance = ? LIMIT ?)',
    ),
    pruneHistory: db.prepare(
      'DELETE FROM history WHERE tenant = ?1 AND instance = ?2 AND sequence IN' +
        ' (SELECT sequence FROM history WHERE tenant = ?1 AND instance = ?2 ORDER BY sequence LIMIT ?3)',
    ),
    pruneInstance: db.prepare('DELETE FROM instance WHERE seq = ?'),
    someOrphans: db.prepare(
      'SELECT seq, id, state, updated_at FROM orphan WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?',
    ),
    pruneOrphan: db.prepare('DELETE FROM orphan WHERE seq = ?'),
    someRuns: db.prepare(
      'SELECT seq, id, updated_at, work_id IS NOT NULL AND EXISTS' +
        ' (SELECT 1 FROM work WHERE work.id = run.work_id AND work.tenant = run.tenant) AS is_of_work' +
        ' FROM run INDEXED BY run_id WHERE tenant = ? AND id > ? AND id < ? ORDER BY id LIMIT ?',
    ),
    pruneRun: db.prepare('DELETE FROM run WHERE seq = ?'),
  }
}
