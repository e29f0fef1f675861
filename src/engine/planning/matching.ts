// Matches an event, at ingest or later: finds the routes that select it and the internal events that its source
// dispatches for it; or says why it cannot be matched, and then nothing is done with it.

import { describeError as describe, ExpressionError } from '../../core/expression/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { isUnread } from '../../core/ingest/bus-message/index.ts'
import type { Source } from '../../core/ingest/source/index.ts'
import { type Route, routeScope, type Vars } from '../../core/routing/index.ts'
import type { Registry } from '../definitions/index.ts'
import { type Emitted, findHopsFault, makeEmitted } from '../events/index.ts'
import { type Refusal, refuse } from './intake-job.ts'
import { findRoutes, type Matchable } from './plan.ts'

export interface DispatchedEvent extends Emitted {
  /** Its name, unique among everything derived from the event, now and later. */
  readonly name: string
}

export type Matching =
  | { readonly ok: true; readonly routes: readonly Route[]; readonly dispatched: readonly DispatchedEvent[] }
  | Refusal

/** For all rules together; the data of one is the whole payload unless it says otherwise. */
const DISPATCHED_LENGTH_MAX = 16 * 1_024 * 1_024

/** `source`: whose dispatch rules apply; null if the event was not received from outside. */
export function matchEvent(
  deps: { readonly registry: Registry; readonly vars: Vars },
  source: Source | null,
  event: Matchable,
  payload: JsonValue,
  header: JsonValue,
): Matching {
  if (isUnread(header))
    return refuse('poison', 'unparseable', 'it could not be read: a replay reads it again')
  if (source === null) {
    const found = findRoutes(deps, event, payload, header)
    return found.ok ? { ...found, dispatched: [] } : found
  }
  const { catalog, unmatched } = source.document
  if (catalog?.mismatch === 'quarantine') {
    const problem = source.mismatch?.(event.subject, payload) ?? null
    if (problem !== null)
      return refuse('validation', 'rejected', `the payload does not fit its schema: ${problem}`)
  }
  let dispatched: readonly DispatchedEvent[] = []
  if (source.dispatch !== null) {
    try {
      const scope = routeScope(event, payload, header, deps.vars)
      dispatched = source.dispatch
        .select(scope)
        .map(({ name, subject, data }) => ({ name, ...makeEmitted(subject, data) }))
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      return refuse('validation', 'rejected', describe(error))
    }
    if (dispatched.length === 0 && source.dispatch.otherwise === 'deadLetter')
      return refuse('config', 'config_missing', 'no rule of the dispatch wants it')
    const fault = dispatched.length === 0 ? null : findHopsFault(header)
    if (fault !== null) return refuse('config', 'rejected', fault)
    const length = dispatched.reduce((sum, { text }) => sum + text.length, 0)
    if (length > DISPATCHED_LENGTH_MAX)
      return refuse(
        'validation',
        'rejected',
        `its dispatch makes more than ${DISPATCHED_LENGTH_MAX} characters`,
      )
  }
  const found = findRoutes(deps, event, payload, header)
  if (!found.ok) return found
  const { routes } = found
  if (unmatched === 'deadLetter' && routes.length === 0 && dispatched.length === 0)
    return refuse('config', 'config_missing', `nothing in force wants ${event.subject}`)
  return { ok: true, routes, dispatched }
}
