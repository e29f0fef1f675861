// Shapes of answers that several resources share.

import { FIRE_MODES, PLACE_TYPES } from '../core/definitions/documents/index.ts'
import { LEDGER_STATES } from '../core/effects/ledger/index.ts'
import { DEAD_LETTER_REASONS, DEAD_LETTER_STATES } from '../core/failures/dead-letter/index.ts'
import { FAILURE_CLASSES, REPORTED_AS } from '../core/failures/failure/index.ts'
import { ERRORS } from '../core/foundation/errors/index.ts'
import { WORK_STATES } from '../core/queue/work/index.ts'
import { shape } from './operations.ts'
import type { Kit } from './schema-kit.ts'

export const fieldFinding = (s: Kit) =>
  s.object({
    severity: s.string,
    rule: s.string,
    message: s.string,
    field: s.string,
    suggestion: s.string.optional(),
  })

export const consumerName = (s: Kit) => s.object({ kind: s.string, name: s.string })

export const net = (s: Kit) =>
  s.object({
    start: s.string,
    places: s.list(
      s.object({
        name: s.string,
        type: s.enum(PLACE_TYPES),
        description: s.nullable(s.string),
        tokens: s.integer.describe(
          'Of a workflow: of all active instances, on whichever version; of an instance: its own.',
        ),
        timeout: s.nullable(s.object({ afterMs: s.integer, fire: s.string })),
        onEnter: s.nullable(s.string).describe('The action for every token that comes in.'),
      }),
    ),
    transitions: s.list(
      s.object({
        name: s.string,
        description: s.nullable(s.string),
        from: s.list(s.string),
        fromAny: s.list(s.string),
        to: s.list(s.string).describe('All places that it may put a token in.'),
        on: s.enum(FIRE_MODES),
        isAutomatic: s.boolean.describe('It fires by itself as soon as it can.'),
        when: s.nullable(s.string).describe('Its condition, as written.'),
        action: s.nullable(s.string).describe('What it does: null where it only moves tokens.'),
        undo: s.boolean,
        permission: s.nullable(s.string),
        input: s.any.describe('JSON Schema of its input; null: anything.'),
      }),
    ),
    arcs: s.list(
      s.object({
        place: s.string,
        transition: s.nullable(s.string).describe('null: of a roll-back that is over, from `place` to `to`.'),
        type: s
          .enum(['in', 'any', 'out', 'choose', 'failure', 'undone'])
          .describe('`in` and `any` lead to the transition, the others from it.'),
        when: s.string.describe('Of a branch of `choose`.').optional(),
        to: s.string.optional(),
      }),
    ),
  })

export const drift = (s: Kit) =>
  s.object({
    of: s.enum(['definition', 'code', 'payload']),
    changes: s
      .list(
        s.object({
          path: s.string.describe('Empty: all of it.'),
          before: s.nullable(s.string).describe('As JSON text; null: it was not there.'),
          after: s.nullable(s.string).describe('As JSON text; null: it is not there any more.'),
        }),
      )
      .describe('The first 50; none where what was before is not in the store any more.'),
  })

export const madeEffect = (s: Kit) =>
  s.object({ key: s.string, generation: s.integer, workId: s.string, effectRef: s.nullable(s.string) })

export const rateCost = (s: Kit) =>
  s.object({
    host: s.string,
    route: s.string,
    calls: s.integer,
    perMinute: s.nullable(s.integer).describe('The route’s rate limit; null: it has none.'),
    minutes: s.nullable(s.number).describe('How long the calls take at that rate.'),
  })

export const verdictTotals = (s: Kit) =>
  s.object({
    'would-skip': s.integer,
    'would-call': s.integer,
    'would-differ': s.integer,
    'would-wait': s.integer,
    'would-fail': s.integer,
  })

export const problemShape = shape('Problem', 'A refusal (RFC 9457).', (s) =>
  s.object({
    type: s.string.describe('Explained at this address of the server.'),
    title: s.string,
    status: s.integer,
    detail: s.string.describe('What was wrong in this case.'),
    code: s.enum(Object.keys(ERRORS) as (keyof typeof ERRORS)[]),
    next: s.string.describe('What to do.'),
    instance: s.string.describe('Names this answer in the log.'),
    details: s
      .open({
        fields: s
          .list(s.object({ path: s.string, message: s.string }))
          .describe('Every field that is not valid, as a JSON pointer, and what to write.'),
      })
      .optional(),
  }),
)

