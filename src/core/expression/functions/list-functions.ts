// Functions on lists and maps.

import { isNumber } from '../../foundation/json/index.ts'
import {
  add,
  charge,
  chargeList,
  chargeSearch,
  chargeText,
  codePointLength,
  equal,
  isMissing,
  isObject,
  order,
  toText,
  typeError,
} from '../evaluation/index.ts'
import type { CallSite, FunctionEntry, FunctionTable } from './function-entry.ts'
import { needText } from './text-functions.ts'

function needList(site: CallSite, args: readonly unknown[]): readonly unknown[] {
  const list = args[0]
  if (!Array.isArray(list)) throw typeError(`\`${site.name}\` needs a list`, list, site.paths[0])
  return list
}

/** Of several arguments or of one list; a missing one among them makes the result missing, as does an empty list. */
function extreme(sign: number): FunctionEntry {
  return {
    least: 1,
    most: 16,
    run(frame, site, args) {
      const values = args.length === 1 ? needList(site, args) : args
      charge(frame, values.length >> 4)
      let best = values[0]
      for (const value of values) {
        if (isMissing(value)) return value
        const sense = order(frame, value, best)
        if (typeof sense !== 'number')
          throw typeError(`\`${site.name}\` needs values of one ordered type`, value, undefined)
        if (sense * sign > 0) best = value
      }
      return best
    },
  }
}

function fields(read: (map: { readonly [key: string]: unknown }) => readonly unknown[]): FunctionEntry {
  return {
    least: 1,
    most: 1,
    run(frame, site, [map]) {
      if (!isObject(map)) throw typeError(`\`${site.name}\` needs a map`, map, site.paths[0])
      const list = read(map)
      chargeList(frame, list.length)
      return list
    },
  }
}

export const LIST_FUNCTIONS: FunctionTable = {
  size: {
    least: 1,
    most: 1,
    run(frame, site, [value]) {
      if (Array.isArray(value)) return value.length
      if (typeof value === 'string') {
        charge(frame, value.length >> 12)
        return codePointLength(value)
      }
      if (isObject(value)) {
        const keys = Object.keys(value)
        charge(frame, keys.length >> 4)
        return keys.length
      }
      throw typeError('`size` needs a text, a list or a map', value, site.paths[0])
    },
  },
  /** A text within a text, or an element of a list. */
  contains: {
    least: 2,
    most: 2,
    run(frame, site, args) {
      const [list, item] = args
      if (!Array.isArray(list)) {
        const text = needText(frame, site, args, 0)
        const part = needText(frame, site, args, 1)
        chargeSearch(frame, text, part)
        return text.includes(part)
      }
      charge(frame, list.length >> 4)
      return list.some((other) => equal(frame, other, item))
    },
  },
  join: {
    least: 1,
    most: 2,
    run(frame, site, args) {
      const list = needList(site, args)
      const separator = args.length > 1 ? needText(frame, site, args, 1) : ''
      charge(frame, list.length >> 4)
      let length = 0
      const parts: string[] = []
      for (const item of list) {
        if (isMissing(item)) return item
        if (typeof item === 'object' && !isNumber(item))
          throw typeError('`join` joins texts, numbers and true or false', item, undefined)
        const part = toText(item)
        length += part.length + separator.length
        parts.push(part)
      }
      chargeText(frame, length)
      return parts.join(separator)
    },
  },
  /** One level: nested lists become elements of the list. */
  flatten: {
    least: 1,
    most: 1,
    run(frame, site, args) {
      const list = needList(site, args)
      let length = 0
      for (const item of list) length += Array.isArray(item) ? item.length : 1
      charge(frame, list.length >> 4)
      chargeList(frame, length)
      return list.flat()
    },
  },
  sum: {
    least: 1,
    most: 1,
    run(frame, site, args) {
      const list = needList(site, args)
      charge(frame, list.length >> 4)
      let total: unknown = 0
      for (const item of list) {
        if (typeof item === 'string' || Array.isArray(item))
          throw typeError('`sum` needs numbers', item, undefined)
        total = add(frame, total, item, { operator: 'sum', left: undefined, right: undefined })
      }
      return total
    },
  },
  min: extreme(-1),
  max: extreme(1),
  keys: fields((map) => Object.keys(map).sort()),
  values: fields((map) =>
    Object.keys(map)
      .sort()
      .map((key) => map[key]),
  ),
}
