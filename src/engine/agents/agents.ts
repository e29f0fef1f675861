// Asking an agent, as one call under the ledger: one or more turns with a model, until its answer fits, the budget is used up or
// the time is over. A model changes nothing at the other side, so a doubt is repeated, and costs tokens at most.
//
// Invariants: AG1 an answer is used only if it fits the agent's schema. AG2 the tokens of all attempts together stay within the
// budget, but for the answer that goes past it. AG3 the secret is in the request and nowhere else.

import type { AgentAction } from '../../core/action/index.ts'
import {
  type Answer,
  chatRequest,
  estimateTokens,
  type Message,
  makeAnswerCheck,
  makeStreamReader,
  type Reply,
  readWhole,
} from '../../core/agent/index.ts'
import type { CallVerdict } from '../../core/failure/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import type { Store } from '../../ports/store.ts'
import type { Vault } from '../../ports/vault.ts'
import type { Performed, Sent } from '../call.ts'
import type { Commits } from '../commits.ts'
import type { Decisions } from '../decisions.ts'
import type { EngineConfig, EngineDeps } from '../deps.ts'
import type { Item } from '../item.ts'
import { type Call, type InternalCall, leaseGuard } from '../outcome.ts'
import { sendFor, verdictOf } from '../sending.ts'
import { spentEvidence, spentOf } from './spent.ts'

export interface Agents {
  /** Throws ExpressionError where the templates lack what they cannot do without. */
  callOf(call: InternalCall, action: AgentAction): Call
}

/** What an agent says while it is at it. */
export interface AgentProgress {
  readonly item: Item
  readonly agent: string
  /** So far, its end alone where it is long. */
  readonly text: string
  readonly characters: number
}

const POLICY = { idempotent: true, classify: {} }
const PROGRESS_EVERY_MS = 250
const PROGRESS_LENGTH_MAX = 2_000
/** Of what the answer may cost, where the budget bounds it. */
const TOKENS_MIN = 16

export function makeAgents(
  deps: Pick<EngineDeps, 'clock' | 'http' | 'log'> & {
    readonly store: Store
    readonly vault: Vault
    readonly commits: Commits
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

  const bearerOf = async (call: Call, { document }: AgentAction): Promise<string | null | undefined> => {
    // On a connection its own credential lets one in.
    if (document.secret === null || call.through !== undefined) return null
    const [value] = await deps.vault.resolve(call.item.work.tenant, [document.secret])
    return value
  }

  const spentBefore = async ({ item, key }: Call, { document }: AgentAction): Promise<number> => {
    if (document.budget === null || item.work.attempts === 0) return 0
    const entry = await deps.store.forTenant(item.work.tenant).ledger(key)
    return entry === null ? 0 : spentOf(entry)
  }

  /** Written down, so that the next attempt knows: an answer that was refused was paid for as well. */
  const noteSpent = async ({ item, key }: Call, { document }: AgentAction, tokens: number): Promise<void> => {
    if (document.budget === null || tokens === 0) return
    const evidence = spentEvidence(tokens)
    await deps.commits.firmly(item.work.tenant, [leaseGuard(item)], [{ w: 'ledger.observe', key, evidence }])
  }

  const turn = async (
    call: Call,
    body: string,
    bearer: string | null,
    timeoutMs: number,
    agent: string,
  ): Promise<{ readonly sent: Sent; readonly reply: Reply | null }> => {
    const { item } = call
    let said = ''
    let isHeard = false
    let toldAt = Number.NEGATIVE_INFINITY
    const reader = makeStreamReader((text) => {
      said += text
      const now = clock.monotonic()
      if (now - toldAt < PROGRESS_EVERY_MS) return
      toldAt = now
      deps.progress({ item, agent, text: said.slice(-PROGRESS_LENGTH_MAX), characters: said.length })
    })
    const { headers } = call.request
    const request = {
      ...call.request,
      body,
      headers: bearer === null ? headers : { ...headers, authorization: `Bearer ${bearer}` },
    }
    const sent = await sendFor(call, http, request, {
      timeoutMs,
      maxResponseBytes: config.responseBytesMax,
      onChunk(chunk) {
        isHeard = true
        reader.read(chunk)
      },
    })
    const { outcome } = sent
    if (outcome.kind === 'failed' || outcome.status >= 300) return { sent, reply: null }
    const isStream = (outcome.headers['content-type'] ?? '').startsWith('text/event-stream')
    if (!isStream) return { sent, reply: readWhole(outcome.body) }
    // A client that tells nothing on the way has it all in the end.
    if (!isHeard) reader.read(outcome.body)
    return { sent, reply: reader.end() }
  }

  const converse = async (
    call: Call,
    action: AgentAction,
    first: readonly Message[],
    sendBy: number,
  ): Promise<Performed> => {
    const { document } = action
    const check = checkOf(action)
    const bearer = await bearerOf(call, action)
    if (bearer === undefined) return failed('config', `the secret of the agent ${document.name} is not set`)
    let messages = first
    let spent = await spentBefore(call, action)
    // The vault and the ledger took their time: whoever takes the job over reckons with a call that began in time.
    const startedAt = clock.monotonic()
    if (startedAt > sendBy) return failed('transient', 'the secret took too long; nothing was sent')
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
      const { sent, reply } = await turn(call, body, bearer, timeoutMs, document.name)
      const { outcome, error } = sent
      last = outcome
      const verdict = verdictOf(sent, POLICY, { decisions, now: clock.now() })
      // What failed for good must not be taken for a doubt: nothing is changed by asking.
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

  return {
    callOf(internal, action) {
      const { baseUrl, headers, system, user } = action.render(internal.scope)
      const messages: readonly Message[] = [
        ...(system === null ? [] : [{ role: 'system' as const, content: system }]),
        { role: 'user', content: user },
      ]
      const request = {
        method: 'POST',
        url: `${baseUrl}/chat/completions`,
        headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
        body: null,
      }
      const call: Call = {
        ...internal,
        action: {
          policy: POLICY,
          abilities: { idempotent: true, keyTtlMs: null, probeAfterMs: null, timeoutMs: action.timeoutMs },
          probe: null,
        },
        request: internal.through?.locate(request) ?? request,
      }
      return { ...call, perform: (sendBy) => converse(call, action, messages, sendBy) }
    },
  }
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
