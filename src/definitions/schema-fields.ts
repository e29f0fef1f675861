// The fields of the JSON Schema, one by one with their paths: to add their descriptions, and to list them.

export type Json = { [key: string]: unknown }

export interface SchemaField {
  readonly kind: string
  /** `verify.secret.env`; the content of a list or a choice has the path of the list or the choice. */
  readonly path: string
  readonly schema: Json
  readonly isNeeded: boolean
}

/** A choice of maps gives the fields of each of them: the same path may come several times. */
export function* schemaFields(schema: Json): Generator<SchemaField> {
  for (const document of schema.oneOf as readonly Json[])
    yield* fieldsOf(document, String(document.title), '')
}

function* fieldsOf(schema: Json, kind: string, path: string): Generator<SchemaField> {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`)
  const needed = (schema.required ?? []) as readonly string[]
  for (const [name, field] of Object.entries((schema.properties ?? {}) as Json)) {
    yield { kind, path: at(name), schema: field as Json, isNeeded: needed.includes(name) }
    yield* fieldsOf(field as Json, kind, at(name))
  }
  if (typeof schema.additionalProperties === 'object') {
    const field = schema.additionalProperties as Json
    yield { kind, path: at('*'), schema: field, isNeeded: false }
    yield* fieldsOf(field, kind, at('*'))
  }
  const choices = [schema.anyOf, schema.oneOf, schema.items].flat() as readonly (Json | undefined)[]
  for (const choice of choices) if (choice !== undefined) yield* fieldsOf(choice, kind, path)
}
