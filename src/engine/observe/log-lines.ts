// The log lines at the control points: the same fields every time, from an event and its job.

import type { StoredEvent } from '../../core/events/event/index.ts'
import { type FailureClass, REPORTED_AS } from '../../core/failures/failure/index.ts'
import type { ControlLine, ControlPoint } from '../../ports/log.ts'
import { scrubOrNull } from '../secrets/index.ts'

type EventFields = Pick<
  StoredEvent,
  | 'id'
  | 'tenant'
  | 'source'
  | 'subject'
  | 'objectType'
  | 'objectId'
  | 'correlationId'
  | 'traceId'
  | 'payloadHash'
  | 'sensitive'
  | 'data'
  | 'headers'
>

export interface LineFacts {
  readonly route?: string | null
  readonly work?: string | null
  /** The hash of the definition that it is about. */
  readonly definition?: string | null
  readonly target?: string | null
  readonly key?: string | null
  readonly attempt?: number | null
  readonly class?: FailureClass | null
  readonly durationMs?: number | null
  readonly httpStatus?: number | null
  readonly errorCode?: string | null
  readonly message?: string
  readonly subscription?: string | null
  /** The hash of what the consumer selects. */
  readonly filter?: string | null
  readonly externalRef?: string | null
}

/** A request that was refused: there is no event, and nothing of its content is logged. */
export function refusalLine(
  tenant: string,
  source: string,
  error: { readonly code: string; readonly status: number; readonly message: string },
  durationMs: number,
): ControlLine {
  return {
    ...NO_EVENT,
    point: 'ingest',
    action: 'REJECTED',
    tenantId: tenant,
    sourceSystem: source,
    durationMs,
    httpStatus: error.status,
    errorCode: error.code,
    message: error.message,
  }
}

/** A handshake of the vendor that was answered: there is no event. */
export function handshakeLine(
  tenant: string,
  source: string,
  status: number,
  durationMs: number,
): ControlLine {
  return {
    ...NO_EVENT,
    point: 'ingest',
    action: 'HANDSHAKE',
    tenantId: tenant,
    sourceSystem: source,
    durationMs,
    httpStatus: status,
    errorCode: null,
    message: '',
  }
}

const NO_EVENT = {
  scenarioName: null,
  routeName: null,
  runId: null,
  correlationId: null,
  traceId: null,
  targetSystem: null,
  objectType: null,
  objectId: null,
  eventId: null,
  idempotencyKey: null,
  attempt: null,
  classification: 'N/A',
  payloadHash: null,
  piiRedacted: true,
} as const

export function lineOf(
  point: ControlPoint,
  action: string,
  event: EventFields,
  facts: LineFacts,
): ControlLine {
  const failureClass = facts.class ?? null
  return {
    point,
    scenarioName: event.subject,
    routeName: facts.route ?? null,
    runId: facts.work ?? null,
    correlationId: event.correlationId,
    traceId: event.traceId,
    tenantId: event.tenant,
    sourceSystem: event.source,
    targetSystem: scrubOrNull(event, facts.target ?? null),
    objectType: event.objectType,
    objectId: event.objectId,
    eventId: event.id,
    idempotencyKey: facts.key ?? null,
    attempt: facts.attempt ?? null,
    classification: failureClass === null ? 'N/A' : REPORTED_AS[failureClass],
    action,
    durationMs: facts.durationMs ?? null,
    httpStatus: facts.httpStatus ?? null,
    errorCode: facts.errorCode ?? failureClass,
    message: scrubOrNull(event, facts.message || null) ?? '',
    payloadHash: event.payloadHash,
    piiRedacted: true,
    configHash: facts.definition ?? null,
    stepName: facts.route == null ? null : stepOf(facts.route),
    subscriptionName: facts.subscription ?? null,
    filterHash: facts.filter ?? null,
    externalRef: scrubOrNull(event, facts.externalRef ?? null),
  }
}

/** Of `onboarding/fire/create_account`: the parts of a workflow run as routes of this name. */
function stepOf(route: string): string | null {
  const first = route.indexOf('/')
  if (first === -1 || route.startsWith('/trigger/', first)) return null
  return route.slice(route.lastIndexOf('/') + 1)
}
