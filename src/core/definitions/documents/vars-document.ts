// Values that differ by environment: what `vars.<name>` of expressions means on a node of each.

import type { JsonValue } from '../../foundation/json/index.ts'

export const ENVIRONMENTS = ['DEV', 'QA', 'PROD'] as const
export type EnvironmentName = (typeof ENVIRONMENTS)[number]

export type VarValues = Readonly<Record<string, JsonValue>>

export interface VarsDocument {
  readonly kind: 'Vars'
  readonly name: string
  readonly description: string | null
  /** Where no environment has a value of its own. */
  readonly values: VarValues
  readonly environments: { readonly [Name in EnvironmentName]?: VarValues }
}

/** What nodes provide themselves: no document defines it. `env` is the name of the environment, as expressions have it. */
export const OWN_VARS = ['self', 'vendor', 'env'] as const

/** What the documents say in the environment. Names are unique over all documents. */
export function valuesIn(
  documents: readonly Pick<VarsDocument, 'values' | 'environments'>[],
  environment: EnvironmentName,
): VarValues {
  return Object.fromEntries(
    documents.flatMap(({ values, environments }) => [
      ...Object.entries(values),
      ...Object.entries(environments[environment] ?? {}),
    ]),
  )
}

/** Beside the fields of a document: the values of `vars` that its numbers and durations were filled in with. */
interface Filled {
  readonly filledVars?: VarValues
}

export function filledVarsOf(document: object): VarValues {
  return (document as Filled).filledVars ?? {}
}

export function withFilledVars<Document extends object>(document: Document, values: VarValues): Document {
  return Object.keys(values).length === 0 ? document : { ...document, filledVars: values }
}
