// Parts of a workflow that a route with `steps` has too.

import * as z from 'zod'
import { DAY } from '../../core/foundation/time/index.ts'
import { field, pick, target } from '../fields.ts'

/** How long a token may stay in a place. */
export const STAY_MS_MAX = 3_650 * DAY

/** Target and expression. */
export const assignments = (roots: readonly string[]) =>
  z.record(target(), field(pick(roots), 'What is assigned.'))
