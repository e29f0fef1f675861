// The lane of a route's jobs: which one a job belongs to, and what happens to its position there when it ends.
//
// `order` and `debounce` let one job through at a time, `concurrency.by` a limited number. The store holds the positions; this
// file says which lane it is, and which job may proceed.
//
// Invariants: LN1 in a lane of width 1 the next job starts after the previous one ended. LN4 a dead or parked job blocks an
// ordered lane, unless the route says `skip`.

import type { RouteDocument } from '../../definitions/documents/index.ts'
import { compileExpression, ExpressionError, type Keyed, type Scope } from '../../expression/index.ts'
import { isNumeral, isStorable, type JsonValue } from '../../foundation/json/index.ts'
import type { Lane, SettledState } from '../work/index.ts'
import type { DebouncePolicy } from './debounce.ts'
import { compareVersions, versionText } from './lane-version.ts'

export interface RouteLane {
  /** Throws ExpressionError if the formula gives no key. */
  of(scope: Scope): Lane
  /** null: the route has no versions. For a job: null if its event has none; throws ExpressionError. */
  readonly version: ((scope: Scope) => string | null) | null
  /** A job that is older than the lane's version is skipped. */
  readonly skipsStale: boolean
  /** A dead or parked job keeps its position. */
  readonly holds: boolean
  readonly debounce: DebouncePolicy | null
}

type LaneDocument = Pick<RouteDocument, 'order' | 'concurrency' | 'debounce'>

/** null: its jobs have no order and do not wait for each other. */
export function compileLane(document: LaneDocument, keyed: Keyed = {}): RouteLane | null {
  const { order, debounce } = document
  const choice = choose(document)
  if (choice === null) return null
  const by = compiled(choice.by, keyed)
  const version = order?.version === undefined ? null : compiled(order.version, keyed)
  return {
    of: (scope) => ({ key: laneKey(by(scope), choice.path), width: choice.width }),
    version: version === null ? null : (scope) => versionText(version(scope)),
    skipsStale: order?.stale === 'skip',
    holds: order !== undefined && order.onBlocked !== 'skip',
    debounce: debounce ?? null,
  }
}

function choose({ order, concurrency, debounce }: LaneDocument) {
  if (order !== undefined) return { by: order.by, path: 'order.by', width: 1 }
  if (debounce !== undefined) return { by: debounce.by, path: 'debounce.by', width: 1 }
  if (concurrency?.by === undefined) return null
  return { by: concurrency.by, path: 'concurrency.by', width: concurrency.limit }
}

function compiled(text: string, keyed: Keyed): (scope: Scope) => JsonValue {
  const result = compileExpression(text, keyed)
  // A deployed document was checked when it was applied.
  if (!result.ok) throw new Error(`assertion failed: a stored formula compiles: ${result.problem.message}`)
  return (scope) => result.expression.evaluate(scope)
}

const KEY_LENGTH_MAX = 1_024

function laneKey(value: JsonValue, path: string): string {
  const refuse = (message: string, valueType: string, code: 'type' | 'bounds' = 'type') =>
    new ExpressionError(code, message, path, valueType)
  if (value === null) throw refuse('the key of the lane is null', 'null')
  if (typeof value === 'object' && !isNumeral(value)) {
    throw refuse('the key of the lane is not a text or a number', Array.isArray(value) ? 'list' : 'map')
  }
  const text = String(value)
  if (text === '') throw refuse('the key of the lane is empty', 'string')
  if (text.length > KEY_LENGTH_MAX) {
    throw refuse(`the key of the lane is longer than ${KEY_LENGTH_MAX} characters`, 'string', 'bounds')
  }
  if (!isStorable(text)) throw refuse('the key of the lane holds a character that no store keeps', 'string')
  return text
}

/** Whether a job that ends like this keeps its position, and blocks the others. */
export function keepsPlace(lane: RouteLane | null, to: SettledState): boolean {
  return lane?.holds === true && (to === 'dead' || to === 'parked')
}

/** Whether the lane has already passed this version. A job without a version is never late. */
export function isStale(version: string | null, done: string | null): boolean {
  return version !== null && done !== null && compareVersions(version, done) < 0
}
