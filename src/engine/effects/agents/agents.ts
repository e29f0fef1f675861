// Runs an agent as one call under the ledger: one or more rounds with a model, until its answer is valid, the budget is
// used up or the time is over. A model changes nothing externally, so an unknown outcome is repeated, and costs tokens
// at most.
//
// Invariants: AG1 an answer is used only if it matches the agent's schema. AG2 the tokens of all attempts together stay
// within the budget, except for the answer that exceeds it. AG3 the secret is in the request and nowhere else.

import type { AgentAction, RenderedRequest } from '../../../core/effects/action/index.ts'
import {
  type Answer,
  chatRequest,
  estimateTokens,
  type Message,
  makeAnswerCheck,
  makeStreamReader,
  type Reply,
  readWhole,
} from '../../../core/effects/agent/index.ts'
import type { Scope } from '../../../core/expression/index.ts'
import type { CallVerdict } from '../../../core/failures/failure/index.ts'
import { makeRedact, type Redact } from '../../../core/secrets/index.ts'
import type { HttpOutcome } from '../../../ports/http-client.ts'
import type { EngineBase } from '../../commit/index.ts'
import type { EngineConfig } from '../../config.ts'
import type { Item } from '../../leases/index.ts'
import type { Decisions } from '../../settlement/index.ts'
import type { Call, InternalCall, Performed, Sent } from '../call.ts'
import { leaseGuard } from '../call-outcome.ts'
import { openSecrets } from '../request-secrets.ts'
import { sendFor, verdictOf } from '../send-request.ts'
import { spentEvidence, spentOf } from './agent-spend.ts'

export interface Agents {
  /** Throws ExpressionError if the templates lack a required value. */
  callOf(call: InternalCall, action: AgentAction): Call
}

/** The text of an agent while it answers. */
export interface AgentProgress {
  readonly item: Item
  readonly agent: string
  /** The text so far; only its end if it is long. */
  readonly text: string
  readonly characters: number
}

const POLICY = { idempotent: true, classify: {} }
const PROGRESS_EVERY_MS = 250
const PROGRESS_LENGTH_MAX = 2_000
/** The smallest answer worth requesting within the budget. */
const TOKENS_MIN = 16

