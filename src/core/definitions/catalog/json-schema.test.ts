import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type JsonValue, parseJson } from '../../foundation/json/index.ts'
import { compileSchema } from './json-schema.ts'

const CASES = ['if', 'then', 'else']

function check(schema: JsonValue, payload: JsonValue) {
  const compiled = compileSchema(schema)
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems))
  return compiled.check(payload)
}

const problems = (schema: JsonValue) => {
  const compiled = compileSchema(schema)
  return compiled.ok ? [] : compiled.problems
}

test('numbers are checked by their exact values, however they are written', () => {
  const of = (text: string) => parseJson(text)
  expect(check({ type: 'integer' }, of('1.0'))).toBeNull()
  expect(check({ type: 'integer' }, of('1.000000000000000001'))).not.toBeNull()
  expect(check({ type: 'number', maximum: 1 }, of('1.000000000000000001'))).not.toBeNull()
  expect(check({ exclusiveMinimum: 1 }, of('1.000000000000000001'))).toBeNull()
  expect(check({ enum: [100] }, of('1E+2'))).toBeNull()
  expect(check({ type: 'object' }, of('1.0'))).not.toBeNull()
  expect(check({ multipleOf: 0.01 }, of('19.99'))).toBeNull()
  expect(check({ multipleOf: 0.01 }, of('19.990000000000000000001'))).not.toBeNull()
})

describe('a mismatch', () => {
  const issue = {
    type: 'object',
    required: ['id', 'labels'],
    properties: {
      id: { type: 'integer' },
      labels: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
    },
  }

  test.each([
    [{ id: 1, labels: [] }, null],
    [{ id: 12_345_678_901_234_567_890n, labels: [] }, null],
    [[], { path: 'payload', problem: 'is an array, not object' }],
    [{ id: 1 }, { path: 'payload.labels', problem: 'is missing' }],
    [
      { id: '1', labels: [] },
      { path: 'payload.id', problem: 'is a string, not integer' },
    ],
    [
      { id: 1.5, labels: [] },
      { path: 'payload.id', problem: 'is a number, not integer' },
    ],
    [
      { id: 1, labels: [{ name: 'a' }, { name: null }] },
      { path: 'payload.labels[1].name', problem: 'is null, not string' },
    ],
  ] as const)('[CA12] %#', (payload, mismatch) => {
    expect(check(issue, payload as JsonValue)).toEqual(mismatch)
  })

  test('[CA12] is reported without any value, and without property names that the sender chose', () => {
    const secret = 's3cret value'
    const schemas: JsonValue[] = [
      { type: 'object' },
      { enum: ['a'] },
      { const: 'a' },
      { maxLength: 2 },
      { pattern: '^a$' },
      { not: {} },
      { properties: { a: false }, additionalProperties: false },
    ]
    for (const schema of schemas) {
      for (const payload of [secret, { [secret]: secret }, { a: secret }]) {
        expect(JSON.stringify(check(schema, payload))).not.toContain('s3cret')
      }
    }
    expect(check({ additionalProperties: false }, { [secret]: 1 })).toEqual({
      path: 'payload.?',
      problem: 'is not allowed here',
    })
  })
})

test('[CA13] schemas of every keyword agree with a library that follows the standard', () => {
  const ajv = new Ajv2020({ strict: false })
  const leaf: fc.Arbitrary<JsonValue> = fc.oneof(
    fc.constantFrom<JsonValue>(true, false, {}, { type: 'string' }, { type: ['integer', 'null'] }),
    fc.constantFrom<JsonValue>(
      { const: 1 },
      { enum: ['a', null, [1]] },
      { pattern: '^a' },
      { multipleOf: 2 },
    ),
    fc.constantFrom<JsonValue>({ minLength: 2 }, { maxLength: 1 }, { minimum: 1 }, { exclusiveMaximum: 1 }),
    fc.constantFrom<JsonValue>(
      { minItems: 1 },
      { uniqueItems: true },
      { maxProperties: 1 },
      { required: ['a'] },
    ),
    fc.constantFrom<JsonValue>({ dependentRequired: { a: ['b'] } }, { minProperties: 1 }, { maxItems: 1 }),
    fc.constantFrom<JsonValue>({ exclusiveMinimum: 0 }, { maximum: 2 }, { propertyNames: { maxLength: 1 } }),
  )
  const { schema } = fc.letrec<{ schema: JsonValue }>((tie) => {
    const one = tie('schema')
    const some = fc.array(one, { minLength: 1, maxLength: 2 })
    const map = (name: string, value: fc.Arbitrary<unknown>) =>
      value.map((operand) => ({ [name]: operand }) as JsonValue)
    return {
      schema: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        leaf,
        fc.constantFrom('items', 'not', 'contains').chain((name) => map(name, one)),
        fc.constantFrom('allOf', 'anyOf', 'oneOf', 'prefixItems').chain((name) => map(name, some)),
        fc
          .tuple(one, one, one)
          .map((parts) => Object.fromEntries(CASES.map((name, at) => [name, parts[at]])) as JsonValue),
        fc.record({ prefixItems: some, items: one }) as fc.Arbitrary<JsonValue>,
        fc.record({
          properties: fc.record({ a: one }),
          patternProperties: fc.record({ '^b': one }),
          additionalProperties: one,
        }) as fc.Arbitrary<JsonValue>,
        fc.record({
          $defs: fc.record({ x: leaf }),
          properties: fc.constant({ a: { $ref: '#/$defs/x' } }),
        }) as never,
      ) as fc.Arbitrary<JsonValue>,
    }
  })
  const scalar = fc.constantFrom<JsonValue>(null, true, 0, 1, 2, 1.5, '', 'a', 'ab', 'é')
  const payload = fc.oneof(
    scalar,
    fc.array(scalar, { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'bc'), fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ) as fc.Arbitrary<JsonValue>
  let refused = 0
  fc.assert(
    // References are absolute within a document: below the root they would mean something else.
    fc.property(schema, fc.array(payload, { minLength: 10, maxLength: 10 }), (one, payloads) => {
      if (JSON.stringify(one).indexOf('$defs') > 1) return
      const theirs = ajv.compile(one as object)
      for (const value of payloads) {
        const fits = check(one, value) === null
        if (!fits) refused += 1
        expect(fits, `${JSON.stringify(one)} ${JSON.stringify(value)}`).toBe(theirs(value))
      }
    }),
    { seed: 41, numRuns: 200 },
  )
  expect(refused).toBeGreaterThan(100)
})

