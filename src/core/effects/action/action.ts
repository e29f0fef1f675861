// The kinds of actions: a new one is a file beside this one and its line here. Its document type is in
// src/core/definitions/documents/action-documents.ts, what users write in src/definitions/actions, and what runs it in
// src/engine/queue/run-action.ts; the compiler requires each.

import type { ActionDocument } from '../../definitions/documents/index.ts'
import type { Keyed, Scope } from '../../expression/index.ts'
import { assert } from '../../foundation/errors/index.ts'
import type { ActionKind } from './action-kind.ts'
import { agentKind } from './agent.ts'
import { emitKind } from './emit.ts'
import { functionKind } from './function.ts'
import { httpKind, type RenderedRequest } from './http.ts'
import { operationKind } from './operation.ts'
import { scheduleKind, unscheduleKind } from './schedule.ts'
import { startKind } from './start.ts'
import { upsertKind } from './upsert.ts'

const KINDS = {
  http: httpKind,
  upsert: upsertKind,
  function: functionKind,
  emit: emitKind,
  start: startKind,
  schedule: scheduleKind,
  unschedule: unscheduleKind,
  agent: agentKind,
  operation: operationKind,
} as const satisfies { readonly [Type in ActionDocument['type']]: unknown }

type Kinds = typeof KINDS
export type Action = { [Type in keyof Kinds]: CompiledBy<Kinds[Type]> }[keyof Kinds]
type CompiledBy<Kind> = Kind extends { preview(action: infer Compiled, ...rest: never): unknown }
  ? Compiled
  : Kind extends { request(action: infer Compiled, ...rest: never): unknown }
    ? Compiled
    : never

/** What an action would do: the request that it would send first, or what its kind says. */
export type ActionPreview =
  | { readonly type: 'http'; readonly request: RenderedRequest }
  | { [Type in keyof Kinds]: PreviewBy<Kinds[Type]> }[keyof Kinds]
type PreviewBy<Kind> = Kind extends { preview(...given: never): infer Preview } ? Preview : never

function kindOf(type: ActionDocument['type']): ActionKind<ActionDocument, Action> {
  assert(Object.hasOwn(KINDS, type), 'a newer version may have stored another action, and keeps it')
  return KINDS[type] as unknown as ActionKind<ActionDocument, Action>
}

export function compileAction(document: ActionDocument, keyed: Keyed = {}): Action {
  return kindOf(document.type).compile(document, keyed)
}

/** null: it sends no request by itself. Throws ExpressionError. */
export function requestOf(action: Action, scope: Scope, key: string): RenderedRequest | null {
  return kindOf(action.type).request?.(action, scope, key) ?? null
}

/** Throws ExpressionError if the scope lacks what the action needs. */
export function previewAction(action: Action, scope: Scope, key: string): ActionPreview {
  const request = requestOf(action, scope, key)
  if (request !== null) return { type: 'http', request }
  return kindOf(action.type).preview?.(action, scope) as ActionPreview
}
