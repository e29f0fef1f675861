// When a source fires, as far as a schema of single fields cannot say it.

import type { JsonValue } from '../core/json/index.ts'
import { compileCron } from '../core/schedule/index.ts'
import type { Remark } from './finding.ts'

type Fields = { readonly [key: string]: JsonValue }

export function checkSchedule({ schedule }: Fields): readonly Remark[] {
  if (typeof schedule !== 'object' || schedule === null || Array.isArray(schedule)) return []
  const { cron, zone = 'UTC' } = schedule as Fields
  if (typeof cron !== 'string' || typeof zone !== 'string' || cron === '' || zone === '') return []
  // Another finding tells of a template here.
  if (cron.includes('{{') || zone.includes('{{')) return []
  const compiled = compileCron(cron, zone)
  if (compiled.ok) return []
  const { field, message } = compiled.problem
  return [{ rule: 'value', message, path: ['schedule', field] }]
}
