// Formats one control-point line as JSON text. Built by hand because it is written for every event: a general
// serialiser costs several times as much. The names and their order are part of the contract with readers of the logs.

import type { Instant } from '../../core/foundation/time/index.ts'
import type { ControlLine } from '../../ports/log.ts'

/** Characters that JSON escapes, and lone surrogates, which the built-in writer checks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must be found
const NEEDS_ESCAPE = /["\\\u0000-\u001f\ud800-\udfff]/
const MESSAGE_LENGTH_MAX = 2_000

export function makeControlLineWriter(env: string): {
  write(line: ControlLine, now: Instant): string
  setConfigHash(hash: string | null): void
} {
  const envText = `","env":${quote(env)},"scenarioName":`
  let end = ',"configHash":null,"point":'
  let second = -1
  let secondText = ''

  /** ISO 8601; the part before the milliseconds is cached for the rest of its second. */
  const timestamp = (now: Instant): string => {
    const current = Math.floor(now / 1_000)
    if (current !== second) {
      second = current
      secondText = new Date(current * 1_000).toISOString().slice(0, 20)
    }
    const ms = Math.floor(now - current * 1_000)
    return `${secondText}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z`
  }

  return {
    write: (line, now) =>
      '{"timestamp":"' +
      timestamp(now) +
      envText +
      text(line.scenarioName) +
      ',"routeName":' +
      text(line.routeName) +
      ',"runId":' +
      text(line.runId) +
      ',"correlationId":' +
      text(line.correlationId) +
      ',"traceId":' +
      text(line.traceId) +
      ',"tenantId":' +
      text(line.tenantId) +
      ',"sourceSystem":' +
      text(line.sourceSystem) +
      ',"targetSystem":' +
      text(line.targetSystem) +
      ',"objectType":' +
      text(line.objectType) +
      ',"objectId":' +
      text(line.objectId) +
      ',"eventId":' +
      text(line.eventId) +
      ',"idempotencyKey":' +
      text(line.idempotencyKey) +
      ',"attempt":' +
      number(line.attempt) +
      ',"classification":' +
      text(line.classification) +
      ',"action":' +
      text(line.action) +
      ',"durationMs":' +
      number(line.durationMs) +
      ',"httpStatus":' +
      number(line.httpStatus) +
      ',"errorCode":' +
      text(line.errorCode) +
      ',"message":' +
      text(
        line.message.length > MESSAGE_LENGTH_MAX ? line.message.slice(0, MESSAGE_LENGTH_MAX) : line.message,
      ) +
      ',"payloadHash":' +
      text(line.payloadHash) +
      (line.piiRedacted ? ',"piiRedacted":true' : ',"piiRedacted":false') +
      (line.configHash == null ? end : `,"configHash":${text(line.configHash)},"point":`) +
      text(line.point) +
      '}\n',
    setConfigHash: (hash) => {
      end = `,"configHash":${text(hash)},"point":`
    },
  }
}

function text(value: string | null): string {
  return value === null ? 'null' : quote(value)
}

function quote(value: string): string {
  return NEEDS_ESCAPE.test(value) ? JSON.stringify(value) : `"${value}"`
}

function number(value: number | null): string {
  return value === null || !Number.isFinite(value) ? 'null' : String(value)
}
