// Step 6: instances of workflows, their history, the keys by which events find them, and orphans. Released: never
// changed.
//
// An index of (tenant, state, id) can also be used to look a row up by tenant and id, by scanning all of the tenant's
// states; a plan made while the table was empty does so, and stays in use. Such an index therefore applies only to
// queries that say that the id is not empty (`LISTED` in tables.ts): lists do, and look-ups do not.
//
// A change of an instance writes an entry into every index that has it, so there are few: one over all of them, which
// lists by workflow and state, and one over the active ones, which is walked from one definition and marking to the
// next. All other queries combine these two.

export const INSTANCES = `
ALTER TABLE {s}.work
  ADD COLUMN instance text COLLATE "C",
  ADD COLUMN step text;
-- Those that are over are found by the event that their instance began with.
CREATE INDEX work_of_instance ON {s}.work (instance, created_at, id)
  WHERE instance IS NOT NULL AND state NOT IN ('done', 'skipped', 'dead', 'cancelled');

CREATE TABLE {s}.instance (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  definition text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  attention text COLLATE "C",
  revision bigint NOT NULL,
  marking text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  correlation_id text NOT NULL,
  parent text COLLATE "C",
  body text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  ended_at bigint,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX instance_state ON {s}.instance (tenant, workflow, state, id) WHERE id <> '';
CREATE INDEX instance_active ON {s}.instance (tenant, workflow, definition, marking, id)
  WHERE state = 'active';
CREATE INDEX instance_event ON {s}.instance (event_id) WHERE state = 'active';
CREATE INDEX instance_attention ON {s}.instance (tenant, workflow, id)
  WHERE state = 'active' AND attention IS NOT NULL;
CREATE INDEX instance_parent ON {s}.instance (tenant, parent, id) WHERE parent IS NOT NULL;

CREATE TABLE {s}.history (
  tenant text COLLATE "C" NOT NULL,
  instance text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  type text NOT NULL,
  body text NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (tenant, instance, sequence)
);

CREATE TABLE {s}.correlation (
  hash uuid PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  body text NOT NULL
);

CREATE TABLE {s}.orphan (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  reason text NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  "trigger" text NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  work_id text NOT NULL,
  keys text NOT NULL,
  expires_at bigint,
  instance text,
  "by" text,
  note text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX orphan_state ON {s}.orphan (tenant, state, id) WHERE id <> '';
CREATE INDEX orphan_event ON {s}.orphan (event_id) WHERE state IN ('waiting', 'open');
CREATE INDEX orphan_over ON {s}.orphan (tenant, updated_at, id) WHERE state IN ('correlated', 'discarded');

DROP INDEX {s}.dead_letter_state, {s}.failure_state, {s}.escalation_state;
CREATE INDEX dead_letter_state ON {s}.dead_letter (tenant, state, id) WHERE id <> '';
CREATE INDEX failure_state ON {s}.failure (tenant, state, id) WHERE id <> '';
CREATE INDEX escalation_state ON {s}.escalation (tenant, state, id) WHERE id <> '';
`
