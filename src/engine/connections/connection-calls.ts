// Calls of routes and steps on a connection: their requests go through the outbound client, their responses are judged by the
// rules of the provider, a refused credential starts a rotation, and the whole is a run.
//
// Invariants: DR6 a call that is refused for its credential had no effect; it waits for the credential's rotation without using
// an attempt, or is dead. CX2 a call that a connection refuses is not sent, and is no run.

import { locate } from '../../core/connections/connection/index.ts'
import type { ConnectionUse, ProviderDocument } from '../../core/definitions/documents/index.ts'
import { compileRefine, parseResponse } from '../../core/effects/action/index.ts'
import type { CallPolicy, CallVerdict } from '../../core/failures/failure/index.ts'
import type { StoreTime } from '../commit/index.ts'
import type { EngineConfig, EngineDeps } from '../config.ts'
import { connectionOf, type Lookups } from '../definitions/index.ts'
import {
  type Beside,
  type Call,
  errorTextInFull,
  factsOf,
  type InternalCall,
  type Performed,
  type Sent,
  type Through,
  traceparentOf,
} from '../effects/index.ts'
import type { CallAdmission } from '../flow-control/index.ts'
import { type Decisions, SHORT_WAIT_MS } from '../settlement/index.ts'
import type { ConnectionStateCache } from './connection-state-cache.ts'
import type { Credentials, OutboundClient, OutboundRequest, OutboundResponse } from './connection-types.ts'
import type { Runs } from './integration-runs.ts'
import { notSent } from './request-sender.ts'

export interface ConnectionCalls {
  /** Gives a call of a route the client of the connection that its action names, if it names one. */
  through(call: InternalCall): InternalCall
  /** The run around a call that has one. */
  around(call: Call): Call
}

/** What a response means by its status. Its body is read by the caller, who knows what was called. */
export type Judge = (
  answer: OutboundResponse,
  provider: ProviderDocument | null,
  policy: CallPolicy,
) => CallVerdict

export function makeJudge(deps: Pick<EngineDeps, 'clock'> & { readonly decisions: Decisions }): Judge {
  const { clock, decisions } = deps
  return ({ outcome, problem, isLimited, retryAfterMs }, provider, policy) => {
    if (problem !== null) return { as: 'failed', class: problem.class, effect: 'none', retryAfterMs: null }
    const classify = provider === null ? policy.classify : { ...provider.classify, ...policy.classify }
    const verdict = decisions.classifyCall(factsOf(outcome, clock.now()), { ...policy, classify })
    if (isLimited && verdict.as === 'failed')
      return { as: 'failed', class: 'rate_limited', effect: 'none', retryAfterMs }
    return verdict
  }
}

interface State {
  answer: OutboundResponse | null
  /**
   * For the first exchange of a call: its permits were taken at admission, and a node that takes the job over assumes that the
   * call began in time. Later exchanges, such as the update after an upsert's look-up, have the time of the call.
   */
  first: { readonly isCounted: true; readonly sendBy: number } | null
  /** Why nothing was to be sent when the key was reserved: then there is no run, and no call follows whatever has changed since. */
  refusal: string | null
}

