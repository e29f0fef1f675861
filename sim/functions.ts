// Functions that act on the outside, as users write them: one effect, two in a row and an event, three at once, one that
// takes long and says so, one that swallows every error that it is told, and two that let errors pass which are not about
// the call that they pass through. What they hear from the vendor they report
// by the rules of the documentation: an error with a name where nothing happened, any other one where nobody knows.

import type { StaticFunction } from '../src/adapters/code-static/index.ts'
import type { JsonValue } from '../src/core/foundation/json/index.ts'
import type { ConnectionCaller, EffectOptions, FunctionContext } from '../src/ports/code.ts'
import type { HttpClient } from '../src/ports/http-client.ts'
import { RetryableError, TerminalError } from '../src/sdk/errors.ts'
import type { CodeFate } from './faults.ts'
import { vendorOperation } from './scenario.ts'

interface Order {
  readonly order: string
}

export function makeFunctions(deps: {
  readonly http: HttpClient
  fate(): CodeFate
  wait(ms: number): Promise<void>
}): Readonly<Record<string, StaticFunction>> {
  const { http, wait } = deps

  const ask = (method: 'POST' | 'GET', operation: string, key: string, { event }: FunctionContext) =>
    http.send({
      method,
      url: `https://vendor.test/${operation}/${encodeURIComponent(key)}`,
      headers: {
        'x-event': event.id,
        ...(method === 'POST' ? { 'idempotency-key': key } : {}),
      },
      body: method === 'POST' ? '{}' : null,
      timeoutMs: vendorOperation(operation).timeoutMs,
      maxResponseBytes: 65_536,
    })

  const post = async (operation: string, key: string, context: FunctionContext): Promise<JsonValue> => {
    const outcome = await ask('POST', operation, key, context)
    if (outcome.kind === 'failed') {
      if (outcome.sent === 'no') throw new RetryableError('refused')
      throw new Error(outcome.code)
    }
    const { status } = outcome
    if (status < 300) return JSON.parse(outcome.body) as JsonValue
    if (status === 429) throw new RetryableError('busy', { after: '3s' })
    if (status === 408 || status === 425 || status === 503) throw new RetryableError('busy')
    if (status < 500 || status === 501) throw new TerminalError(`answered ${status}`)
    throw new Error(`answered ${status}`)
  }

  const probe = async (operation: string, key: string, context: FunctionContext) => {
    const outcome = await ask('GET', operation, key, context)
    if (outcome.kind === 'failed') throw new Error(outcome.code)
    if (outcome.status === 404) return undefined
    if (outcome.status === 200) return JSON.parse(outcome.body) as JsonValue
    throw new Error(`answered ${outcome.status}`)
  }

  const effect = (
    context: FunctionContext,
    name: string,
    operation: string,
    then: () => unknown = () => {},
  ): Promise<JsonValue> => {
    const { isIdempotent, keyTtlMs, probeAfterMs } = vendorOperation(operation)
    const options: EffectOptions<JsonValue> = {
      idempotent: isIdempotent,
      ...(keyTtlMs === null ? {} : { keyTtl: keyTtlMs }),
      ...(probeAfterMs === null
        ? {}
        : { probe: (key: string) => probe(operation, key, context), probeAfter: probeAfterMs }),
    }
    const call = async (key: string) => {
      const made = await post(operation, key, context)
      await then()
      return made
    }
    return context.effect(name, call, options)
  }

  /** Something goes wrong in the function itself. */
  const stumble = async () => {
    switch (deps.fate()) {
      case 'ok':
        return
      case 'throws':
        throw new Error('simulated')
      case 'again':
        throw new RetryableError('simulated', { after: '3s' })
      case 'terminal':
        throw new TerminalError('simulated')
      case 'slow':
        await wait(4_000)
    }
  }

  return {
    observations: async (_input, context) => {
      const made = await effect(context, 'post', 'booking')
      await stumble()
      return { made }
    },
    ship: async (input, context) => {
      await stumble()
      const picked = await effect(context, 'pick', 'picking')
      const { order } = input as unknown as Order
      context.emit('order.shipped', { order, amount: 1, vat: null })
      const sent = await effect(context, 'send', 'sending')
      return { picked, sent }
    },
    split: async (_input, context) => {
      await stumble()
      const parts = await Promise.all([
        effect(context, 'a', 'parta'),
        effect(context, 'b', 'partb'),
        effect(context, 'c', 'partc'),
      ])
      return { parts }
    },
    long: async (_input, context) => {
      for (let step = 0; step < 4; step += 1) {
        context.heartbeat({ step })
        await wait(1_500)
      }
      return { made: await effect(context, 'post', 'crating') }
    },
    wrap: async (_input, context) => ({
      made: await effect(context, 'outer', 'wrapping', () => effect(context, 'inner', 'taping')),
    }),
    shout: async (_input, context) => ({
      made: await effect(context, 'post', 'shouting', () => {
        if (deps.fate() !== 'ok') context.emit('order..shouted', null)
      }),
    }),
    // One call within an effect, and one outside that may be repeated.
    linkfn: async (input, context) => {
      const { order } = input as unknown as Order
      const given = { order, event: context.event.id }
      const made = await context.effect('post', (key) =>
        connectionOf(context, 'depot').call('fnmail', given, { key }),
      )
      await stumble()
      return { made, put: await connectionOf(context, 'mint').call('fnput', given) }
    },
    sly: async (_input, context) => {
      const heard: JsonValue[] = []
      for (const [name, operation] of [
        ['first', 'greeting'],
        ['second', 'waving'],
      ] as const) {
        try {
          heard.push(await effect(context, name, operation))
        } catch {
          heard.push(null)
        }
      }
      return { heard }
    },
  }
}

function connectionOf({ connection }: FunctionContext, name: string): ConnectionCaller {
  if (connection === undefined) throw new Error('assertion failed: functions are given connections')
  return connection(name)
}
