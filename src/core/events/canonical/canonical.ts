// Canonical events: what the state machines of this system publish, as events that any route may select. Their subjects, the
// names that other documents know them by (the `type` of a CloudEvent), and their content.

import type { JsonValue } from '../../foundation/json/index.ts'

/** Reserved: `check` refuses a definition of this name. */
export const CANONICAL_SOURCE = 'millrace'

/** On every canonical event and on everything caused by one; no sender may set it. */
export const CANONICAL_HEADER = 'millrace-canonical'

export interface CanonicalKind {
  /** The `type` of its CloudEvent. */
  readonly type: string
  readonly description: string
  readonly example: JsonValue
}

const FAILED = {
  failureId: 'fail_0197c3f0-6c00-7000-8000-0097bf2f1e4d',
  workId: 'wrk_0197c3f0-6c00-7000-8000-0097bf2f1e4d',
  eventId: 'evt_0197c3f0-6bff-7000-8000-0097bf2f1e4d',
  consumer: 'route:book_order',
  route: 'book_order',
  severity: 'high',
}
const ESCALATED = {
  escalationId: 'esc_0197c3f0-6c10-7000-8000-0097bf2f1e4d',
  cause: 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  consumer: 'route:book_order',
  route: 'book_order',
  class: 'config',
  reason: 'rejected',
  severity: 'high',
  runbook: null,
  count: 1,
  error: 'answered 404',
  workId: FAILED.workId,
  eventId: FAILED.eventId,
  correlationId: '0197c3f0-6bff-7000-8000-0097bf2f1e4d',
  objectType: 'order',
  objectId: '1042',
}

const DELIVERY = {
  deliveryId: 'wrk_0197c3f0-6c00-7000-8000-0097bf2f1e4d',
  eventId: 'evt_0197c3f0-6bff-7000-8000-0097bf2f1e4d',
  subject: 'shop.order.paid',
  subscription: 'crm',
  consumer: 'subscription:crm',
}
const SUBSCRIPTION = {
  subscription: 'crm',
  consumer: 'subscription:crm',
  url: 'https://crm.example.com/hooks',
}

const CREDENTIAL = {
  credential: 'github-main',
  consumer: 'credential:github-main',
  provider: 'github',
  reason: 'auth-failure',
  by: 'millrace',
}

const CONNECTION = {
  connection: 'crm',
  provider: 'github',
  consumer: 'connection:crm',
}

