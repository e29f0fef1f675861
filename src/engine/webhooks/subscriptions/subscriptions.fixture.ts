// A world whose endpoints respond as the test says, and subscriptions created in it through the API.

import type { SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../../../core/foundation/json/index.ts'
import { DAY } from '../../../core/foundation/time/index.ts'
import { RETRY_PROFILES } from '../../../core/queue/retry/index.ts'
import type { HttpOutcome, HttpRequest } from '../../../ports/http-client.ts'
import { answered, makeWorld, type Node, SOURCE, type World } from '../../engine.fixture.ts'

export const HOOK: SubscriptionDocument = {
  kind: 'Subscription',
  name: 'crm',
  description: null,
  url: 'https://crm.example/hooks',
  on: ['shop.events.*'],
  where: null,
  status: 'active',
  secret: null,
  signing: 'standard',
  headers: {},
  retry: RETRY_PROFILES.DELIVERY,
  timeoutMs: 10_000,
  maxWaitMs: 20 * DAY,
  disableAfterMs: 5 * DAY,
  deadLetter: { severity: 'high', runbook: null },
  metadata: {},
}

export const ADA = { actor: 'ada', reason: 'because' }

export interface HookWorld extends World {
  /** How endpoints respond from now on; null: not before the test says. */
  answer(outcome: ((request: HttpRequest) => HttpOutcome | null) | HttpOutcome): void
  /** Runs everything that is due, and returns the result. Throws what it throws. */
  got<Value>(promise: Promise<Value>): Promise<Value>
  /** The error code. */
  refusal(promise: Promise<unknown>): Promise<string>
  create(node: Node, document?: Partial<SubscriptionDocument>): Promise<string | null>
  /** Sends an event, and runs everything that is due. */
  pay(node: Node): Promise<void>
  /** Subjects of the events that this system emitted, the first one first. */
  emitted(): Promise<readonly string[]>
  emittedData(subject: string): Promise<readonly Record<string, unknown>[]>
}

export function makeHookWorld(): HookWorld {
  let answer: (request: HttpRequest) => HttpOutcome | null = () => answered(204)
  const world = makeWorld((request) => answer(request))
  let paid = 0

  const got: HookWorld['got'] = async (promise) => {
    const settled = promise.then(
      (value) => ({ ok: true, value }) as const,
      (error: unknown) => ({ ok: false, error }) as const,
    )
    await world.pass()
    const result = await settled
    if (!result.ok) throw result.error
    return result.value
  }

  const events = async () => {
    const page = await got(world.reads.events({ source: 'millrace', cursor: null, limit: 100 }))
    return page.items.toReversed()
  }

  return {
    ...world,
    answer(outcome) {
      answer = typeof outcome === 'function' ? outcome : () => outcome
    },
    got,
    async refusal(promise) {
      try {
        await got(promise)
      } catch (error) {
        return (error as { code?: string }).code ?? String(error)
      }
      return 'it was not refused'
    },
    async create(node, document = {}) {
      const made = { ...HOOK, ...document }
      const given = { document: made, written: stringifyJson(document as unknown as JsonValue) }
      return (await got(node.engine.subscriptions.create(DEFAULT_TENANT, given, ADA))).secret
    },
    async pay(node) {
      paid += 1
      await got(node.send({ kind: 'paid', id: `d${paid}`, order: `o${paid}` }))
    },
    emitted: async () => (await events()).map(({ subject }) => subject),
    async emittedData(subject) {
      const found = (await events()).filter((event) => event.subject === subject)
      const rows = await Promise.all(found.map(({ id }) => got(world.reads.event(id))))
      return rows.map((row) => JSON.parse(row?.data ?? 'null') as Record<string, unknown>)
    },
  }
}

export const DOCUMENTS = [SOURCE]
