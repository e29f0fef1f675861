// Step 14: a group of commits stores its instant, so that it can be found again when the response to it was lost.
// Released: never changed.

export const INSTANT_OF_GROUPS = `
ALTER TABLE {s}.commit_group ADD COLUMN at bigint;
`