export const eventFields = (s: Kit) => ({
  id: s.string,
  tenant: s.string,
  source: s.string,
  subject: s.string,
  objectType: s.nullable(s.string),
  objectId: s.nullable(s.string),
  occurredAt: s.nullable(s.instant),
  receivedAt: s.instant,
  correlationId: s.string,
  causationId: s.nullable(s.string),
  traceId: s.string,
  dedupKey: s.string,
  payloadHash: s.string,
  matched: s.integer.describe('How many consumers wanted it; 0 is unmatched.'),
  duplicates: s.integer.describe('How often it came again within its dedup window; told a second later.'),
  lastDuplicateAt: s.nullable(s.instant),
  editedFrom: s.string
    .describe(
      'Only on an edited copy: the event that a user copied and edited. The source did not send this payload, and its signature says nothing of it.',
    )
    .optional(),
})

export const envelopeShape = shape('Envelope', 'An accepted event with its payload.', (s) =>
  s.object({
    ...eventFields(s),
    sensitive: s
      .list(s.string)
      .describe('Paths of what is sensitive in it: callers below operator see `[hidden]` there.'),
    unreadable: s.string.describe('Why the payload is not shown: it is sealed and does not open.').optional(),
    data: s.any,
  }),
)

export const workShape = shape('Work', 'One thing to do: an event for one consumer.', (s) =>
  s.object({
    id: s.string,
    kind: s.string,
    consumer: s.string,
    eventId: s.string,
    state: s.enum(WORK_STATES),
    attempts: s.integer,
    waits: s.integer,
    losses: s.integer,
    dueAt: s.instant,
    createdAt: s.instant,
    expiresAt: s.instant,
    definition: s.string.describe('Hash of the definition that it began with.'),
    class: s.enum(FAILURE_CLASSES).optional(),
    key: s.string.optional(),
    processedAt: s.instant.optional(),
    effectRef: s.string.optional(),
    lastError: s.string.optional(),
    httpStatus: s.integer.optional(),
    durationMs: s.number.optional(),
    replayOf: s.string.describe('The dead letter that it replays, or its event.').optional(),
    element: s.integer
      .describe('Which element of its route’s `each` it is about, counted from 0.')
      .optional(),
    lane: s.string.describe('The key of its lane: what `by` gave.').optional(),
    holdsLane: s.boolean.describe('It is dead or parked, and those behind it in its lane wait.').optional(),
    into: s.string.describe('The batch that it is merged into.').optional(),
    generation: s.integer
      .describe('Above 1: it makes the effect of its key once more, on purpose.')
      .optional(),
    explanation: s.string.describe('What it is about, of `intake` alone.').optional(),
    instance: s.string.describe('The instance of a workflow that it is of.').optional(),
    step: s.string
      .describe('What it is of its workflow: `fire/3/book`, `stay/1/review`, `lock` …')
      .optional(),
  }),
)

export const attemptShape = shape('Attempt', 'One try of a work item.', (s) =>
  s.object({
    number: s.integer,
    startedAt: s.instant,
    durationMs: s.number,
    outcome: s.enum(['done', 'again', 'waited', 'unknown', 'probed', 'parked', 'dead']),
    class: s.enum(FAILURE_CLASSES).optional(),
    httpStatus: s.integer.optional(),
    error: s.string.optional(),
  }),
)

export const ledgerEntryShape = shape(
  'LedgerEntry',
  'An idempotency key and what became of its effect.',
  (s) =>
    s.object({
      key: s.string,
      generation: s.integer,
      state: s.enum(LEDGER_STATES),
      consumer: s.string,
      eventId: s.string,
      workId: s.string,
      objectId: s.nullable(s.string),
      effectRef: s.nullable(s.string),
      payloadHash: s.string,
      correlationId: s.string,
      createdAt: s.instant,
      proof: s.string.optional(),
      settledAt: s.instant.optional(),
      work: s
        .nullable(s.object({ id: s.string, state: s.enum(WORK_STATES), key: s.nullable(s.string) }))
        .describe('In lists: the work item that made the effect, as it is now; null: it is gone.')
        .optional(),
      actions: s
        .list(s.enum(['done', 'released', 'probe', 'retry', 'cancel']))
        .describe(
          'In lists: what may be done about `work` now. `done` and `released` are `resolve` with that word.',
        )
        .optional(),
    }),
)

