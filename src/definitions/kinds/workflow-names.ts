// Names of places and transitions, looked up in the workflow that they are written in.

import type { JsonValue } from '../../core/foundation/json/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import type { FieldPath, Remark } from '../finding.ts'
import { listed } from '../suggest.ts'
import { type Fields, fieldsOf } from '../written.ts'

/** Of a workflow that names none. */
export const USUAL_VERSION = '1.0.0'

/** A field that names one or several, as written. */
export function checkNames(
  value: JsonValue | undefined,
  at: FieldPath,
  part: 'place' | 'transition',
  workflow: Fields,
): readonly Remark[] {
  const known = Object.keys(fieldsOf(workflow[`${part}s`]))
  const isList = Array.isArray(value)
  return ([value].flat() as readonly (JsonValue | undefined)[]).flatMap((name, index): readonly Remark[] => {
    if (typeof name !== 'string' || name === '' || name.includes('{{') || known.includes(name)) return []
    const near = closest(name, known)
    const but = known.length === 0 ? `\`${part}s\` has none` : `but ${listed(known.slice(0, 12))}`
    return [
      {
        rule: part === 'place' ? 'unknownPlace' : 'unknownTransition',
        message: `there is no ${part} \`${name}\`, ${but}`,
        path: isList ? [...at, index] : at,
        ...(near === undefined ? {} : { suggestedText: near }),
      },
    ]
  })
}

/** A bare target is under `data`. */
export function targetPath(path: string): string {
  return /^(?:data|metadata|correlation)(?:\.|$)/.test(path) ? path : `data.${path}`
}
