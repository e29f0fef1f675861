// Which names of `vars` documents read.

import {
  applyVarSettings,
  type DefinitionDocument,
  type EnvironmentName,
  filledVarsOf,
  type VarSettings,
  valuesIn,
} from '../core/definitions/documents/index.ts'
import { readFormula, splitTemplateText } from '../core/expression/index.ts'
import { canonicalJson, type JsonValue } from '../core/foundation/json/index.ts'
import type { FieldPath } from './finding.ts'
import type { Fields } from './written.ts'

const READ = /^vars\.([A-Za-z_]\w*)/
/** Their texts are no expressions, or see no `vars`. */
const BLIND = ['Source', 'Profile', 'Vars']
/** For people. */
const PROSE = ['description', 'metadata', 'runbook', 'example', 'filledVars']

interface VarRead {
  readonly name: string
  readonly path: FieldPath
  readonly offset?: number
  readonly onKey?: boolean
}

/** In templates, in expressions and in the paths of filters. */
export function readVars(document: Fields): readonly VarRead[] {
  if (BLIND.includes(String(document.kind))) return []
  const found: VarRead[] = []
  const visit = (value: JsonValue, path: FieldPath): void => {
    if (typeof value === 'string') {
      if (value.includes('vars')) found.push(...readIn(value, path))
      return
    }
    if (typeof value !== 'object' || value === null) return
    const isList = Array.isArray(value)
    for (const [key, inner] of Object.entries(value as Fields)) {
      if (PROSE.includes(key)) continue
      const here = [...path, isList ? Number(key) : key]
      const name = isList ? undefined : READ.exec(key)?.[1]
      if (name !== undefined) found.push({ name, path: here, onKey: true })
      visit(inner, here)
    }
  }
  visit(document, [])
  return found
}

function readIn(text: string, path: FieldPath): readonly VarRead[] {
  const whole = [{ text, at: 0, isExpression: true }]
  const parts = text.includes('{{') ? (splitTemplateText(text) ?? []) : whole
  return parts.flatMap(({ text: inside, at, isExpression }) => {
    const formula = isExpression ? readFormula(inside) : null
    return (formula?.reads ?? []).flatMap((read) => {
      const name = READ.exec(read.path)?.[1]
      return name === undefined ? [] : [{ name, path, offset: at + read.offset }]
    })
  })
}

/** Names of `vars` that a deployed document depends on, each once. */
export function varsReadBy(document: DefinitionDocument): readonly string[] {
  const inTexts = readVars(document as unknown as Fields).map(({ name }) => name)
  return [...new Set([...inTexts, ...Object.keys(filledVarsOf(document))])]
}

/** Names whose values differ between two sets of documents, each with the definitions of the second that depend on it. */
export function touchedVars(
  before: readonly DefinitionDocument[],
  after: readonly DefinitionDocument[],
  {
    environment,
    varSettings = {},
  }: { readonly environment: EnvironmentName; readonly varSettings?: VarSettings },
): readonly { readonly name: string; readonly readers: readonly DefinitionDocument[] }[] {
  const valuesOf = (documents: readonly DefinitionDocument[]) => {
    const vars = documents.filter((one) => one.kind === 'Vars')
    return applyVarSettings(valuesIn(vars, environment), varSettings).values
  }
  const [old, next] = [valuesOf(before), valuesOf(after)]
  const text = (value: JsonValue | undefined) => (value === undefined ? '' : canonicalJson(value))
  const changed = [...new Set([...Object.keys(old), ...Object.keys(next)])].filter(
    (name) => text(old[name]) !== text(next[name]),
  )
  if (changed.length === 0) return []
  const read = after.map((document) => ({ document, names: varsReadBy(document) }))
  return changed.map((name) => ({
    name,
    readers: read.filter(({ names }) => names.includes(name)).map(({ document }) => document),
  }))
}
