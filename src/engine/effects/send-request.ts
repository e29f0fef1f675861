// Sends one request of a call, through its connection if it has one, or directly; and classifies the response.
//
// Invariant: IX3 a request whose secrets are redacted is not sent.

import { isForShow, type RenderedRequest } from '../../core/effects/action/index.ts'
import type { CallPolicy, CallVerdict } from '../../core/failures/failure/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { makeRedact } from '../../core/secrets/index.ts'
import type { HttpClient, HttpOutcome } from '../../ports/http-client.ts'
import type { Decisions } from '../settlement/index.ts'
import type { InternalCall, SendOptions, Sent } from './call.ts'
import { factsOf, traced } from './call-outcome.ts'
import { redactOutcome } from './redacted-exchange.ts'
import { notSentOutcome } from './request-secrets.ts'

export function sendFor(
  call: Pick<InternalCall, 'item' | 'through'>,
  http: HttpClient,
  request: RenderedRequest,
  options: SendOptions,
): Promise<Sent> {
  const { item, through } = call
  if (isForShow(request)) return Promise.resolve(asSent(NOT_OPENED))
  if (through !== undefined) return through.send(request, options)
  const { hidden = [], onChunk, ...rest } = options
  const traces = { ...traced({ item, request }), tenant: item.work.tenant }
  if (hidden.length === 0) return http.send({ ...traces, ...options }).then(asSent)
  const redact = makeRedact(hidden)
  const chunks = onChunk === undefined ? {} : { onChunk: (text: string) => onChunk(redact(text)) }
  return http
    .send({ ...traces, ...rest, ...chunks })
    .then((outcome) => asSent(redactOutcome(outcome, redact)))
}

function asSent(outcome: HttpOutcome): Sent {
  return { outcome, error: null, judge: null }
}

const NOT_OPENED = notSentOutcome('the secrets of the request were not read')

export function verdictOf(
  sent: Sent,
  policy: CallPolicy,
  { decisions, now }: { readonly decisions: Pick<Decisions, 'classifyCall'>; readonly now: Instant },
): CallVerdict {
  return sent.judge === null ? decisions.classifyCall(factsOf(sent.outcome, now), policy) : sent.judge(policy)
}
