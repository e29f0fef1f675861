// The history of the schema, as numbered steps. A released step never changes: its checksum is stored in the database.
//
// Functions that a step creates are history too: the current text is in the file of its verb (../functions.ts lists
// them), and is installed after the last step. So a step changes tables, indexes and views; a function only if it must
// be dropped.
//
// `{s}` stands for the schema's name. Text that is compared or sorted has the collation "C", so that its order is the
// order of the bytes on every server. Keys made from a payload (dedup, ledger, correlation) are looked up by a 16-byte
// hash: their order is random, and a short key keeps the index small.

import { FIRST_TABLES } from './step-01-first-tables.ts'
import { FOLLOW_UPS } from './step-02-follow-ups.ts'
import { OPEN_ENTRIES } from './step-03-open-entries.ts'
import { DUPLICATES } from './step-04-duplicates.ts'
import { LANES } from './step-05-lanes.ts'
import { INSTANCES } from './step-06-instances.ts'
import { DELIVERIES } from './step-07-deliveries.ts'
import { RUNS } from './step-08-runs.ts'
import { OUTBOX_TABLE } from './step-09-outbox.ts'
import { PARTITIONS } from './step-10-partitions.ts'
import { CLAIM_BY_INDEX } from './step-11-claim-by-index.ts'
import { RENEW_AND_OUTBOX } from './step-12-renew-for-longer.ts'
import { CLAIM_AFTER_CRASH } from './step-13-claim-after-crash.ts'
import { INSTANT_OF_GROUPS } from './step-14-instant-of-groups.ts'
import { ONE_KEY_OF_JOBS } from './step-15-one-key-of-jobs.ts'
import { FACTS } from './step-16-facts.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  /**
   * The lowest version whose code can continue, and start, on the schema that this step makes: two adjacent versions
   * run side by side during an upgrade. Omitted: its own.
   */
  readonly worksFrom?: number
}

export const MIGRATIONS: readonly Migration[] = [
  { number: 1, name: 'first tables', sql: FIRST_TABLES },
  { number: 2, name: 'follow-ups and dead letters by state', sql: FOLLOW_UPS },
  { number: 3, name: 'open entries by their work', sql: OPEN_ENTRIES },
  { number: 4, name: 'bodies that are not JSON, and duplicates', sql: DUPLICATES },
  { number: 5, name: 'lanes, generations, failures, escalations', sql: LANES },
  { number: 6, name: 'instances of workflows, their keys, orphans', sql: INSTANCES },
  { number: 7, name: 'deliveries', sql: DELIVERIES },
  { number: 8, name: 'runs', sql: RUNS },
  { number: 9, name: 'outbox', sql: OUTBOX_TABLE, worksFrom: 8 },
  { number: 10, name: 'events, attempts and history by weeks', sql: PARTITIONS },
  { number: 11, name: 'claims by index whatever the planner knows', sql: CLAIM_BY_INDEX, worksFrom: 10 },
  {
    number: 12,
    name: 'longer lives, outbox by event',
    sql: RENEW_AND_OUTBOX,
    worksFrom: 10,
  },
  { number: 13, name: 'what one crash left is claimed in parallel', sql: CLAIM_AFTER_CRASH, worksFrom: 10 },
  { number: 14, name: 'groups store their instant', sql: INSTANT_OF_GROUPS, worksFrom: 10 },
  { number: 15, name: 'jobs by tenant and id alone', sql: ONE_KEY_OF_JOBS, worksFrom: 10 },
  { number: 16, name: 'facts', sql: FACTS, worksFrom: 10 },
]
