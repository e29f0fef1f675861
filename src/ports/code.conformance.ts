// What every runner of users' functions must do (docs/spec/ports.md).

import { describe, expect, test } from 'vitest'
import { DEFAULT_TENANT, type EventId } from '../core/foundation/ids/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { RetryableError, TerminalError } from '../sdk/errors.ts'
import type { Code, FunctionContext } from './code.ts'

type UserFunction = (input: JsonValue, context: FunctionContext) => unknown

export interface CodeHarness {
  /** A runner whose one bundle has these functions. */
  make(functions: Readonly<Record<string, UserFunction>>): Promise<Code>
}

const nothing = () => {}

/** The context of a function without anything behind it. */
export const contextOf = (over: Partial<FunctionContext> = {}): FunctionContext => ({
  key: 'key-1',
  event: {
    id: 'evt_1' as EventId,
    tenant: DEFAULT_TENANT,
    source: 'shop',
    subject: 'shop.events.paid',
    objectType: null,
    objectId: null,
    occurredAt: null,
    receivedAt: 1_700_000_000_000,
    correlationId: 'c1',
    causationId: null,
    traceId: 't1',
    dedupKey: 'd1',
    payloadHash: 'sha256:0',
    data: { exact: 9_007_199_254_740_993n },
  },
  attempt: 1,
  signal: new AbortController().signal,
  log: { info: nothing, warn: nothing, error: nothing },
  clock: { now: () => 1_700_000_000_000 },
  effect: async (name, run) => run(`key-1#${name}`, new AbortController().signal),
  emit: nothing,
  heartbeat: nothing,
  ...over,
})

