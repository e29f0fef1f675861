// The keywords of a schema, one entry each: compiles what is written to a check, or to a text that says what is wrong with it.

import { compilePattern, ExpressionError } from '../../expression/index.ts'
import {
  canonicalJson,
  compareNumbers,
  isNumber,
  type JsonNumber,
  type JsonValue,
  type Scaled,
  toScaled,
} from '../../foundation/json/index.ts'
import { type Check, type Fields, fault, isMap, under, type Walk } from './schema-check.ts'

type Asserted = (operand: JsonValue, schema: Fields) => Check | string

const codePoints = (text: string): number => {
  let count = 0
  for (const _ of text) count += 1
  return count
}

function size(
  of: (value: JsonValue) => number | null,
  isWithin: (size: number, bound: number) => boolean,
  words: string,
): Asserted {
  return (bound) => {
    if (typeof bound !== 'number' || !Number.isInteger(bound) || bound < 0)
      return 'this is a whole number from 0 on'
    return (value) => {
      const found = of(value)
      return found === null || isWithin(found, bound) ? null : fault(`${words} ${bound}`)
    }
  }
}

const least = (found: number, bound: number) => found >= bound
const most = (found: number, bound: number) => found <= bound
const length = (value: JsonValue) => (typeof value === 'string' ? codePoints(value) : null)
const items = (value: JsonValue) => (Array.isArray(value) ? value.length : null)
const members = (value: JsonValue) => (isMap(value) ? Object.keys(value).length : null)

function bound(isWithin: (sense: number) => boolean, words: string): Asserted {
  return (operand) => {
    if (!isNumber(operand)) return 'this is a number'
    return (value) =>
      !isNumber(value) || isWithin(compareNumbers(value, operand)) ? null : fault(`${words} ${operand}`)
  }
}

/** By the decimals as they are written: 0.3 is a multiple of 0.1. */
function isMultiple(value: JsonNumber, of: JsonNumber): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(of)) return Number(value) % Number(of) === 0
  const [one, other] = [toScaled(value), toScaled(of)]
  const scale = BigInt(Math.max(one.scale, other.scale))
  const sized = ({ coefficient, scale: own }: Scaled) => coefficient * 10n ** (scale - BigInt(own))
  return sized(one) % sized(other) === 0n
}

function texts(operand: JsonValue): readonly string[] | null {
  return Array.isArray(operand) && operand.every((one) => typeof one === 'string')
    ? (operand as string[])
    : null
}

/** The cost of a comparison depends on its operands. */
function canonical(value: JsonValue, walk: Walk): string {
  const text = canonicalJson(value)
  walk.steps -= text.length >> 6
  return text
}

