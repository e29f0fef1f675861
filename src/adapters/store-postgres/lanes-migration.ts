// The fifth step of the schema: lanes, generations of effects, failures and escalations.
//
// A lane is looked up by a hash, as all keys made by somebody's payload are; its items carry the hash beside the key. The
// earlier generations of a ledger key lie in a table of their own: the row of a key stays the one that everybody locks.

import { CLAIM_WITH_LIMITS } from './claim-migration.ts'

export const LANES = `
ALTER TABLE {s}.work
  ADD COLUMN element bigint,
  ADD COLUMN lane text,
  ADD COLUMN lane_hash uuid,
  ADD COLUMN has_place boolean NOT NULL DEFAULT false,
  ADD COLUMN is_frozen boolean NOT NULL DEFAULT false,
  ADD COLUMN "into" text COLLATE "C",
  ADD COLUMN generation bigint NOT NULL DEFAULT 1;
CREATE INDEX work_waiting ON {s}.work (lane_hash, created_at, id) WHERE state = 'waiting';
CREATE INDEX work_holding ON {s}.work (tenant, id) WHERE has_place AND state IN ('parked', 'dead');
CREATE INDEX work_merged ON {s}.work ("into", created_at, id) WHERE "into" IS NOT NULL;
-- A limit counts what its consumer has in hand.
CREATE INDEX work_in_hand ON {s}.work (tenant, consumer) WHERE state = 'leased';

CREATE TABLE {s}.lane (
  hash uuid PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  consumer text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  width bigint NOT NULL,
  version text,
  places bigint NOT NULL,
  waiting bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE INDEX lane_empty ON {s}.lane (tenant, updated_at, hash) WHERE places = 0 AND waiting = 0;

CREATE TABLE {s}.ledger_past (LIKE {s}.ledger INCLUDING ALL);
ALTER TABLE {s}.ledger_past DROP CONSTRAINT ledger_past_pkey, ADD PRIMARY KEY (hash, generation);
CREATE VIEW {s}.ledger_all AS SELECT * FROM {s}.ledger UNION ALL SELECT * FROM {s}.ledger_past;

ALTER TABLE {s}.dead_letter ADD COLUMN step text, ADD COLUMN failure_id text;

CREATE TABLE {s}.failure (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  work_id text COLLATE "C" NOT NULL,
  consumer text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  class text COLLATE "C" NOT NULL,
  reason text,
  key text,
  attempts bigint NOT NULL,
  last_error text NOT NULL,
  will_retry_at bigint,
  correlation_id text NOT NULL,
  severity text NOT NULL,
  cause text COLLATE "C",
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX failure_state ON {s}.failure (tenant, state, id);
CREATE INDEX failure_cause ON {s}.failure (tenant, cause, id) WHERE cause IS NOT NULL;
CREATE INDEX failure_event ON {s}.failure (event_id);

CREATE TABLE {s}.escalation (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  cause text COLLATE "C" NOT NULL,
  consumer text COLLATE "C" NOT NULL,
  class text COLLATE "C" NOT NULL,
  reason text NOT NULL,
  severity text NOT NULL,
  runbook text,
  last_error text NOT NULL,
  work_id text,
  version bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  is_announced boolean NOT NULL,
  acknowledged_by text,
  note text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);
-- Whoever raises a second one of a cause meets the first here, and counts on it.
CREATE UNIQUE INDEX escalation_raised ON {s}.escalation (tenant, cause) WHERE state = 'raised';
CREATE INDEX escalation_state ON {s}.escalation (tenant, state, id);
CREATE INDEX escalation_unannounced ON {s}.escalation (tenant, id) WHERE NOT is_announced;
CREATE INDEX escalation_over ON {s}.escalation (tenant, updated_at, id) WHERE state = 'acknowledged';

-- As before, and with limits: what a consumer may have in hand at once, over all nodes. Claims under a limit come one after
-- the other, so that two of them cannot both see room for the last one. The locks are taken in one order and before any row.
DROP FUNCTION {s}.claim(uuid, bigint, text[], text[], bigint[], bigint, bigint, text[]);
${CLAIM_WITH_LIMITS}
`
