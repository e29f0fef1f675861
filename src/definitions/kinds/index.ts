// The kinds of definitions. A new kind is a file beside this one and its line here; its document type is in
// src/core/definitions/documents, and the compiler requires a declaration of each.

import type * as z from 'zod'
import type { DefinitionDocument } from '../../core/definitions/documents/index.ts'
import { FACTS, type FieldFacts, UNITS } from '../fields.ts'
import type { Fields } from '../written.ts'
import { milliseconds } from '../written.ts'
import { agentKind } from './agent.ts'
import { connectionKind } from './connection.ts'
import { credentialKind } from './credential.ts'
import type { KindDeclaration, Known } from './kind.ts'
import { pollerKind } from './poller.ts'
import { profileKind } from './profile.ts'
import { providerKind } from './provider.ts'
import { routeKind } from './route.ts'
import { sourceKind } from './source.ts'
import { subscriptionKind } from './subscription.ts'
import { varsKind } from './vars.ts'
import { workflowKind } from './workflow.ts'
export const KINDS = {
  Source: sourceKind,
  Poller: pollerKind,
  Route: routeKind,
  Workflow: workflowKind,
  Agent: agentKind,
  Subscription: subscriptionKind,
  Provider: providerKind,
  Connection: connectionKind,
  Credential: credentialKind,
  Profile: profileKind,
  Vars: varsKind,
} as const satisfies {
  readonly [Kind in DefinitionDocument['kind']]: KindDeclaration<
    Extract<DefinitionDocument, { readonly kind: Kind }>,
    // biome-ignore lint/suspicious/noExplicitAny: each has a schema of its own, and `resolve` gets what it accepts
    any
  >
}

export type Kind = keyof typeof KINDS
/** As written. */
export type InputOf<Name extends Kind> = z.infer<ReturnType<(typeof KINDS)[Name]['schema']>>
export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[]

export function declarationOf(kind: Kind): KindDeclaration<DefinitionDocument> {
  return KINDS[kind] as unknown as KindDeclaration<DefinitionDocument>
}

/** The schema that a document is checked by. */
export function schemaFor(kind: Kind, value: Fields): z.ZodType {
  const { schema, schemaFor } = declarationOf(kind)
  return schemaFor?.(value) ?? schema()
}

/** The fields that a document must have. */
export function neededFields(kind: Kind): readonly string[] {
  const { shape } = declarationOf(kind).schema() as unknown as z.ZodObject
  const needed = Object.entries(shape).filter(([, field]) => (field as z.ZodType).type !== 'optional')
  return needed.map(([name]) => name).filter((name) => name !== 'kind')
}

/** Parts of the language that this version does not support: they are refused by name. */
export const OTHER_KINDS = ['AlertRoute'] as const

interface CarriedField {
  /** As written. */
  readonly name: string
  /** In the normal form: a duration says its unit. */
  readonly key: string
  readonly schema: z.ZodType
  readonly facts: FieldFacts
}

const carried = new Map<Kind, readonly CarriedField[]>()

/** The fields of a kind that its `resolve` does not know: what is written is their normal form. */
export function carriedFields(kind: Kind): readonly CarriedField[] {
  const known = carried.get(kind)
  if (known !== undefined) return known
  const { shape } = declarationOf(kind).schema() as unknown as z.ZodObject
  const fields = Object.entries(shape).flatMap(([name, field]): readonly CarriedField[] => {
    const facts = FACTS.get(field)
    if (facts?.carried !== true) return []
    const schema = (field as z.ZodOptional).unwrap() as z.ZodType
    const isDuration = UNITS.get(schema as z.ZodString)?.unit === 'duration'
    return [{ name, key: isDuration ? `${name}Ms` : name, schema, facts }]
  })
  carried.set(kind, fields)
  return fields
}

/** The normal form of a document without errors; null: it names another one that is not valid. */
export function resolveDocument(kind: Kind, value: Fields, known: Known): DefinitionDocument | null {
  const document = declarationOf(kind).resolve(value, known)
  if (document === null) return null
  const more = carriedFields(kind).flatMap(({ name, key, facts }) => {
    const written = value[name]
    if (written === undefined || written === facts.default) return []
    return [[key, key === name ? written : milliseconds(String(written), 0)] as const]
  })
  return more.length === 0 ? document : { ...document, ...Object.fromEntries(more) }
}
