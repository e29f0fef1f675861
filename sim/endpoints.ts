// The endpoints of subscriptions, each with its own moods and its own log, which is the oracle: what arrived, under which id, signed by
// what, and what was answered.
//
// Moods come and go: an endpoint is well, slow, hangs, refuses, breaks, is limited, lies (it takes what it gets and says that it did not),
// cuts its answers, redirects, is gone for a while or for good. When the world heals all are well but those that are gone for good.

import type { TenantId } from '../src/core/foundation/ids/index.ts'
import type { HttpClient, HttpOutcome, HttpRequest } from '../src/ports/http-client.ts'
import type { VirtualTime } from './clock.ts'
import type { Faults } from './faults.ts'
import type { Life } from './node.ts'
import type { Rng } from './random.ts'

const MOODS = {
  well: 50,
  slow: 8,
  hang: 8,
  refuse: 8,
  broken: 10,
  limited: 7,
  lie: 10,
  cut: 3,
  redirect: 3,
  garbled: 3,
  gone: 3,
} as const
type Mood = keyof typeof MOODS

/** One call to an endpoint. */
export interface HookCall {
  readonly number: number
  readonly at: number
  readonly life: Life
  readonly url: string
  readonly tenant: TenantId
  /** The subscription's name, as the address says. */
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  readonly id: string
  readonly body: string
  readonly timeoutMs: number
  /** The end of the id of its work item, as the trace says. */
  readonly span: string
  /** What the endpoint answered; null: nothing, or not yet. */
  answered: number | null
  /** The response that the engine received, if it lived long enough. */
  outcome: HttpOutcome | null
  outcomeAt: number | null
}

export interface Endpoints {
  client(life: Life, others: HttpClient): HttpClient
  readonly calls: readonly HookCall[]
  /** Answers 410 from now on, whatever happens. */
  goForGood(tenant: TenantId, name: string): void
  isGoneForGood(tenant: TenantId, name: string): boolean
  heal(): void
}

const ADDRESS = /^https:\/\/(hooks|blocked)\.test\/([a-z]+)\/([a-z0-9-]+)\/[a-z]+$/
const BROKEN: readonly number[] = [404, 500, 502, 503, 504]

