export { type JsonLimits, parseJson } from './parse.ts'
export { canonicalJson, stringifyJson } from './stringify.ts'
export { isStorable, toStorable } from './text.ts'
export { JsonError, type JsonValue } from './value.ts'
