// Checks what a request holds against the schemas of its route.
//
// Addresses and headers hold texts alone, so `limit=20` is read as a number there. A body says itself what it means: a wrong
// type is refused and never bent into shape, because `null` would become «no» and a preview a real run.
//
// A form shows every fault at its field, so all are reported, but only in a body of a size that users write. In a larger
// one only the first fault is reported: a search for all would let any caller keep the node busy.

import { Ajv, type Options, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import { isNumeral } from '../core/foundation/json/index.ts'
import { parseInstant } from '../core/foundation/time/index.ts'

/** Values in a body, of any kind and depth, up to which all faults are looked for. */
export const VALUES_MAX = 5_000

/** Neither guess what a wrong value meant nor drop what has no meaning. */
const STRICT: Options = {
  removeAdditional: false,
  useDefaults: true,
  verbose: true,
  formats: { 'date-time': (text: string) => parseInstant(text) !== null },
}

type Check = ((value: unknown) => boolean) & { errors?: NonNullable<ValidateFunction['errors']> | null }

/**
 * Each schema is compiled by the first request that needs it: compiling those of all routes took a fifth of the CPU time of a start
 * (0.3 s), and most routes of a node are never called. `isEager` compiles them at once: for the tests, which find a broken schema that way.
 */
export function makeValidatorCompiler({ isEager = false } = {}): FastifySchemaCompiler<object> {
  const prepare = isEager ? compileNow : compileLater
  const texts = new Ajv({ ...STRICT, coerceTypes: false, allErrors: true })
  const first = new Ajv({ ...STRICT, coerceTypes: false, allErrors: false })
  const all = new Ajv({ ...STRICT, coerceTypes: false, allErrors: true })
  return ({ schema, httpPart }) => {
    if (httpPart !== 'body') return checkTexts(prepare(texts, schema), schema)
    const findFirst = prepare(first, schema)
    const findAll = prepare(all, schema)
    const check: Check = (sent: unknown) => {
      const body = isNumeral(sent) ? Number(sent) : sent
      settleNumbers(body, schema as Schema)
      const validate = findFirst()
      if (validate(body)) return true
      check.errors = validate.errors ?? null
      if (!hasMoreValues(body, VALUES_MAX)) {
        const validateAll = findAll()
        validateAll(body)
        check.errors = validateAll.errors ?? check.errors
      }
      return false
    }
    return check
  }
}

function compileNow(ajv: Ajv, schema: object): () => ValidateFunction {
  const compiled = ajv.compile(schema)
  return () => compiled
}

function compileLater(ajv: Ajv, schema: object): () => ValidateFunction {
  let compiled: ValidateFunction | null = null
  return () => {
    compiled ??= ajv.compile(schema)
    return compiled
  }
}

/** As JSON writes it: no sign before a positive one, no other base, no space, and nothing that is not finite. */
const WHOLE = /^-?(?:0|[1-9]\d*)$/
const NUMERAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** What a text of the address means where its schema asks for a number or a switch; any other text stays, and is refused. */
function readText(text: string, type: unknown): unknown {
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  if (type !== 'integer' && type !== 'number') return text
  const isWhole = type === 'integer'
  const value = (isWhole ? WHOLE : NUMERAL).test(text) ? Number(text) : Number.NaN
  return (isWhole ? Number.isSafeInteger(value) : Number.isFinite(value)) ? value : text
}

function checkTexts(compiled: () => ValidateFunction, schema: object): Check {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, { readonly type?: unknown }>> }
  const typed = Object.entries(properties).filter(([, { type }]) => type !== 'string')
  const check: Check = (given: unknown) => {
    const values = given as Record<string, unknown>
    for (const [name, { type }] of typed) {
      const text = values?.[name]
      if (typeof text === 'string') values[name] = readText(text, type)
    }
    const validate = compiled()
    const isValid = validate(values)
    check.errors = validate.errors ?? null
    return isValid
  }
  return check
}

interface Schema {
  readonly type?: unknown
  readonly enum?: unknown
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

/**
 * Where a schema says what a value is, a number is a double: `5.0` is 5. Where it may be anything, it is data, and keeps its
 * digits.
 */
function settleNumbers(value: unknown, schema: Schema): void {
  if (typeof value !== 'object' || value === null) return
  for (const one of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) settleNumbers(value, one)
  const { properties = {}, additionalProperties, items } = schema
  const members = value as Record<string | number, unknown>
  for (const name of Object.keys(value)) {
    const rest = typeof additionalProperties === 'object' ? additionalProperties : undefined
    const own = Object.hasOwn(properties, name) ? properties[name] : rest
    const inner = Array.isArray(value) ? items : own
    if (inner === undefined) continue
    const member = members[name]
    if (!isNumeral(member)) settleNumbers(member, inner)
    else if (saysWhatItIs(inner)) members[name] = Number(member)
  }
}

function saysWhatItIs(schema: Schema): boolean {
  if (schema.type !== undefined || schema.enum !== undefined || schema.const !== undefined) return true
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  return choices.length > 0 && choices.every(saysWhatItIs)
}

/** Looks at no more values than asked for. */
function hasMoreValues(value: unknown, max: number): boolean {
  let left = max
  const visit = (one: unknown): boolean => {
    left -= 1
    if (left < 0) return true
    if (typeof one !== 'object' || one === null) return false
    if (Array.isArray(one)) return one.length > left || one.some(visit)
    for (const name in one) if (visit((one as Record<string, unknown>)[name])) return true
    return false
  }
  return visit(value)
}
