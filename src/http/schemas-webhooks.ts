// What answers about subscriptions and deliveries contain, by name; shapes-webhooks.ts makes them.

import { SIGNINGS } from '../core/definitions/documents/index.ts'
import { FAILURE_CLASSES } from '../core/failures/failure/index.ts'
import { SUBSCRIPTION_STATUSES } from '../core/webhooks/subscription/index.ts'
import { DELIVERY_STATES, RECOVERY_VERDICTS } from '../engine/index.ts'
import { SUBSCRIPTION_FIELDS } from './definition-fields.generated.ts'
import { boolean, instant, integer, listOf, nullable, ref, shape, string } from './schema-parts.ts'
import { oneOf } from './schemas.ts'

const number = { type: 'number' } as const
const totals = (names: readonly string[]) => shape(Object.fromEntries(names.map((name) => [name, integer])))
const texts = { type: 'object', additionalProperties: string } as const

const subscription = {
  name: string,
  description: nullable(string),
  url: {
    ...string,
    description: 'Where to. Values of its query are shown as `[hidden]` to callers below operator.',
  },
  on: { ...listOf(string), description: 'Patterns of the subjects that it wants.' },
  status: {
    ...oneOf(SUBSCRIPTION_STATUSES),
    description:
      '`failing`: it is tried still, but nothing has arrived for a while. `paused`: what comes is kept for later. `disabled`: what comes is skipped, and can be recovered.',
  },
  because: {
    ...nullable(oneOf(['gone', 'failing', 'person'])),
    description: 'Of a disabled one: it answered 410, it failed for too long, or somebody said so.',
  },
  reason: { ...nullable(string), description: 'What was said, or what the endpoint answered.' },
  since: { ...nullable(instant), description: 'Since when the status is what it is, where it changed.' },
  failingSince: { ...nullable(instant), description: 'The first failure behind which no success came.' },
  disableAt: {
    ...nullable(instant),
    description: 'When it will disable itself if nothing arrives until then.',
  },
  managedBy: { ...oneOf(['folder', 'api']), description: '`folder`: change its file, not it.' },
  signing: oneOf(SIGNINGS),
  metadata: { ...texts, description: 'Its owner’s own words.' },
  createdAt: nullable(instant),
  updatedAt: nullable(instant),
  health: {
    ...shape({
      lastDeliveredAt: nullable(instant),
      lastFailedAt: nullable(instant),
      recent: {
        ...shape({ delivered: integer, failed: integer }),
        description: 'Tries in the last while, as far as this node made them.',
      },
      waiting: { ...integer, description: 'Deliveries that are not over; counted up to a cap.' },
      isCapped: { ...boolean, description: 'At least so many wait.' },
    }),
    description: 'How it goes.',
  },
} as const

const delivery = {
  id: string,
  subscription: string,
  eventId: { ...string, description: 'Sent as `webhook-id`, the same in every try.' },
  subject: { ...nullable(string), description: 'Of the event; null: the event is gone.' },
  state: oneOf(DELIVERY_STATES),
  attempts: integer,
  dueAt: { ...instant, description: 'When it is tried next, while it is not over.' },
  createdAt: instant,
  httpStatus: { ...integer, description: 'Of the last answer.' },
  durationMs: { ...number, description: 'Of the last try.' },
  class: oneOf(FAILURE_CLASSES),
  error: { ...string, description: 'Of the last try, or why it was skipped or cancelled.' },
  processedAt: { ...instant, description: 'When it was over.' },
  deadLetterId: string,
  replayOf: { ...string, description: 'The dead letter or the event that somebody had sent once more.' },
} as const
const deliveryOptional = [
  'httpStatus',
  'durationMs',
  'class',
  'error',
  'processedAt',
  'deadLetterId',
  'replayOf',
]

