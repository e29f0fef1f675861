// Those outside: senders who repeat until they are answered, and a person who decides and replays.

import { keyOfGeneration } from '../src/core/effects/ledger/index.ts'
import { AppError } from '../src/core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../src/core/foundation/ids/index.ts'
import { signRequest } from '../src/core/ingest/source/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import type { Engine } from '../src/engine/index.ts'
import type { StoreDump } from '../src/ports/store.ts'
import { checkAcknowledged, waitingForOperator } from './check-end.ts'
import { mend } from './dead-letter-operator.ts'
import { short } from './node.ts'
import { ask, type Outside, pickLife } from './node-access.ts'
import type { Rng } from './random.ts'
import { addTo } from './run-observations.ts'
import { KINDS, SECRET, SOURCES } from './scenario.ts'
import { actOnCases } from './workflow-operator.ts'

export interface Message {
  /** Left out: the shop itself. */
  readonly tenant?: TenantId
  readonly source: 'shop' | 'till' | 'hub'
  readonly id: string
  readonly kind: string
  readonly order: string
  readonly amount: number
  readonly vat: string | null
  /** Signed with a secret that nobody gave it. */
  readonly isForged: boolean
}

const ANSWER_WITHIN_MS = 6_000
const ORDERS = 5

export function drawMessage(rng: Rng, number: number, kinds = KINDS): Message {
  const source = rng.chance(300) ? 'till' : 'shop'
  return {
    source,
    id: `m${number}`,
    kind: rng.weighted(kinds),
    order: `o${rng.between(1, ORDERS)}`,
    amount: rng.between(1, 100),
    vat: rng.chance(700) ? `vat-${rng.between(1, 3)}` : null,
    isForged: source === 'till' && rng.chance(100),
  }
}

/** Sends until it is acknowledged or refused for good; answers whether all is said. */
export function startSender(
  outside: Outside,
  message: Message,
  /** When a message that was acknowledged is sent once more; null: it is not. */
  repeatAt: (message: Message) => number | null = () => null,
): { isOver(): boolean } {
  const { time, faults, rng, observations, trace } = outside
  const { headers, body } = requestOf(message)
  const { tenant = DEFAULT_TENANT } = message
  let open = 0
  let isAnswered = false

  const post = () => {
    const life = pickLife(outside, 'ingest')
    if (life === null) {
      time.after(rng.between(200, 1_500), post)
      return
    }
    open += 1
    let isClosed = false
    const close = (next: (() => void) | null) => {
      if (isClosed) return
      isClosed = true
      open -= 1
      if (next !== null && !isAnswered) time.after(rng.between(100, 2_000), next)
    }
    time.after(ANSWER_WITHIN_MS, () => close(post))
    time.after(rng.between(1, 20), () =>
      life.pass(() => {
        const engine = life.engine()
        if (engine === null) return
        engine.accept({ tenant, source: message.source, headers, body }).then(
          ({ eventId, duplicate }) => {
            if (life.isDead() || faults.answerLost()) return
            time.after(rng.between(1, 20), () => {
              trace('sender', () => `${message.id} is acknowledged as ${short(eventId)}`)
              if (duplicate) observations.counts.duplicates += 1
              if (message.isForged)
                observations.violate('N1', `the forged message ${message.id} was accepted`)
              checkAcknowledged(observations, outside.data, {
                tenant,
                source: message.source,
                dedupKey: message.id,
                eventId,
              })
              isAnswered = true
              close(null)
              const again = repeatAt(message)
              if (again !== null) time.after(again - time.now(), post)
            })
          },
          (error: unknown) => {
            if (life.isDead()) return
            const isOff = error instanceof AppError && error.code === 'source_disabled'
            const isFinal = error instanceof AppError && error.kind !== 'unavailable' && !isOff
            if (isFinal) {
              observations.counts.refusals += 1
              if (!message.isForged) observations.violate('BROKEN', `${message.id} is refused: ${error.code}`)
              isAnswered = true
            } else if (!(error instanceof AppError)) {
              observations.violate('BROKEN', `${message.id} is answered by an exception`)
            }
            close(isFinal ? null : post)
          },
        )
      }),
    )
  }

  // A sender may send twice at once, and again long after it was answered.
  post()
  if (rng.chance(250)) post()
  if (rng.chance(200)) time.after(rng.between(500, 40_000), post)
  return { isOver: () => isAnswered && open === 0 }
}

function requestOf(message: Message): { headers: Record<string, string>; body: Uint8Array } {
  const { order, amount, vat } = message
  const body = Buffer.from(JSON.stringify({ order, amount, vat }))
  const { verify } = SOURCES.find(({ name }) => name === message.source)!
  const secret = message.isForged ? 'guessed' : SECRET
  const signature = signRequest(verify, { body, secret })
  return { headers: { 'x-kind': message.kind, 'x-message-id': message.id, ...signature }, body }
}

function ofTenant(dump: StoreDump, tenant: TenantId): StoreDump {
  const isOwn = (row: { readonly tenant: TenantId }) => row.tenant === tenant
  return {
    ...dump,
    events: dump.events.filter(isOwn),
    work: dump.work.filter(isOwn),
    deadLetters: dump.deadLetters.filter(isOwn),
    records: dump.records.filter(isOwn),
  }
}

/** Looks at what waits for a person, and decides about one or two of them. */
export function actAsOperator(outside: Outside): void {
  const { data, rng } = outside
  const life = pickLife(outside)
  const engine = life?.engine() ?? null
  if (life === null || engine === null) return
  life.pass(() => {
    const dump = ofTenant(data.dump(), DEFAULT_TENANT)
    const { deadLetters } = dump
    const waiting = waitingForOperator(outside.observations)
    const dead = deadLetters.filter(({ state }) => state === 'open')
    if (waiting.length > 0) decide(outside, engine, rng.pick(waiting))
    if (dead.length > 0) {
      const letter = rng.pick(dead)
      const force = rng.chance(400)
      outside.trace('person', () => `replays ${short(letter.id)}${force ? ' by force' : ''}`)
      ask(outside, engine.replay(DEFAULT_TENANT, letter.id, { force }))
    }
    mend(outside, engine, dump)
    actOnCases(outside, engine, dump)
  })
}

/** Decides about everything that waits for a person, truly. */
export function decideAll(outside: Outside): void {
  const engine = pickLife(outside)?.engine() ?? null
  if (engine === null) return
  for (const row of waitingForOperator(outside.observations)) decide(outside, engine, row, 0)
}

function decide(outside: Outside, engine: Engine, row: WorkRow, wrongPerMille = 50): void {
  const { id, key } = row
  const { rng, observations } = outside
  if (key === null) {
    observations.violate('BROKEN', `work ${short(id)} is parked without a key`)
    return
  }
  // A person looks at the vendor's screen, and is seldom wrong.
  const isThere = outside.vendor().has(keyOfGeneration(key, row.generation)) !== rng.chance(wrongPerMille)
  const as = isThere ? 'done' : 'released'
  addTo(observations.words, key, as)
  // A word about a batch is one about each that is in it.
  for (const member of observations.works.values())
    if (member.into === id && member.state === 'merged' && member.key !== null)
      addTo(observations.words, member.key, as)
  outside.trace('person', () => `says that ${key} is ${as}`)
  ask(outside, engine.resolve(DEFAULT_TENANT, id, { as, key, reason: 'looked' }))
}
