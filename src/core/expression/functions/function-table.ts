// The functions that an expression may call, in both styles: size(x) and x.size(). A missing argument gives a missing result,
// unless a function declares that it handles missing ones.

import {
  isNumber,
  isNumeral,
  type JsonNumber,
  plainNumber,
  type Scaled,
  toScaled,
} from '../../foundation/json/index.ts'
import {
  chargeText,
  chargeValue,
  exact,
  finite,
  isMissing,
  normalise,
  toText,
  typeError,
  typeOf,
} from '../evaluation/index.ts'
import type { CallSite, FunctionEntry, FunctionTable } from './function-entry.ts'
import { HELPERS } from './hash-and-pattern-functions.ts'
import { LIST_FUNCTIONS } from './list-functions.ts'
import { TEXT_FUNCTIONS } from './text-functions.ts'

const DIGITS_MAX = 1000
const WHOLE = /^\s*[+-]?\d+\s*$/
const DECIMAL = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/

function numeric(
  name: string,
  doubles: (value: number) => number,
  wholes: (value: bigint) => bigint,
  decimals: (value: Scaled, unit: bigint) => Scaled,
): FunctionEntry {
  return {
    least: 1,
    most: 1,
    run(_frame, site, [value]) {
      if (typeof value === 'number') return finite(doubles(value))
      if (!isNumber(value)) throw typeError(`\`${name}\` needs a number`, value, site.paths[0])
      const plain = plainNumber(value)
      if (typeof plain === 'number') return finite(doubles(plain))
      if (typeof plain === 'bigint') return normalise(wholes(plain))
      const scaled = toScaled(plain)
      return exact(decimals(scaled, 10n ** BigInt(scaled.scale)))
    },
  }
}

const same = (value: bigint): bigint => value
const absolute = (value: bigint): bigint => (value < 0n ? -value : value)

/** Rounds down; bigint division truncates, which rounds up for negative values. */
function floorOf(coefficient: bigint, unit: bigint): Scaled {
  const cut = coefficient / unit
  return { coefficient: coefficient < 0n && coefficient % unit !== 0n ? cut - 1n : cut, scale: 0 }
}

function ceilingOf(coefficient: bigint, unit: bigint): Scaled {
  return { coefficient: -floorOf(-coefficient, unit).coefficient, scale: 0 }
}

function roundedOf(coefficient: bigint, unit: bigint): Scaled {
  const size = (absolute(coefficient) * 2n + unit) / (unit * 2n)
  return { coefficient: coefficient < 0n ? -size : size, scale: 0 }
}

const VALUE_FUNCTIONS: FunctionTable = {
  abs: numeric('abs', Math.abs, absolute, ({ coefficient, scale }) => ({
    coefficient: absolute(coefficient),
    scale,
  })),
  ceil: numeric('ceil', Math.ceil, same, ({ coefficient }, unit) => ceilingOf(coefficient, unit)),
  floor: numeric('floor', Math.floor, same, ({ coefficient }, unit) => floorOf(coefficient, unit)),
  /** Halves round away from zero, as for money. */
  round: numeric(
    'round',
    (value) => Math.sign(value) * Math.round(Math.abs(value)),
    same,
    ({ coefficient }, unit) => roundedOf(coefficient, unit),
  ),
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
      if (typeof value === 'object' && !isNumeral(value)) chargeValue(frame, value)
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
  if (isNumber(value)) return truncated(plainNumber(value))
  if (typeof value === 'string' && value.length <= DIGITS_MAX && WHOLE.test(value))
    return normalise(BigInt(value.trim().replace(/^\+/, '')))
  throw typeError('`int` needs a number or a text of digits', value, site.paths[0])
}

function truncated(value: JsonNumber): number | bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? value : normalise(BigInt(Math.trunc(value)))
  const { coefficient, scale } = toScaled(value)
  return normalise(coefficient / 10n ** BigInt(scale))
}

/** The nearest double: `double` explicitly requests one. */
function toNumber(value: unknown, site: CallSite): unknown {
  if (isNumber(value)) return finite(Number(value))
  if (typeof value === 'string' && value.length <= DIGITS_MAX && DECIMAL.test(value))
    return finite(Number(value))
  throw typeError('`double` needs a number or a text of digits', value, site.paths[0])
}

export const FUNCTIONS: ReadonlyMap<string, FunctionEntry> = new Map(
  Object.entries({ ...VALUE_FUNCTIONS, ...TEXT_FUNCTIONS, ...LIST_FUNCTIONS, ...HELPERS }),
)
