// What requests may contain, as JSON Schema for Fastify. A field that nobody reads is refused: a mistyped filter would
// otherwise answer everything.

import { LEDGER_STATES } from '../core/effects/ledger/index.ts'
import { DEAD_LETTER_REASONS, DEAD_LETTER_STATES } from '../core/failures/dead-letter/index.ts'
import { FAILURE_CLASSES } from '../core/failures/failure/index.ts'
import { type Instant, parseInstant } from '../core/foundation/time/index.ts'
import { WORK_STATES } from '../core/queue/work/index.ts'

export const text = { type: 'string', minLength: 1, maxLength: 512 } as const
export const oneOf = (values: readonly string[]) => ({ type: 'string', enum: values }) as const

/** What a request may hold; nothing else. */
export const fields = (properties: Readonly<Record<string, object>>, required: readonly string[] = []) =>
  ({ type: 'object', properties, required, additionalProperties: false }) as const

const LIMIT_DEFAULT = 50
/** Query of every list. */
export const page = {
  cursor: { type: 'string', minLength: 1, maxLength: 2_048 },
  limit: { type: 'integer', minimum: 1, maximum: 500, default: LIMIT_DEFAULT },
} as const

const instantText = { type: 'string', format: 'date-time' } as const
const eventFilters = {
  ...page,
  source: text,
  subject: text,
  objectId: { type: 'string', minLength: 1, maxLength: 512, description: 'About this object.' },
  correlationId: { ...text, description: 'Of this chain of causes.' },
  from: { ...instantText, description: 'Received at this instant or later.' },
  to: { ...instantText, description: 'Received before this instant.' },
  q: {
    type: 'string',
    minLength: 1,
    maxLength: 200,
    description:
      'A piece of the id, subject, source, object id, correlation id, dedup key or payload; small and capital letters are alike. Or the whole key of an effect, as the ledger has it.',
  },
} as const
export const eventsQuery = fields({ ...eventFilters, unmatched: { type: 'boolean' } })
export const unmatchedQuery = fields(eventFilters)
export const workQuery = fields({
  ...page,
  state: oneOf(WORK_STATES),
  consumer: text,
  class: oneOf(FAILURE_CLASSES),
})
const ledgerKey = { ...text, maxLength: 2_048 } as const
export const ledgerQuery = fields({
  ...page,
  state: { ...oneOf(LEDGER_STATES), description: '`unknown` are the outcomes that wait for a person.' },
  consumer: text,
  key: ledgerKey,
})
export const ledgerHistoryQuery = fields({ key: ledgerKey }, ['key'])
/** What is not indexed: the newest ten thousand letters are looked at for one page. */
const deadLetterConditions = {
  cause: { ...text, description: 'As the groups of dead letters tell it.' },
  key: { ...ledgerKey, description: 'Under this idempotency key.' },
  correlationId: { ...text, description: 'Of this chain of causes.' },
  severity: text,
  from: { ...instantText, description: 'Died at this instant or later.' },
  to: { ...instantText, description: 'Died before this instant.' },
} as const
export const deadLettersQuery = fields({
  ...page,
  state: oneOf(DEAD_LETTER_STATES),
  consumer: text,
  class: oneOf(FAILURE_CLASSES),
  reason: oneOf(DEAD_LETTER_REASONS),
  ...deadLetterConditions,
  cause: {
    ...text,
    description:
      'As the groups tell it. A page by this or what follows may hold fewer items than asked while `nextCursor` is not null.',
  },
})
export const deadLetterGroupsQuery = fields({ state: { ...oneOf(DEAD_LETTER_STATES), default: 'open' } })
export const idParams = fields({ id: { type: 'string', minLength: 1, maxLength: 128 } }, ['id'])

/** No control character and no mark that turns or hides what stands beside it; the joiners of scripts and emoji are none. */
export const plainText = {
  pattern: '^[\\P{C}\\u200c\\u200d]*$',
  description: 'It must not hold control characters, line breaks or invisible marks.',
} as const
/** What people write into one line, for others to read. */
export const line = (maxLength: number) =>
  ({ type: 'string', minLength: 1, maxLength, allOf: [{ pattern: '\\S' }, plainText] }) as const

