// Reads the parts of a flow test: each function checks one value, reports what is wrong with it, and returns it with its type.

import { formatDuration, parseDuration } from '../../core/expression/index.ts'
import { isNumber, type JsonValue, plainNumber, stringifyJson } from '../../core/foundation/json/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import type { FieldPath, Remark } from '../finding.ts'
import { listed } from '../suggest.ts'

export type Fields = Readonly<Record<string, JsonValue>>

export interface PartReader {
  report(remark: Remark): void
  /** A map with only these fields; null: it is something else, and was reported. */
  fields(
    value: JsonValue | undefined,
    path: FieldPath,
    what: string,
    allowed: readonly string[],
  ): Fields | null
  /** A map of any names. */
  map(value: JsonValue | undefined, path: FieldPath): Fields
  /** A map of texts; numbers are taken as they are written. */
  texts(value: JsonValue | undefined, path: FieldPath): Readonly<Record<string, string>>
  /** A list; one value that is no list is a list of one. null: it is not written. */
  list(value: JsonValue | undefined): readonly JsonValue[] | null
  text(value: JsonValue | undefined, path: FieldPath): string | null
  /** Like `text`, and it must be written. */
  needed(value: JsonValue | undefined, path: FieldPath): string
  wholeNumber(value: JsonValue | undefined, path: FieldPath, bounds: Bounds): number | null
  duration(value: JsonValue | undefined, path: FieldPath, maxMs: number): number | null
}

interface Bounds {
  readonly min: number
  readonly max: number
}

export function makePartReader(report: (remark: Remark) => void): PartReader {
  const isMap = (value: JsonValue | undefined): value is Fields =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && !isNumber(value)

  const map = (value: JsonValue | undefined, path: FieldPath): Fields => {
    if (value === undefined) return {}
    if (isMap(value)) return value
    report({ rule: 'type', message: `\`${nameOf(path)}\` is a map`, path })
    return {}
  }

  const text = (value: JsonValue | undefined, path: FieldPath): string | null => {
    if (value === undefined) return null
    if (typeof value === 'string' && value.trim() !== '') return value
    const isWritable = isNumber(value) || typeof value === 'boolean'
    const suggestion = isWritable ? { suggestedText: stringifyJson(value) } : {}
    report({ rule: 'type', message: `\`${nameOf(path)}\` is a text`, path, ...suggestion })
    return null
  }

  return {
    report,
    map,
    text,
    fields(value, path, what, allowed) {
      if (!isMap(value)) {
        report({ rule: 'type', message: `${what} is a map with ${listed(allowed)}`, path })
        return null
      }
      for (const name of Object.keys(value)) {
        if (allowed.includes(name)) continue
        const near = closest(name, allowed)
        const hint = near === undefined ? `: it has ${listed(allowed)}` : `: did you mean \`${near}\`?`
        const message = `${what} has no field \`${name}\`${hint}`
        const suggestion = near === undefined ? {} : { suggestion: near }
        report({ rule: 'unknownField', message, path: [...path, name], onKey: true, ...suggestion })
      }
      return value
    },
    texts(value, path) {
      const read: Record<string, string> = {}
      for (const [name, one] of Object.entries(map(value, path))) {
        if (isNumber(one)) read[name] = stringifyJson(one)
        else read[name] = text(one, [...path, name]) ?? ''
      }
      return read
    },
    list: (value) =>
      value === undefined ? null : Array.isArray(value) ? value : value === null ? [] : [value],
    needed(value, path) {
      if (value !== undefined) return text(value, path) ?? ''
      report({ rule: 'missing', message: `\`${nameOf(path)}\` is missing`, path })
      return ''
    },
    wholeNumber(value, path, { min, max }) {
      if (value === undefined) return null
      const number = isNumber(value) ? plainNumber(value) : null
      if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max)
        return number
      report({ rule: 'bounds', message: `\`${nameOf(path)}\` is a whole number from ${min} to ${max}`, path })
      return null
    },
    duration(value, path, maxMs) {
      if (value === undefined) return null
      const ms = typeof value === 'string' ? parseDuration(value.trim()) : null
      if (ms !== null && ms <= maxMs) return ms
      const limit =
        ms === null ? 'with its unit, such as `30s`, `5m` or `2h`' : `of at most ${formatDuration(maxMs)}`
      report({ rule: 'unit', message: `\`${nameOf(path)}\` is a duration ${limit}`, path })
      return null
    },
  }
}

function nameOf(path: FieldPath): string {
  return String(path.findLast((step) => typeof step === 'string') ?? 'test')
}
