// What the core declares about a kind of action, beside what its document says (src/core/definitions/documents). action.ts is
// the list of kinds.

import type { Keyed, Scope } from '../../expression/index.ts'
import type { RenderedRequest } from './action-parts.ts'

export interface ActionKind<Document, Compiled> {
  compile(document: Document, keyed: Keyed): Compiled
  /** The first request that it sends: what follows may depend on the response. Omitted: it sends none by itself. */
  request?(action: Compiled, scope: Scope, key: string): RenderedRequest
  /** What it would do, without doing it. Omitted: its request says so. Throws ExpressionError. */
  preview?(action: Compiled, scope: Scope): object
}
