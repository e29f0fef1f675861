// Prepares fields of ordinary messages for the log: masks secrets by their name, bounds size and depth, and leaves
// nothing that could make a serialiser throw.

import { isNumeral } from '../../core/foundation/json/index.ts'

const SECRET_NAME = /authorization|signature|secret|token|password|passwd|cookie|api[-_]?key|private[-_]?key/i
const DEPTH_MAX = 6
const ITEMS_MAX = 100
const TEXT_LENGTH_MAX = 8_192
const REDACTED = '[redacted]'

export function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return redactObject(fields, 0)
  } catch {
    // A getter or proxy of a foreign object threw.
    return { fields: '[unreadable]' }
  }
}

function redactObject(object: object, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = Object.create(null)
  let count = 0
  for (const [name, value] of Object.entries(object)) {
    count += 1
    if (count > ITEMS_MAX) {
      copy['…'] = '[cut]'
      break
    }
    copy[name] = SECRET_NAME.test(name) && value != null ? REDACTED : redactValue(value, depth + 1)
  }
  return copy
}

function redactValue(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      return value.length > TEXT_LENGTH_MAX ? `${value.slice(0, TEXT_LENGTH_MAX)}…` : value
    case 'bigint':
      return value.toString()
    case 'function':
    case 'symbol':
      return undefined
    case 'object':
      break
    default:
      return value
  }
  if (value === null) return null
  if (isNumeral(value)) return value.text
  if (depth > DEPTH_MAX) return '[deep]'
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (value instanceof Error) return redactError(value, depth)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (Array.isArray(value)) return value.slice(0, ITEMS_MAX).map((item) => redactValue(item, depth + 1))
  return redactObject(value, depth)
}

function redactError(error: Error, depth: number): Record<string, unknown> {
  const { name, message, stack, cause } = error
  const code = 'code' in error ? error.code : undefined
  return {
    name,
    message: redactValue(message, depth),
    ...(typeof code === 'string' && { code }),
    stack: redactValue(stack, depth),
    ...(cause !== undefined && { cause: redactValue(cause, depth + 1) }),
  }
}
