// What answers contain, as JSON Schema: the shapes that many operations share, by name. shapes.ts makes them; the tests
// compare every answer with these, so that the document cannot say anything else than the server.

import { LEDGER_STATES } from '../core/effects/ledger/index.ts'
import { DEAD_LETTER_REASONS, DEAD_LETTER_STATES } from '../core/failures/dead-letter/index.ts'
import { ESCALATION_STATES } from '../core/failures/escalation/index.ts'
import { FAILURE_CLASSES, FAILURE_STATES, REPORTED_AS } from '../core/failures/failure/index.ts'
import { ERRORS } from '../core/foundation/errors/index.ts'
import { WORK_STATES } from '../core/queue/work/index.ts'
import { SUBSCRIPTION_STATUSES } from '../core/webhooks/subscription/index.ts'
import { ATTENTIONS, INSTANCE_STATES } from '../core/workflows/instance/index.ts'
import { ORPHAN_STATES } from '../core/workflows/orphan/index.ts'
import {
  anything,
  boolean,
  instant,
  integer,
  listOf,
  nullable,
  ref,
  type Schema,
  shape,
  string,
} from './schema-parts.ts'
import { oneOf } from './schemas.ts'
import { INTEGRATION_SHAPES } from './schemas-integrations.ts'
import { WEBHOOK_SHAPES } from './schemas-webhooks.ts'
import { WORKFLOW_SHAPES } from './schemas-workflows.ts'

export {
  answer,
  anything,
  boolean,
  empty,
  instant,
  integer,
  listOf,
  nullable,
  orElse,
  pageOf,
  ref,
  type Schema,
  shape,
  string,
} from './schema-parts.ts'

const consumerName = shape({ kind: string, name: string })

const sensitivity = {
  sensitive: {
    ...listOf(string),
    description: 'Paths of what is sensitive in it: callers below operator see `[hidden]` there.',
  },
  unreadable: { ...string, description: 'Why the payload is not shown: it is sealed and does not open.' },
}
const envelope = {
  id: string,
  tenant: string,
  source: string,
  subject: string,
  objectType: nullable(string),
  objectId: nullable(string),
  occurredAt: nullable(instant),
  receivedAt: instant,
  correlationId: string,
  causationId: nullable(string),
  traceId: string,
  dedupKey: string,
  payloadHash: string,
  matched: { ...integer, description: 'How many consumers wanted it; 0 is unmatched.' },
  duplicates: {
    ...integer,
    description: 'How often it came again within its dedup window; told a second later.',
  },
  lastDuplicateAt: nullable(instant),
  editedFrom: {
    ...string,
    description:
      'Only on an edited copy: the event that a user copied and edited. The source did not send this payload, and its signature says nothing of it.',
  },
} as const
const envelopeOptional = ['editedFrom']

const work = {
  id: string,
  kind: string,
  consumer: string,
  eventId: string,
  state: oneOf(WORK_STATES),
  attempts: integer,
  waits: integer,
  losses: integer,
  dueAt: instant,
  createdAt: instant,
  expiresAt: instant,
  definition: { ...string, description: 'Hash of the definition that it began with.' },
  class: oneOf(FAILURE_CLASSES),
  key: string,
  processedAt: instant,
  effectRef: string,
  lastError: string,
  httpStatus: integer,
  durationMs: { type: 'number' },
  replayOf: { ...string, description: 'The dead letter that it replays, or its event.' },
  element: { ...integer, description: 'Which element of its route’s `each` it is about, counted from 0.' },
  lane: { ...string, description: 'The key of its lane: what `by` gave.' },
  holdsLane: { ...boolean, description: 'It is dead or parked, and those behind it in its lane wait.' },
  into: { ...string, description: 'The batch that it is merged into.' },
  generation: { ...integer, description: 'Above 1: it makes the effect of its key once more, on purpose.' },
  explanation: { ...string, description: 'What it is about, of `intake` alone.' },
  instance: { ...string, description: 'The instance of a workflow that it is of.' },
  step: { ...string, description: 'What it is of its workflow: `fire/3/book`, `stay/1/review`, `lock` …' },
} as const
const workOptional = [
  'class',
  'key',
  'processedAt',
  'effectRef',
  'lastError',
  'httpStatus',
  'durationMs',
  'replayOf',
  'element',
  'lane',
  'holdsLane',
  'into',
  'generation',
  'explanation',
  'instance',
  'step',
]