export function makeEndpoints(deps: {
  readonly time: VirtualTime
  readonly rng: Rng
  readonly faults: Faults
  /** Before anything leaves. */
  sent(call: HookCall): void
  trace(who: string, what: () => string): void
}): Endpoints {
  const { time, rng, faults, trace } = deps
  const calls: HookCall[] = []
  const phases = new Map<string, { readonly mood: Mood; readonly until: number }>()
  const gone = new Set<string>()
  let isHealed = false

  const moodOf = (url: string, place: string): Mood => {
    if (gone.has(place)) return 'gone'
    if (isHealed) return 'well'
    const known = phases.get(url)
    if (known !== undefined && time.now() < known.until) return known.mood
    const mood = rng.weighted(MOODS)
    const lastsMs = mood === 'gone' ? rng.between(1, 6) * 1_000 : rng.between(2, 20) * 1_000
    phases.set(url, { mood, until: time.now() + lastsMs })
    trace('hooks', () => `${url} is ${mood}`)
    return mood
  }

  const exchange = (life: Life, request: HttpRequest): Promise<HttpOutcome> =>
    new Promise((resolve) => {
      const match = ADDRESS.exec(request.url)
      if (match === null) throw new Error(`assertion failed: there is no endpoint ${request.url}`)
      const [, host, tenant, name] = match as unknown as [string, string, TenantId, string]
      const call: HookCall = {
        number: calls.length + 1,
        at: time.now(),
        life,
        url: request.url,
        tenant,
        name,
        headers: request.headers,
        id: request.headers['webhook-id'] ?? '',
        body: request.body ?? '',
        timeoutMs: request.timeoutMs,
        span: (request.headers.traceparent ?? '').split('-')[2] ?? '',
        answered: null,
        outcome: null,
        outcomeAt: null,
      }
      const there = rng.between(1, 60)
      let isOver = false
      const give = (outcome: HttpOutcome) => {
        if (isOver) return
        isOver = true
        cancel()
        trace(life.name, () => `hears of hook ${call.number} ${describe(outcome)}`)
        call.outcome = outcome
        call.outcomeAt = time.now()
        resolve(outcome)
      }
      const later = (delayMs: number, outcome: HttpOutcome) => {
        time.after(delayMs, () => life.pass(() => give(outcome)))
      }
      const cancel = time.after(request.timeoutMs, () =>
        life.pass(() => give(failed('maybe', 'timeout', request.timeoutMs))),
      )
      const crash = host === 'blocked' ? null : faults.send()
      if (crash === 'before') return life.crash('before a delivery leaves')
      calls.push(call)
      // The guard looks before anything leaves.
      if (host === 'blocked') return later(1, failed('no', 'blocked', 1))
      trace(life.name, () => `hook ${call.number} ${tenant}/${name} ${call.id.slice(-6)}`)
      deps.sent(call)
      time.after(there, () => {
        if (crash === 'after') life.crash('between a delivery and its answer')
        answer(call, moodOf(call.url, `${tenant}/${name}`), there, later)
      })
    })

  const answer = (
    call: HookCall,
    mood: Mood,
    there: number,
    later: (delayMs: number, outcome: HttpOutcome) => void,
  ) => {
    const back = rng.between(1, 60)
    const took = there + back
    const say = (status: number, more: Partial<Extract<HttpOutcome, { kind: 'response' }>> = {}) => {
      call.answered = status
      later(back, { kind: 'response', status, headers: {}, body: '', durationMs: took, ...more })
    }
    switch (mood) {
      case 'well':
        return say(rng.pick([200, 202, 204]))
      case 'slow': {
        const slowMs = rng.between(500, call.timeoutMs - 200)
        time.after(slowMs, () => say(200))
        return
      }
      case 'hang':
        return
      case 'refuse':
        return later(back, failed('no', rng.pick(['refused', 'unresolved', 'tls'] as const), took))
      case 'broken': {
        const wait: Record<string, string> = rng.chance(300)
          ? { 'retry-after': String(rng.between(1, 8)) }
          : {}
        return say(rng.pick(BROKEN), { headers: wait })
      }
      case 'limited': {
        const wait: Record<string, string> = rng.chance(800)
          ? { 'retry-after': String(rng.between(1, 15)) }
          : {}
        return say(429, { headers: wait })
      }
      // It has it, and says that it has not: it gets it again, under the same id.
      case 'lie':
        return rng.chance(400) ? say(500) : later(back, failed('maybe', 'reset', took))
      case 'cut':
        return say(200, { body: 'x'.repeat(2_000), isCut: true })
      case 'redirect':
        return say(302, { headers: { location: 'https://elsewhere.test/' } })
      case 'garbled':
        return later(back, failed('maybe', rng.pick(['protocol', 'too_large'] as const), took))
      case 'gone':
        return say(410)
    }
  }

  return {
    client: (life, others) => ({
      send: (request) => {
        if (!ADDRESS.test(request.url)) return others.send(request)
        return life.isDead() ? new Promise(() => {}) : exchange(life, request)
      },
      vet: (url) => others.vet(url),
    }),
    calls,
    goForGood: (tenant, name) => void gone.add(`${tenant}/${name}`),
    isGoneForGood: (tenant, name) => gone.has(`${tenant}/${name}`),
    heal() {
      isHealed = true
    },
  }
}

type Failure = Extract<HttpOutcome, { kind: 'failed' }>

function failed(sent: Failure['sent'], code: Failure['code'], durationMs: number): HttpOutcome {
  return { kind: 'failed', sent, code, message: 'simulated', durationMs }
}

function describe(outcome: HttpOutcome): string {
  return outcome.kind === 'response' ? `status ${outcome.status}` : outcome.code
}
