// Step 4: bodies that are not JSON, and duplicates. Released: never changed.

export const DUPLICATES = `
ALTER TABLE {s}.event ADD COLUMN raw text;

-- Apart from the event, so that a duplicate does not write its body again.
CREATE TABLE {s}.event_repeat (
  event text COLLATE "C" PRIMARY KEY,
  count bigint NOT NULL,
  last_at bigint NOT NULL
);
`