describe('an invalid schema', () => {
  test.each([
    ['a text', [], 'a schema is a map'],
    [{ type: 'text' }, ['type'], '`type` is one of'],
    [{ properties: { a: { typ: 'string' } } }, ['properties', 'a', 'typ'], '`typ` is no keyword'],
    [{ $ref: 'https://example.com/schema' }, ['$ref'], 'begins with `#`'],
    [{ $ref: '#/$defs/none' }, ['$ref'], 'refers to nothing'],
    [{ pattern: '(?=a)' }, ['pattern'], 'not valid'],
    [{ pattern: 'a{1,9999}' }, ['pattern'], 'pattern'],
    [{ items: [{}] }, ['items'], 'prefixItems'],
    [{ required: 'a' }, ['required'], 'list of names'],
    [{ minLength: -1 }, ['minLength'], 'whole number'],
  ] as const)('[CA14] %j at %j: %s', (schema, path, message) => {
    expect(problems(schema as JsonValue)).toEqual([{ path, message: expect.stringContaining(message) }])
  })

  test('[CA14] too many parts or too much depth makes a schema invalid', () => {
    const parts = { anyOf: Array.from({ length: 3_000 }, () => ({ type: 'null' })) }
    expect(problems(parts)).toEqual([
      expect.objectContaining({ message: expect.stringContaining('2000 parts') }),
    ])
    let deep: JsonValue = {}
    for (let level = 0; level < 100; level += 1) deep = { items: deep }
    expect(problems(deep)).toEqual([expect.objectContaining({ message: expect.stringContaining('deep') })])
  })
})

describe('no schema and no payload keeps the node busy', () => {
  test('[CA15] a schema that refers to itself goes as deep as the payload, and no deeper', () => {
    const tree = { type: 'object', properties: { child: { $ref: '#' } } }
    expect(check(tree, { child: { child: {} } })).toBeNull()
    expect(check(tree, { child: { child: 1 } })).toEqual({
      path: 'payload.child.child',
      problem: 'is a number, not object',
    })
    expect(check({ $ref: '#' }, 1)).toMatchObject({ problem: 'is too much to check' })
    expect(check({ allOf: [{ $ref: '#' }, { $ref: '#' }] }, 1)).toMatchObject({
      problem: 'is too much to check',
    })
  })

  test('[CA15] each name that a pattern is tried on is counted, by its length', () => {
    const long = Object.fromEntries(Array.from({ length: 900 }, (_, index) => ['a'.repeat(900) + index, 1]))
    const patternProperties = { '^b': { type: 'string' } }
    const tooMuch = { path: 'payload', problem: 'is too much to check' }
    expect(check({ patternProperties }, long)).toEqual(tooMuch)
    expect(check({ patternProperties, additionalProperties: { type: 'integer' } }, long)).toEqual(tooMuch)
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`^b${index}`, {}]))
    const short = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`a${index}`, 1]))
    expect(check({ patternProperties: many }, short)).toEqual(tooMuch)
    expect(check({ patternProperties }, short)).toBeNull()
  })

  test('[CA15] work is counted', () => {
    const many = Array.from({ length: 300_000 }, (_, index) => index)
    for (const schema of [{ items: { type: 'integer' } }, { uniqueItems: true }, { not: { items: {} } }]) {
      expect(check(schema, many)).toEqual({ path: 'payload', problem: 'is too much to check' })
    }
    expect(check({ pattern: '^(a+)+$' }, `${'a'.repeat(50_000)}b`)).toMatchObject({
      problem: 'does not follow the pattern',
    })
  })
})