export const deadLetterShape = shape('DeadLetter', 'Work that is not retried by itself.', (s) =>
  s.object({
    id: s.string,
    state: s.enum(DEAD_LETTER_STATES),
    class: s.enum(FAILURE_CLASSES),
    reason: s.enum(DEAD_LETTER_REASONS),
    reportedAs: s.enum([...new Set(Object.values(REPORTED_AS))]),
    severity: s.string,
    consumer: consumerName(s),
    eventId: s.string,
    workId: s.string,
    attempts: s.integer,
    replays: s.integer,
    lastError: s.string,
    correlationId: s.string,
    payloadHash: s.string,
    createdAt: s.instant,
    updatedAt: s.instant,
    key: s.string.optional(),
    runbook: s.string.optional(),
    failureId: s.string.describe('The failure that it stands for.').optional(),
    step: s.string
      .describe('How far it came: `match`, `key`, `call`, `probe`, `function`, `effect <name>`, `batch` …')
      .optional(),
  }),
)

export const workStoryShape = shape(
  'WorkStory',
  'A work item, its tries, its effect and its dead letter.',
  (s) =>
    s.extend(workShape.declare, {
      history: s.list(s.ref(attemptShape)),
      ledger: s.nullable(s.ref(ledgerEntryShape)),
      deadLetter: s.nullable(s.ref(deadLetterShape)),
      turn: s
        .object({
          ahead: s.integer.describe('How many wait before it; no more are counted than 1,000.'),
          behind: s.nullable(s.string).describe('The item that waits just before it.'),
          heldBy: s.nullable(s.string).describe('A dead or parked item that holds the lane up.'),
        })
        .describe('Of an item that waits for a place in its lane.')
        .optional(),
      definitionVersion: s.integer
        .describe('The version of the definitions that brought the one it began with, while that is known.')
        .optional(),
      members: s
        .list(
          s.object({
            id: s.string,
            eventId: s.string,
            state: s.enum(WORK_STATES),
            key: s.nullable(s.string),
          }),
        )
        .describe('Of a batch that is not over: the items that it stands for.')
        .optional(),
    }),
)

export const replayPreviewShape = shape('ReplayPreview', 'What a replay would do; nothing was done.', (s) =>
  s.object({
    items: s.list(
      s.object({
        id: s.string,
        verdict: s.enum(['would-skip', 'would-call', 'would-differ', 'would-wait', 'would-fail']),
        reason: s.string,
        diff: s
          .list(drift(s))
          .describe('What is other than when it was tried before. Sensitive values are hidden.')
          .optional(),
        effect: madeEffect(s).describe('With would-skip: the effect that is there.').optional(),
      }),
    ),
    totals: verdictTotals(s).describe('Of the letters in `items`.'),
    calls: s.record(s.integer).describe('Calls by host, for the letters in `items`.'),
    cost: s.list(rateCost(s)).describe('What these calls take of the rate limits.'),
    matched: s.integer.describe('How many letters the filter finds in all.'),
    isCapped: s.boolean.describe('There are more letters than `items`.'),
  }),
)

/** What every replay of many may be told. */
export const replayOptions = (s: Kit) => ({
  dryRun: s.boolean.default(false).describe('Only say what would happen.'),
  force: s.boolean.default(false).describe('Also dead letters with three failed replays.'),
  again: s.boolean
    .default(false)
    .describe(
      'An effect that is there already is made once more, as another generation of its key. Needs a `reason`.',
    ),
  perSecond: s.number
    .min(0.01)
    .max(100_000)
    .describe(
      'No more than so many a second. Left out: as quickly as the nodes take them up. Letters of a route with a rate limit never go quicker than that.',
    ),
})
