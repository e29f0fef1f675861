// The other systems of a flow test: they answer as the test says, note each call, and do nothing else. A call without an answer never
// ends; the run stops there.

import { isNumber, type JsonValue, parseJson } from '../../core/foundation/json/index.ts'
import {
  type CallAddress,
  isCallTo,
  type LostCall,
  type ObservedCall,
  type ScriptedAnswer,
} from '../../core/testing/flow-test/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { HttpClient, HttpOutcome } from '../../ports/http-client.ts'

interface Call {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** As the `fetch` of Node. */
export type FetchLike = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

export interface ScriptedVendors {
  /** For the engine. */
  readonly http: HttpClient
  /** For the `fetch` of functions. */
  readonly fetch: FetchLike
  calls(): readonly ObservedCall[]
  unanswered(): readonly ObservedCall[]
  /** How often each answer was given. */
  answered(): readonly number[]
  /** Calls of functions whose answer takes time. */
  slowFetches(): number
}

const FINE: Pick<ScriptedAnswer, 'answer' | 'afterMs'> = {
  answer: { kind: 'response', status: 200, headers: { 'content-type': 'application/json' }, body: '{}' },
  afterMs: 0,
}

const FAILURES: Readonly<Record<LostCall, { readonly sent: 'no' | 'maybe'; readonly message: string }>> = {
  timeout: { sent: 'maybe', message: 'no answer in time' },
  reset: { sent: 'maybe', message: 'the connection was closed before an answer came' },
  refused: { sent: 'no', message: 'the connection was refused' },
}

/** `background`: calls that need no answer of the test, and that are not noted. */
export function makeScriptedVendors(
  answers: readonly ScriptedAnswer[],
  background: readonly CallAddress[],
  clock: Clock,
): ScriptedVendors {
  const calls: ObservedCall[] = []
  const unanswered: ObservedCall[] = []
  const answered = answers.map(() => 0)
  let slow = 0

  const after = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))

  /** null: none is left. */
  const answerTo = ({
    method,
    url,
    headers,
    body,
  }: Call): Pick<ScriptedAnswer, 'answer' | 'afterMs'> | null => {
    const call = { method, url, fields: { headers, body: readBody(body, headers['content-type'] ?? '') } }
    const index = answers.findIndex(
      ({ to, times }, at) => isCallTo(to, call) && (times === null || (answered[at] as number) < times),
    )
    const answer = answers[index]
    if (answer === undefined && background.some((to) => isCallTo(to, call))) return FINE
    calls.push(call)
    if (answer === undefined) {
      unanswered.push(call)
      return null
    }
    answered[index] = (answered[index] as number) + 1
    return answer
  }

  return {
    calls: () => calls,
    unanswered: () => unanswered,
    answered: () => answered,
    slowFetches: () => slow,
    http: {
      vet: async () => ({ ok: true }),
      async send({ method, url, headers, body, timeoutMs, onChunk }) {
        const startedAt = clock.now()
        const scripted = answerTo({ method, url, headers, body })
        if (scripted === null) return new Promise(() => {})
        const { answer, afterMs } = scripted
        const isLate = afterMs >= timeoutMs || (answer.kind === 'lost' && answer.how === 'timeout')
        if (isLate || afterMs > 0) await after(isLate ? timeoutMs : afterMs)
        const durationMs = clock.now() - startedAt
        if (isLate) return lost('timeout', durationMs)
        if (answer.kind === 'lost') return lost(answer.how, durationMs)
        if (answer.status < 300) onChunk?.(answer.body)
        return { ...answer, kind: 'response', durationMs }
      },
    },
    async fetch(input, init) {
      const request = new Request(input, init)
      const headers = Object.fromEntries(request.headers)
      const body = request.body === null ? null : await request.text()
      const scripted = answerTo({
        method: request.method,
        url: withoutRootSlash(input, request),
        headers,
        body,
      })
      if (scripted === null) return new Promise(() => {})
      const { answer, afterMs } = scripted
      slow += 1
      try {
        if (answer.kind === 'lost' && answer.how === 'timeout') await aborted(request.signal)
        else if (afterMs > 0) await Promise.race([after(afterMs), aborted(request.signal)])
      } finally {
        slow -= 1
      }
      if (answer.kind === 'lost')
        throw new TypeError('fetch failed', { cause: new Error(FAILURES[answer.how].message) })
      const hasNone = answer.status === 204 || answer.status === 205 || answer.status === 304
      return new Response(hasNone ? null : answer.body, { status: answer.status, headers: answer.headers })
    },
  }
}

function lost(how: LostCall, durationMs: number): HttpOutcome {
  return { kind: 'failed', code: how, ...FAILURES[how], durationMs }
}

/** Rejects when the signal is aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** A `Request` writes `https://host` as `https://host/`; the test is written as the function is. */
function withoutRootSlash(input: string | URL | Request, { url }: Request): string {
  return typeof input === 'string' && `${input}/` === url ? input : url
}

/** JSON and forms as values, so that their fields can be compared. */
function readBody(body: string | null, type: string): JsonValue {
  if (body === null || body === '') return null
  if (type.includes('application/x-www-form-urlencoded')) return Object.fromEntries(new URLSearchParams(body))
  try {
    const value = parseJson(body)
    return isNumber(value) && !type.includes('json') ? body : value
  } catch {
    return body
  }
}
