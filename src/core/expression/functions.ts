// core/expression/functions.ts — the functions an expression may call, in both styles: size(x) and x.size().
// A missing argument gives a missing result, unless a function says that it looks at missing ones.

import { finite, normalise } from './arithmetic.ts'
import { chargeText, chargeValue } from './frame.ts'
import type { CallSite, FunctionEntry, FunctionTable } from './function-entry.ts'
import { HELPERS } from './helpers.ts'
import { LIST_FUNCTIONS } from './list-functions.ts'
import { TEXT_FUNCTIONS } from './text-functions.ts'
import { isMissing, isNumber, toText, typeError, typeOf } from './values.ts'

const DIGITS_MAX = 1000
const WHOLE = /^\s*[+-]?\d+\s*$/
const DECIMAL = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/

function numeric(
  name: string,
  doubles: (value: number) => number,
  wholes: (value: bigint) => bigint,
): FunctionEntry {
  return {
    least: 1,
    most: 1,
    run(_frame, site, [value]) {
      if (typeof value === 'number') return finite(doubles(value))
      if (typeof value === 'bigint') return normalise(wholes(value))
      throw typeError(`\`${name}\` needs a number`, value, site.paths[0])
    },
  }
}

const same = (value: bigint): bigint => value

const VALUE_FUNCTIONS: FunctionTable = {
  abs: numeric('abs', Math.abs, (value) => (value < 0n ? -value : value)),
  ceil: numeric('ceil', Math.ceil, same),
  floor: numeric('floor', Math.floor, same),
  /** Halves go away from zero, as money is rounded. */
  round: numeric('round', (value) => Math.sign(value) * Math.round(Math.abs(value)), same),
  type: { least: 1, most: 1, seesMissing: true, run: (_frame, _site, [value]) => typeOf(value) },
  coalesce: {
    least: 1,
    most: 16,
    seesMissing: true,
    run: (_frame, _site, args) => args.find((value) => !isMissing(value)),
  },
  string: {
    least: 1,
    most: 1,
    run(frame, _site, [value]) {
      if (typeof value === 'object') chargeValue(frame, value)
      const text = toText(value)
      chargeText(frame, text.length)
      return text
    },
  },
  int: { least: 1, most: 1, run: (_frame, site, [value]) => toWhole(value, site) },
  double: { least: 1, most: 1, run: (_frame, site, [value]) => toNumber(value, site) },
  bool: {
    least: 1,
    most: 1,
    run(_frame, site, [value]) {
      if (typeof value === 'boolean') return value
      if (value === 'true' || value === 'false') return value === 'true'
      throw typeError("`bool` needs true, false, 'true' or 'false'", value, site.paths[0])
    },
  },
}

function toWhole(value: unknown, site: CallSite): unknown {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? value : normalise(BigInt(Math.trunc(value)))
  if (typeof value === 'string' && value.length <= DIGITS_MAX && WHOLE.test(value))
    return normalise(BigInt(value.trim().replace(/^\+/, '')))
  throw typeError('`int` needs a number or a text of digits', value, site.paths[0])
}

function toNumber(value: unknown, site: CallSite): unknown {
  if (isNumber(value)) return finite(Number(value))
  if (typeof value === 'string' && value.length <= DIGITS_MAX && DECIMAL.test(value))
    return finite(Number(value))
  throw typeError('`double` needs a number or a text of digits', value, site.paths[0])
}

export const FUNCTIONS: ReadonlyMap<string, FunctionEntry> = new Map(
  Object.entries({ ...VALUE_FUNCTIONS, ...TEXT_FUNCTIONS, ...LIST_FUNCTIONS, ...HELPERS }),
)