const deadLetter = {
  id: string,
  state: oneOf(DEAD_LETTER_STATES),
  class: oneOf(FAILURE_CLASSES),
  reason: oneOf(DEAD_LETTER_REASONS),
  reportedAs: oneOf([...new Set(Object.values(REPORTED_AS))]),
  severity: string,
  consumer: consumerName,
  eventId: string,
  workId: string,
  attempts: integer,
  replays: integer,
  lastError: string,
  correlationId: string,
  payloadHash: string,
  createdAt: instant,
  updatedAt: instant,
  key: string,
  runbook: string,
  failureId: { ...string, description: 'The failure that it stands for.' },
  step: {
    ...string,
    description: 'How far it came: `match`, `key`, `call`, `probe`, `function`, `effect <name>`, `batch` …',
  },
} as const
const deadLetterOptional = ['key', 'runbook', 'failureId', 'step']
const verdicts = ['would-skip', 'would-call', 'would-differ', 'would-wait', 'would-fail'] as const
/** The preview of one dead letter, or of one route for an event. */
const judged = {
  verdict: oneOf(verdicts),
  reason: string,
  diff: {
    ...listOf(
      shape({
        of: oneOf(['definition', 'code', 'payload']),
        changes: {
          ...listOf(
            shape({
              path: { ...string, description: 'Empty: all of it.' },
              before: { ...nullable(string), description: 'As JSON text; null: it was not there.' },
              after: { ...nullable(string), description: 'As JSON text; null: it is not there any more.' },
            }),
          ),
          description: 'The first 50; none where what was before is not in the store any more.',
        },
      }),
    ),
    description: 'What is other than when it was tried before. Sensitive values are hidden.',
  },
  effect: {
    ...shape({ key: string, generation: integer, workId: string, effectRef: nullable(string) }),
    description: 'With would-skip: the effect that is there.',
  },
} as const
const judgedOptional = ['diff', 'effect']
const totals = shape(Object.fromEntries(verdicts.map((verdict) => [verdict, integer])))
const cost = listOf(
  shape({
    host: string,
    route: string,
    calls: integer,
    perMinute: { ...nullable(integer), description: 'The route’s rate limit; null: it has none.' },
    minutes: { ...nullable({ type: 'number' }), description: 'How long the calls take at that rate.' },
  }),
)

/** The shapes known by name, for `ref`. */
/** As the specification of CloudEvents has it; what else stands there are extensions. */
const cloudEvent: Schema = {
  type: 'object',
  description: 'A CloudEvent 1.0.',
  required: ['specversion', 'id', 'source', 'type'],
  properties: {
    specversion: { type: 'string', const: '1.0' },
    id: {
      type: 'string',
      minLength: 1,
      maxLength: 1_024,
      description: 'With `source`, the name of the event.',
    },
    source: { type: 'string', minLength: 1, maxLength: 1_024, description: 'A URI reference.' },
    type: { type: 'string', minLength: 1, maxLength: 255, description: 'The subject of the event.' },
    subject: { type: ['string', 'null'], description: 'The id of the object that it is about.' },
    time: { type: ['string', 'null'], format: 'date-time' },
    datacontenttype: { type: ['string', 'null'] },
    dataschema: { type: ['string', 'null'] },
    data: { description: 'The payload: JSON, or a text where `datacontenttype` is not JSON.' },
    data_base64: {
      type: ['string', 'null'],
      description: 'The payload where it is bytes; instead of `data`.',
    },
  },
  additionalProperties: { type: ['string', 'integer', 'boolean', 'null'] },
}

const published = shape({
  id: { ...string, description: 'The `id` that was sent.' },
  eventId: { ...string, description: 'Its id here; of a duplicate, that of the first.' },
  duplicate: boolean,
})

