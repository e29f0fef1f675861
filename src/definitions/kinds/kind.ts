// What is declared about a kind of definition, once. index.ts is the list of kinds.

import type * as z from 'zod'
import type { DefinitionDocument } from '../../core/definitions/documents/index.ts'
import type { KnownFunctions } from '../actions/index.ts'
import type { Surroundings } from '../document-context.ts'
import type { Remark } from '../finding.ts'
import type { Fields } from '../written.ts'
import type { Profiles } from './parts.ts'

export interface Known extends KnownFunctions {
  readonly profiles: Profiles
}

export interface KindDeclaration<Document extends DefinitionDocument, Schema extends z.ZodType = z.ZodType> {
  /** Its fields. Built when it is first used: a start reads only the kinds that its definitions have. */
  readonly schema: () => Schema
  /** The schema that a document is checked by, if that depends on its content. */
  schemaFor?(value: Fields): z.ZodType
  /**
   * The normal form of a document that has no errors. null: it names another one that is not valid. Fields that are
   * declared as `carried` are added to it.
   */
  resolve(input: z.infer<Schema>, known: Known): Document | null
  /** What the schema cannot say of single fields: those that exclude or need each other, and names of other things. */
  check(value: Fields, around: Surroundings): readonly Remark[]
  /** A name may have a document for each environment. */
  readonly hasEnvironments?: true
  /** One sentence: what a document of this kind is. */
  readonly summary: string
  /** A document to start from: what `millrace new` writes. */
  readonly template: string
}

/** Makes it once, when it is first asked for. */
export function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