/** Why a person did it, for the log. */
export const reason = line(1_000)
export const reasonBody = fields({ reason })
export const neededReasonBody = fields({ reason }, ['reason'])
const replayOptions = {
  force: { type: 'boolean', default: false, description: 'Also what was replayed in vain three times.' },
  again: {
    type: 'boolean',
    default: false,
    description:
      'An effect that is there already is made once more, as another generation of its key. Needs a `reason`.',
  },
  reason: { ...reason, description: 'Why; it is kept. Needed in the environment PROD.' },
} as const
export const perSecond = {
  type: 'number',
  minimum: 0.01,
  maximum: 100_000,
  description:
    'No more than so many a second. Left out: as quickly as the nodes take them up. Letters of a route with a rate limit never go quicker than that.',
} as const
export const replayBody = fields(replayOptions)
export const editBody = fields(
  { data: { description: 'The payload of the copy: any JSON value.' }, reason },
  ['data', 'reason'],
)
const DEAD_LETTERS_NAMED_MAX = 500
export const bulkReplayBody = fields(
  {
    filter: fields({
      ids: {
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 128 },
        minItems: 1,
        maxItems: DEAD_LETTERS_NAMED_MAX,
        uniqueItems: true,
        description: 'These letters and no others; instead of everything below.',
      },
      state: { ...oneOf(['open', 'ready_to_replay']), description: '`open` unless told.' },
      consumer: text,
      class: oneOf(FAILURE_CLASSES),
      reason: oneOf(DEAD_LETTER_REASONS),
      ...deadLetterConditions,
    }),
    dryRun: { type: 'boolean', default: false, description: 'Only say what would happen.' },
    ...replayOptions,
    perSecond,
  },
  ['filter'],
)
const EVENTS_NAMED_MAX = 500
export const eventReplayBody = fields({
  ids: {
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: 128 },
    minItems: 1,
    maxItems: EVENTS_NAMED_MAX,
    uniqueItems: true,
    description: 'These events, in this order; instead of `filter`.',
  },
  filter: fields({
    source: text,
    subject: text,
    from: { ...instantText, description: 'Received at this instant or later.' },
    to: { ...instantText, description: 'Received before this instant.' },
    unmatched: { type: 'boolean', description: '`true`: only those that nobody wanted.' },
  }),
  dryRun: { type: 'boolean', default: false, description: 'Only say what would happen.' },
  reason: replayOptions.reason,
  perSecond,
})
export const resolveBody = fields(
  {
    as: oneOf(['done', 'released']),
    reason,
    key: {
      type: 'string',
      minLength: 1,
      description: 'The effect that you looked at; a conflict if the item is about another one by now.',
    },
  },
  ['as', 'reason'],
)

export interface PageQuery {
  readonly cursor?: string
  readonly limit: number
}

/** The page asked for, and the filters that were given. */
export function splitQuery<Query extends PageQuery>(
  query: Query,
): Omit<Query, 'cursor' | 'limit'> & { readonly cursor: string | null; readonly limit: number } {
  return { ...query, cursor: query.cursor ?? null }
}

/** Of a text that the schema has let through. */
export function readInstant(text: string): Instant {
  return parseInstant(text) ?? Number.NaN
}

interface Times {
  readonly from?: string
  readonly to?: string
}

/** Instants are texts for people, and numbers for the store. */
export function readTimes<Query extends Times>({ from, to, ...rest }: Query) {
  return {
    ...rest,
    ...(from === undefined ? {} : { from: readInstant(from) }),
    ...(to === undefined ? {} : { to: readInstant(to) }),
  }
}

/** People write `crm`; the store knows `route:crm`. */
export function toConsumer(name: string): string {
  return name.includes(':') ? name : `route:${name}`
}
