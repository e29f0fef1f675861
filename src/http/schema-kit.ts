// The pieces of zod from which requests and answers are declared. Only the generator and the tests load this file.

import { z } from 'zod'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { requestFields } from '../definitions/json-schema.ts'

/** A shape that answers share by its name. */
export interface Shape<Schema extends z.ZodType = z.ZodType> {
  readonly name: string
  readonly description: string
  declare(s: Kit): Schema
}

/** Schemas by media type. */
export type Content = Readonly<Record<string, z.ZodType>>

export interface Answer<Schema extends z.ZodType = z.ZodType> {
  readonly description: string
  /** null: there is no JSON. */
  readonly schema: Schema | null
  /** Beside JSON, for callers who ask for it; alone where there is no `schema`. */
  readonly others: Content
}

/** Marks a reference to a named shape; json-schema.ts makes `$ref` of it. */
export const REF = 'x-ref'
/** Marks what the API document describes and a request is not checked by. */
export const DESCRIBED = 'x-described'
/** Every shape that was referred to, by its name. */
export const NAMED = new Map<string, Shape>()

type JsonObject = Readonly<Record<string, JsonValue>>

const LIMIT_DEFAULT = 50
const string = z.string()
const text = z.string().min(1).max(512)
const nullable = <Schema extends z.ZodType>(schema: Schema) => z.union([schema, z.null()])

type Optional<Members extends z.core.$ZodShape> = {
  [Name in keyof Members]: Members[Name] extends z.ZodDefault ? Members[Name] : z.ZodOptional<Members[Name]>
}
/** Every member may be left out; one with a default is there all the same. */
const optional = <Members extends z.core.$ZodShape>(members: Members) =>
  Object.fromEntries(
    Object.entries(members).map(([name, one]) => [name, one instanceof z.ZodDefault ? one : z.optional(one)]),
  ) as Optional<Members>

const without = (members: z.core.$ZodShape, more: z.core.$ZodShape) =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !(name in more)))

/** No control character and no mark that turns or hides what stands beside it; the joiners of scripts and emoji are none. */
const PLAIN = {
  pattern: '^[\\P{C}\\u200c\\u200d]*$',
  description: 'It must not hold control characters, line breaks or invisible marks.',
}
/** A line of text that users write for other users. */
const line = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .meta({ allOf: [{ pattern: '\\S' }, PLAIN] })

const page = {
  cursor: z.string().min(1).max(2_048).optional(),
  limit: z.int().min(1).max(500).default(LIMIT_DEFAULT),
}

const makeAnswer = <Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  others: Content = {},
): Answer<Schema> => ({ description, schema, others })

type JsonSchema = Readonly<Record<string, unknown>>
const asGiven = (schema: JsonSchema) => z.unknown().meta(schema) as unknown as z.ZodType<JsonValue>

/** The fields of a kind of definitions but its name, from its declaration. */
const fieldsOf = (kind: Parameters<typeof requestFields>[0], made: (schema: JsonSchema) => JsonSchema) =>
  Object.fromEntries(
    Object.entries(requestFields(kind)).map(([name, schema]) => [name, asGiven(made(schema))]),
  )

