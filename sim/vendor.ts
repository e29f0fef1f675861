// The vendor's server, and the network in front of it. Its own log is the oracle: what was sent, what arrived, what
// took effect and what was answered.
//
// Assumption that the engine rests on: a request that the client gave up takes effect within the operation's
// `probe.after` or not at all; and a vendor that promises to remember keys for `keyTtl` does so for late arrivals too.

import type { HttpClient, HttpOutcome, HttpRequest } from '../src/ports/http-client.ts'
import type { VirtualTime } from './clock.ts'
import type { Faults, VendorFate } from './faults.ts'
import type { Life } from './node.ts'
import type { Rng } from './random.ts'
import { keyOfSent, LATE_MS_MAX, RETRY_AFTER_S_MAX, vendorOperation } from './scenario.ts'
import type { VendorOperation } from './vendor-operation.ts'

/** One request that left a node, or was about to. */
export interface Send {
  readonly id: number
  readonly at: number
  readonly life: Life
  readonly operation: VendorOperation
  readonly isProbe: boolean
  /** What the request is about: the ledger's key, in the address. */
  readonly key: string
  /** The same with the number of the repetition, as it stands there. */
  readonly sentKey: string
  /** Keys of those that share the call, each as it was sent. */
  readonly members: readonly string[]
  /** By which the vendor keeps its object. */
  readonly ref: string | null
  /** As the header says; the vendor knows requests by this. */
  readonly idempotencyKey: string | null
  readonly eventId: string
  /** Which version of its definition made the request, as a header says. */
  readonly definition: string | null
  /** Those who share the call and were not refused. */
  taken: readonly string[] | null
  /** What the vendor says of each that shares the call, once it is done. */
  said: readonly { readonly key: string; readonly ok: boolean }[] | null
  /** The response that the engine received, if it lived long enough. */
  outcome: HttpOutcome | null
  outcomeAt: number | null
}

export interface Effect {
  readonly send: Send
  /** Whose it is, as it was sent: of a call for several each has its own. */
  readonly key: string
  readonly id: string
  readonly at: number
}

/** What the vendor answered, whether or not it arrived. */
export interface Answer {
  readonly send: Send
  readonly at: number
  readonly status: number
}

export interface VendorWatch {
  /** Before anything leaves. */
  sent(send: Send): void
  took(effect: Effect): void
  trace(who: string, what: () => string): void
}

