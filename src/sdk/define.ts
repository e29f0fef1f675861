// The builder of functions. Like the other builders (definitions.generated.ts, define-workflow.ts) it returns plain data,
// and nothing is computed later; only a function has a part that is not data: its code.

import type { FunctionContext } from './context.ts'
import type { Sent, Template } from './definition-values.ts'
import type { FunctionActionDefinition } from './definitions.generated.ts'
import type { DurationText } from './errors.ts'
import type { SchemaInput, SchemaOutput, StandardSchema } from './schema.ts'

/** A value of this shape in which every part may be a template. */
export type Templated<Value> = Value extends string
  ? string
  : Value extends number | bigint | boolean | null | undefined
    ? Value | SingleTemplate
    : Value extends readonly (infer Item)[]
      ? readonly Templated<Item>[] | SingleTemplate
      : Value extends object
        ? { readonly [Field in keyof Value]: Templated<Value[Field]> } | SingleTemplate
        : Sent

/** One template alone: it keeps the type of its value. */
type SingleTemplate = `{{${string}}}` & Template

export interface FunctionDefinition<
  Name extends string = string,
  Input = unknown,
  Taken = Input,
  Result = unknown,
> {
  readonly kind: 'Function'
  readonly name: Name
  readonly description?: string
  readonly input?: StandardSchema<Input, Taken>
  readonly timeout?: DurationText
  readonly tenants?: 'all' | readonly string[]
  readonly emits?: readonly string[]
  run(input: Taken, ctx: FunctionContext): Result | Promise<Result>
  /** The action that runs it: `do: exportHours.with({ id: '{{ payload.id }}' })`. Without values it gets the payload. */
  with(values?: Templated<Input>): FunctionActionDefinition & { readonly function: Name }
}

interface FunctionParts<Name extends string> {
  /** The name that routes call it by: lower-case letters and digits, joined by `_` or `-`. */
  readonly name: Name
  readonly description?: string
  /** How long an attempt may take, if the route sets nothing; `10s` when left out. */
  readonly timeout?: DurationText
  /** The tenants whose routes may run it, besides `default`, whose folder this is; none when left out. */
  readonly tenants?: 'all' | readonly string[]
  /** The subjects that it emits by `ctx.emit`, so that `check` knows that they are published. */
  readonly emits?: readonly string[]
}

/**
 * Code that a route runs: export it from a file of the definitions folder.
 *
 * `input` is any Standard Schema (zod, valibot, arktype …): an input that does not match becomes a dead letter that
 * names the field. `run` may be called again after a crash or a failure; make every effect on other systems in
 * `ctx.effect`.
 */
export function defineFunction<const Name extends string, Schema extends StandardSchema, Result>(
  definition: FunctionParts<Name> & {
    readonly input: Schema
    run(input: SchemaOutput<Schema>, ctx: FunctionContext): Result | Promise<Result>
  },
): FunctionDefinition<Name, SchemaInput<Schema>, SchemaOutput<Schema>, Result>
export function defineFunction<const Name extends string, Result, Input = unknown>(
  definition: FunctionParts<Name> & {
    readonly input?: undefined
    run(input: Input, ctx: FunctionContext): Result | Promise<Result>
  },
): FunctionDefinition<Name, Input, Input, Result>
export function defineFunction(
  definition: FunctionParts<string> & {
    readonly input?: StandardSchema | undefined
    run(input: unknown, ctx: FunctionContext): unknown
  },
): FunctionDefinition {
  const { name } = definition
  return {
    kind: 'Function',
    ...(definition as Omit<FunctionDefinition, 'kind' | 'with'>),
    with: (values) => (values === undefined ? { function: name } : { function: name, with: values as Sent }),
  }
}