export const CANONICAL_EVENTS = {
  'integration.failed': {
    type: 'IntegrationFailed',
    description: 'A try failed. `terminal`: nobody tries again by himself.',
    example: {
      ...FAILED,
      class: 'transient',
      reason: null,
      attempts: 1,
      terminal: false,
      willRetryAt: '2026-01-01T00:01:00.000Z',
      error: 'answered 503',
      cause: null,
    },
  },
  'integration.failure.resolved': {
    type: 'IntegrationFailureResolved',
    description: 'What had failed succeeded, or a person ended it: `how` says which.',
    example: { ...FAILED, how: 'succeeded', attempts: 2 },
  },
  'integration.escalation.raised': {
    type: 'EscalationRaised',
    description: 'Failures of a cause that somebody should look at. Told once, however many there are.',
    example: ESCALATED,
  },
  'integration.escalation.acknowledged': {
    type: 'EscalationAcknowledged',
    description: 'A person has taken an escalation over.',
    example: { ...ESCALATED, acknowledgedBy: 'key:ops', note: 'the address changed; mended' },
  },
  'integration.route.paused': {
    type: 'IntegrationRoutePaused',
    description: 'A route fails so often that it stops calling for a while. Its work waits.',
    example: {
      route: 'book_order',
      consumer: 'route:book_order',
      class: 'transient',
      tryAt: '2026-01-01T00:00:30.000Z',
    },
  },
  'integration.route.resumed': {
    type: 'IntegrationRouteResumed',
    description: 'A route that had paused itself calls again.',
    example: { route: 'book_order', consumer: 'route:book_order' },
  },
  'integration.workflow.paused': {
    type: 'IntegrationWorkflowPaused',
    description: 'A step or a trigger of a workflow fails so often that it stops for a while. Its jobs wait.',
    example: {
      workflow: 'onboarding',
      part: 'fire/create_account',
      consumer: 'workflow:onboarding',
      class: 'transient',
      tryAt: '2026-01-01T00:00:30.000Z',
    },
  },
  'integration.workflow.resumed': {
    type: 'IntegrationWorkflowResumed',
    description: 'A step or a trigger that had paused itself goes on.',
    example: { workflow: 'onboarding', part: 'fire/create_account', consumer: 'workflow:onboarding' },
  },
  'integration.credential.rotating': {
    type: 'IntegrationCredentialRotating',
    description:
      'A credential is about to get another secret. The prior one stays in use until the new one is verified.',
    example: { ...CREDENTIAL, token: '9f86d081884c7d659a2feaa0c55ad015', from: 3, note: null },
  },
  'integration.credential.rotated': {
    type: 'CredentialRotated',
    description: 'A new secret was verified and is in use; the prior one stays good until `oldUntil`.',
    example: {
      ...CREDENTIAL,
      from: 3,
      version: 4,
      fingerprint: '2c26b46b68ffc68f',
      oldUntil: '2026-01-01T00:01:00.000Z',
    },
  },
  'integration.run.completed': {
    type: 'IntegrationRunCompleted',
    description: 'A call on a connection did what it was for.',
    example: {
      ...CONNECTION,
      runId: 'run_0197c3f0-6c00-7000-8000-0097bf2f1e4d',
      workId: FAILED.workId,
      eventId: FAILED.eventId,
      operation: 'github.createIssue',
      attempts: 1,
      durationMs: 212,
      httpStatus: 201,
      externalRef: '4711',
    },
  },
  'integration.connection.activated': {
    type: 'IntegrationConnectionActivated',
    description: 'A connection passed its test and runs what asks for it.',
    example: { ...CONNECTION, status: 'active', health: 'healthy' },
  },
  'integration.connection.degraded': {
    type: 'IntegrationConnectionDegraded',
    description: 'The probe of a connection fails, or so many of its calls that it waits and tries one.',
    example: { ...CONNECTION, status: 'degraded', health: 'unhealthy' },
  },
  'integration.connection.recovered': {
    type: 'IntegrationConnectionRecovered',
    description: 'A connection that was degraded works again.',
    example: { ...CONNECTION, status: 'active', health: 'healthy' },
  },
  'integration.connection.retired': {
    type: 'IntegrationConnectionRetired',
    description: 'A person has retired a connection: it runs nothing any more.',
    example: { ...CONNECTION, status: 'retired', health: 'unknown' },
  },
  'integration.poller.behind': {
    type: 'IntegrationPollerBehind',
    description:
      'A window of a poller has more pages than one run may read. The watermark stays, and the next run goes on at the next page.',
    example: {
      poller: 'shop_orders',
      consumer: 'poller:shop_orders',
      workId: FAILED.workId,
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-01-02T00:00:00.000Z',
      pages: 50,
      found: 10000,
    },
  },
  'integration.lane.blocked': {
    type: 'IntegrationLaneBlocked',
    description: 'An item that is dead or parked holds up those behind it in its lane.',
    example: { route: 'book_order', consumer: 'route:book_order', workId: FAILED.workId, state: 'dead' },
  },
  'webhook.delivered': {
    type: 'WebhookDelivered',
    description: 'An endpoint took a delivery: it answered with a 2xx status.',
    example: { ...DELIVERY, attempts: 1, httpStatus: 200, durationMs: 41 },
  },
  'webhook.dead': {
    type: 'WebhookDead',
    description: 'A delivery will not be tried again by itself. It is a dead letter and can be replayed.',
    example: { ...DELIVERY, attempts: 8, httpStatus: 503, class: 'transient', reason: 'cap_reached' },
  },
  'webhook.subscription.failing': {
    type: 'WebhookSubscriptionFailing',
    description:
      'Nothing has arrived at an endpoint for a while. Told when it begins, and again before it is disabled at `disableAt`.',
    example: {
      ...SUBSCRIPTION,
      failingSince: '2026-01-01T00:00:00.000Z',
      disableAt: '2026-01-06T00:00:00.000Z',
      warning: 1,
      error: 'answered 503',
    },
  },
  'webhook.subscription.recovered': {
    type: 'WebhookSubscriptionRecovered',
    description: 'An endpoint that was failing takes deliveries again.',
    example: { ...SUBSCRIPTION, failingSince: '2026-01-01T00:00:00.000Z' },
  },
  'webhook.subscription.disabled': {
    type: 'WebhookSubscriptionDisabled',
    description:
      'Nothing is sent to an endpoint any more: it answered 410 (`gone`), failed for too long (`failing`), or a person said so.',
    example: { ...SUBSCRIPTION, because: 'gone', reason: 'answered 410', by: null },
  },
  'webhook.subscription.enabled': {
    type: 'WebhookSubscriptionEnabled',
    description: 'A person has put a subscription to work again. A test event goes first.',
    example: { ...SUBSCRIPTION, by: 'key:ops', reason: 'the endpoint was mended' },
  },
  'webhook.secret.rotated': {
    type: 'WebhookSecretRotated',
    description: 'A subscription signs with a new secret; with the old one too until `oldUntil`.',
    example: { ...SUBSCRIPTION, version: 2, oldUntil: '2026-01-02T00:00:00.000Z', by: 'key:ops' },
  },
  'webhook.test': {
    type: 'WebhookTest',
    description: 'Sent to one endpoint alone, to see whether it takes what we send.',
    example: { ...SUBSCRIPTION, message: 'This is a test. Nothing happened.' },
  },
} as const satisfies Readonly<Record<string, CanonicalKind>>

export type CanonicalSubject = keyof typeof CANONICAL_EVENTS

export function isCanonicalSource(source: string): boolean {
  return source === CANONICAL_SOURCE
}

/** null: not a canonical event. */
export function canonicalType({
  source,
  subject,
}: {
  readonly source: string
  readonly subject: string
}): string | null {
  if (!isCanonicalSource(source) || !Object.hasOwn(CANONICAL_EVENTS, subject)) return null
  return CANONICAL_EVENTS[subject as CanonicalSubject].type
}

/** Whether an event is about this system, or was caused by one that is: failures of its jobs are not published again. */
export function isCanonical(event: { readonly source: string; readonly headers: string }): boolean {
  // Headers are JSON text; they are parsed only where the field can be present.
  if (isCanonicalSource(event.source)) return true
  if (!event.headers.includes(CANONICAL_HEADER)) return false
  try {
    const headers = JSON.parse(event.headers) as unknown
    return typeof headers === 'object' && headers !== null && Object.hasOwn(headers, CANONICAL_HEADER)
  } catch {
    return false
  }
}
