// Step 9: the outbox. Released: never changed.

export const OUTBOX_TABLE = `
CREATE TABLE {s}.outbox (
  position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  turn bigint NOT NULL DEFAULT greatest(
    pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1),
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  subject text NOT NULL,
  about text NOT NULL,
  event text COLLATE "C",
  body text,
  created_at bigint NOT NULL
);
CREATE INDEX outbox_turn ON {s}.outbox (turn, position);
`
