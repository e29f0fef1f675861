// The kinds of definitions. A new kind is a file beside this one and its line here; its document type is in
// src/core/definitions/documents, and the compiler requires a declaration of each.

import type * as z from 'zod'
import type { DefinitionDocument } from '../../core/definitions/documents/index.ts'
import type { Fields } from '../written.ts'
import { agentKind } from './agent.ts'
import { connectionKind } from './connection.ts'
import { credentialKind } from './credential.ts'
import type { KindDeclaration } from './kind.ts'
import { profileKind } from './profile.ts'
import { providerKind } from './provider.ts'
import { routeKind } from './route.ts'
import { sourceKind } from './source.ts'
import { subscriptionKind } from './subscription.ts'
import { workflowKind } from './workflow.ts'
export const KINDS = {
  Source: sourceKind,
  Route: routeKind,
  Workflow: workflowKind,
  Agent: agentKind,
  Subscription: subscriptionKind,
  Provider: providerKind,
  Connection: connectionKind,
  Credential: credentialKind,
  Profile: profileKind,
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

/** Parts of the language that this version does not support: they are refused by name. */
export const OTHER_KINDS = ['Poller', 'AlertRoute'] as const
