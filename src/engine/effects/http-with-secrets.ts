// Sends an HTTP action whose request carries secrets: they are read for each attempt, and rendered into the request
// that is sent. The request that is logged, stored and shown has none of them.
//
// Invariants: IX4, IX5.

import type { HttpAction, RenderedRequest } from '../../core/effects/action/index.ts'
import { describeError as describe, ExpressionError } from '../../core/expression/index.ts'
import type { EngineConfig, EngineDeps } from '../config.ts'
import type { Decisions } from '../settlement/index.ts'
import type { Call } from './call.ts'
import { notPerformed, openSecrets } from './request-secrets.ts'
import { sendFor, verdictOf } from './send-request.ts'

/** `key`: as sent. */
export type OpenHttp = (call: Call, action: HttpAction, key: string) => Call

export function makeOpenHttp(
  deps: Pick<EngineDeps, 'clock' | 'http' | 'vault'> & { readonly decisions: Decisions },
  config: Pick<EngineConfig, 'responseBytesMax'>,
): OpenHttp {
  const { clock, http, vault, decisions } = deps
  return (call, action, key) => {
    if (action.secrets.length === 0) return call
    const { item, scope, through } = call
    return {
      ...call,
      async prepare() {
        const opened = await openSecrets(vault, item.work.tenant, action.secrets)
        if (!opened.ok) return async () => notPerformed(opened.class, opened.error)
        let request: RenderedRequest
        try {
          const rendered = action.render(opened.open(scope), key)
          request = through?.locate(rendered) ?? rendered
        } catch (error) {
          if (!(error instanceof ExpressionError)) throw error
          const why = describe(error)
          return async () => notPerformed('validation', why)
        }
        const { timeoutMs } = action.abilities
        const options = { timeoutMs, maxResponseBytes: config.responseBytesMax, hidden: opened.hidden }
        return async () => {
          const sent = await sendFor(call, http, request, options)
          const verdict = verdictOf(sent, action.policy, { decisions, now: clock.now() })
          return { outcome: sent.outcome, verdict, ...(sent.error === null ? {} : { error: sent.error }) }
        }
      },
    }
  }
}