export function makeAgents(
  deps: Pick<EngineBase, 'clock' | 'http' | 'log' | 'store' | 'vault' | 'commits'> & {
    readonly decisions: Decisions
    progress(progress: AgentProgress): void
  },
  config: Pick<EngineConfig, 'responseBytesMax'>,
): Agents {
  const { clock, http, log, decisions } = deps
  const checks = new WeakMap<AgentAction, (reply: Reply) => Answer>()

  const checkOf = (action: AgentAction) => {
    const known = checks.get(action)
    if (known !== undefined) return known
    const check = makeAnswerCheck(action.document)
    checks.set(action, check)
    return check
  }

  const spentBefore = async ({ item, key }: Call, { document }: AgentAction): Promise<number> => {
    if (document.budget === null || item.work.attempts === 0) return 0
    const entry = await deps.store.forTenant(item.work.tenant).ledger(key)
    return entry === null ? 0 : spentOf(entry)
  }

  /** Recorded for the next attempt: an invalid answer was paid for as well. */
  const noteSpent = async ({ item, key }: Call, { document }: AgentAction, tokens: number): Promise<void> => {
    if (document.budget === null || tokens === 0) return
    const evidence = spentEvidence(tokens)
    await deps.commits.firmly(item.work.tenant, [leaseGuard(item)], [{ w: 'ledger.observe', key, evidence }])
  }

  const callModel = async (
    call: Call,
    request: Call['request'],
    { timeoutMs, hidden }: { readonly timeoutMs: number; readonly hidden: readonly string[] },
    agent: string,
  ): Promise<{ readonly sent: Sent; readonly reply: Reply | null }> => {
    const { item } = call
    let said = ''
    let isHeard = false
    let reportedAt = Number.NEGATIVE_INFINITY
    // A model may repeat a secret in pieces: look for it in the joined text.
    const redact = makeRedact(hidden)
    const reader = makeStreamReader((text) => {
      said += text
      const now = clock.monotonic()
      if (now - reportedAt < PROGRESS_EVERY_MS) return
      reportedAt = now
      const shown = redact(said).slice(-PROGRESS_LENGTH_MAX)
      deps.progress({ item, agent, text: shown, characters: said.length })
    })
    const sent = await sendFor(call, http, request, {
      timeoutMs,
      maxResponseBytes: config.responseBytesMax,
      hidden,
      onChunk(chunk) {
        isHeard = true
        reader.read(chunk)
      },
    })
    const { outcome } = sent
    if (outcome.kind === 'failed' || outcome.status >= 300) return { sent, reply: null }
    const isStream = (outcome.headers['content-type'] ?? '').startsWith('text/event-stream')
    if (!isStream) return { sent, reply: redacted(readWhole(outcome.body), redact) }
    // A client that does not stream returns the whole text at the end.
    if (!isHeard) reader.read(outcome.body)
    return { sent, reply: redacted(reader.end(), redact) }
  }

  const converse = async (call: Call, action: AgentAction, begun: Begun): Promise<Performed> => {
    const { document } = action
    const { request, hidden } = begun
    const check = checkOf(action)
    const startedAt = clock.monotonic()
    let { messages, spent } = begun
    let problem = ''
    let last: HttpOutcome = NOTHING_SENT
    for (let turns = 0; turns <= document.repairs; turns += 1) {
      const left = document.budget === null ? null : document.budget.tokens - spent
      if (left !== null && left < TOKENS_MIN) {
        const words = `the budget of ${document.budget?.tokens} tokens is used up (${spent} so far)`
        return failed('validation', problem === '' ? words : `${words}; ${problem}`, last)
      }
      const timeoutMs = Math.ceil(action.timeoutMs - (clock.monotonic() - startedAt))
      if (timeoutMs <= 0)
        return failed('transient', `no fitting answer within ${action.timeoutMs} ms; ${problem}`, last)
      const body = chatRequest(document, messages, left)
      const { sent, reply } = await callModel(
        call,
        { ...request, body },
        { timeoutMs, hidden },
        document.name,
      )
      const { outcome, error } = sent
      last = outcome
      const verdict = verdictOf(sent, POLICY, { decisions, now: clock.now() })
      // A permanent failure must not count as an unknown outcome: a model call changes nothing.
      if (verdict.as === 'failed')
        return { outcome, verdict: { ...verdict, effect: 'none' }, ...(error === null ? {} : { error }) }
      if (reply === null) return failed('transient', 'the answer could not be read', outcome)
      spent += reply.tokens ?? estimateTokens(messages, reply.text)
      await noteSpent(call, action, spent)
      if (reply.error !== null) return failed('transient', reply.error, outcome)
      const answer = check(reply)
      log.info('agent.answered', {
        work: call.item.work.id,
        agent: document.name,
        turn: turns + 1,
        tokens: spent,
        fits: answer.ok,
      })
      if (answer.ok) return { outcome, verdict: { as: 'done' }, value: answer.value, effectRef: null }
      problem = answer.problem
      messages = [
        ...messages,
        { role: 'assistant', content: reply.text },
        {
          role: 'user',
          content: `${problem}. Answer again, with JSON that fits the schema and nothing else.`,
        },
      ]
    }
    return failed('transient', `the answer does not fit: ${problem}`, last)
  }

  /** Reads everything asynchronous before the last check of the lease. */
  const prepare = async (
    call: Call,
    action: AgentAction,
    { scope, messages }: { readonly scope: Scope; readonly messages: readonly Message[] },
  ): Promise<() => Promise<Performed>> => {
    const { document } = action
    const opened = await openSecrets(deps.vault, call.item.work.tenant, action.secrets)
    if (!opened.ok) return async () => failed(opened.class, `agent ${document.name}: ${opened.error}`)
    const spent = await spentBefore(call, action)
    const request =
      opened.hidden.length === 0 ? call.request : requestOf(call, action.render(opened.open(scope)).request)
    return () => converse(call, action, { request, hidden: opened.hidden, spent, messages })
  }

  return {
    callOf(internal, action) {
      const { request, system, user } = action.render(internal.scope)
      const messages: readonly Message[] = [
        ...(system === null ? [] : [{ role: 'system' as const, content: system }]),
        { role: 'user', content: user },
      ]
      const call: Call = {
        ...internal,
        action: {
          policy: POLICY,
          abilities: { idempotent: true, keyTtlMs: null, probeAfterMs: null, timeoutMs: action.timeoutMs },
          probe: null,
        },
        request: requestOf(internal, request),
      }
      return { ...call, prepare: () => prepare(call, action, { scope: internal.scope, messages }) }
    },
  }
}

/** The state that an attempt starts with. */
interface Begun {
  readonly request: RenderedRequest
  readonly hidden: readonly string[]
  readonly spent: number
  readonly messages: readonly Message[]
}

/** `base`: the request that the agent renders. */
function requestOf({ through }: Pick<Call, 'through'>, base: RenderedRequest): RenderedRequest {
  const request = {
    ...base,
    url: `${base.url}/chat/completions`,
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...base.headers },
  }
  return through?.locate(request) ?? request
}

function redacted<Said extends Reply | null>(reply: Said, redact: Redact): Said {
  if (reply === null) return reply
  const error = reply.error === null ? null : redact(reply.error)
  return { ...reply, text: redact(reply.text), error }
}

const NOTHING_SENT: HttpOutcome = {
  kind: 'failed',
  sent: 'no',
  code: 'bad_url',
  message: 'nothing was asked',
  durationMs: 0,
}

function failed(
  failureClass: Extract<CallVerdict, { as: 'failed' }>['class'],
  error: string,
  outcome: HttpOutcome = NOTHING_SENT,
): Performed {
  return {
    outcome,
    verdict: { as: 'failed', class: failureClass, effect: 'none', retryAfterMs: null },
    error,
  }
}
