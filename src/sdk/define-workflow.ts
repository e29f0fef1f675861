// The builders of workflows and agents. They return plain data, like the others (define.ts): a Standard Schema for
// `data` gives types, and if its library can express it as JSON Schema, the document contains that.

import type { AuthDefinition, Described, RetryDefinition, SecretReference, Template } from './definitions.ts'
import type { DurationText } from './errors.ts'
import type { SchemaInput, StandardSchema } from './schema.ts'
import type { JsonSchema, WorkflowDefinition } from './workflow-definitions.ts'

/** A model behind an endpoint that speaks the OpenAI protocol, and its instructions. */
export interface AgentDefinition extends Described {
  /** The connection whose address and credential it uses: `baseUrl` may then be left out, or a path. */
  readonly connection?: string
  /** Up to and without `/chat/completions`. */
  readonly baseUrl?: Template
  /** Sent as a bearer token. */
  readonly secret?: SecretReference
  /** In place of `secret`. */
  readonly auth?: AuthDefinition
  readonly headers?: Readonly<Record<string, Template>>
  readonly model: string
  readonly system?: Template
  readonly user: Template
  /** The response is a text when left out. */
  readonly output?: { readonly schema: JsonSchema }
  /** Per attempt; `60s` when left out. */
  readonly timeout?: DurationText
  readonly temperature?: number
  readonly budget?: { readonly tokens: number }
  /** For steps and routes that use it and have none of their own. */
  readonly retry?: string | RetryDefinition
  /** 1 when left out. */
  readonly repairs?: number
}

export function defineAgent<const Name extends string>(
  definition: AgentDefinition & { readonly name: Name },
): { readonly kind: 'Agent' } & AgentDefinition & { readonly name: Name } {
  return { kind: 'Agent', ...definition }
}

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
