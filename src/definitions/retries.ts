// Checks retries, wherever they are.

import type { JsonValue } from '../core/foundation/json/index.ts'
import type { Surroundings } from './document-context.ts'
import type { FieldPath, Remark } from './finding.ts'
import { checkProfileName } from './profiles.ts'
import { fieldsOf } from './written.ts'

export function checkRetry(
  retry: JsonValue | undefined,
  around: Surroundings,
  at: FieldPath = ['retry'],
): readonly Remark[] {
  if (typeof retry === 'string') return checkProfileName(retry, 'retry', at, around.profiles)
  const { attempts, delays } = fieldsOf(retry)
  const count = delays === undefined ? 0 : Array.isArray(delays) ? delays.length : null
  if (typeof attempts !== 'number' || attempts < 1 || count === null || attempts - 1 === count) return []
  const message = `\`attempts\` counts the first: ${attempts} attempts have ${attempts - 1} delays, here are ${count}`
  const path = [...at, delays === undefined ? 'attempts' : 'delays']
  return [{ rule: 'delays', message, path, suggestion: `attempts: ${count + 1}` }]
}
