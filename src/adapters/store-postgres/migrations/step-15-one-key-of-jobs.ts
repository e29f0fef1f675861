// Step 15: a job is looked up only by tenant and id, so that is its key, as for events since step 10. The index by id alone is gone: each
// job wrote an entry into it when it was added and another one when it ended.
//
// Building the new index takes one pass over the jobs, during which nodes of the version before wait.
//
// Released: never changed.

export const ONE_KEY_OF_JOBS = `
-- At once: a node that reads a job and then changes it would otherwise be in the way of the exclusive lock, and it of the node.
LOCK TABLE {s}.work IN ACCESS EXCLUSIVE MODE;
CREATE UNIQUE INDEX work_by_tenant ON {s}.work (tenant, id);
ALTER TABLE {s}.work DROP CONSTRAINT work_pkey, ADD CONSTRAINT work_pkey PRIMARY KEY USING INDEX work_by_tenant;
DROP INDEX {s}.work_of_tenant;
`