export function makeConnectionCalls(
  deps: {
    readonly time: StoreTime
    readonly lookups: Lookups
    readonly stateCache: Pick<ConnectionStateCache, 'gate' | 'isTry'>
    readonly outboundClient: Pick<OutboundClient, 'send'>
    readonly callAdmission: Pick<CallAdmission, 'leave'>
    readonly credentials: Pick<Credentials, 'refused'>
    readonly runs: Runs
    readonly judge: Judge
  },
  config: Pick<EngineConfig, 'responseBytesMax'>,
): ConnectionCalls {
  const { time, lookups, stateCache, outboundClient, credentials, runs, judge } = deps
  /** The result of the last exchange of a call, for what comes after it. */
  const answers = new WeakMap<Through, State>()

  const refinements = new WeakMap<ProviderDocument, ReturnType<typeof compileRefine>>()

  /** The provider's rules for responses to requests that are none of its operations. */
  const refined = (
    provider: ProviderDocument,
    answer: OutboundResponse,
    verdict: CallVerdict,
  ): CallVerdict => {
    const { outcome, isLimited } = answer
    if (outcome.kind === 'failed' || provider.refine.length === 0) return verdict
    if (isLimited && verdict.as === 'failed') return verdict
    const known = refinements.get(provider) ?? compileRefine(provider.refine)
    refinements.set(provider, known)
    return known(parseResponse(outcome), verdict)
  }

  const providerOf = (call: InternalCall, connection: string): ProviderDocument | null => {
    const found = lookups.find(call.item.work.tenant, connection)
    return found.ok ? found.account.provider : null
  }

  /** Why nothing is sent; null: it may be. */
  const refusalOf = (call: InternalCall, { connection, provider }: ConnectionUse): string | null => {
    const { tenant } = call.item.work
    const gate = stateCache.gate(tenant, connection)
    if (gate.is === 'refused') return `${gate.code}: ${gate.why}`
    const found = lookups.find(tenant, connection)
    if (!found.ok) return `${found.code}: ${found.why}`
    const isOther = provider !== null && provider !== found.account.provider.name
    if (!isOther) return null
    return `connection_provider: the connection ${connection} is to ${found.account.provider.name}, and the operation is of ${provider}; name another connection`
  }

  /**
   * Why the call waits; null: it may be made. Admission lets in refused calls, and by now another document may be deployed that
   * waits for its first test.
   */
  const closedFor = ({ item: { work } }: InternalCall, { connection }: ConnectionUse): string | null => {
    const gate = stateCache.gate(work.tenant, connection)
    const isClosed =
      gate.is === 'closed' && !stateCache.isTry(work.tenant, connection, `${work.id} ${work.epoch}`)
    return isClosed ? gate.why : null
  }

  const makeThrough = (call: InternalCall, named: ConnectionUse): Through => {
    const { item } = call
    const { tenant } = item.work
    const { connection, endpoint, buckets } = named
    const state: State = { answer: null, first: null, refusal: null }
    const through: Through = {
      connection,
      locate(request) {
        const found = lookups.find(tenant, connection)
        const place = found.ok ? locate(found.account.addresses, endpoint, request.url) : null
        return place?.ok === true ? { ...request, url: place.url } : request
      },
      async send(request, options): Promise<Sent> {
        const refusal = state.refusal ?? refusalOf(call, named)
        const startedAt = time.now()
        const first = state.first ?? {}
        const asked: OutboundRequest = {
          tenant,
          connection,
          endpoint,
          method: request.method,
          target: request.url,
          headers: request.headers,
          body: request.body,
          buckets,
          traceparent: traceparentOf(item),
          by: `${item.work.id} ${item.work.epoch}`,
          ...options,
          ...first,
        }
        state.first = null
        const answer =
          refusal === null ? await outboundClient.send(asked) : notSent('config', refusal, request.method)
        // Its permits are free for others; and if it was the trial of a bucket, another job may be.
        if (answer.problem !== null) deps.callAdmission.leave(`${item.work.id} ${item.work.epoch}`)
        state.answer = answer
        runs.exchanged(item, { startedAt, answer })
        const provider = providerOf(call, connection)
        return {
          outcome: answer.outcome,
          error: answer.problem?.error ?? null,
          judge: (policy) =>
            // An operation carries the provider's rules for responses from when it was pinned, and its own rules come first.
            named.provider !== null || provider === null
              ? judge(answer, null, policy)
              : refined(provider, answer, judge(answer, provider, policy)),
        }
      },
    }
    answers.set(through, state)
    return through
  }

  const afterRefusal = async (
    call: Call,
    performed: Performed,
    answer: OutboundResponse,
    connection: string,
  ): Promise<Performed> => {
    const { item } = call
    const found = lookups.find(item.work.tenant, connection)
    const credential = found.ok ? found.account.credential : null
    if (credential === null) return performed
    const error = performed.error ?? errorTextInFull(performed.outcome)
    const next = await credentials.refused(item.work.tenant, credential.name, {
      version: answer.credentialVersion,
      correlationId: item.event.correlationId,
      error,
    })
    switch (next.is) {
      case 'again':
        return {
          ...performed,
          wait: { delayMs: againMs(item.work.waits), why: `${error}; another credential is in use by now` },
        }
      case 'wait':
        return { ...performed, wait: { delayMs: Math.max(SHORT_WAIT_MS, next.delayMs), why: next.why } }
      case 'dead':
        return { ...performed, error: `${error}; ${next.why}` }
    }
  }

  const sendOne = async ({ request, action }: Call, through: Through): Promise<Performed> => {
    const { timeoutMs } = action.abilities
    const sent = await through.send(request, { timeoutMs, maxResponseBytes: config.responseBytesMax })
    const { outcome, error } = sent
    const verdict = sent.judge?.(action.policy) ?? NOT_JUDGED
    return { outcome, verdict, ...(error === null ? {} : { error }) }
  }

  return {
    through(call) {
      const named = connectionOf(call.route.document.do)
      return named === null ? call : { ...call, through: makeThrough(call, named) }
    },
    around(call) {
      const { through, beside, item, key } = call
      const named = connectionOf(call.route.document.do)
      if (through === undefined || named === null) return call
      const performing = async (perform: Perform, sendBy: number): Promise<Performed> => {
        const state = answers.get(through)
        if (state !== undefined) state.first = { isCounted: true, sendBy }
        runs.begun(item)
        const performed = await perform(sendBy)
        const { verdict } = performed
        const answer = state?.answer ?? null
        // Nothing was sent: its permits are free for others.
        if (answer === null) deps.callAdmission.leave(`${item.work.id} ${item.work.epoch}`)
        if (answer?.wait !== undefined && verdict.as === 'failed')
          return {
            ...performed,
            wait: { ...answer.wait, delayMs: Math.max(SHORT_WAIT_MS, answer.wait.delayMs) },
          }
        const isRefused =
          verdict.as === 'failed' &&
          verdict.class === 'auth' &&
          verdict.effect === 'none' &&
          answer?.outcome.kind === 'response'
        if (!isRefused || answer === null) return performed
        return afterRefusal(call, performed, answer, named.connection)
      }
      const { prepare } = call
      const perform = call.perform ?? (() => sendOne(call, through))
      return {
        ...call,
        ...(prepare === undefined
          ? {}
          : {
              prepare: async () => {
                const prepared = await prepare()
                return (sendBy: number) => performing(prepared, sendBy)
              },
            }),
        async beside(): Promise<Beside> {
          const taken = beside === undefined ? NOTHING_BESIDE : await beside()
          const state = answers.get(through)
          const refusal = refusalOf(call, named)
          if (state !== undefined) state.refusal = refusal
          if (!taken.ok || refusal !== null) return taken
          const closed = closedFor(call, named)
          if (closed !== null) return { ok: false, delayMs: SHORT_WAIT_MS, why: closed }
          const provider = providerOf(call, named.connection)?.name ?? ''
          const { connection, operation } = named
          const write = await runs.begin(item, key, { connection, provider, operation })
          return { ...taken, writes: [...taken.writes, write] }
        },
        perform: (sendBy) => performing(perform, sendBy),
      }
    },
  }
}

type Perform = NonNullable<Call['perform']>

/** At once, the first time: a vendor that keeps refusing must not be called without end. */
function againMs(waits: number): number {
  return waits === 0 ? 0 : Math.min(AGAIN_MS_MAX, 100 * 2 ** Math.min(waits, 20))
}

const AGAIN_MS_MAX = 60_000
/** Calls through the outbound client are judged there. */
const NOT_JUDGED = { as: 'failed', class: 'config', effect: 'none', retryAfterMs: null } as const
const NOTHING_BESIDE: Beside = { ok: true, guards: [], writes: [] }
