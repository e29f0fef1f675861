// Defines the functions that an expression may call.

export type { CallSite, FunctionEntry } from './function-entry.ts'
export { FUNCTIONS } from './function-table.ts'
export {
  compilePattern,
  encodeText,
  type Pattern,
  patternCost,
  weighPatterns,
} from './hash-and-pattern-functions.ts'
export { HMAC_KEY_BYTES, type Hmac, hmacWith, type Keyed, makeHmac, mayUseHmac, SHOWN_HMAC } from './hmac.ts'