export const SHARED: Readonly<Record<string, Schema>> = {
  ...WORKFLOW_SHAPES,
  ...WEBHOOK_SHAPES,
  ...INTEGRATION_SHAPES,
  CloudEvent: cloudEvent,
  Published: { anyOf: [published, shape({ items: listOf(published) })] },
  Problem: {
    ...shape(
      {
        type: { ...string, description: 'Explained at this address of the server.' },
        title: string,
        status: integer,
        detail: { ...string, description: 'What was wrong in this case.' },
        code: oneOf(Object.keys(ERRORS)),
        next: { ...string, description: 'What to do.' },
        instance: { ...string, description: 'Names this answer in the log.' },
        details: {
          type: 'object',
          properties: {
            fields: {
              ...listOf(shape({ path: string, message: string })),
              description: 'Every field that is not valid, as a JSON pointer, and what to write.',
            },
          },
          additionalProperties: true,
        },
      },
      ['details'],
    ),
    description: 'A refusal (RFC 9457).',
  },
  Consumer: {
    ...shape(
      {
        kind: string,
        name: string,
        workId: string,
        state: oneOf(WORK_STATES),
        attempts: integer,
        class: oneOf(FAILURE_CLASSES),
      },
      ['class'],
    ),
    description: 'Who wanted an event, and how far it got.',
  },
  Event: {
    ...shape({ ...envelope, consumers: listOf(ref('Consumer')) }, envelopeOptional),
    description: 'An accepted event, as lists show it.',
  },
  Envelope: {
    ...shape({ ...envelope, ...sensitivity, data: anything }, [...envelopeOptional, 'unreadable']),
    description: 'An accepted event with its payload.',
  },
  EventDetail: {
    ...shape(
      {
        ...envelope,
        ...sensitivity,
        headers: { type: 'object', additionalProperties: true },
        data: anything,
        consumers: listOf(ref('Consumer')),
        story: {
          ...listOf(ref('WorkStory')),
          description: 'The newest work of the event, oldest first; at most 50. `consumers` has all of it.',
        },
        followUps: {
          ...listOf(ref('Event')),
          description: 'Events that this one caused, oldest first; at most 100.',
        },
        edited: ref('EventEdit'),
      },
      [...envelopeOptional, 'unreadable', 'edited'],
    ),
    description: 'An event and everything that followed from it.',
  },
  EventEdit: {
    ...shape(
      {
        from: { ...string, description: 'The event that was copied; it stays as it was.' },
        deadLetterId: string,
        at: instant,
        by: string,
        reason: string,
        changed: {
          ...listOf(string),
          description:
            'Paths in the payload that differ, at most 50; the empty path is all of it. Below a sensitive path only that path is named.',
        },
        hasMore: { ...boolean, description: 'Whether more fields differ than `changed` names.' },
        payloadHashBefore: string,
      },
      ['by', 'reason', 'changed', 'hasMore', 'payloadHashBefore'],
    ),
    description:
      'Who edited an event, when, why, and which fields. Copies that an earlier version made have only `from`, `deadLetterId` and `at`.',
  },
  Work: {
    ...shape(work, workOptional),
    description: 'One thing to do: an event for one consumer.',
  },
  WorkStory: {
    ...shape(
      {
        ...work,
        history: listOf(ref('Attempt')),
        ledger: nullable(ref('LedgerEntry')),
        deadLetter: nullable(ref('DeadLetter')),
        turn: {
          ...shape({
            ahead: { ...integer, description: 'How many wait before it; no more are counted than 1,000.' },
            behind: { ...nullable(string), description: 'The item that waits just before it.' },
            heldBy: { ...nullable(string), description: 'A dead or parked item that holds the lane up.' },
          }),
          description: 'Of an item that waits for a place in its lane.',
        },
        definitionVersion: {
          ...integer,
          description:
            'The version of the definitions that brought the one it began with, while that is known.',
        },
        members: {
          ...listOf(shape({ id: string, eventId: string, state: oneOf(WORK_STATES), key: nullable(string) })),
          description: 'Of a batch that is not over: the items that it stands for.',
        },
      },
      [...workOptional, 'turn', 'definitionVersion', 'members'],
    ),
    description: 'A work item, its tries, its effect and its dead letter.',
  },
  Attempt: {
    ...shape(
      {
        number: integer,
        startedAt: instant,
        durationMs: { type: 'number' },
        outcome: oneOf(['done', 'again', 'waited', 'unknown', 'probed', 'parked', 'dead']),
        class: oneOf(FAILURE_CLASSES),
        httpStatus: integer,
        error: string,
      },
      ['class', 'httpStatus', 'error'],
    ),
    description: 'One try of a work item.',
  },
  LedgerEntry: {
    ...shape(
      {
        key: string,
        generation: integer,
        state: oneOf(LEDGER_STATES),
        consumer: string,
        eventId: string,
        workId: string,
        objectId: nullable(string),
        effectRef: nullable(string),
        payloadHash: string,
        correlationId: string,
        createdAt: instant,
        proof: string,
        settledAt: instant,
        work: {
          ...nullable(shape({ id: string, state: oneOf(WORK_STATES), key: nullable(string) })),
          description: 'In lists: the work item that made the effect, as it is now; null: it is gone.',
        },
        actions: {
          ...listOf(oneOf(['done', 'released', 'probe', 'retry', 'cancel'])),
          description:
            'In lists: what may be done about `work` now. `done` and `released` are `resolve` with that word.',
        },
      },
      ['proof', 'settledAt', 'work', 'actions'],
    ),
    description: 'An idempotency key and what became of its effect.',
  },
  DeadLetter: {
    ...shape(deadLetter, deadLetterOptional),
    description: 'Work that is not retried by itself.',
  },
  DeadLetterDetail: {
    ...shape(
      { ...deadLetter, history: listOf(ref('Attempt')), event: nullable(ref('Envelope')) },
      deadLetterOptional,
    ),
    description: 'A dead letter with its event and its tries.',
  },
  Failure: {
    ...shape(
      {
        id: string,
        state: oneOf(FAILURE_STATES),
        class: oneOf(FAILURE_CLASSES),
        reason: { ...nullable(string), description: 'Why nobody tries any more; null while somebody does.' },
        reportedAs: oneOf([...new Set(Object.values(REPORTED_AS))]),
        severity: string,
        consumer: consumerName,
        eventId: string,
        workId: { ...string, description: 'The item that failed last: a replay goes on with the failure.' },
        attempts: integer,
        lastError: string,
        willRetryAt: { ...nullable(instant), description: 'null: not by itself.' },
        cause: { ...nullable(string), description: 'That of its escalation.' },
        correlationId: string,
        createdAt: instant,
        updatedAt: instant,
        key: string,
      },
      ['key'],
    ),
    description: 'What went wrong with a work item, until it is resolved or escalated.',
  },
  Escalation: {
    ...shape(
      {
        id: string,
        state: oneOf(ESCALATION_STATES),
        cause: { ...string, description: 'What its failures have in common.' },
        class: oneOf(FAILURE_CLASSES),
        reason: string,
        reportedAs: oneOf([...new Set(Object.values(REPORTED_AS))]),
        severity: string,
        consumer: consumerName,
        count: { ...integer, description: 'How many failures it stands for.' },
        lastError: { ...string, description: 'As the latest of them says it.' },
        workId: { ...nullable(string), description: 'The latest of them; null: it is about the consumer.' },
        isAnnounced: { ...boolean, description: 'Its event is out.' },
        acknowledgedBy: nullable(string),
        note: nullable(string),
        createdAt: instant,
        updatedAt: instant,
        runbook: string,
      },
      ['runbook'],
    ),
    description: 'Failures of one cause, shown to people until somebody acknowledges them.',
  },
  DeadLetterGroup: {
    ...shape({
      class: oneOf(FAILURE_CLASSES),
      reason: oneOf(DEAD_LETTER_REASONS),
      reportedAs: oneOf([...new Set(Object.values(REPORTED_AS))]),
      consumer: consumerName,
      cause: { ...string, description: 'The last error without what differs from one event to the next.' },
      count: integer,
      firstAt: instant,
      latestAt: instant,
      sampleId: { ...string, description: 'The newest of them.' },
    }),
    description: 'Dead letters of one consumer that failed alike.',
  },
  Replay: {
    ...shape(
      {
        id: string,
        of: {
          ...oneOf(['deadLetters', 'events', 'deliveries']),
          description: 'What it replays. `deliveries`: what an endpoint has missed.',
        },
        state: oneOf(['running', 'done', 'cancelled']),
        total: {
          ...integer,
          description: 'How many there were when it began; of deliveries how many were found so far.',
        },
        replayed: integer,
        refused: integer,
        refusals: {
          ...listOf(shape({ id: string, code: oneOf(Object.keys(ERRORS)) })),
          description: 'The last of those that could not be replayed, and why.',
        },
        filter: { type: 'object', additionalProperties: true },
        force: boolean,
        again: { ...boolean, description: 'Effects that are there are made once more.' },
        perSecond: {
          ...nullable({ type: 'number' }),
          description: 'null: as quickly as the nodes take them up.',
        },
        by: string,
        reason: nullable(string),
        createdAt: instant,
        finishedAt: nullable(instant),
        walk: {
          ...shape({
            walked: { ...integer, description: 'How many events were looked at.' },
            walkedTo: { ...nullable(instant), description: 'Up to when they were received.' },
            left: {
              ...integer,
              description: 'Of those that the subscription wants: left as they are, delivered or under way.',
            },
          }),
          description: 'Of deliveries: how far it has looked.',
        },
      },
      ['walk'],
    ),
    description: 'Many dead letters, events or deliveries replayed one after the other.',
  },
  EventReplayPreview: {
    ...shape({
      items: {
        ...listOf(
          shape({
            id: string,
            subject: { ...nullable(string), description: 'null: there is no such event.' },
            consumers: listOf(
              shape(
                {
                  name: { ...string, description: 'A route, or the source where the event is in the way.' },
                  ...judged,
                },
                judgedOptional,
              ),
            ),
          }),
        ),
        description: 'The oldest of them.',
      },
      totals: {
        ...totals,
        description: 'Of the consumers in `items`.',
      },
      calls: {
        type: 'object',
        additionalProperties: integer,
        description: 'How many calls each host would get, for `items`.',
      },
      cost: { ...cost, description: 'What these calls take of the rate limits.' },
      matched: { ...integer, description: 'How many events the filter finds in all.' },
      isCapped: { ...boolean, description: 'There are more events than `items`.' },
    }),
    description: 'What a replay of events would do, route by route.',
  },
  ReplayPreview: {
    ...shape({
      items: listOf(shape({ id: string, ...judged }, judgedOptional)),
      totals: {
        ...totals,
        description: 'Of the letters in `items`.',
      },
      calls: {
        type: 'object',
        additionalProperties: integer,
        description: 'Calls by host, for the letters in `items`.',
      },
      cost: { ...cost, description: 'What these calls take of the rate limits.' },
      matched: { ...integer, description: 'How many letters the filter finds in all.' },
      isCapped: { ...boolean, description: 'There are more letters than `items`.' },
    }),
    description: 'What a replay would do; nothing was done.',
  },
  Change: {
    oneOf: [
      shape({
        type: { const: 'event' },
        id: string,
        subject: string,
        source: string,
        receivedAt: instant,
        matched: integer,
        objectId: nullable(string),
      }),
      shape({
        type: { const: 'work' },
        id: string,
        eventId: nullable(string),
        consumer: nullable(string),
        state: oneOf(WORK_STATES),
        attempts: integer,
        class: nullable(oneOf(FAILURE_CLASSES)),
      }),
      shape({ type: { const: 'deadLetter' }, id: string, state: oneOf(DEAD_LETTER_STATES) }),
      shape({ type: { const: 'failure' }, id: string, state: oneOf(FAILURE_STATES) }),
      shape({
        type: { const: 'escalation' },
        id: { ...nullable(string), description: 'null: of whichever is raised for the cause.' },
        cause: nullable(string),
      }),
      shape({
        type: { const: 'instance' },
        id: string,
        workflow: string,
        state: oneOf(INSTANCE_STATES),
        attention: nullable(oneOf(ATTENTIONS)),
        marking: { type: 'object', additionalProperties: integer },
      }),
      shape({ type: { const: 'orphan' }, id: string, workflow: string, state: oneOf(ORPHAN_STATES) }),
      {
        ...shape({
          type: { const: 'agent' },
          agent: string,
          work: string,
          instance: nullable(string),
          text: string,
          characters: integer,
        }),
        description: 'What an agent says while it answers: the last of it, where it is long.',
      },
      shape({ type: { const: 'definitions' }, version: integer }),
      shape({ type: { const: 'replay' }, id: string }),
      shape({
        type: { const: 'subscription' },
        name: string,
        status: {
          ...nullable(oneOf(SUBSCRIPTION_STATUSES)),
          description: 'null: it is gone, or as its definition declares.',
        },
      }),
    ],
    description: 'Something that changed, as the stream tells it; read the row for the rest.',
  },
}
