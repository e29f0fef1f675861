// Step 8: integration runs. Released: never changed.

export const RUNS = `
CREATE TABLE {s}.run (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  connection text COLLATE "C" NOT NULL,
  purpose text COLLATE "C" NOT NULL,
  work_id text COLLATE "C",
  created_at bigint NOT NULL,
  event_id text,
  provider text NOT NULL,
  operation text NOT NULL,
  correlation_id text NOT NULL,
  trace_id text NOT NULL,
  replay_of text,
  state text COLLATE "C" NOT NULL,
  updated_at bigint NOT NULL,
  key text,
  attempt_count bigint NOT NULL,
  class text,
  http_status bigint,
  duration_ms double precision,
  error text,
  external_ref text,
  attempts text NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX run_connection ON {s}.run (tenant, connection, id) WHERE id <> '';
CREATE INDEX run_work ON {s}.run (work_id) WHERE work_id IS NOT NULL;
-- There are as many as calls under way; one that goes well is in none of those below.
CREATE INDEX run_running ON {s}.run (tenant, id) WHERE state = 'running';
CREATE INDEX run_held ON {s}.run (tenant, state, id) WHERE state IN ('pending', 'failed', 'dead-lettered');
CREATE INDEX run_connection_held ON {s}.run (tenant, connection, state, id)
  WHERE state IN ('pending', 'failed', 'dead-lettered');
CREATE INDEX run_other ON {s}.run (tenant, id) WHERE purpose <> 'work';
`