export const ASSERTED: Readonly<Record<string, Asserted>> = {
  const: (operand) => {
    const wanted = canonicalJson(operand)
    return (value, walk) => (canonical(value, walk) === wanted ? null : fault('is not the value it must be'))
  },
  enum: (operand) => {
    if (!Array.isArray(operand) || operand.length === 0) return '`enum` is a list of values'
    const wanted = new Set(operand.map((one) => canonicalJson(one)))
    return (value, walk) =>
      wanted.has(canonical(value, walk)) ? null : fault('is not one of the values listed')
  },
  required: (operand) => {
    const names = texts(operand)
    if (names === null) return '`required` is a list of names'
    return (value) => {
      if (!isMap(value)) return null
      const missing = names.find((name) => !Object.hasOwn(value, name))
      return missing === undefined ? null : { path: [missing], problem: 'is missing' }
    }
  },
  dependentRequired: (operand) => {
    if (!isMap(operand)) return '`dependentRequired` is a map of lists of names'
    const needs = Object.entries(operand).map(([name, list]) => [name, texts(list)] as const)
    if (needs.some(([, list]) => list === null)) return '`dependentRequired` is a map of lists of names'
    return (value) => {
      if (!isMap(value)) return null
      for (const [name, list] of needs) {
        if (!Object.hasOwn(value, name)) continue
        const missing = list?.find((one) => !Object.hasOwn(value, one))
        if (missing !== undefined) return { path: [missing], problem: 'is missing' }
      }
      return null
    }
  },
  minLength: size(length, least, 'is shorter than'),
  maxLength: size(length, most, 'is longer than'),
  minItems: size(items, least, 'has fewer elements than'),
  maxItems: size(items, most, 'has more elements than'),
  minProperties: size(members, least, 'has fewer fields than'),
  maxProperties: size(members, most, 'has more fields than'),
  minimum: bound((sense) => sense >= 0, 'is less than'),
  maximum: bound((sense) => sense <= 0, 'is greater than'),
  exclusiveMinimum: bound((sense) => sense > 0, 'is not greater than'),
  exclusiveMaximum: bound((sense) => sense < 0, 'is not less than'),
  multipleOf: (operand) => {
    if (!isNumber(operand) || compareNumbers(operand, 0) <= 0) return '`multipleOf` is a number above 0'
    return (value) =>
      !isNumber(value) || isMultiple(value, operand) ? null : fault(`is no multiple of ${operand}`)
  },
  pattern: (operand) => {
    const test = patternOf(operand)
    if (typeof test === 'string') return test
    return (value, walk) => {
      if (typeof value !== 'string') return null
      walk.steps -= value.length >> 2
      return walk.steps < 0 || test(value) ? null : fault('does not follow the pattern')
    }
  },
  uniqueItems: (operand) => {
    if (typeof operand !== 'boolean') return '`uniqueItems` is true or false'
    return (value, walk) => {
      if (!operand || !Array.isArray(value)) return null
      const seen = new Set<string>()
      for (const [index, one] of value.entries()) {
        walk.steps -= 1
        if (walk.steps < 0) return fault('is too much to check')
        const text = canonical(one, walk)
        if (seen.has(text)) return { path: [index], problem: 'is there twice' }
        seen.add(text)
      }
      return null
    }
  },
}

function patternOf(operand: JsonValue): ((text: string) => boolean) | string {
  if (typeof operand !== 'string') return 'a pattern is a text'
  try {
    return compilePattern(operand)
  } catch (error) {
    if (error instanceof ExpressionError) return error.message
    throw error
  }
}

type Sub = (part: JsonValue, ...steps: (string | number)[]) => Check
type Applied = (
  operand: JsonValue,
  schema: Fields,
  sub: Sub,
  beside: (part: JsonValue, name: string) => Check,
) => Check | string

/** Runs separately: its findings decide, and are not reported. */
const fits = (check: Check, value: JsonValue, walk: Walk) => check(value, walk) === null

function choices(operand: JsonValue, sub: Sub): readonly Check[] | null {
  return Array.isArray(operand) && operand.length > 0 ? operand.map((one, index) => sub(one, index)) : null
}

function forEach(check: Check, from: number): Check {
  return (value, walk) => {
    if (!Array.isArray(value)) return null
    for (let index = from; index < value.length; index += 1) {
      const found = check(value[index] as JsonValue, walk)
      if (found !== null) return under(index, found)
    }
    return null
  }
}

function named(operand: JsonValue, sub: Sub): readonly (readonly [string, Check])[] | null {
  return isMap(operand) ? Object.entries(operand).map(([name, one]) => [name, sub(one, name)] as const) : null
}

