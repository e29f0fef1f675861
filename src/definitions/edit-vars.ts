// Changes single values in the text of a Vars document; the rest stays as its author wrote it, comments and all.

import { parseDocument } from 'yaml'
import type { EnvironmentName } from '../core/definitions/documents/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { writeYaml } from './document-as-yaml.ts'

export interface VarEdit {
  readonly name: string
  /** null: the value for every environment that has no value of its own. */
  readonly environment: EnvironmentName | null
  /** null takes the value away. */
  readonly value: JsonValue
}

export function editVars(text: string, edits: readonly VarEdit[]): string {
  const document = parseDocument(text, { intAsBigInt: true, version: '1.2' })
  for (const { name, environment, value } of edits) {
    const path = environment === null ? ['values', name] : ['environments', environment, name]
    if (value !== null) document.setIn(path, parseDocument(writeYaml(value), { intAsBigInt: true }).contents)
    else if (document.hasIn(path)) document.deleteIn(path)
  }
  return document.toString({ lineWidth: 0 })
}

/** To start from, where nothing is defined yet. */
export function emptyVars(name: string): string {
  return `kind: Vars\nname: ${name}\n`
}
