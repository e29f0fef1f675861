// Step 2: follow-ups, and dead letters by state. Released: never changed.

export const FOLLOW_UPS = `
-- Few events have a cause inside, so this costs the others nothing.
CREATE INDEX event_caused ON {s}.event (tenant, causation_id COLLATE "C", id) WHERE causation_id IS NOT NULL;

-- Letters of every state are listed and grouped; the index over the open ones alone is not needed beside it.
CREATE INDEX dead_letter_state ON {s}.dead_letter (tenant, state, id);
DROP INDEX {s}.dead_letter_open;
`