export const APPLIED: Readonly<Record<string, Applied>> = {
  properties: (operand, _schema, sub) => {
    const checks = named(operand, sub)
    if (checks === null) return '`properties` is a map of schemas'
    return (value, walk) => {
      if (!isMap(value)) return null
      for (const [name, check] of checks) {
        if (!Object.hasOwn(value, name)) continue
        const found = check(value[name] as JsonValue, walk)
        if (found !== null) return under(name, found)
      }
      return null
    }
  },
  patternProperties: (operand, _schema, sub) => {
    const checks = named(operand, sub)
    if (checks === null) return '`patternProperties` is a map of schemas'
    const tests = checks.map(([pattern, check]) => [patternOf(pattern), check] as const)
    const wrong = tests.find(([test]) => typeof test === 'string')
    if (wrong !== undefined) return wrong[0] as string
    return (value, walk) => {
      if (!isMap(value)) return null
      for (const [name, member] of Object.entries(value)) {
        for (const [test, check] of tests) {
          walk.steps -= 1 + (name.length >> 2)
          if (walk.steps < 0) return fault('is too much to check')
          if (!(test as (text: string) => boolean)(name)) continue
          const found = check(member, walk)
          if (found !== null) return under(name, found)
        }
      }
      return null
    }
  },
  additionalProperties: (operand, schema, sub) => {
    const check = sub(operand)
    const known = new Set(isMap(schema.properties) ? Object.keys(schema.properties) : [])
    const patterns = isMap(schema.patternProperties)
      ? Object.keys(schema.patternProperties).map(patternOf)
      : []
    return (value, walk) => {
      if (!isMap(value)) return null
      for (const [name, member] of Object.entries(value)) {
        if (known.has(name)) continue
        walk.steps -= 1 + patterns.length * (1 + (name.length >> 2))
        if (walk.steps < 0) return fault('is too much to check')
        if (patterns.some((test) => typeof test === 'function' && test(name))) continue
        const found = check(member, walk)
        if (found !== null) return under(name, found)
      }
      return null
    }
  },
  propertyNames: (operand, _schema, sub) => {
    const check = sub(operand)
    return (value, walk) => {
      if (!isMap(value)) return null
      const isWrong = Object.keys(value).some((name) => !fits(check, name, walk))
      return isWrong ? fault('has a field whose name is not allowed') : null
    }
  },
  prefixItems: (operand, _schema, sub) => {
    const checks = choices(operand, sub)
    if (checks === null) return '`prefixItems` is a list of schemas'
    return (value, walk) => {
      if (!Array.isArray(value)) return null
      for (const [index, check] of checks.slice(0, value.length).entries()) {
        const found = check(value[index] as JsonValue, walk)
        if (found !== null) return under(index, found)
      }
      return null
    }
  },
  items: (operand, schema, sub) => {
    if (Array.isArray(operand)) return '`items` is one schema; for a schema per place write `prefixItems`'
    return forEach(sub(operand), Array.isArray(schema.prefixItems) ? schema.prefixItems.length : 0)
  },
  contains: (operand, _schema, sub) => {
    const check = sub(operand)
    return (value, walk) => {
      if (!Array.isArray(value) || value.some((one) => fits(check, one, walk))) return null
      return fault('has no element of the kind that must be there')
    }
  },
  allOf: (operand, _schema, sub) => {
    const checks = choices(operand, sub)
    if (checks === null) return '`allOf` is a list of schemas'
    return (value, walk) => {
      for (const check of checks) {
        const found = check(value, walk)
        if (found !== null) return found
      }
      return null
    }
  },
  anyOf: (operand, _schema, sub) => {
    const checks = choices(operand, sub)
    if (checks === null) return '`anyOf` is a list of schemas'
    return (value, walk) =>
      checks.some((check) => fits(check, value, walk)) ? null : fault('fits none of the choices')
  },
  oneOf: (operand, _schema, sub) => {
    const checks = choices(operand, sub)
    if (checks === null) return '`oneOf` is a list of schemas'
    return (value, walk) => {
      const count = checks.filter((check) => fits(check, value, walk)).length
      return count === 1 ? null : fault(`fits ${count === 0 ? 'none' : 'more than one'} of the choices`)
    }
  },
  not: (operand, _schema, sub) => {
    const check = sub(operand)
    return (value, walk) => (fits(check, value, walk) ? fault('is what it must not be') : null)
  },
  if: (operand, schema, sub, beside) => {
    const test = sub(operand)
    const yes = schema.then === undefined ? null : beside(schema.then, 'then')
    const no = schema.else === undefined ? null : beside(schema.else, 'else')
    return (value, walk) => (fits(test, value, walk) ? yes : no)?.(value, walk) ?? null
  },
}