export const KIT = {
  string,
  number: z.number(),
  integer: z.int(),
  boolean: z.boolean(),
  instant: z.string().meta({ format: 'date-time' }),
  /** Any JSON value. */
  any: z.unknown() as unknown as z.ZodType<JsonValue>,
  null: z.null(),
  /** Whether a field is a text or an object is checked here; the rest is checked as definitions are, with findings at the fields. */
  definition: (kind: Parameters<typeof requestFields>[0]) => fieldsOf(kind, (schema) => schema),
  /** The same, and all of it is checked as definitions are. */
  describedDefinition: (kind: Parameters<typeof requestFields>[0]) =>
    fieldsOf(kind, (schema) => ({ [DESCRIBED]: schema })),
  anyObject: z.looseObject({}) as unknown as z.ZodType<JsonObject>,
  literal: <Value extends string>(value: Value) =>
    z.unknown().meta({ const: value }) as unknown as z.ZodType<Value>,
  enum: <const Values extends readonly string[]>(values: Values) =>
    z.enum(values as unknown as [string, ...string[]]) as unknown as z.ZodType<Values[number]>,
  list: <Schema extends z.ZodType>(items: Schema) => z.array(items),
  record: <Schema extends z.ZodType>(values: Schema) => z.record(z.string(), values),
  union: <const Schemas extends readonly z.ZodType[]>(...schemas: Schemas) =>
    z.union(schemas) as z.ZodType<z.output<Schemas[number]>>,
  /** Exactly one of them holds. */
  oneOf: <const Schemas extends readonly z.ZodType[]>(...schemas: Schemas) =>
    z.xor(schemas) as unknown as z.ZodType<z.output<Schemas[number]>>,
  nullable,
  /** What an answer holds; it may get more members. */
  object: <Members extends z.core.$ZodShape>(members: Members) => z.object(members),
  /** The members of another object, and more. */
  extend: <Members extends z.core.$ZodShape, More extends z.core.$ZodShape>(
    declare: (s: never) => z.ZodObject<Members>,
    more: More,
  ): z.ZodObject<Omit<Members, keyof More> & More> =>
    z.object({ ...without(declare(KIT as never).shape, more), ...more }) as unknown as z.ZodObject<
      Omit<Members, keyof More> & More
    >,
  /** One of the shapes that are known by name. */
  ref: <Schema extends z.ZodType>(shape: Shape<Schema>) => {
    NAMED.set(shape.name, shape)
    return z.unknown().meta({ [REF]: shape.name }) as unknown as z.ZodType<z.output<Schema>>
  },
  /** What a request may hold, and nothing else: a mistyped filter would otherwise answer everything. */
  fields: <Members extends z.core.$ZodShape>(members: Members) => z.strictObject(members),
  /** The same, but every member may be left out. */
  filters: <Members extends z.core.$ZodShape>(members: Members) => z.strictObject(optional(members)),
  /** The same, and a member that is not known goes on to a check that says what was probably meant. */
  open: <Members extends z.core.$ZodShape, Needed extends z.core.$ZodShape>(
    members: Members,
    needed: Needed = {} as Needed,
  ) => z.looseObject({ ...needed, ...optional(members) }) as unknown as z.ZodType<JsonObject>,
  /** The query of a list: its filters, and where to go on. */
  page: <Members extends z.core.$ZodShape>(filters: Members) =>
    z.strictObject({ ...page, ...optional(filters) }),
  /** The answer of a list. */
  pageOf: <Schema extends z.ZodType>(items: Schema, description = 'A page', others: Content = {}) =>
    makeAnswer(
      description,
      z.object({
        items: z.array(items),
        nextCursor: nullable(string).describe(
          'Give it back as `cursor` to get the next page; null at the end.',
        ),
      }),
      others,
    ),
  text,
  textOf: (max: number, min = 1) => z.string().min(min).max(max),
  /** An id or a name that a checked text is. */
  as: <Name extends string>(schema: z.ZodType<string>) => schema as unknown as z.ZodType<Name>,
  /** The parameters of an address by the id of a row. */
  byId: <Id extends string = string>() =>
    z.strictObject({ id: z.string().min(1).max(128) as unknown as z.ZodType<Id> }),
  plain: PLAIN,
  line,
  /** The reason that the user gives, for the log. */
  reason: line(1_000),
  /** The same, where one is needed in the environment PROD. */
  why: line(1_000).describe('Why; it is kept. Needed in the environment PROD.'),
  answer: makeAnswer,
  empty: (description: string): Answer<z.ZodType<undefined>> => ({ description, schema: null, others: {} }),
  /** An answer that is not JSON. */
  other: (description: string, others: Content): Answer => ({ description, schema: null, others }),
} as const

export type Kit = typeof KIT
