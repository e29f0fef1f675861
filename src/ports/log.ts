// Two channels: lines at the control points, with the same fields every time, and ordinary operator messages.

import type { ReportedAs } from '../core/failures/failure/index.ts'

export type ControlPoint = 'ingest' | 'dedupe' | 'effect' | 'dead-letter' | 'replay'

/** What a control point knows; the log adds timestamp and env. null is written as null. */
export interface ControlLine {
  readonly point: ControlPoint
  readonly scenarioName: string | null
  readonly routeName: string | null
  readonly runId: string | null
  readonly correlationId: string | null
  readonly traceId: string | null
  readonly tenantId: string
  readonly sourceSystem: string | null
  readonly targetSystem: string | null
  readonly objectType: string | null
  readonly objectId: string | null
  readonly eventId: string | null
  readonly idempotencyKey: string | null
  readonly attempt: number | null
  readonly classification: ReportedAs | 'N/A'
  /** What was done, in capitals: ACCEPTED, DUPLICATE, DEDUPE_HIT, DONE, RETRY, WAIT, UNKNOWN, PARKED, DEAD_LETTERED, REPLAYED … */
  readonly action: string
  readonly durationMs: number | null
  readonly httpStatus: number | null
  readonly errorCode: string | null
  readonly message: string
  readonly payloadHash: string | null
  readonly piiRedacted: boolean
  /** Of the definition that was run; omitted or null: the log writes the bundle that was deployed at the start. */
  readonly configHash?: string | null
  /** The action of a workflow's step, by its name; omitted or null: it is none. */
  readonly stepName?: string | null
  /** The subscription whose delivery it is about. */
  readonly subscriptionName?: string | null
  /** Of the subjects and the condition by which the route or subscription selected the event. */
  readonly filterHash?: string | null
  /** The reference of an upsert, or what the other side calls the effect. */
  readonly externalRef?: string | null
}

export interface Log {
  control(line: ControlLine): void
  info(name: string, fields?: Readonly<Record<string, unknown>>): void
  warn(name: string, fields?: Readonly<Record<string, unknown>>): void
  error(name: string, fields?: Readonly<Record<string, unknown>>): void
}
