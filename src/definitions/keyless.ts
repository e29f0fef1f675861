// Checks where `hmac` cannot be used: in what is written for every tenant, or is read without a tenant's key.

import { mayUseHmac } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import type { FieldPath, Remark } from './finding.ts'

/** Descriptive texts. */
const PROSE = new Set(['description', 'deprecated'])

/** Of all texts in it. */
export function checkKeyless(value: JsonValue | undefined, path: FieldPath): readonly Remark[] {
  if (typeof value === 'string')
    return mayUseHmac(value) ? [{ rule: 'expression', message: MESSAGE, path }] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]) =>
    PROSE.has(name)
      ? []
      : checkKeyless(one as JsonValue, [...path, Array.isArray(value) ? Number(name) : name]),
  )
}

const MESSAGE =
  '`hmac` cannot be used here: there is no key of a tenant. Use it in a source, route, workflow or subscription, and pass its value on'