/** What stands before an operation that is called on a connection; null: it goes on to it. */
export type Front =
  | {
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  | 'refused'
  | 'timeout'
  | null

export interface Vendor {
  client(life: Life): HttpClient
  readonly effects: readonly Effect[]
  readonly answers: readonly Answer[]
  /** Whether the effect of a key, as it is sent, exists, for an operator who looks. */
  has(sentKey: string): boolean
}

/** In a thousand, of the members of a call that does well. */
const MEMBER_REFUSED = 150
const MEMBER_UNTOLD = 80

const STATUSES = {
  rejected: [400, 409, 422],
  auth: [401, 403],
  config: [404, 405, 410, 501],
  busy: [408, 425, 503],
  error: [500, 502, 504],
} as const

export function makeVendor(deps: {
  readonly time: VirtualTime
  readonly rng: Rng
  readonly faults: Faults
  readonly watch: VendorWatch
  front(operation: VendorOperation, request: HttpRequest): Front
}): Vendor {
  const { time, rng, faults, watch } = deps
  const effects: Effect[] = []
  const answers: Answer[] = []
  const byReference = new Map<string, Effect>()
  const remembered = new Map<string, { readonly effect: Effect; readonly until: number }>()
  let sends = 0

  /** Objects by operation and reference. */
  const objects = new Map<string, Effect[]>()

  const take = (send: Send, key: string): Effect => {
    const effect: Effect = { send, key, id: `${send.operation.name}-${effects.length + 1}`, at: time.now() }
    effects.push(effect)
    byReference.set(`${send.operation.name} ${key}`, effect)
    watch.trace('vendor', () => `effect ${effect.id} of send ${send.id} key ${key}`)
    watch.took(effect)
    return effect
  }

  /** Those that are not refused have their effects, and of some nothing is said. */
  const applyMembers = (send: Send): Effect => {
    // The same request that comes twice meets the same refusals.
    const taken = send.taken ?? send.members.filter(() => !faults.member(MEMBER_REFUSED))
    send.taken = taken
    for (const key of taken) take(send, key)
    send.said ??= send.members
      .filter(() => !faults.member(MEMBER_UNTOLD))
      .map((key) => ({ key, ok: taken.includes(key) }))
    const whole: Effect = { send, key: send.sentKey, id: `${send.operation.name}-all`, at: time.now() }
    byReference.set(`${send.operation.name} ${send.sentKey}`, whole)
    return whole
  }

  /** The same request that comes twice makes one object; another one makes a second. */
  const applyCreate = (send: Send): Effect => {
    const name = `${send.operation.name} ${send.ref}`
    const known = objects.get(name) ?? []
    const before = known.find((effect) => effect.send.id === send.id)
    if (before !== undefined) return before
    const effect = take(send, send.sentKey)
    objects.set(name, [...known, effect])
    return effect
  }

  /** Answers with the effect that the request has, now or since earlier. */
  const apply = (send: Send): Effect => {
    const { operation } = send
    if (operation.isBatch && operation.name === 'gather') return applyMembers(send)
    if (operation.isUpsert && !operation.name.endsWith('fresh')) return applyCreate(send)
    const memory = `${operation.name} ${send.idempotencyKey}`
    if (operation.keyTtlMs !== null) {
      const known = remembered.get(memory)
      if (known !== undefined && time.now() < known.until) return known.effect
    }
    for (const member of send.members) take(send, member)
    const effect =
      send.members.length > 0
        ? { send, key: send.sentKey, id: `${operation.name}-all`, at: time.now() }
        : take(send, send.sentKey)
    if (operation.keyTtlMs !== null) {
      const until = time.now() + operation.keyTtlMs + LATE_MS_MAX + operation.timeoutMs
      remembered.set(memory, { effect, until })
    }
    return effect
  }

  const record = (life: Life, request: HttpRequest): Send => {
    const match = /^https:\/\/(?:vendor|depot|mint)\.test\/([a-z]+)\/([^?]+)(?:\?ref=(.+))?$/.exec(
      request.url,
    )
    if (match === null) throw new Error(`assertion failed: the vendor is not asked for ${request.url}`)
    sends += 1
    const sentKey = decodeURIComponent(match[2]!)
    const { items = [], ref = null } = (request.body === null ? {} : JSON.parse(request.body)) as {
      items?: readonly string[]
      ref?: string | null
    }
    return {
      id: sends,
      at: time.now(),
      life,
      operation: vendorOperation(match[1]!),
      isProbe: request.method === 'GET',
      key: keyOfSent(sentKey).key,
      sentKey,
      members: items,
      ref: match[3] === undefined ? ref : decodeURIComponent(match[3]),
      idempotencyKey: request.headers['idempotency-key'] ?? null,
      eventId: request.headers['x-event'] ?? '',
      definition: request.headers['x-definition'] ?? null,
      taken: null,
      said: null,
      outcome: null,
      outcomeAt: null,
    }
  }

  const exchange = (life: Life, request: HttpRequest): Promise<HttpOutcome> =>
    new Promise((resolve) => {
      const send = record(life, request)
      watch.sent(send)
      watch.trace(
        life.name,
        () => `${send.isProbe ? 'probe' : 'send'} ${send.id} ${send.operation.name} key ${send.key}`,
      )
      const front = send.operation.connection === undefined ? null : deps.front(send.operation, request)
      const fate = send.isProbe || front !== null ? null : faults.vendor()
      const crash = send.isProbe ? null : faults.send()
      if (crash === 'before') {
        life.crash('between reserve and send')
        return
      }
      let isOver = false
      const give = (outcome: HttpOutcome) => {
        if (isOver) return
        isOver = true
        cancel()
        watch.trace(life.name, () => `hears of send ${send.id} ${describe(outcome)}`)
        send.outcome = outcome
        send.outcomeAt = time.now()
        resolve(outcome)
      }
      const later = (delayMs: number, outcome: () => HttpOutcome) => {
        time.after(delayMs, () => life.pass(() => give(outcome())))
      }
      const cancel = time.after(request.timeoutMs, () =>
        life.pass(() => give(failed('maybe', 'timeout', request.timeoutMs))),
      )
      if (front !== null) answerFront(send, front, later)
      else if (fate === null) answerProbe(send, later)
      else answerSend(send, fate, crash === 'after', later)
    })

  type Later = (delayMs: number, outcome: () => HttpOutcome) => void

  const answerFront = (send: Send, front: Exclude<Front, null>, later: Later) => {
    const [there, back] = [rng.between(1, 40), rng.between(1, 40)]
    if (front === 'timeout') return
    if (front === 'refused') {
      later(there, () => failed('no', 'refused', there))
      return
    }
    time.after(there, () => {
      answers.push({ send, at: time.now(), status: front.status })
      later(back, () => ({ kind: 'response', ...front, durationMs: there + back }))
    })
  }

  const answerProbe = (send: Send, later: Later) => {
    const [there, back] = [rng.between(1, 40), rng.between(1, 40)]
    const fate = faults.probe()
    if (fate === 'timeout') return
    if (fate === 'reset') {
      later(there, () => failed('maybe', 'reset', there))
      return
    }
    time.after(there, () => {
      if (send.operation.isUpsert) {
        const found = objects.get(`${send.operation.name} ${send.ref}`) ?? []
        const status = fate === 'error' ? 500 : fate === 'unclear' ? 403 : 200
        // For those who look at its log: whether it was there.
        answers.push({ send, at: time.now(), status: status === 200 && found.length === 0 ? 404 : status })
        const body = JSON.stringify({ count: found.length, id: found[0]?.id ?? null })
        later(back, () => ({ ...response(status, null, {}, there + back), body }))
        return
      }
      const found = byReference.get(`${send.operation.name} ${send.sentKey}`)
      const status = fate === 'error' ? 500 : fate === 'unclear' ? 403 : found === undefined ? 404 : 200
      answers.push({ send, at: time.now(), status })
      later(back, () => response(status, found?.id ?? null, {}, there + back))
    })
  }

  /** `crashes`: the node dies once the effect is there. */
  const answerSend = (send: Send, fate: VendorFate, crashes: boolean, later: Later) => {
    const { operation } = send
    const quick = Math.floor(operation.timeoutMs / 4)
    const [there, back] = [
      rng.between(1, 60),
      fate === 'slow' ? rng.between(quick, 2 * quick) : rng.between(1, 60),
    ]
    const arrive = (delayMs: number, then: (effect: Effect) => void) => {
      time.after(delayMs, () => {
        const effect = apply(send)
        if (crashes) send.life.crash('between effect and answer')
        then(effect)
      })
    }
    const answer = (
      status: number,
      effectId: string | null,
      headers: Readonly<Record<string, string>> = {},
    ) => {
      answers.push({ send, at: time.now(), status })
      const said = status < 300 ? send.said : null
      const body = said === null ? {} : { body: JSON.stringify({ id: effectId, results: said }) }
      later(back, () => ({ ...response(status, effectId, headers, there + back), ...body }))
    }
    const lateMs = operation.timeoutMs + rng.int((operation.probeAfterMs ?? LATE_MS_MAX) - 1)
    switch (fate) {
      case 'ok':
      case 'slow':
        arrive(there, (effect) => answer(201, effect.id))
        return
      case 'duplicated':
        arrive(there, (effect) => answer(201, effect.id))
        time.after(rng.between(there + 1, lateMs + there), () => void apply(send))
        return
      case 'rejected':
      case 'auth':
      case 'config':
      case 'busy':
      case 'error':
        time.after(there, () => answer(rng.pick(STATUSES[fate]), null))
        return
      case 'limited':
        time.after(there, () => answer(429, null, retryAfter(send)))
        return
      case 'lie':
        arrive(there, () => answer(rng.pick(STATUSES.error), null))
        return
      case 'refused':
        later(there, () => failed('no', 'refused', there))
        return
      case 'reset-before':
        later(there, () => failed('maybe', 'reset', there))
        return
      case 'reset-after': {
        const code = rng.pick(['reset', 'protocol', 'too_large'] as const)
        arrive(there, () => later(back, () => failed('maybe', code, there + back)))
        return
      }
      case 'timeout-before':
        return
      case 'timeout-after':
        arrive(there, () => {})
        return
      case 'late':
        arrive(lateMs, () => {})
        return
    }
  }

  const retryAfter = (send: Send): Readonly<Record<string, string>> => {
    const seconds = rng.between(1, RETRY_AFTER_S_MAX)
    switch (rng.int(3)) {
      case 0:
        return {}
      case 1:
        return { 'retry-after': String(seconds) }
      default:
        return { 'retry-after': new Date(send.at + seconds * 1_000).toUTCString() }
    }
  }

  return {
    client: (life) => ({
      send: (request) => (life.isDead() ? new Promise(() => {}) : exchange(life, request)),
      vet: async () => ({ ok: true }),
    }),
    effects,
    answers,
    has: (sentKey) => effects.some(({ key, send }) => key === sentKey || send.sentKey === sentKey),
  }
}

function response(
  status: number,
  effectId: string | null,
  headers: Readonly<Record<string, string>>,
  durationMs: number,
): HttpOutcome {
  return {
    kind: 'response',
    status,
    headers,
    body: effectId === null ? '' : `{"id":"${effectId}"}`,
    durationMs,
  }
}

type Failure = Extract<HttpOutcome, { kind: 'failed' }>

function failed(sent: Failure['sent'], code: Failure['code'], durationMs: number): HttpOutcome {
  return { kind: 'failed', sent, code, message: 'simulated', durationMs }
}

function describe(outcome: HttpOutcome): string {
  return outcome.kind === 'response' ? `status ${outcome.status}` : `${outcome.code} (sent: ${outcome.sent})`
}
