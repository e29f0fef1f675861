// A route: which events run which action, with which key, how fast and in which order. What is not written of its flow
// control, order and batching, or equals the default, is left out of its normal form, so that a document of an older
// release keeps its hash.

import * as z from 'zod'
import type { RouteDocument } from '../../core/definitions/documents/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import { checkRouteAction, makeAction, resolveAction } from '../actions/index.ts'
import { checkBuffers } from '../buffers.ts'
import {
  EVENT_ROOTS,
  itemRoots,
  PLAIN_SCOPE,
  type RouteScope,
  scopeOf,
  USUAL_ELEMENT,
} from '../expression-names.ts'
import {
  condition,
  duration,
  elementName,
  field,
  formula,
  literal,
  oneOf,
  optional,
  pick,
  reference,
} from '../fields.ts'
import { checkKey } from '../keys.ts'
import { checkProfileName } from '../profiles.ts'
import { checkRetry } from '../retries.ts'
import { checkSensitiveRoute } from '../sensitive.ts'
import { type Fields, milliseconds } from '../written.ts'
import { type KindDeclaration, type Known, lazily } from './kind.ts'
import {
  circuitPolicy,
  count,
  DEBOUNCE_WINDOWS,
  deadLetter,
  drainPolicy,
  envelope,
  MAX_WAIT_MS,
  type Profiles,
  patterns,
  ratePolicy,
  resolveCircuit,
  resolveDeadLetter,
  resolveDrain,
  resolveRate,
  resolveRetry,
  retryInline,
  retryOfAgent,
  status,
} from './parts.ts'
import { checkSteps, steps } from './route-steps.ts'

