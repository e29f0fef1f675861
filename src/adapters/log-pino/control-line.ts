// Encodes one control-point line as JSON, byte by byte into the log's page. By hand because it is written for every event: a general
// serialiser costs several times as much, and a text of forty pieces was a fifth of what an event allocated (6.6 of 35 kB for its
// two lines, at the same CPU time, 2026-11-18). The names and their order are part of the contract with readers of the logs.

import type { Instant } from '../../core/foundation/time/index.ts'
import type { ControlLine } from '../../ports/log.ts'

const MESSAGE_LENGTH_MAX = 2_000
/** Names, punctuation, time and numbers. */
const FIXED_BYTES_MAX = 1_024
/** A character takes six bytes at most: `\u0000`. */
const BYTES_PER_CHARACTER_MAX = 6

const [QUOTE, BACKSLASH, SPACE, TILDE] = [0x22, 0x5c, 0x20, 0x7e]

export interface ControlLineEncoder {
  /** At most so many bytes. */
  lengthMax(line: ControlLine): number
  /** Returns where the line ends. The page has room for it. */
  encode(page: Buffer, start: number, line: ControlLine): number
  setConfigHash(hash: string | null): void
}

export function makeControlLineEncoder(env: string, now: () => Instant): ControlLineEncoder {
  let configHash: string | null = null
  let second = -1
  let secondText = ''

  /** ISO 8601; the part before the milliseconds is cached for the rest of its second. */
  const putTimestamp = (page: Buffer, start: number): number => {
    const instant = now()
    const current = Math.floor(instant / 1_000)
    if (current !== second) {
      second = current
      secondText = `{"timestamp":"${new Date(current * 1_000).toISOString().slice(0, 20)}`
    }
    let at = putAscii(page, start, secondText)
    const ms = Math.floor(instant - current * 1_000)
    page[at++] = ZERO + Math.floor(ms / 100)
    page[at++] = ZERO + (Math.floor(ms / 10) % 10)
    page[at++] = ZERO + (ms % 10)
    return putAscii(page, at, 'Z')
  }

  return {
    lengthMax: (line) =>
      FIXED_BYTES_MAX +
      BYTES_PER_CHARACTER_MAX *
        (env.length +
          lengthOf(line.scenarioName) +
          lengthOf(line.routeName) +
          lengthOf(line.runId) +
          lengthOf(line.correlationId) +
          lengthOf(line.traceId) +
          line.tenantId.length +
          lengthOf(line.sourceSystem) +
          lengthOf(line.targetSystem) +
          lengthOf(line.objectType) +
          lengthOf(line.objectId) +
          lengthOf(line.eventId) +
          lengthOf(line.idempotencyKey) +
          line.classification.length +
          line.action.length +
          lengthOf(line.errorCode) +
          Math.min(line.message.length, MESSAGE_LENGTH_MAX) +
          lengthOf(line.payloadHash) +
          lengthOf(line.configHash ?? configHash) +
          lengthOf(line.stepName ?? null) +
          lengthOf(line.subscriptionName ?? null) +
          lengthOf(line.filterHash ?? null) +
          lengthOf(line.externalRef ?? null) +
          stageOf(line.action).length +
          line.point.length),
    encode(page, start, line) {
      let at = putTimestamp(page, start)
      at = putAscii(page, at, '","env":')
      at = putText(page, at, env)
      at = putAscii(page, at, ',"scenarioName":')
      at = putText(page, at, line.scenarioName)
      at = putAscii(page, at, ',"routeName":')
      at = putText(page, at, line.routeName)
      at = putAscii(page, at, ',"runId":')
      at = putText(page, at, line.runId)
      at = putAscii(page, at, ',"correlationId":')
      at = putText(page, at, line.correlationId)
      at = putAscii(page, at, ',"traceId":')
      at = putText(page, at, line.traceId)
      at = putAscii(page, at, ',"tenantId":')
      at = putText(page, at, line.tenantId)
      at = putAscii(page, at, ',"sourceSystem":')
      at = putText(page, at, line.sourceSystem)
      at = putAscii(page, at, ',"targetSystem":')
      at = putText(page, at, line.targetSystem)
      at = putAscii(page, at, ',"objectType":')
      at = putText(page, at, line.objectType)
      at = putAscii(page, at, ',"objectId":')
      at = putText(page, at, line.objectId)
      at = putAscii(page, at, ',"eventId":')
      at = putText(page, at, line.eventId)
      at = putAscii(page, at, ',"idempotencyKey":')
      at = putText(page, at, line.idempotencyKey)
      at = putAscii(page, at, ',"attempt":')
      at = putNumber(page, at, line.attempt)
      at = putAscii(page, at, ',"classification":')
      at = putText(page, at, line.classification)
      at = putAscii(page, at, ',"action":')
      at = putText(page, at, line.action)
      at = putAscii(page, at, ',"durationMs":')
      at = putNumber(page, at, line.durationMs)
      at = putAscii(page, at, ',"httpStatus":')
      at = putNumber(page, at, line.httpStatus)
      at = putAscii(page, at, ',"errorCode":')
      at = putText(page, at, line.errorCode)
      at = putAscii(page, at, ',"message":')
      at = putText(
        page,
        at,
        line.message.length > MESSAGE_LENGTH_MAX ? line.message.slice(0, MESSAGE_LENGTH_MAX) : line.message,
      )
      at = putAscii(page, at, ',"payloadHash":')
      at = putText(page, at, line.payloadHash)
      at = putAscii(page, at, line.piiRedacted ? ',"piiRedacted":true' : ',"piiRedacted":false')
      at = putAscii(page, at, ',"configHash":')
      at = putText(page, at, line.configHash ?? configHash)
      at = putAscii(page, at, ',"point":')
      at = putText(page, at, line.point)
      at = putAscii(page, at, ',"stage":')
      at = putText(page, at, stageOf(line.action))
      at = putAscii(page, at, ',"stepName":')
      at = putText(page, at, line.stepName ?? null)
      at = putAscii(page, at, ',"subscriptionName":')
      at = putText(page, at, line.subscriptionName ?? null)
      at = putAscii(page, at, ',"filterHash":')
      at = putText(page, at, line.filterHash ?? null)
      at = putAscii(page, at, ',"externalRef":')
      at = putText(page, at, line.externalRef ?? null)
      return putAscii(page, at, '}\n')
    },
    setConfigHash: (hash) => {
      configHash = hash
    },
  }
}

/** What runbooks call an action, where that is another word. */
const STAGES: Readonly<Record<string, string>> = {
  ACCEPTED: 'INGESTED',
  DONE: 'STEP_COMPLETED',
  DELIVERED: 'STEP_COMPLETED',
}

function stageOf(action: string): string {
  return STAGES[action] ?? action
}

const ZERO = 0x30

function lengthOf(text: string | null): number {
  return text === null ? 0 : text.length
}

function putAscii(page: Buffer, start: number, text: string): number {
  for (let index = 0; index < text.length; index += 1) page[start + index] = text.charCodeAt(index)
  return start + text.length
}

function putText(page: Buffer, start: number, text: string | null): number {
  if (text === null) return putAscii(page, start, 'null')
  let at = start
  page[at++] = QUOTE
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    // Rare: JSON escapes it, or it takes more than one byte.
    if (code < SPACE || code > TILDE || code === QUOTE || code === BACKSLASH)
      return start + page.write(JSON.stringify(text), start)
    page[at++] = code
  }
  page[at++] = QUOTE
  return at
}

function putNumber(page: Buffer, start: number, value: number | null): number {
  return putAscii(page, start, value === null || !Number.isFinite(value) ? 'null' : String(value))
}
