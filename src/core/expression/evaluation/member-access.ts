// Reads fields. Own properties only: nothing of the language runtime is reachable. A field of a value without fields is
// missing, never an error.

import { isNumeral, Numeral } from '../../foundation/json/index.ts'

export function readMember(target: unknown, name: string): unknown {
  if (typeof target !== 'object' || target === null || Array.isArray(target)) return undefined
  if (target instanceof Numeral) return undefined
  return Object.hasOwn(target, name) ? (target as Record<string, unknown>)[name] : undefined
}

export function readIndex(target: unknown, index: unknown): unknown {
  if (Array.isArray(target)) {
    const place = isNumeral(index) ? index.plain() : index
    return typeof place === 'number' && Number.isInteger(place) && place >= 0 ? target[place] : undefined
  }
  return typeof index === 'string' ? readMember(target, index) : undefined
}

export function hasMember(target: unknown, key: unknown): boolean {
  if (Array.isArray(target)) {
    const place = isNumeral(key) ? key.plain() : key
    return typeof place === 'number' && Number.isInteger(place) && place >= 0 && place < target.length
  }
  return (
    typeof target === 'object' &&
    target !== null &&
    typeof key === 'string' &&
    !isNumeral(target) &&
    Object.hasOwn(target, key)
  )
}

/** Header names are case-insensitive; stores hold them in lower case, so the first lookup nearly always succeeds. */
export function headerName(headers: unknown, name: string): string {
  const lower = name.toLowerCase()
  if (typeof headers !== 'object' || headers === null || Object.hasOwn(headers, lower)) return lower
  return Object.keys(headers).find((key) => key.toLowerCase() === lower) ?? lower
}

export function define(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}
