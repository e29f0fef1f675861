// One request of a call: through the door of its connection where it has one, or as it is; and what it means.

import type { RenderedRequest } from '../core/action/index.ts'
import type { CallPolicy, CallVerdict } from '../core/failure/index.ts'
import type { Instant } from '../core/time/index.ts'
import type { HttpClient } from '../ports/http-client.ts'
import type { InternalCall, SendOptions, Sent } from './call.ts'
import type { Decisions } from './decisions.ts'
import { factsOf, traced } from './outcome.ts'

export async function sendFor(
  call: Pick<InternalCall, 'item' | 'through'>,
  http: HttpClient,
  request: RenderedRequest,
  options: SendOptions,
): Promise<Sent> {
  const { item, through } = call
  if (through !== undefined) return through.send(request, options)
  return {
    outcome: await http.send({ ...traced({ item, request }), ...options, tenant: item.work.tenant }),
    error: null,
    judge: null,
  }
}

export function verdictOf(
  sent: Sent,
  policy: CallPolicy,
  { decisions, now }: { readonly decisions: Pick<Decisions, 'classifyCall'>; readonly now: Instant },
): CallVerdict {
  return sent.judge === null ? decisions.classifyCall(factsOf(sent.outcome, now), policy) : sent.judge(policy)
}
