// Checks when a source fires, as far as a schema of single fields cannot.

import type { JsonValue } from '../core/foundation/json/index.ts'
import { checkCron } from './actions.ts'
import type { Remark } from './finding.ts'

type Fields = { readonly [key: string]: JsonValue }

export function checkSchedule({ schedule }: Fields): readonly Remark[] {
  if (typeof schedule !== 'object' || schedule === null || Array.isArray(schedule)) return []
  return checkCron(schedule as Fields, ['schedule'])
}
