// What is wrong with a document that came as fields of a request: each finding at its field.

import { AppError, type ErrorCode } from '../core/foundation/errors/index.ts'
import type { FieldFinding } from '../definitions/index.ts'

export function refuseFindings(code: ErrorCode, findings: readonly FieldFinding[]): AppError {
  const errors = findings.filter(({ severity }) => severity === 'error')
  const [first] = errors
  const others = errors.length > 1 ? `, and ${errors.length - 1} more` : ''
  const where = first?.field ? `${first.field}: ` : ''
  return new AppError(code, `${where}${first?.message}${others}`, {
    details: {
      findings,
      fields: errors.map(({ field, message }) => ({ path: pointerOf(field), message })),
    },
  })
}

/** `on[1].a` as `/on/1/a`. */
function pointerOf(field: string): string {
  return field === '' ? '' : `/${field.replaceAll(/\[(\d+)\]/g, '.$1').replaceAll('.', '/')}`
}
