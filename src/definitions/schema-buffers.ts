// A route's fields for flow control, order and batching. Spread into the schema of a Route; profiles share the
// policies.

import * as z from 'zod'
import { DAY, HOUR, SECOND } from '../core/foundation/time/index.ts'
import { EVENT_ROOTS, itemRoots, type RouteScope } from './expression-names.ts'
import { duration, elementName, formula, literal, oneOf, pick, reference } from './fields.ts'

const count = (max: number) => z.number().int().min(1).max(max)

export const ratePolicy = z.strictObject({
  perMinute: count(1_000_000),
  burst: count(1_000_000).optional(),
})

export const retryInline = z.strictObject({
  attempts: z.number().int().min(1).max(100),
  delays: z
    .array(duration(0, 7 * DAY))
    .max(99)
    .optional(),
})

export const drainPolicy = z.strictObject({
  every: duration(SECOND, DAY),
  events: count(10_000),
  cycles: count(1_000).optional(),
})

export const circuitPolicy = z.strictObject({
  failures: count(1_000).optional(),
  ratio: z.number().min(0.01).max(1).optional(),
  of: count(1_000).optional(),
  openFor: duration(SECOND, DAY).optional(),
})

export function makeBuffers(scope: RouteScope) {
  const roots = itemRoots(scope)
  return {
    each: z
      .strictObject({
        of: pick(EVENT_ROOTS),
        as: elementName().optional(),
        max: count(5_000).optional(),
      })
      .optional(),
    fanOut: oneOf('all', 'first', 'one').optional(),
    priority: oneOf('high', 'normal', 'low').optional(),
    drain: z.union([reference(), drainPolicy]).optional(),
    rateLimit: z.union([reference(), ratePolicy]).optional(),
    concurrency: z.strictObject({ limit: count(10_000), by: pick(roots).optional() }).optional(),
    order: z
      .strictObject({
        by: pick(roots),
        version: pick(roots).optional(),
        stale: oneOf('run', 'skip').optional(),
        onBlocked: oneOf('hold', 'skip').optional(),
      })
      .optional(),
    debounce: z
      .strictObject({
        by: pick(roots),
        window: duration(100, DAY),
        maxWait: duration(100, 7 * DAY).optional(),
        keep: oneOf('last', 'first').optional(),
      })
      .optional(),
    batch: z
      .strictObject({
        size: count(1_000),
        maxWait: duration(10, HOUR).optional(),
        results: pick(['result']).optional(),
        item: z.strictObject({ key: pick(['item']), ok: pick(['item']) }).optional(),
      })
      .optional(),
    // The map first: its errors are reported, rather than that it is not `off`.
    circuit: z.union([circuitPolicy, oneOf('off')]).optional(),
    ledger: z.strictObject({ keep: duration(DAY, 3_650 * DAY) }).optional(),
    keyMigration: z.strictObject({ from: formula(), note: literal({ minLength: 1 }) }).optional(),
  }
}

export type RateInput = z.infer<typeof ratePolicy>
export type DrainInput = z.infer<typeof drainPolicy>
export type CircuitInput = z.infer<typeof circuitPolicy>
