// The handshakes that vendors send before events, and the expected responses. Each request was verified like an event; ingest
// responds and never stores it.

import { createHmac } from 'node:crypto'
import { JsonError, type JsonValue, parseJson, stringifyJson } from '../../../foundation/json/index.ts'
import type { Answer } from '../source-guards.ts'
import type { VerifyInput } from '../verification-scheme.ts'

/** Handshakes are short. A longer body is an event, and is not parsed twice. */
const QUESTION_BYTES_MAX = 8_192
const DEPTH_MAX = 16

type Fields = { readonly [name: string]: JsonValue }

/** Slack: echo the challenge. */
export function answerSlack({ body }: VerifyInput): Answer | null {
  const { type, challenge } = readQuestion(body, 'url_verification')
  return type === 'url_verification' && typeof challenge === 'string' ? json({ challenge }) : null
}

/** Terraform Cloud: any 200. */
export function answerTerraform({ body }: VerifyInput): Answer | null {
  const { notifications } = readQuestion(body, 'verification')
  const first = fieldsOf(Array.isArray(notifications) ? (notifications[0] ?? null) : null)
  return first.trigger === 'verification' ? { status: 200, contentType: 'text/plain', body: '' } : null
}

const PING_OF_INTERACTIONS = 1
const PING_OF_EVENTS = 0

/**
 * Discord: an interactions ping expects its echo, an events ping an empty 204. An event has the same type as the other ping.
 */
export function answerDiscord({ body }: VerifyInput): Answer | null {
  const question = readQuestion(body, '"type"')
  if (question.event !== undefined) return null
  if (question.type === PING_OF_INTERACTIONS) return json({ type: PING_OF_INTERACTIONS })
  return question.type === PING_OF_EVENTS ? { status: 204, contentType: 'text/plain', body: '' } : null
}

/** Zoom: the token, and its HMAC under the secret that signed the request. */
export function answerZoom(input: VerifyInput, isRight: (secret: string) => boolean): Answer | null {
  const { event, payload } = readQuestion(input.body, 'endpoint.url_validation')
  const { plainToken } = fieldsOf(payload ?? null)
  if (event !== 'endpoint.url_validation' || typeof plainToken !== 'string') return null
  const secret = input.secrets.find((one) => one !== '' && isRight(one))
  if (secret === undefined) return null
  const encryptedToken = createHmac('sha256', secret).update(plainToken).digest('hex')
  return json({ plainToken, encryptedToken })
}

/** Empty for everything that does not contain the word: events are not parsed here. */
function readQuestion(body: Uint8Array, word: string): Fields {
  if (body.byteLength > QUESTION_BYTES_MAX) return {}
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  if (!text.includes(word)) return {}
  try {
    return fieldsOf(parseJson(text, { depth: DEPTH_MAX }))
  } catch (error) {
    if (error instanceof JsonError) return {}
    throw error
  }
}

function fieldsOf(value: JsonValue): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

function json(body: JsonValue): Answer {
  return { status: 200, contentType: 'application/json', body: stringifyJson(body) }
}
