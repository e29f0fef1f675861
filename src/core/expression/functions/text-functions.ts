// Functions on texts. Positions and lengths count code points, as in CEL.

import { isNumeral } from '../../foundation/json/index.ts'
import {
  charge,
  chargeList,
  chargeSearch,
  chargeText,
  codePointLength,
  type Frame,
  typeError,
} from '../evaluation/index.ts'
import type { CallSite, FunctionEntry, FunctionTable } from './function-entry.ts'

const SURROGATE = /[\ud800-\udbff]/

export function needText(frame: Frame, site: CallSite, args: readonly unknown[], index: number): string {
  const value = args[index]
  if (typeof value !== 'string') throw typeError(`\`${site.name}\` needs a text`, value, site.paths[index])
  charge(frame, value.length >> 12)
  return value
}

function needWhole(site: CallSite, args: readonly unknown[], index: number): number {
  const given = args[index]
  const value = isNumeral(given) ? given.plain() : given
  if (!Number.isSafeInteger(value))
    throw typeError(`\`${site.name}\` needs a whole number`, value, site.paths[index])
  return value as number
}

function oneText(change: (text: string) => string): FunctionEntry {
  return {
    least: 1,
    most: 1,
    run(frame, site, args) {
      const text = change(needText(frame, site, args, 0))
      chargeText(frame, text.length)
      return text
    },
  }
}

function twoTexts(test: (text: string, other: string) => boolean): FunctionEntry {
  return {
    least: 2,
    most: 2,
    run: (frame, site, args) => test(needText(frame, site, args, 0), needText(frame, site, args, 1)),
  }
}

export const TEXT_FUNCTIONS: FunctionTable = {
  startsWith: twoTexts((text, start) => text.startsWith(start)),
  endsWith: twoTexts((text, end) => text.endsWith(end)),
  lower: oneText((text) => text.toLowerCase()),
  upper: oneText((text) => text.toUpperCase()),
  trim: oneText((text) => text.trim()),
  split: {
    least: 2,
    most: 2,
    run(frame, site, args) {
      const text = needText(frame, site, args, 0)
      const separator = needText(frame, site, args, 1)
      chargeSearch(frame, text, separator)
      const parts = separator === '' ? Array.from(text) : text.split(separator)
      chargeList(frame, parts.length)
      return parts
    },
  },
  replace: {
    least: 3,
    most: 3,
    run(frame, site, args) {
      const text = needText(frame, site, args, 0)
      const from = needText(frame, site, args, 1)
      const to = needText(frame, site, args, 2)
      chargeSearch(frame, text, from)
      // Checked before building: one short text may ask for gigabytes.
      const parts = from === '' ? ['', ...Array.from(text), ''] : text.split(from)
      const length = text.length + (parts.length - 1) * (to.length - from.length)
      chargeText(frame, length)
      return parts.join(to)
    },
  },
  /** From `start` up to but excluding `end`; out-of-range ends are clamped. */
  substring: {
    least: 2,
    most: 3,
    run(frame, site, args) {
      const text = needText(frame, site, args, 0)
      const start = Math.max(0, needWhole(site, args, 1))
      if (!SURROGATE.test(text))
        return text.slice(start, args.length < 3 ? undefined : Math.max(0, needWhole(site, args, 2)))
      charge(frame, codePointLength(text) >> 6)
      const end = args.length < 3 ? undefined : Math.max(0, needWhole(site, args, 2))
      return Array.from(text).slice(start, end).join('')
    },
  },
}
