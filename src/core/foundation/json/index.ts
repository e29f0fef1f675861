// Parses, writes, copies and compares JSON without losing the text of a number.

export { copyPlain } from './copy.ts'
export { diffJson, type JsonChange, type JsonPlace, placeText } from './diff.ts'
export {
  canonicalNumber,
  compareNumbers,
  fromScaled,
  isNumber,
  isNumeral,
  type JsonNumber,
  NUMERAL_BOUNDS,
  Numeral,
  plainNumber,
  readNumeral,
  type Scaled,
  toScaled,
} from './numeral.ts'
export { type JsonLimits, parseJson } from './parse.ts'
export { isStorable, toStorable } from './storable-text.ts'
export { canonicalJson, stringifyByValue, stringifyJson } from './stringify.ts'
export { JsonError, type JsonValue } from './value.ts'
