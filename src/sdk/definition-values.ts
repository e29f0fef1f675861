// The values that fields of definitions have in common, as a user writes them in TypeScript. definitions.generated.ts has
// the fields.

/** An expression, such as `payload.id`; a text needs quotes: `"'EUR'"`. `expr` helps to write one. */
export type Expression = string
/** A text with `{{ expression }}` in it. One template alone keeps the type of its value. */
export type Template = string
export type SizeText = `${number}${'B' | 'KiB' | 'MiB' | 'GiB'}`

/** A value that is sent: every text in it is a template. */
export type Sent =
  | null
  | boolean
  | number
  | Template
  | readonly Sent[]
  | { readonly [field: string]: Sent | undefined }

/** A condition as a filter. */
export type Filter =
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }
  | { readonly not: Condition }
  | {
      /** The path of a field, such as `payload.status`. */
      readonly path: string
      readonly equals?: unknown
      readonly notEquals?: unknown
      readonly in?: readonly unknown[]
      readonly notIn?: readonly unknown[]
      readonly contains?: unknown
      readonly notContains?: unknown
      readonly startsWith?: string
      readonly greaterThan?: unknown
      readonly lessThan?: unknown
      readonly atLeast?: unknown
      readonly atMost?: unknown
      readonly exists?: true
      readonly notExists?: true
    }
/** An expression that is true, or a filter. */
export type Condition = Expression | Filter

/** Where a secret is stored: an environment variable, a vault entry, or a file of the node's folder of secrets. */
export type SecretReference = { readonly env: string } | { readonly ref: string } | { readonly file: string }

/** The proof of the caller's identity, on a request itself: its value is read from the secret at each attempt. */
export type AuthDefinition =
  | { readonly bearer: SecretReference }
  | { readonly basic: { readonly user: string; readonly password: SecretReference } }
  | { readonly header: { readonly name: string; readonly value: SecretReference } }

export type JsonSchema = boolean | { readonly [keyword: string]: unknown }