function makeBuffers(scope: RouteScope) {
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
    forEach: optional(
      z.strictObject({
        of: field(pick(EVENT_ROOTS), 'The list.'),
        as: optional(elementName(), 'What an element is called in `key`, in `by` and in `do`.', {
          default: 'element',
        }),
        max: optional(count(5_000), 'The longest list, as of `each`.', { default: 500 }),
        parallel: optional(
          count(10_000),
          'How many elements of one event run at once: `concurrency: { limit, by: event.id }`.',
          'as the node can',
        ),
      }),
      'Short for `each`, with the `concurrency` of the elements of one event.',
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
      z.union([reference(), drainPolicy()]),
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
      z.union([circuitPolicy(), oneOf('off')]),
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

function makeRoute(scope: RouteScope) {
  return z
    .strictObject({
      ...envelope('Route'),
      on: field(patterns(), 'Subjects that it wants; `*` is one token, `>` at the end one or more.'),
      where: optional(
        condition(EVENT_ROOTS),
        'Which of these events: an expression or a filter.',
        'all of them',
      ),
      status: status('`paused`: work is kept and not run. `disabled`: work is skipped.'),
      key: optional(
        pick(itemRoots(scope)),
        'Names the effect: one per key, over all events and replays.',
        'the route’s name and the event’s id',
      ),
      uniqueness: optional(
        oneOf('operation', 'record'),
        '`operation`: an effect per version of an object. `record`: one object, made once.',
        { default: 'operation' },
      ),
      retry: optional(z.union([reference(), retryInline()]), 'The name of a profile, or a policy in place.', {
        default: 'STANDARD',
      }),
      maxWait: optional(duration(SECOND, 30 * DAY), 'How long an item may wait beside its retries.', {
        default: '24h',
      }),
      delay: optional(
        duration(SECOND, 30 * DAY),
        'How long a new job waits before its first attempt; replays run at once.',
        { otherwise: 'none', carried: true },
      ),
      deadLetter: deadLetter(),
      ...makeBuffers(scope),
      do: optional(
        makeAction(scope),
        'One action: `http`, `upsert`, `operation`, `function`, `emit`, `start`, `schedule`, `unschedule` or `agent`.',
        '`steps` is needed',
      ),
      steps: steps(),
    })
    .meta({ title: 'Route', oneOf: [{ required: ['do'] }, { required: ['steps'] }] })
}

const schema = lazily(() => makeRoute(PLAIN_SCOPE))

/** Building one takes a few milliseconds, and a folder names few elements. */
const SCOPED_MAX = 100
const scoped = new Map<string, ReturnType<typeof makeRoute>>()

/** Knows the names that `each` and `batch` of the route add. */
function schemaFor(value: Fields) {
  const scope = scopeOf(value)
  if (scope.element === null && !scope.isBatched) return schema()
  const id = `${scope.element} ${scope.isBatched}`
  const known = scoped.get(id)
  if (known !== undefined) return known
  const made = makeRoute(scope)
  if (scoped.size >= SCOPED_MAX) scoped.clear()
  scoped.set(id, made)
  return made
}

export type RouteInput = z.infer<ReturnType<typeof schema>>

export const routeKind: KindDeclaration<RouteDocument, ReturnType<typeof schema>> = {
  schema,
  schemaFor,
  resolve: resolveRoute,
  check: (value, around) => [
    ...checkRetry(value.retry, around),
    ...checkProfileName(value.drain, 'drain', ['drain'], around.profiles),
    ...checkProfileName(value.rateLimit, 'rate', ['rateLimit'], around.profiles),
    ...checkSteps(value),
    ...checkRouteAction(value, around),
    ...checkKey(value),
    ...checkBuffers(value),
    ...checkSensitiveRoute(value, around.sensitive),
  ],
  summary: 'Sends matching events to one action.',
  template: `kind: Route
name: NAME
on: NAME.events.created
key: "'NAME:' + payload.id"
do: { http: { url: https://api.example.com/NAME, body: "{{ payload }}", keyTtl: 24h } }
`,
}

// --- The normal form

/** null: it names a profile, an agent or a provider that is not valid. */
function resolveRoute(input: RouteInput, known: Known): RouteDocument | null {
  // What `steps` and `forEach` stand for was put in their place.
  if (input.do === undefined) return null
  const buffers = resolveBuffers(input, known.profiles)
  const action = resolveAction(input.do, input.batch === undefined ? 'route' : 'batch', known)
  const retry = retryOfAgent(input, action) ?? resolveRetry(input.retry, known)
  if (retry === null || buffers === null || action === null) return null
  return {
    kind: 'Route',
    name: input.name,
    description: input.description ?? null,
    on: typeof input.on === 'string' ? [input.on] : input.on,
    where: (input.where ?? null) as JsonValue,
    status: input.status ?? 'active',
    key: input.key ?? null,
    uniqueness: input.uniqueness ?? 'operation',
    retry,
    maxWaitMs: milliseconds(input.maxWait, MAX_WAIT_MS),
    deadLetter: resolveDeadLetter(input.deadLetter),
    do: action,
    ...buffers,
  }
}

/** How many elements of a list become jobs, if `each` does not say. */
const EACH_MAX = 500
const BATCH_WAIT_MS = 5 * SECOND
type Buffers = Pick<
  RouteDocument,
  | 'each'
  | 'fanOut'
  | 'priority'
  | 'drain'
  | 'rateLimit'
  | 'concurrency'
  | 'order'
  | 'debounce'
  | 'batch'
  | 'circuit'
  | 'ledgerKeepMs'
  | 'keyMigration'
>

/** null: it names a profile that is not valid. */
function resolveBuffers(input: RouteInput, profiles: Profiles): Buffers | null {
  const drain = resolveDrain(input.drain, profiles)
  const rateLimit = resolveRate(input.rateLimit, profiles)
  if (drain === null || rateLimit === null) return null
  const { fanOut, priority, concurrency, ledger, keyMigration } = input
  return {
    ...resolveEach(input.each),
    ...(fanOut === undefined || fanOut === 'all' ? {} : { fanOut }),
    ...(priority === undefined || priority === 'normal' ? {} : { priority }),
    ...(drain === undefined ? {} : { drain }),
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(concurrency === undefined ? {} : { concurrency: withoutHoles(concurrency) }),
    ...resolveOrder(input.order),
    ...resolveDebounce(input.debounce),
    ...resolveBatch(input.batch),
    ...resolveCircuit(input.circuit),
    ...(ledger === undefined ? {} : { ledgerKeepMs: milliseconds(ledger.keep, MINUTE) }),
    ...(keyMigration === undefined ? {} : { keyMigration }),
  }
}

function resolveEach(input: RouteInput['each']): Pick<RouteDocument, 'each'> {
  if (input === undefined) return {}
  return { each: { of: input.of, as: input.as ?? USUAL_ELEMENT, max: input.max ?? EACH_MAX } }
}

function resolveOrder(input: RouteInput['order']): Pick<RouteDocument, 'order'> {
  if (input === undefined) return {}
  const { by, version, stale, onBlocked } = input
  return {
    order: {
      by,
      ...(version === undefined ? {} : { version }),
      ...(stale === 'skip' ? { stale } : {}),
      ...(onBlocked === 'skip' ? { onBlocked } : {}),
    },
  }
}

function resolveDebounce(input: RouteInput['debounce']): Pick<RouteDocument, 'debounce'> {
  if (input === undefined) return {}
  const windowMs = milliseconds(input.window, MINUTE)
  const maxWaitMs = milliseconds(input.maxWait, DEBOUNCE_WINDOWS * windowMs)
  return {
    debounce: { by: input.by, windowMs, maxWaitMs, ...(input.keep === 'first' ? { keep: 'first' } : {}) },
  }
}

function resolveBatch(input: RouteInput['batch']): Pick<RouteDocument, 'batch'> {
  if (input === undefined) return {}
  const { size, maxWait, results, item } = input
  return {
    batch: {
      size,
      maxWaitMs: milliseconds(maxWait, BATCH_WAIT_MS),
      ...(results === undefined ? {} : { results }),
      ...(item === undefined ? {} : { item }),
    },
  }
}

function withoutHoles({ limit, by }: { limit: number; by?: string | undefined }): {
  readonly limit: number
  readonly by?: string
} {
  return by === undefined ? { limit } : { limit, by }
}
