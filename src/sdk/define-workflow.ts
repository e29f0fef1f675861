// The builder of workflows. It returns plain data, like the others: a Standard Schema for
// `data` gives types, and if its library can express it as JSON Schema, the document contains that.

import type { JsonSchema } from './definition-values.ts'
import type { SchemaInput, StandardSchema } from './schema.ts'
import type { WorkflowDefinition } from './workflow-definitions.ts'

type Built<Name extends string> = { readonly kind: 'Workflow' } & WorkflowDefinition & { readonly name: Name }

/**
 * A workflow: names of places and transitions are checked where they are used, and with a Standard Schema as `data` (zod,
 * valibot, arktype …) the targets of `map` and `out` are too.
 */
export function defineWorkflow<
  const Name extends string,
  const Place extends string,
  const Transition extends string,
  Schema extends StandardSchema | JsonSchema = JsonSchema,
>(
  definition: Omit<WorkflowDefinition<Place, Transition, DataOf<Schema>>, 'data' | 'name'> & {
    readonly name: Name
    readonly data?: Schema
  },
): Built<Name> {
  const { data, ...rest } = definition
  const schema = data === undefined ? undefined : jsonSchemaOf(data)
  return {
    kind: 'Workflow',
    ...rest,
    ...(schema === undefined ? {} : { data: schema }),
  } as unknown as Built<Name>
}

type DataOf<Schema> = Schema extends StandardSchema ? SchemaInput<Schema> : Record<string, unknown>

/** undefined: the library cannot express its schema as data; then it only gives types. */
function jsonSchemaOf(data: unknown): unknown {
  const standard = (data as { readonly '~standard'?: unknown } | null)?.['~standard']
  if (standard === undefined) return data
  const { jsonSchema } = standard as {
    readonly jsonSchema?: { input?(options: { readonly target: string }): Record<string, unknown> }
  }
  if (typeof jsonSchema?.input !== 'function') return undefined
  const { $schema: _, ...schema } = jsonSchema.input({ target: 'draft-2020-12' })
  return schema
}
