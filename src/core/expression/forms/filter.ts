// Conditions as data: { path, equals: … }, combined by all, any and not. A filter never fails at run time: values that cannot
// be compared do not match.

import { isNumeral, type JsonValue } from '../../foundation/json/index.ts'
import { equal, type Frame, isMissing, order, typeOf } from '../evaluation/index.ts'
import { closest, Fault } from '../syntax/index.ts'

export type Test = (value: unknown) => boolean

interface Operator {
  /** What the operand must be, in words; null when it is valid. */
  readonly needs: (operand: JsonValue) => string | null
  readonly make: (operand: JsonValue) => Test
}

/** Filters compare with constants of the definition, whose size is bounded there, so no steps are counted. */
const UNCOUNTED: Frame = { scope: {}, steps: Number.POSITIVE_INFINITY, locals: [] }

const anything = (): null => null
const needsList = (operand: JsonValue): string | null => (Array.isArray(operand) ? null : 'a list')
const needsText = (operand: JsonValue): string | null => (typeof operand === 'string' ? null : 'a text')
const needsBool = (operand: JsonValue): string | null =>
  typeof operand === 'boolean' ? null : 'true or false'
const needsOrdered = (operand: JsonValue): string | null =>
  ['number', 'string'].includes(typeOf(operand)) ? null : 'a number or a text'
const needsScalar = (operand: JsonValue): string | null =>
  typeof operand === 'object' && !isNumeral(operand) ? 'a text, a number, true or false' : null

const equals = (operand: JsonValue) => (value: unknown) => equal(UNCOUNTED, value, operand)
const isOneOf = (operand: JsonValue) => (value: unknown) =>
  (operand as readonly JsonValue[]).some((other) => equal(UNCOUNTED, value, other))
const exists = (operand: JsonValue) => (value: unknown) => isMissing(value) !== operand
const contains = (operand: JsonValue) => (value: unknown) => {
  if (typeof value === 'string') return typeof operand === 'string' && value.includes(operand)
  return Array.isArray(value) && value.some((other) => equal(UNCOUNTED, other, operand))
}
const startsWith = (operand: JsonValue) => (value: unknown) =>
  typeof value === 'string' && value.startsWith(operand as string)

function ordered(holds: (sense: number) => boolean): Operator {
  return {
    needs: needsOrdered,
    make: (operand) => (value) => {
      const sense = order(UNCOUNTED, value, operand)
      return typeof sense === 'number' && holds(sense)
    },
  }
}

function not(make: (operand: JsonValue) => Test): (operand: JsonValue) => Test {
  return (operand) => {
    const test = make(operand)
    return (value) => !test(value)
  }
}

export const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['equals', { needs: anything, make: equals }],
  ['notEquals', { needs: anything, make: not(equals) }],
  ['in', { needs: needsList, make: isOneOf }],
  ['notIn', { needs: needsList, make: not(isOneOf) }],
  ['contains', { needs: needsScalar, make: contains }],
  ['notContains', { needs: needsScalar, make: not(contains) }],
  ['startsWith', { needs: needsText, make: startsWith }],
  ['greaterThan', ordered((sense) => sense > 0)],
  ['lessThan', ordered((sense) => sense < 0)],
  ['atLeast', ordered((sense) => sense >= 0)],
  ['atMost', ordered((sense) => sense <= 0)],
  ['exists', { needs: needsBool, make: exists }],
  ['notExists', { needs: needsBool, make: not(exists) }],
])

/** Throws Fault; its offset is in the operator's name or the operand's text. */
export function makeTest(name: string, operand: JsonValue): Test {
  const operator = OPERATORS.get(name)
  if (operator === undefined) throw unknownOperator(name)
  const needs = operator.needs(operand)
  if (needs !== null) throw new Fault(`\`${name}\` needs ${needs}, not a ${typeOf(operand)}`, 0, 0)
  if (Array.isArray(operand) && operand.length === 0)
    throw new Fault(`\`${name}\` has an empty list: it decides nothing`, 0, 0)
  if (typeof operand === 'string' && operand.includes('{{')) {
    throw new Fault(
      'a filter compares with a literal: for a computed value write an expression instead',
      operand.indexOf('{{'),
      2,
    )
  }
  return operator.make(operand)
}

function unknownOperator(name: string): Fault {
  const near = closest(name, [...OPERATORS.keys(), 'path', 'all', 'any', 'not']) ?? SYNONYMS.get(name)
  const advice =
    near === undefined ? `use one of ${[...OPERATORS.keys()].join(', ')}` : `did you mean \`${near}\`?`
  return new Fault(`there is no operator \`${name}\`: ${advice}`, 0, name.length, near)
}

const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['eq', 'equals'],
  ['ne', 'notEquals'],
  ['is', 'equals'],
  ['gt', 'greaterThan'],
  ['gte', 'atLeast'],
  ['lt', 'lessThan'],
  ['lte', 'atMost'],
  ['greaterThanOrEqual', 'atLeast'],
  ['lessThanOrEqual', 'atMost'],
  ['and', 'all'],
  ['or', 'any'],
  ['includes', 'contains'],
  ['field', 'path'],
])
