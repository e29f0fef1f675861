// Conditions as texts: the search treats each as a choice, and only checks whether one negates another.

import type { ConditionDocument } from '../../definitions/documents/index.ts'
import { isSameFormula } from '../../expression/index.ts'

const TEXT_MAX = 120

export function conditionText(condition: ConditionDocument): string | null {
  if (condition === null) return null
  const text = typeof condition === 'string' ? condition.trim() : JSON.stringify(condition)
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX - 1)}…` : text
}

export function negated(condition: string): string {
  return `not (${condition})`
}

/** One of them negates another. */
export function areExhaustive(conditions: readonly string[]): boolean {
  return conditions.some((one) =>
    conditions.some((other) => isSameFormula(other, `!(${one})`) || isSameFormula(other, denied(one))),
  )
}

const DENIED: Readonly<Record<string, string>> = {
  '==': '!=',
  '!=': '==',
  '<': '>=',
  '>=': '<',
  '>': '<=',
  '<=': '>',
}

/** Of a single comparison; anything else is returned unchanged, which negates nothing. */
function denied(condition: string): string {
  const signs = condition.match(/==|!=|<=|>=|<|>/g) ?? []
  const sign = signs[0]
  if (
    sign === undefined ||
    signs.length > 1 ||
    /&&|\|\||\?|!(?!=)|['"]/.test(condition.replaceAll(/'[\w ]*'/g, ''))
  )
    return `!(${condition})`
  return condition.replace(sign, DENIED[sign] ?? sign)
}
