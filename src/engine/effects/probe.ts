// Probes a vendor: one request that asks whether an effect exists, and what its response means.

import {
  effectRefOf,
  type HttpAction,
  parseResponse,
  type RenderedRequest,
} from '../../core/effects/action/index.ts'
import { describeError as describe, ExpressionError, type Scope } from '../../core/expression/index.ts'
import type { ProbeAnswer, Sent } from './call.ts'
import { errorText } from './call-outcome.ts'

export async function askProbe(
  prober: NonNullable<HttpAction['probe']>,
  scope: Scope,
  send: (request: RenderedRequest) => Promise<Pick<Sent, 'outcome'>>,
): Promise<ProbeAnswer> {
  try {
    const { outcome } = await send(prober.render(scope))
    const isAnswer = outcome.kind === 'response' && (outcome.status < 300 || outcome.status === 404)
    if (!isAnswer) return { effect: null, error: `probe: ${errorText(outcome)}` }
    const response = parseResponse(outcome)
    if (!prober.found(scope, response)) return { effect: 'absent' }
    return { effect: 'found', effectRef: effectRefOf(response), said: response }
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    return { effect: null, error: `probe: ${describe(error)}` }
  }
}
