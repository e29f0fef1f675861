// Turns a refusal of the machine into the error for the caller.

import { AppError, type ErrorCode } from '../../../core/foundation/errors/index.ts'
import { closest } from '../../../core/foundation/text/index.ts'
import type { Refused } from '../../../core/workflows/machine/index.ts'

const CODES: Readonly<Record<Refused['code'], ErrorCode>> = {
  not_active: 'instance_ended',
  unknown_transition: 'unknown_transition',
  unknown_place: 'unknown_place',
  cannot_fire: 'cannot_fire',
  not_allowed: 'shut_out',
  invalid_input: 'invalid_input',
  mapping: 'mapping_failed',
  gone: 'firing_gone',
  in_doubt: 'in_doubt',
  cannot_migrate: 'cannot_migrate',
  loop: 'endless_loop',
}

export function refusalError({ code, message, rules }: Refused): AppError {
  return new AppError(CODES[code], message, rules === undefined ? {} : { details: { rules } })
}

/** An unknown name is reported with the most similar one. */
export function unknownName(
  code: 'unknown_transition' | 'unknown_place',
  workflow: string,
  name: string,
  known: Iterable<string>,
): AppError {
  const suggestion = closest(name, known)
  const what = code === 'unknown_place' ? 'place' : 'transition'
  const hint = suggestion === undefined ? '' : `; did you mean ‘${suggestion}’?`
  return new AppError(code, `the workflow ${workflow} has no ${what} ‘${name.slice(0, 100)}’${hint}`, {
    details: suggestion === undefined ? {} : { suggestion },
  })
}
