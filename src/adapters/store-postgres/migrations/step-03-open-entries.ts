// Step 3: open ledger entries by their job. Released: never changed.

export const OPEN_ENTRIES = `
-- Open entries: there are as many as calls under way and doubts. An effect passes through it once.
CREATE INDEX ledger_of_work ON {s}.ledger (work) WHERE state IN ('reserved', 'unknown');
`
