// The schema, as numbered steps. A released step never changes: add the next one.
//
// Why it looks like this (each was measured, see bench/store-sqlite.ts):
// - Rows are appended under sequential numbers and found by ids that grow with time, so inserts touch the last pages.
// - Indexes are partial: a done job costs none but its id's and its event's.
// - Dedup and ledger keys are random by nature. Only 16 bytes of hash and a row number live in random order, and they
//   get there many at a time; the full key is on the appended row and is compared on every hit.
// - Bodies live only on the event, after everything that lists and filters read.
//
// States are numbers in the order of state-codes.ts: 0 done, 1 leased, 2 ready, above 2 held.

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
}

export const MIGRATIONS: readonly Migration[] = [
  {
    number: 1,
    name: 'start',
    sql: `
CREATE TABLE tenant (
  no INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

-- One row: the last group of commits and its instant. An interrupted COMMIT is settled by looking here.
CREATE TABLE last_group (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  number INTEGER NOT NULL,
  at INTEGER NOT NULL
);
INSERT INTO last_group VALUES (1, 0, 0);

CREATE TABLE event (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  id TEXT NOT NULL,
  source TEXT NOT NULL,
  subject TEXT NOT NULL,
  matched INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  dedup_until INTEGER NOT NULL,
  dedup_key TEXT NOT NULL,
  object_type TEXT,
  object_id TEXT,
  occurred_at INTEGER,
  correlation_id TEXT NOT NULL,
  causation_id TEXT,
  trace_id TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  headers TEXT NOT NULL,
  data TEXT NOT NULL
);
CREATE UNIQUE INDEX event_id ON event (tenant, id);
CREATE INDEX event_unmatched ON event (tenant, id) WHERE matched = 0;

-- Dedup and ledger keys: the newest in the order they came, the others in the order of their hashes (key-index.ts).
CREATE TABLE key_log (
  no INTEGER PRIMARY KEY,
  hash BLOB NOT NULL,
  row INTEGER NOT NULL
);
CREATE TABLE known_key (
  hash BLOB NOT NULL PRIMARY KEY,
  row INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE work (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  id TEXT NOT NULL,
  state INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  owner INTEGER,
  epoch INTEGER NOT NULL,
  alone INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  waits INTEGER NOT NULL,
  losses INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  processed_at INTEGER,
  consumer TEXT NOT NULL,
  event_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  definition TEXT NOT NULL,
  code_hash TEXT,
  replay_of TEXT,
  key TEXT,
  class TEXT,
  last_error TEXT,
  effect_ref TEXT,
  http_status INTEGER,
  duration_ms REAL
);
CREATE UNIQUE INDEX work_id ON work (tenant, id);
CREATE INDEX work_event ON work (event_id);
CREATE INDEX work_leased ON work (owner) WHERE state = 1;
CREATE INDEX work_ready ON work (tenant, consumer, due_at, id) WHERE state = 2;
CREATE INDEX work_held ON work (tenant, state, id) WHERE state > 2;

CREATE TABLE attempt (
  seq INTEGER PRIMARY KEY,
  work INTEGER NOT NULL,
  number INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  duration_ms REAL NOT NULL,
  outcome TEXT NOT NULL,
  class TEXT,
  http_status INTEGER,
  error TEXT
);
CREATE INDEX attempt_number ON attempt (work, number);

CREATE TABLE ledger (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  key TEXT NOT NULL,
  generation INTEGER NOT NULL,
  state INTEGER NOT NULL,
  proof TEXT,
  work TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  send_by INTEGER,
  created_at INTEGER NOT NULL,
  settled_at INTEGER,
  consumer TEXT NOT NULL,
  event_id TEXT NOT NULL,
  object_id TEXT,
  payload_hash TEXT NOT NULL,
  correlation_id TEXT NOT NULL,
  effect_ref TEXT,
  result TEXT
);
CREATE INDEX ledger_recent ON ledger (tenant, created_at);
CREATE INDEX ledger_open ON ledger (tenant, state, created_at) WHERE state > 0;

CREATE TABLE evidence (
  seq INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX evidence_entry ON evidence (entry);

CREATE TABLE dead_letter (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  id TEXT NOT NULL,
  version INTEGER NOT NULL,
  state TEXT NOT NULL,
  class TEXT NOT NULL,
  reason TEXT NOT NULL,
  consumer TEXT NOT NULL,
  event_id TEXT NOT NULL,
  work_id TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  replays INTEGER NOT NULL,
  last_error TEXT NOT NULL,
  key TEXT,
  correlation_id TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  runbook TEXT,
  severity TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX dead_letter_id ON dead_letter (tenant, id);
CREATE INDEX dead_letter_event ON dead_letter (event_id);

CREATE TABLE record (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  body TEXT NOT NULL
);
CREATE UNIQUE INDEX record_key ON record (tenant, kind, key);

-- AUTOINCREMENT: an incarnation's number is never given twice, even after old rows are gone.
CREATE TABLE incarnation (
  owner INTEGER PRIMARY KEY AUTOINCREMENT,
  node TEXT NOT NULL,
  until INTEGER NOT NULL,
  fenced INTEGER NOT NULL
);
CREATE INDEX incarnation_alive ON incarnation (node) WHERE fenced = 0;
`,
  },
  {
    number: 2,
    name: 'follow-ups and dead letters by state',
    sql: `
-- Few events have a cause inside, so this costs the others nothing.
CREATE INDEX event_caused ON event (tenant, causation_id, id) WHERE causation_id IS NOT NULL;
CREATE INDEX dead_letter_state ON dead_letter (tenant, state, id);
`,
  },
  {
    number: 3,
    name: 'open entries by their work',
    sql: `
-- Reserved and unknown: there are as many as calls under way and doubts. An effect passes through it once.
CREATE INDEX ledger_of_work ON ledger (work) WHERE state IN (1, 3);
`,
  },
  {
    number: 4,
    name: 'bodies that are not JSON, and duplicates',
    sql: `
-- The last column: for most events it is one byte.
ALTER TABLE event ADD COLUMN raw TEXT;

-- By the event's row number. Apart from the event, so that a duplicate does not write its body again.
CREATE TABLE event_repeat (
  seq INTEGER PRIMARY KEY,
  count INTEGER NOT NULL,
  last_at INTEGER NOT NULL
);
`,
  },
  {
    number: 5,
    name: 'lanes, batches, generations, failures and escalations',
    sql: `
-- Nothing in them for most items: a byte each. place and frozen: 1 or nothing; generation: nothing is 1.
ALTER TABLE work ADD COLUMN lane TEXT;
ALTER TABLE work ADD COLUMN place INTEGER;
ALTER TABLE work ADD COLUMN frozen INTEGER;
ALTER TABLE work ADD COLUMN element INTEGER;
ALTER TABLE work ADD COLUMN generation INTEGER;
ALTER TABLE work ADD COLUMN into_work TEXT;
CREATE INDEX work_waiting ON work (tenant, consumer, lane, created_at, id) WHERE state = 3;
CREATE INDEX work_holder ON work (tenant, id) WHERE place = 1 AND state IN (6, 7);
CREATE INDEX work_into ON work (into_work) WHERE into_work IS NOT NULL;

CREATE TABLE lane (
  tenant INTEGER NOT NULL,
  consumer TEXT NOT NULL,
  key TEXT NOT NULL,
  width INTEGER NOT NULL,
  places INTEGER NOT NULL,
  waiting INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version TEXT,
  PRIMARY KEY (tenant, consumer, key)
) WITHOUT ROWID;

-- The row of the generation before: the key's hash names the latest alone.
ALTER TABLE ledger ADD COLUMN previous INTEGER;

ALTER TABLE dead_letter ADD COLUMN step TEXT;
ALTER TABLE dead_letter ADD COLUMN failure_id TEXT;

CREATE TABLE failure (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  id TEXT NOT NULL,
  state TEXT NOT NULL,
  work_id TEXT NOT NULL,
  consumer TEXT NOT NULL,
  event_id TEXT NOT NULL,
  class TEXT NOT NULL,
  reason TEXT,
  key TEXT,
  attempts INTEGER NOT NULL,
  last_error TEXT NOT NULL,
  will_retry_at INTEGER,
  correlation_id TEXT NOT NULL,
  severity TEXT NOT NULL,
  cause TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX failure_id ON failure (tenant, id);
CREATE INDEX failure_event ON failure (event_id);
CREATE INDEX failure_state ON failure (tenant, state, id) WHERE state <> 'resolved';
CREATE INDEX failure_cause ON failure (tenant, cause, id) WHERE cause IS NOT NULL;

CREATE TABLE escalation (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  id TEXT NOT NULL,
  version INTEGER NOT NULL,
  state TEXT NOT NULL,
  cause TEXT NOT NULL,
  consumer TEXT NOT NULL,
  class TEXT NOT NULL,
  reason TEXT NOT NULL,
  severity TEXT NOT NULL,
  runbook TEXT,
  last_error TEXT NOT NULL,
  work_id TEXT,
  count INTEGER NOT NULL,
  announced INTEGER NOT NULL,
  acknowledged_by TEXT,
  note TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX escalation_id ON escalation (tenant, id);
CREATE UNIQUE INDEX escalation_raised ON escalation (tenant, cause) WHERE state = 'raised';
CREATE INDEX escalation_unannounced ON escalation (tenant, id) WHERE announced = 0;
`,
  },
  {
    number: 6,
    name: 'instances, their history, correlations and orphans',
    sql: `
-- Nothing in them for most items: a byte each. The states are those that are not final.
ALTER TABLE work ADD COLUMN instance TEXT;
ALTER TABLE work ADD COLUMN step TEXT;
CREATE INDEX work_instance ON work (instance) WHERE instance IS NOT NULL AND state IN (1, 2, 3, 5, 6);

-- state: 0 active, 1 completed, 2 failed, 3 cancelled. What is written anew with every step comes last.
CREATE TABLE instance (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  id TEXT NOT NULL,
  workflow TEXT NOT NULL,
  definition TEXT NOT NULL,
  version TEXT NOT NULL,
  event_id TEXT NOT NULL,
  correlation_id TEXT NOT NULL,
  parent TEXT,
  created_at INTEGER NOT NULL,
  state INTEGER NOT NULL,
  attention TEXT,
  revision INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  ended_at INTEGER,
  marking TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE UNIQUE INDEX instance_id ON instance (tenant, id);
CREATE INDEX instance_workflow ON instance (tenant, workflow, id);
-- One after another, groups of like instances are found and counted without reading any.
CREATE INDEX instance_active ON instance (tenant, workflow, definition, marking, id) WHERE state = 0;
CREATE INDEX instance_event ON instance (event_id) WHERE state = 0;
CREATE INDEX instance_attention ON instance (tenant, id) WHERE state = 0 AND attention IS NOT NULL;
CREATE INDEX instance_failed ON instance (tenant, state, id) WHERE state > 1;
CREATE INDEX instance_parent ON instance (tenant, parent, id) WHERE parent IS NOT NULL;

CREATE TABLE history (
  tenant INTEGER NOT NULL,
  instance TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (tenant, instance, sequence)
) WITHOUT ROWID;

-- Only 16 bytes of hash and a row number lie in random order; the full key is compared on every hit.
CREATE TABLE correlation (
  seq INTEGER PRIMARY KEY,
  hash BLOB NOT NULL,
  tenant INTEGER NOT NULL,
  version INTEGER NOT NULL,
  key TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX correlation_hash ON correlation (hash);

CREATE TABLE orphan (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  id TEXT NOT NULL,
  version INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  workflow TEXT NOT NULL,
  trigger_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  work_id TEXT NOT NULL,
  keys TEXT NOT NULL,
  instance TEXT,
  closed_by TEXT,
  note TEXT,
  expires_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX orphan_id ON orphan (tenant, id);
CREATE INDEX orphan_state ON orphan (tenant, state, id);
CREATE INDEX orphan_event ON orphan (event_id) WHERE state IN ('waiting', 'open');
`,
  },
  {
    number: 7,
    name: 'deliveries',
    sql: `
-- Nothing in it for tries of anything else: no byte at all.
ALTER TABLE attempt ADD COLUMN response TEXT;

-- The deliveries of one subscription, newest first. Work of routes and workflows is in neither. One that is delivered at once
-- costs an entry in the first; the second holds those that did not get through, and those that wait.
CREATE INDEX work_delivery ON work (tenant, consumer, id)
  WHERE consumer >= 'subscription:' AND consumer < 'subscription;';
CREATE INDEX work_delivery_held ON work (tenant, consumer, state, id)
  WHERE state > 2 AND consumer >= 'subscription:' AND consumer < 'subscription;';
`,
  },
  {
    number: 8,
    name: 'runs',
    sql: `
-- state: 0 completed, 1 running, above 1 held. What is written anew with every attempt comes last.
CREATE TABLE run (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  id TEXT NOT NULL,
  connection TEXT NOT NULL,
  purpose TEXT NOT NULL,
  work_id TEXT,
  created_at INTEGER NOT NULL,
  event_id TEXT,
  provider TEXT NOT NULL,
  operation TEXT NOT NULL,
  correlation_id TEXT NOT NULL,
  trace_id TEXT NOT NULL,
  replay_of TEXT,
  state INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  key TEXT,
  attempt_count INTEGER NOT NULL,
  class TEXT,
  http_status INTEGER,
  duration_ms REAL,
  error TEXT,
  external_ref TEXT,
  attempts TEXT NOT NULL
);
CREATE UNIQUE INDEX run_id ON run (tenant, id);
CREATE INDEX run_connection ON run (tenant, connection, id);
CREATE INDEX run_work ON run (work_id) WHERE work_id IS NOT NULL;
-- There are as many as calls under way; one that goes well passes through it once, and through none of those below.
CREATE INDEX run_running ON run (tenant, id) WHERE state = 1;
CREATE INDEX run_held ON run (tenant, state, id) WHERE state > 1;
CREATE INDEX run_connection_held ON run (tenant, connection, state, id) WHERE state > 1;
CREATE INDEX run_other ON run (tenant, id) WHERE purpose <> 'work';
`,
  },
  {
    number: 9,
    name: 'outbox',
    sql: `
-- AUTOINCREMENT: a position that was given once is never given again, so that a late delete takes nothing else.
CREATE TABLE outbox (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant INTEGER NOT NULL,
  id TEXT NOT NULL,
  subject TEXT NOT NULL,
  about TEXT NOT NULL,
  event_id TEXT,
  body TEXT,
  created_at INTEGER NOT NULL
);
`,
  },
  {
    number: 10,
    name: 'outbox by event',
    sql: `
CREATE INDEX outbox_event ON outbox (event_id) WHERE event_id IS NOT NULL;
`,
  },
  {
    number: 11,
    name: 'fewer index entries',
    sql: `
-- The keys of a group are one row: 16 bytes of hash and 6 bytes of row number each (key-index.ts).
INSERT INTO known_key (hash, row)
  SELECT hash, row FROM (SELECT hash, row, max(no) FROM key_log GROUP BY hash) WHERE true
  ON CONFLICT (hash) DO UPDATE SET row = excluded.row;
DROP TABLE key_log;
CREATE TABLE key_log (
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  keys BLOB NOT NULL
);

-- Texts that many rows share: they have its number.
CREATE TABLE term (
  no INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE
);
INSERT INTO term (text)
  SELECT definition FROM work UNION SELECT code_hash FROM work WHERE code_hash IS NOT NULL;

-- The jobs of an event are numbered after it, 65,536 for each: they lie together and need no index of events. Those
-- beyond have numbers below 0 and name their event.
ALTER TABLE work RENAME TO former_work;
CREATE TABLE work (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  id TEXT NOT NULL,
  state INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  owner INTEGER,
  epoch INTEGER NOT NULL,
  alone INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  waits INTEGER NOT NULL,
  losses INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  processed_at INTEGER,
  consumer TEXT NOT NULL,
  kind TEXT NOT NULL,
  definition INTEGER NOT NULL,
  code_hash INTEGER,
  key TEXT,
  duration_ms REAL,
  replay_of TEXT,
  class TEXT,
  last_error TEXT,
  effect_ref TEXT,
  http_status INTEGER,
  event INTEGER,
  lane TEXT,
  place INTEGER,
  frozen INTEGER,
  element INTEGER,
  generation INTEGER,
  into_work TEXT,
  instance TEXT,
  step TEXT
);
-- Before the rows: they come by age, as their ids grow. An index made afterwards is sorted in memory, all of it at once.
DROP INDEX work_id;
DROP INDEX work_delivery;
CREATE UNIQUE INDEX work_id ON work (tenant, id);
CREATE INDEX work_delivery ON work (tenant, consumer, id)
  WHERE consumer >= 'subscription:' AND consumer < 'subscription;';
-- A job without an event would break the rule that they go together: the text is no number, and nothing is changed.
INSERT INTO work
  SELECT
    CASE WHEN former.place_in_event < 65536
      THEN coalesce(former.event_seq * 65536 + former.place_in_event, 'a job has no event')
      ELSE -former.seq END,
    tenant, id, state, due_at, owner, epoch, alone, attempts, waits, losses, created_at, expires_at, processed_at,
    consumer, kind, (SELECT no FROM term WHERE text = former.definition),
    (SELECT no FROM term WHERE text = former.code_hash), key, duration_ms, replay_of, class, last_error, effect_ref,
    http_status, CASE WHEN former.place_in_event < 65536 THEN NULL ELSE former.event_seq END, lane, place, frozen, element,
    generation, into_work, instance, step
  FROM (
    SELECT former_work.*,
      (SELECT event.seq FROM event WHERE event.tenant = former_work.tenant AND event.id = former_work.event_id) AS event_seq,
      (SELECT count(*) FROM former_work AS other INDEXED BY work_event WHERE other.event_id = former_work.event_id
        AND other.seq < former_work.seq AND +other.tenant = former_work.tenant) AS place_in_event
    FROM former_work
  ) AS former
  ORDER BY former.seq;
-- An attempt whose job is gone belongs to no job, also not to one that has its number now.
UPDATE attempt SET work = coalesce(
  (SELECT work.seq FROM former_work CROSS JOIN work ON work.tenant = former_work.tenant AND work.id = former_work.id
    WHERE former_work.seq = attempt.work), -4503599627370496);
DROP TABLE former_work;
CREATE INDEX work_spilled ON work (event) WHERE seq < 0;
CREATE INDEX work_leased ON work (owner) WHERE state = 1;
CREATE INDEX work_ready ON work (tenant, consumer, due_at, id) WHERE state = 2;
CREATE INDEX work_held ON work (tenant, state, id) WHERE state > 2;
CREATE INDEX work_waiting ON work (tenant, consumer, lane, created_at, id) WHERE state = 3;
CREATE INDEX work_holder ON work (tenant, id) WHERE place = 1 AND state IN (6, 7);
CREATE INDEX work_into ON work (into_work) WHERE into_work IS NOT NULL;
CREATE INDEX work_instance ON work (instance) WHERE instance IS NOT NULL AND state IN (1, 2, 3, 5, 6);
CREATE INDEX work_delivery_held ON work (tenant, consumer, state, id)
  WHERE state > 2 AND consumer >= 'subscription:' AND consumer < 'subscription;';

-- A ledger entry's number grows with its age. A tenant's entries are found by the blocks of 64 numbers in which it has some,
-- so that an entry costs a sixty-fourth of an index entry.
CREATE TABLE ledger_block (
  tenant INTEGER NOT NULL,
  block INTEGER NOT NULL,
  PRIMARY KEY (tenant, block)
) WITHOUT ROWID;
INSERT INTO ledger_block (tenant, block) SELECT DISTINCT tenant, seq / 64 FROM ledger;
DROP INDEX ledger_recent;
DROP INDEX ledger_open;
CREATE INDEX ledger_open ON ledger (tenant, state) WHERE state > 0;

-- A group with keys is named by its row in key_log, any other one in last_group.
CREATE VIEW newest_group (number, at) AS
  SELECT max(last_group.number, coalesce(logged.number, 0)), max(last_group.at, coalesce(logged.at, 0))
  FROM last_group LEFT JOIN (SELECT number, at FROM key_log ORDER BY number DESC LIMIT 1) AS logged;
`,
  },
  {
    number: 12,
    name: 'facts',
    sql: `
-- Events of this system that nothing selected, packed. Ids grow with time, so that rows are appended, read and removed in order.
CREATE TABLE fact (
  tenant INTEGER NOT NULL,
  id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
`,
  },
]
