// Every function of the schema, with the file where its text is. A function that only the version before calls stays in this list.

import { CLAIM_FROM } from './claim.ts'
import { CLAIM } from './claim-before.ts'
import { NOW_MS } from './clock.ts'
import { COMMIT_OPTIMISTIC, COMMIT_WITH_FACTS } from './commit/optimistic-sql.ts'
import { FENCE_INCARNATION, SHARE_INCARNATIONS } from './fence.ts'
import type { LiveFunction } from './install-functions.ts'
import { JOIN_NODE } from './join.ts'
import { ID_AT, MAKE_PARTITIONS, WEEK_OF } from './partitions.ts'
import { RECLAIM } from './reclaim.ts'
import { RENEW_INCARNATION } from './renew.ts'

export const FUNCTIONS: readonly LiveFunction[] = [
  NOW_MS,
  SHARE_INCARNATIONS,
  FENCE_INCARNATION,
  JOIN_NODE,
  RENEW_INCARNATION,
  RECLAIM,
  CLAIM_FROM,
  CLAIM,
  COMMIT_OPTIMISTIC,
  COMMIT_WITH_FACTS,
  WEEK_OF,
  ID_AT,
  MAKE_PARTITIONS,
]