export function codeConformance(name: string, makeHarness: () => CodeHarness): void {
  const run = async (body: UserFunction, input: JsonValue = null, over: Partial<FunctionContext> = {}) => {
    const code = await makeHarness().make({ subject: body })
    return code.run(code.find('subject', DEFAULT_TENANT) as string, 'subject', input, contextOf(over))
  }

  describe(`code: ${name}`, () => {
    test('[P12] find returns a bundle that hashes lists, or null', async () => {
      const code = await makeHarness().make({ known: () => null })
      expect(code.hashes()).toContain(code.find('known', DEFAULT_TENANT))
      expect(code.find('unknown', DEFAULT_TENANT)).toBeNull()
      expect(code.find('constructor', DEFAULT_TENANT)).toBeNull()
    })

    test('[FN25] has and prepare accept what hashes lists, and nothing else', async () => {
      const code = await makeHarness().make({ known: () => null })
      const hash = code.find('known', DEFAULT_TENANT) as string
      expect([code.has(hash), await code.prepare(hash)]).toEqual([true, true])
      expect([code.has('other'), await code.prepare('other')]).toEqual([false, false])
      expect(code.hashes()).toEqual([hash])
    })

    test('[P13] the hash stays while names and texts stay, and changes with them', async () => {
      const make = async (functions: Record<string, UserFunction>) =>
        (await makeHarness().make(functions)).find('a', DEFAULT_TENANT) as string
      const one = await make({ a: () => 1, b: () => 2 })
      expect(await make({ b: () => 2, a: () => 1 })).toBe(one)
      expect(await make({ a: () => 3, b: () => 2 })).not.toBe(one)
      expect(await make({ a: () => 1, c: () => 2 })).not.toBe(one)
    })

    test('[P14] a function gets its input and context, and its value comes back', async () => {
      const seen = await run(
        (input, { key, event, attempt, signal }) => ({
          input,
          key,
          eventId: event.id,
          data: event.data,
          attempt,
          aborted: signal.aborted,
        }),
        { deep: [1, 'two', null, 9_007_199_254_740_993n] },
        { attempt: 3 },
      )
      const value = {
        input: { deep: [1, 'two', null, 9_007_199_254_740_993n] },
        key: 'key-1',
        eventId: 'evt_1',
        data: { exact: 9_007_199_254_740_993n },
        attempt: 3,
        aborted: false,
      }
      expect(seen).toEqual({ kind: 'returned', value })
      expect(await run(() => undefined)).toEqual({ kind: 'returned', value: null })
      expect(await run(async () => 'later')).toEqual({ kind: 'returned', value: 'later' })
    })

    test('[P14] the caller does what the context offers, also if it is destructured', async () => {
      const said: unknown[] = []
      const seen = await run(
        async (_input, { effect, emit, heartbeat, log, clock }) => {
          heartbeat('half')
          emit('shop.booked', { id: 1 })
          log.info('booked', { id: 1 })
          return { key: await effect('post', (key) => key), now: clock.now() }
        },
        null,
        {
          emit: (subject, data) => void said.push([subject, data]),
          heartbeat: (detail) => void said.push(detail),
          log: {
            info: (message, fields) => void said.push([message, fields]),
            warn: nothing,
            error: nothing,
          },
        },
      )
      expect(seen).toEqual({ kind: 'returned', value: { key: 'key-1#post', now: 1_700_000_000_000 } })
      expect(said).toEqual(['half', ['shop.booked', { id: 1 }], ['booked', { id: 1 }]])
    })

    test('[P15] an error that a function throws is an outcome, named by its consequence', async () => {
      const thrown = (error: unknown) =>
        run(() => {
          throw error
        })
      expect(await thrown(new TerminalError('gone'))).toEqual({
        kind: 'failed',
        how: 'terminal',
        afterMs: null,
        message: 'gone',
      })
      expect(await thrown(new RetryableError('locked', { after: '5m' }))).toEqual({
        kind: 'failed',
        how: 'again',
        afterMs: 300_000,
        message: 'locked',
      })
      expect(await thrown(new RetryableError('busy'))).toMatchObject({ how: 'again', afterMs: null })
      expect(await thrown(new Error('bug'))).toMatchObject({ how: 'threw', afterMs: null, message: 'bug' })
      expect(await thrown('text')).toMatchObject({ how: 'threw', message: 'text' })
      expect(await thrown(undefined)).toMatchObject({ kind: 'failed', how: 'threw' })
      expect(await run(async () => Promise.reject(new TerminalError('late')))).toMatchObject({
        how: 'terminal',
      })
    })

    test('[P16] a value that JSON cannot represent is a failure that says where', async () => {
      const circular: Record<string, unknown> = {}
      circular.self = circular
      for (const [value, where] of [
        [{ at: new Date(0) }, 'result.at'],
        [[1, Number.NaN], 'result[1]'],
        [{ run: () => 1 }, 'result.run'],
        [circular, 'nested too deeply'],
      ] as const) {
        const outcome = await run(() => value)
        expect(outcome).toMatchObject({ kind: 'failed', how: 'threw' })
        expect(outcome.kind === 'failed' && outcome.message).toContain(where)
      }
    })

    test('[P17] a missing bundle or function is a failure, not an exception', async () => {
      const code = await makeHarness().make({ known: () => null })
      const hash = code.find('known', DEFAULT_TENANT) as string
      expect(await code.run('0'.repeat(64), 'known', null, contextOf())).toMatchObject({
        kind: 'failed',
        how: 'threw',
      })
      expect(await code.run(hash, 'unknown', null, contextOf())).toMatchObject({
        kind: 'failed',
        how: 'threw',
      })
    })

    test('[P18] the signal reaches the function', async () => {
      const controller = new AbortController()
      let begin = () => {}
      const begun = new Promise<void>((resolve) => {
        begin = resolve
      })
      const outcome = run(
        (_input, { signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(new Error('stopped')))
            begin()
          }),
        null,
        { signal: controller.signal },
      )
      await begun
      controller.abort()
      expect(await outcome).toMatchObject({ kind: 'failed', message: 'stopped' })
    })
  })
}
