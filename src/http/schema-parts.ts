// Pieces of JSON Schema from which the shapes of answers are put together.

export type Schema = Readonly<Record<string, unknown>>

export const string = { type: 'string' } as const
export const integer = { type: 'integer' } as const
export const boolean = { type: 'boolean' } as const
export const instant = { type: 'string', format: 'date-time' } as const
/** Any JSON value. */
export const anything = {} as const

export function nullable(schema: Schema): Schema {
  if (typeof schema.type === 'string' && !('enum' in schema))
    return { ...schema, type: [schema.type, 'null'] }
  return { anyOf: [schema, { type: 'null' }] }
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items }
}

/** An object whose members are all there but for the optional ones. */
export function shape(
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
  }
}

/** One of the shapes that are known by name. */
export function ref(name: string): Schema {
  return { $ref: `${name}#` }
}

/** A page of a list. */
export function pageOf(items: Schema): Schema {
  return shape({
    items: listOf(items),
    nextCursor: {
      ...nullable(string),
      description: 'Give it back as `cursor` to get the next page; null at the end.',
    },
  })
}

/** An answer with its description, for a route's `response`. */
export function answer(description: string, schema: Schema): Schema {
  return '$ref' in schema
    ? { description, content: { 'application/json': { schema } } }
    : { ...schema, description }
}

/** An answer in JSON, or of another type for callers who ask for it. */
export function orElse(description: string, schema: Schema, type: string, other: Schema): Schema {
  return { description, content: { 'application/json': { schema }, [type]: { schema: other } } }
}

/** An answer without a body. */
export function empty(description: string): Schema {
  return { type: 'null', description }
}
