// The normal form of a source's fields beyond its verification and its names. What is not written is left out, so that
// a document of an older release keeps its hash.

import { RETENTION_MS, type SourceDocument, usualBurst } from '../core/definitions/documents/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import type { SourceInput } from './schema.ts'

type WaysIn = Pick<
  SourceDocument,
  | 'mapping'
  | 'dispatch'
  | 'allow'
  | 'rateLimit'
  | 'sensitive'
  | 'retentionMs'
  | 'unmatched'
  | 'schedule'
  | 'nats'
  | 'catalog'
  | 'respond'
  | 'handshake'
>

export function resolveWaysIn(input: SourceInput): WaysIn {
  return {
    ...(input.subjects === undefined ? {} : { mapping: input.subjects }),
    ...(input.dispatch === undefined ? {} : { dispatch: resolveDispatch(input.dispatch) }),
    ...(input.allow === undefined
      ? {}
      : { allow: typeof input.allow === 'string' ? [input.allow] : input.allow }),
    ...(input.rateLimit === undefined ? {} : { rateLimit: resolveRateLimit(input.rateLimit) }),
    ...(input.sensitive === undefined ? {} : { sensitive: input.sensitive }),
    ...resolveRetention(input.retention),
    ...(input.unmatched === 'deadLetter' ? { unmatched: 'deadLetter' as const } : {}),
    ...(input.schedule === undefined ? {} : { schedule: resolveSchedule(input.schedule) }),
    ...(input.nats === undefined ? {} : { nats: resolveNats(input.nats) }),
    ...(input.catalog === undefined ? {} : { catalog: resolveCatalog(input.catalog) }),
    ...(input.respond === undefined ? {} : { respond: resolveRespond(input.respond) }),
    ...(input.handshake === undefined ? {} : { handshake: resolveHandshake(input.handshake) }),
  }
}

function resolveRetention(text: string | undefined): Pick<SourceDocument, 'retentionMs'> {
  const retentionMs = text === undefined ? null : parseDuration(text)
  return retentionMs === null || retentionMs === RETENTION_MS ? {} : { retentionMs }
}

function resolveDispatch(
  input: NonNullable<SourceInput['dispatch']>,
): NonNullable<SourceDocument['dispatch']> {
  return {
    mode: input.mode ?? 'first',
    rules: input.rules.map(({ when, emit, data }) => ({
      when: (when ?? null) as JsonValue,
      emit,
      data: (data ?? '{{ payload }}') as JsonValue,
    })),
    otherwise: input.otherwise ?? 'keep',
  }
}

function resolveRateLimit(
  input: NonNullable<SourceInput['rateLimit']>,
): NonNullable<SourceDocument['rateLimit']> {
  const { perMinute, burst = usualBurst(perMinute) } = input
  return { perMinute, burst }
}

function resolveSchedule(
  input: NonNullable<SourceInput['schedule']>,
): NonNullable<SourceDocument['schedule']> {
  const { cron, zone = 'UTC', missed = 'once', data = null } = input
  return { cron, zone, missed, data: data as JsonValue }
}

function resolveNats(input: NonNullable<SourceInput['nats']>): NonNullable<SourceDocument['nats']> {
  const { stream, subjects, durable } = input
  return {
    ...(stream === undefined ? {} : { stream }),
    subjects: typeof subjects === 'string' ? [subjects] : subjects,
    ...(durable === undefined ? {} : { durable }),
  }
}

function resolveCatalog(input: NonNullable<SourceInput['catalog']>): NonNullable<SourceDocument['catalog']> {
  return {
    mismatch: input.mismatch ?? 'pass',
    subjects: (input.subjects ?? []).map(({ subject, description, schema, example }) => ({
      subject,
      ...(description === undefined ? {} : { description }),
      ...(schema === undefined ? {} : { schema: schema as JsonValue }),
      ...(example === undefined ? {} : { example: example as JsonValue }),
    })),
  }
}

function resolveRespond(input: NonNullable<SourceInput['respond']>): NonNullable<SourceDocument['respond']> {
  const { status = 200, body = '' } = input
  return { status, contentType: input.contentType ?? contentTypeOf(body), body: body as JsonValue }
}

function resolveHandshake(
  input: NonNullable<SourceInput['handshake']>,
): NonNullable<SourceDocument['handshake']> {
  const { method = 'POST', status = 200, body = '' } = input
  return {
    method,
    when: input.when as JsonValue,
    status,
    contentType: input.contentType ?? contentTypeOf(body),
    body,
  }
}

function contentTypeOf(body: unknown): string {
  return typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
}
