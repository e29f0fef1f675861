// What is wrong with a JSON body of the API, as a problem. Its sender may see the name that is there twice; no value is quoted.

import { AppError } from '../core/foundation/errors/index.ts'
import type { JsonError } from '../core/foundation/json/index.ts'

const CODES = {
  syntax: 'not_json',
  depth: 'too_deep',
  duplicate: 'duplicate_key',
  number: 'number_out_of_range',
} as const
const NAME_LENGTH_MAX = 100

export function refusedJson(error: JsonError, depthMax: number): AppError {
  const code = CODES[error.code]
  return new AppError(code, `${detailOf(error)} (at ${error.offset})`, {
    ...(code === 'too_deep' && { next: `Flatten it: at most ${depthMax} levels.` }),
  })
}

function detailOf({ message, member }: JsonError): string {
  if (member === null) return message
  const name = member.length > NAME_LENGTH_MAX ? `${member.slice(0, NAME_LENGTH_MAX - 1)}…` : member
  return `the member \`${name}\` is there twice in one object`
}
