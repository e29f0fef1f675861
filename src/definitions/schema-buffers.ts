// A route's fields for flow control, order and batching. Spread into the schema of a Route; profiles share the
// policies.

import * as z from 'zod'
import { DAY, HOUR, SECOND } from '../core/foundation/time/index.ts'
import { EVENT_ROOTS, itemRoots, type RouteScope } from './expression-names.ts'
import { duration, elementName, field, formula, literal, oneOf, optional, pick, reference } from './fields.ts'

const count = (max: number) => z.number().int().min(1).max(max)

/** `what` is counted: calls, requests. */
export const ratePolicy = (what = 'calls ') =>
  z.strictObject({
    perMinute: field(count(1_000_000), `How many ${what}a minute.`),
    burst: optional(count(1_000_000), 'How many at once.', 'a sixth of a minute’s'),
  })

export const retryInline = z.strictObject({
  attempts: field(z.number().int().min(1).max(100), 'How often, the first time included.'),
  delays: optional(
    z.array(duration(0, 7 * DAY)).max(99),
    'The pauses in between, one fewer than attempts.',
    'none',
  ),
})

export const drainPolicy = z.strictObject({
  every: field(duration(SECOND, DAY), 'How often.'),
  events: field(count(10_000), 'How many items a cycle takes.'),
  cycles: optional(count(1_000), 'How many cycles, one after another, each time.', { default: 1 }),
})

export const circuitPolicy = z.strictObject({
  failures: optional(count(1_000), 'So many failures one after another.', { default: 5 }),
  ratio: optional(z.number().min(0.01).max(1), 'Or this share of the calls within a minute.', {
    default: 0.5,
  }),
  of: optional(count(1_000), 'The share is looked at from so many calls on.', { default: 20 }),
  openFor: optional(duration(SECOND, DAY), 'How long until it tries one.', { default: '30s' }),
})

export function makeBuffers(scope: RouteScope) {
  const roots = itemRoots(scope)
  return {
    each: optional(
      z.strictObject({
        of: field(pick(EVENT_ROOTS), 'The list.'),
        as: optional(elementName(), 'What an element is called in `key`, in `by` and in `do`.', {
          default: 'element',
        }),
        max: optional(
          count(5_000),
          'The longest list; a longer one is a dead letter, and nothing of it is done.',
          { default: 500 },
        ),
      }),
      'One work item, one key and one effect for each element of a list.',
      'one for the event',
    ),
    fanOut: optional(
      oneOf('all', 'first', 'one'),
      'Among the routes that match an event: `all` run; of those that say `first`, the first written; one that says `one` must be alone.',
      { default: 'all' },
    ),
    priority: optional(
      oneOf('high', 'normal', 'low'),
      'Whose work is taken up first where there is more than can be done.',
      { default: 'normal' },
    ),
    drain: optional(
      z.union([reference(), drainPolicy]),
      'The name of a profile, or a policy in place: work is taken up every so often, so much of it.',
      { default: 'INSTANT' },
    ),
    rateLimit: optional(
      z.union([reference(), ratePolicy()]),
      'How many calls it makes: a policy in place, or the name of a profile. Items wait for their turn.',
      'as many as it can',
    ),
    concurrency: optional(
      z.strictObject({
        limit: field(count(10_000), 'So many; with `by` so many for each value of it.'),
        by: optional(pick(roots), 'What the limit is counted by.', 'all of the route together'),
      }),
      'How many of its items run at once.',
      'as the node can',
    ),
    order: optional(
      z.strictObject({
        by: field(pick(roots), 'What has an order.'),
        version: optional(
          pick(roots),
          'The version of the object in the event; numbers compare as numbers, anything else as text.',
          'none',
        ),
        stale: optional(
          oneOf('run', 'skip'),
          'Of an item whose version is older than one that is done: it runs all the same, or is skipped.',
          { default: 'run' },
        ),
        onBlocked: optional(
          oneOf('hold', 'skip'),
          'Of the others while one is dead or parked: they wait for a person, or go on without it.',
          { default: 'hold' },
        ),
      }),
      'Items of one value run one after another, in the order in which they were accepted.',
      'in any order',
    ),
    debounce: optional(
      z.strictObject({
        by: field(pick(roots), 'Which events belong together.'),
        window: field(duration(100, DAY), 'How long it must be quiet.'),
        maxWait: optional(
          duration(100, 7 * DAY),
          'How long the first may be kept waiting by those after it.',
          'ten windows',
        ),
        keep: optional(oneOf('last', 'first'), 'Which one stands for all.', { default: 'last' }),
      }),
      'Of events that come close together one stands for all; the others are skipped and point to it.',
      'each for itself',
    ),
    batch: optional(
      z.strictObject({
        size: field(count(1_000), 'How many at most.'),
        maxWait: optional(duration(10, HOUR), 'How long the first waits for others.', { default: '5s' }),
        results: optional(
          pick(['result']),
          'The list of what became of each; sees `result`.',
          'all share the outcome of the call',
        ),
        item: optional(
          z.strictObject({
            key: field(pick(['item']), 'Whose it is: the key of an item; sees `item`.'),
            ok: field(pick(['item']), 'True when it went well; sees `item`.'),
          }),
          'How to read one of `results`.',
          'needed with `results`',
        ),
      }),
      'One call for many items.',
      'one call for one item',
    ),
    // The map first: its errors are reported, rather than that it is not `off`.
    circuit: optional(
      z.union([circuitPolicy, oneOf('off')]),
      'When the route pauses itself because the other side fails; `off`: never.',
      'as below',
    ),
    ledger: optional(
      z.strictObject({
        keep: field(
          duration(DAY, 3_650 * DAY),
          'For how long; `check` refuses less than it takes until nothing can come again.',
          'for as long as they may come again, and at least `90d`',
        ),
      }),
      'What the ledger remembers of its effects.',
      'as below',
    ),
    keyMigration: optional(
      z.strictObject({
        from: field(formula(), 'The formula that was in force, as it was written.'),
        note: field(literal({ minLength: 1 }), 'Why no effect is repeated or lost by the change.'),
      }),
      'Says that another formula of `key` is meant; a changed one is refused without it.',
      'the formula is the one in force',
    ),
  }
}

export type RateInput = z.infer<ReturnType<typeof ratePolicy>>
export type DrainInput = z.infer<typeof drainPolicy>
export type CircuitInput = z.infer<typeof circuitPolicy>
