// Which names expressions see, by field. What `each` and `batch` add depends on the route: its schema is built for
// them.

import type { JsonValue } from '../core/foundation/json/index.ts'

export const REQUEST_ROOTS = ['payload', 'header', 'source', 'tenant'] as const
export const EVENT_ROOTS = ['event', ...REQUEST_ROOTS] as const

/** Names that have a meaning somewhere in a route: no element may have one of them. */
const RESERVED_ROOTS = [
  ...EVENT_ROOTS,
  'key',
  'vars',
  'result',
  'extRef',
  'found',
  'batch',
  'item',
  'body',
  'query',
  'data',
  'metadata',
  'instance',
  'steps',
  'input',
  'actor',
] as const

/** Of an instance, whose own event is the one that started it. */
export const INSTANCE_ROOTS = ['data', 'metadata', 'instance', 'steps', ...EVENT_ROOTS, 'vars'] as const
/**
 * Of a trigger's mapping: an update sees the instance that it changes; a new instance has nothing yet. `actor` is the
 * user who starts one.
 */
export const MAP_ROOTS = [...EVENT_ROOTS, 'data', 'metadata', 'instance', 'steps', 'actor'] as const
/** Of a firing: a user's brings its input and its actor. */
export const FIRE_ROOTS = [...INSTANCE_ROOTS, 'input', 'actor'] as const
/** Of what a firing does. */
export const STEP_ROOTS = [...FIRE_ROOTS, 'key'] as const
/** Of what is read of its result. */
export const AFTER_ROOTS = [...STEP_ROOTS, 'result'] as const
export const ELEMENT_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** The name of an element if `each` does not give one. */
export const USUAL_ELEMENT = 'element'

/** What a route adds to the usual names. */
export interface RouteScope {
  /** The name of an element of `each`. */
  readonly element: string | null
  readonly isBatched: boolean
}

export const PLAIN_SCOPE: RouteScope = { element: null, isBatched: false }

/** As written, valid or not. */
export function scopeOf(route: { readonly [key: string]: JsonValue }): RouteScope {
  const { forEach, each = forEach, batch } = route
  const isEach = typeof each === 'object' && each !== null && !Array.isArray(each)
  const as = isEach ? ((each as { readonly as?: JsonValue }).as ?? USUAL_ELEMENT) : null
  return {
    element: typeof as === 'string' && ELEMENT_NAME.test(as) && !isReserved(as) ? as : null,
    isBatched: batch !== undefined && batch !== null,
  }
}

export function isReserved(name: string): boolean {
  return (RESERVED_ROOTS as readonly string[]).includes(name)
}

/** Of one job: its key, its lane. Nothing that differs between environments. */
export function itemRoots({ element }: RouteScope): readonly string[] {
  return element === null ? EVENT_ROOTS : [...EVENT_ROOTS, element]
}

/** Of an action: of one job, or of a batch that has many. */
export function actionRoots(scope: RouteScope): readonly string[] {
  return scope.isBatched ? ['batch', 'key', 'tenant', 'vars'] : [...itemRoots(scope), 'key', 'vars']
}