export const WEBHOOK_SHAPES = {
  Subscription: {
    ...shape(subscription),
    description: 'Somebody’s endpoint for our events.',
  },
  SubscriptionMade: {
    ...shape({
      ...subscription,
      secret: {
        ...nullable(string),
        description:
          'The generated secret, in this answer and nowhere else; null: it names one, or has it already. An answer that is repeated by its idempotency key has null here.',
      },
      warnings: {
        ...listOf(
          shape({ severity: string, rule: string, message: string, field: string, suggestion: string }, [
            'suggestion',
          ]),
        ),
        description: 'What is doubtful about it; it is in force all the same.',
      },
    }),
    description: 'A subscription that was made or changed.',
  },
  SubscriptionDetail: {
    ...shape({
      ...subscription,
      by: { ...nullable(string), description: 'Who said so; null: it did so itself, or nobody did.' },
      createdBy: nullable(string),
      updatedBy: nullable(string),
      document: {
        type: 'object',
        additionalProperties: true,
        description:
          'Everything that it says, defaults filled in. Below operator, headers and values of the query are `[hidden]`.',
      },
      window: {
        ...nullable(
          shape({
            limit: { ...integer, description: 'How many may be on their way at once.' },
            inFlight: integer,
            pausedUntil: {
              ...nullable(instant),
              description: 'Nothing is sent before; the endpoint asked for it, or does not answer.',
            },
          }),
        ),
        description: 'How this node sends to it; null: it has not so far.',
      },
      secret: {
        ...shape({
          from: { ...oneOf(['generated', 'vault', 'environment', 'file']), description: 'Where it is kept.' },
          name: {
            ...string,
            description: 'Its name in the vault, in the environment or in the folder of secrets.',
          },
          version: { ...nullable(integer), description: 'null: it is not set, or not in the vault.' },
          oldUntil: {
            ...listOf(instant),
            description: 'Until when each former secret signs beside it.',
          },
          isUnseen: { ...boolean, description: 'It was generated, and `reveal-secret` shows it once.' },
        }),
        description: 'What it signs with; never the value.',
      },
    }),
    description: 'A subscription, how it sends, and what it signs with.',
  },
  Delivery: { ...shape(delivery, deliveryOptional), description: 'One event on its way to one endpoint.' },
  DeliveryAttempt: {
    ...shape(
      {
        number: integer,
        startedAt: instant,
        durationMs: number,
        outcome: oneOf(['done', 'again', 'waited', 'unknown', 'probed', 'parked', 'dead']),
        class: oneOf(FAILURE_CLASSES),
        httpStatus: integer,
        error: string,
        response: {
          ...string,
          description: 'How the answer began: status, a few headers, the first 1,024 characters.',
        },
      },
      ['class', 'httpStatus', 'error', 'response'],
    ),
    description: 'One try of a delivery.',
  },
  DeliveryDetail: {
    ...shape(
      {
        ...delivery,
        history: { ...listOf(ref('DeliveryAttempt')), description: 'Every try.' },
        request: {
          ...nullable(
            shape({
              url: string,
              headers: texts,
              body: { ...nullable(string), description: 'null: the caller may not see it.' },
            }),
          ),
          description:
            'What would be sent now; the signature is made when it is sent. null: it cannot be made, `requestError` says why.',
        },
        requestError: string,
      },
      [...deliveryOptional, 'requestError'],
    ),
    description: 'A delivery with every try.',
  },
  SubscriptionTest: {
    ...shape({
      ok: { ...boolean, description: 'The endpoint answered with a 2xx status.' },
      status: nullable(integer),
      durationMs: number,
      class: nullable(oneOf(FAILURE_CLASSES)),
      error: nullable(string),
      response: {
        ...nullable(
          shape({
            headers: texts,
            body: string,
            isCut: { ...boolean, description: 'It goes on behind what is here.' },
          }),
        ),
        description: 'How the answer began; null: there was none.',
      },
      request: {
        ...nullable(shape({ url: string, headers: texts })),
        description: 'As it was sent; what may be secret in it is hidden. null: nothing was sent.',
      },
    }),
    description: 'One call made now; it is kept nowhere.',
  },
  RotatedSecret: {
    ...shape({
      secret: { ...string, description: 'Shown in this answer and nowhere else.' },
      version: integer,
      oldUntil: {
        ...nullable(instant),
        description: 'Until then the former secret signs too; null: it does not.',
      },
    }),
    description: 'A new secret.',
  },
  RecoveryPreview: {
    ...shape({
      totals: {
        ...totals(RECOVERY_VERDICTS),
        description:
          'Of the events looked at that the subscription wants. `failed`: the dead letter would be replayed; `missing`: it would be sent for the first time; the others are left as they are.',
      },
      recovered: { ...integer, description: 'How many would go out, by what was asked for.' },
      items: {
        ...listOf(
          shape({
            eventId: string,
            subject: string,
            receivedAt: instant,
            verdict: oneOf(RECOVERY_VERDICTS),
            deadLetterId: nullable(string),
          }),
        ),
        description: 'The first of those that would go out.',
      },
      walked: { ...integer, description: 'How many events were looked at.' },
      walkedTo: { ...nullable(instant), description: 'Up to when.' },
      isComplete: {
        ...boolean,
        description: 'All were looked at; a preview looks at a bounded number, a recovery at all.',
      },
      oldestEventAt: {
        ...nullable(instant),
        description: 'Of the oldest event that is kept: what is older is gone.',
      },
    }),
    description: 'What a recovery would do; nothing was done.',
  },
}

/** A field that is not known goes on to the check, which says what was probably meant. */
const written = (properties: Readonly<Record<string, object>>) =>
  ({ type: 'object', properties, additionalProperties: true }) as const

const name = {
  type: 'string',
  maxLength: 128,
  description: 'Left out when it is created: one is made from the address.',
} as const
export const newSubscriptionBody = written({ name, ...SUBSCRIPTION_FIELDS })
export const changedSubscriptionBody = written(SUBSCRIPTION_FIELDS)
