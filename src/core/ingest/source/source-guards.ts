// The checks before and after a source's events, compiled once: who may send, how often, and the responses to a handshake and
// to an event. Not its job: verification, and the body.

import { type BucketPolicy, compileAllowlist, type Networks } from '../../access/network/index.ts'
import type { AnswerDocument, HandshakeDocument, SourceDocument } from '../../definitions/documents/index.ts'
import { must } from '../../effects/action/index.ts'
import { compileCondition, compileShape, type Keyed, type Scope } from '../../expression/index.ts'
import { stringifyJson } from '../../foundation/json/index.ts'
import { MINUTE } from '../../foundation/time/index.ts'

/** Sent instead of the usual acknowledgement. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

export interface Handshake {
  readonly method: 'GET' | 'POST'
  /** null: not a handshake. Throws ExpressionError. */
  answer(scope: Scope): Answer | null
}

export interface Guards {
  /** null: every address may send. */
  readonly allows: Networks | null
  /** null: no rate limit. */
  readonly rate: BucketPolicy | null
  readonly handshake: Handshake | null
  /** The response to an event; null: its id. Throws ExpressionError. */
  readonly respond: ((scope: Scope) => Answer) | null
}

export function compileGuards(document: SourceDocument, keyed: Keyed): Guards {
  const { allow, rateLimit, handshake, respond } = document
  return {
    allows: allow === undefined ? null : compileAllowlist(allow),
    rate:
      rateLimit === undefined ? null : { capacity: rateLimit.burst, refillMs: MINUTE / rateLimit.perMinute },
    handshake: handshake === undefined ? null : compileHandshake(handshake, keyed),
    respond: respond === undefined ? null : compileAnswer(respond, keyed),
  }
}

function compileHandshake(document: HandshakeDocument, keyed: Keyed): Handshake {
  const when = must(compileCondition(document.when, keyed)).condition
  const answer = compileAnswer(document, keyed)
  return { method: document.method, answer: (scope) => (when.test(scope) ? answer(scope) : null) }
}

function compileAnswer(
  { status, contentType, body }: AnswerDocument,
  keyed: Keyed,
): (scope: Scope) => Answer {
  const shape = must(compileShape(body, keyed)).shape
  return (scope) => {
    const value = shape.render(scope)
    const text = value === undefined ? '' : typeof value === 'string' ? value : stringifyJson(value)
    return { status, contentType, body: text }
  }
}
