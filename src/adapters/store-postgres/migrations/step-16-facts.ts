// Step 16: events of this system that nothing selected, packed. Released: never changed.

export const FACTS = `
CREATE TABLE {s}.fact (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  body text NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);
`
