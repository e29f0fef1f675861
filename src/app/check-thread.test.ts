import { afterAll, describe, expect, test } from 'vitest'
import { hashDocument } from '../core/definitions/documents/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { parseJson } from '../core/foundation/json/index.ts'
import type { CheckAnswers, CheckJob, CheckResults } from '../definitions/index.ts'
import { runCheck } from '../definitions/language.ts'
import { makeDefinitionWorld } from '../http/definitions.fixture.ts'
import { errorOf, failureOf } from './check-message.ts'
import { type CheckThread, makeCheckThread } from './check-thread.ts'

const threads: CheckThread[] = []

function makeThread(timeoutMs = 60_000) {
  const thread = makeCheckThread({ timeoutMs })
  threads.push(thread)
  return thread
}

afterAll(async () => {
  for (const thread of threads) await thread[Symbol.asyncDispose]()
})

/** Starting a thread takes longer than all of its checks: most tests share one. */
const shared = makeThread()

const NO_ANSWERS: CheckAnswers = { functions: new Map(), held: new Set() }
const ROUTE = 'kind: Route\nname: r\non: shop.paid\ndo: { function: known }\n'

function job(text: string): CheckJob & { readonly job: 'files' } {
  const beside = {
    profiles: new Map(),
    deployedDocuments: [],
    emits: [],
    secretNames: null,
    hasEnvironment: true,
    isProduction: false,
    environment: 'DEV',
    busPrefix: undefined,
  } as const
  return { job: 'files', files: [{ path: 'a.yaml', text }], beside, markings: 20_000 }
}

/** About as much as may be sent in one file. */
const HOSTILE = Array.from(
  { length: 120 },
  (_, index) =>
    `kind: Route\nname: r${index}\non: shop.paid\nkey: payload.${'a'.repeat(7_000)}\ndo: { emit: shop.booked }\n`,
).join('---\n')

/** Its analysis takes about a second. */
const WIDE_NET = [
  'kind: Workflow\nname: wide\nversion: 1.0.0\nstart: s\ntriggers:\n  - { manual: {} }',
  'places:\n  s: {}\n  e: { final: true }',
  ...Array.from({ length: 650 }, (_, index) => `  p${index}: {}`),
  'transitions:\n  first: { from: s, to: p0 }\n  last: { from: p649, to: e }',
  ...Array.from({ length: 649 }, (_, index) => `  t${index}: { from: p${index}, to: p${index + 1} }`),
].join('\n')

describe('[DV50] checks run off the main thread', () => {
  test.each([
    ['long names', HOSTILE],
    ['a wide net', WIDE_NET],
  ])('the node responds while a check runs: %s', async (_what, text) => {
    const { run } = shared
    await run(job(ROUTE), async () => NO_ANSWERS)
    const { server, post } = makeDefinitionWorld({ runCheck: run })
    let isChecked = false
    const checked = post('/definitions/check', { files: [{ path: 'a.yaml', text }] }).then((answer) => {
      isChecked = true
      return answer
    })
    let answered = 0
    while (!isChecked) {
      await server.app.inject({ method: 'GET', url: '/healthz' })
      answered += 1
      // As a request would: after the pending I/O of this thread.
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect((await checked).status).toBe(200)
    expect(answered).toBeGreaterThan(20)
  })

  test('questions that only the node can answer are asked, and the findings are those of a check here', async () => {
    const { run } = shared
    const asked: unknown[] = []
    const found = await run(job(ROUTE), async (questions) => {
      asked.push(questions)
      return { functions: new Map([['known', { hash: 'sha256:1', timeoutMs: null }]]), held: new Set() }
    })
    expect(asked).toEqual([{ functions: ['known'], subscriptions: [] }])
    expect(found.findings.filter(({ severity }) => severity === 'error')).toEqual([])
    expect(found.documents).toMatchObject([{ kind: 'Route', do: { type: 'function', codeHash: 'sha256:1' } }])
  })

  test('numbers keep every digit, in the input and in the findings', async () => {
    const { run } = shared
    const one = job(
      'kind: Route\nname: r\non: shop.paid\ndo:\n  http:\n    url: https://a.example/x\n    body: { amount: 1.000000000000000001, n: 12345678901234567890 }\n',
    )
    const answer = async () => NO_ANSWERS
    const here = (await runCheck(one, answer)) as CheckResults['files']
    const there = await run(one, answer)
    expect(here.documents).toHaveLength(1)
    expect(there.documents).toStrictEqual(here.documents)
    expect(there.definitions).toStrictEqual(here.definitions)
    expect(there.documents.map(hashDocument)).toEqual(here.documents.map(hashDocument))

    const again = { ...one, beside: { ...one.beside, deployedDocuments: here.documents } }
    expect(await run(again, answer)).toStrictEqual(await runCheck(again, answer))

    const written = parseJson(
      '{"name":"s","url":"https://a.example/x","events":["shop.paid"],"transform":{"v":1.000000000000000001,"n":12345678901234567890}}',
    )
    const subscription = { job: 'subscription', written, beside: one.beside } as const
    expect(await run(subscription, answer)).toStrictEqual(await runCheck(subscription, answer))
  })

  test('an error with a code keeps it', async () => {
    const thrown = new AppError('conflict', 'as it was', { details: { at: 1 }, next: 'try again' })
    expect(errorOf(structuredClone(failureOf(thrown)))).toStrictEqual(thrown)
  })

  test('a check that takes too long is stopped, and the next one runs', async () => {
    const { run } = makeThread(1)
    const error = await run(job(HOSTILE), async () => NO_ANSWERS).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(AppError)
    expect(error).toMatchObject({
      code: 'check_too_long',
      message: expect.stringContaining('longer than 1ms'),
    })
    // With as little time the next one fails too, on a thread started for it.
    const next = await run(job(HOSTILE), async () => NO_ANSWERS).catch((thrown) => thrown)
    expect(next).toMatchObject({ code: 'check_too_long' })
  })

  test('a question that cannot be answered is the error of that check alone', async () => {
    const { run } = shared
    const refused = run(job(ROUTE), () => Promise.reject(new Error('the store is away')))
    await expect(refused).rejects.toThrow('the store is away')
    expect((await run(job(ROUTE), async () => NO_ANSWERS)).documents).toEqual([])
  })

  test('a request gets a problem document', async () => {
    const { run } = makeThread(1)
    const { post } = makeDefinitionWorld({ runCheck: run })
    const answer = await post('/definitions/check', { files: [{ path: 'a.yaml', text: HOSTILE }] })
    expect(answer.status).toBe(422)
    expect(answer.body).toMatchObject({ code: 'check_too_long' })
  })
})
