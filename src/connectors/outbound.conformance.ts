// The calls of a connector, as the vendor sees them: each operation goes from its document through the real client to a
// vendor on the loopback, and the request and the result of its response are compared with the connector's samples.

import { createHash } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { makeVendor, type VendorApi, type VendorReply } from '../../test/support/vendor-api/index.ts'
import { makeHttpClient } from '../adapters/http-undici/index.ts'
import { applyValue } from '../core/connections/credential/index.ts'
import {
  type OperationDocument,
  operationOf,
  type ProviderDocument,
} from '../core/definitions/documents/index.ts'
import { parseResponse } from '../core/effects/action/index.ts'
import {
  type CompiledOperation,
  compileOperation,
  compilePath,
  type OperationScope,
  type PathRequest,
} from '../core/effects/action/operation.ts'
import { compileTemplate, ExpressionError } from '../core/expression/index.ts'
import { classifyCall, type FailureClass, parseRetryAfter } from '../core/failures/failure/index.ts'
import { canonicalJson, type JsonValue, parseJson, stringifyJson } from '../core/foundation/json/index.ts'
import type { HttpClient, HttpOutcome } from '../ports/http-client.ts'
import type { AnswerSample, ConnectorSamples, OperationSample } from './samples.fixture.ts'

/** For every call of the suite. */
const KEY = 'CONNECTOR:TEST:1'
const SECRET = 'planted-secret-0001'

/** What `hash(key)` returns. */
export function markOf(key: string = KEY): string {
  return createHash('sha256')
    .update(canonicalJson([key]))
    .digest('hex')
}

export function outboundConformance(provider: ProviderDocument, samples: ConnectorSamples): void {
  const open: AsyncDisposable[] = []
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]()
  })

  const begin = async (): Promise<Stage> => {
    const auth = provider.auth[0] ?? 'none'
    const { header, query } = provider.authentication
    const vendor = await makeVendor({
      ...(auth === 'none' ? {} : { tokens: [samples.token?.(SECRET) ?? SECRET] }),
      ...(auth === 'apiKey' && query !== null && { auth: { query } }),
      ...(auth === 'apiKey' && query === null && { auth: { header: header ?? 'x-api-key' } }),
      ...(auth === 'basic' && { auth: { header: 'authorization', prefix: 'Basic ' } }),
      ...(samples.refusal !== undefined && { refusal: samples.refusal }),
    })
    const client = makeHttpClient({ allow: ['loopback'] })
    open.push(vendor, client)
    const config = samples.config(vendor.url)
    const base = compileTemplate(provider.baseUrl)
    const rendered = String(base.ok ? base.template.render({ config }) : null)
    // A request for an adapter of its own, such as mail, is checked as the adapter gets it.
    const address = rendered.replace(/^smtps?:/, 'http:')
    expect(address).toMatch(new RegExp(`^${vendor.url}`))
    return { vendor, client, config, address }
  }

  describe('outbound', () => {
    test('[VN10] every operation has a sample, and nothing else has', () => {
      expect(Object.keys(samples.operations).sort()).toEqual(Object.keys(provider.operations).sort())
    })

    test.each(Object.keys(provider.operations))(
      '[VN10] %s is what the vendor expects, and its response what it returns',
      async (name) => {
        const stage = await begin()
        const operation = compiled(provider, name)
        const sample = samples.operations[name] as OperationSample
        const scope = scopeOf(operation, sample, stage.config)
        stage.vendor.answer('*', sample.answer)
        const outcome = await send(stage, provider, operation.render(scope), operation.document)
        const [call] = stage.vendor.calls
        expect(`${call?.method} ${call?.target}`).toBe(sample.target)
        expect(call?.headers).toMatchObject(sample.headers ?? {})
        expect(call?.headers.traceparent).toBeUndefined()
        if (sample.json !== undefined) expect(call?.json).toEqual(sample.json)
        else if (sample.form !== undefined)
          expect([...new URLSearchParams(call?.body)]).toEqual(Object.entries(sample.form))
        else expect(call?.body).toBe(sample.body ?? '')
        if (operation.document.keyHeader !== null)
          expect(call?.headers[operation.document.keyHeader]).toBe(KEY)
        expect(wordOf(operation, outcome)).toBe('done')
        const response = responseOf(outcome)
        const result = operation.resultOf(response)
        if (sample.result !== undefined) expect(plain(result)).toEqual(sample.result)
        expect(operation.refOf(response)).toBe(sample.ref ?? null)
      },
    )

    test('[VN11] its credential travels as the vendor expects, and is nowhere else', async () => {
      for (const name of Object.keys(provider.operations)) {
        const operation = compiled(provider, name)
        const sample = samples.operations[name] as OperationSample
        const rendered = operation.render(
          scopeOf(operation, sample, samples.config('https://api.example.com')),
        )
        expect(JSON.stringify(rendered)).not.toContain(SECRET)
      }
    })

    const table: readonly AnswerSample[] = [...USUAL_ANSWERS, ...samples.answers]
    test.each(table.map((one) => [one.as, one] as const))('[VN12] a response is %s: %j', (_as, answer) => {
      const [first = ''] = Object.keys(provider.operations)
      const operation = compiled(provider, answer.operation ?? samples.effect ?? first)
      expect(wordOf(operation, outcomeOf(answer))).toBe(answer.as)
    })

    const looked = Object.entries(provider.operations).filter(([, { lookup }]) => lookup !== null)
    test.each(looked.map(([name]) => name))(
      '[VN13] %s is found if it exists, and not if it does not',
      async (name) => {
        const stage = await begin()
        const operation = compiled(provider, name)
        const sample = samples.operations[name] as OperationSample
        const scope = scopeOf(operation, sample, stage.config)
        const { lookup } = operation
        if (lookup === null || sample.lookup === undefined)
          throw new Error(`${name} has no sample of its lookup`)
        const ask = async (answer: VendorReply) => {
          stage.vendor.answer('*', answer)
          const outcome = await send(stage, provider, lookup.render(scope), operation.document)
          return lookup.found(scope, responseOf(outcome))
        }
        expect(await ask(sample.lookup.there)).toEqual({
          isThere: true,
          ref: sample.lookup.ref ?? sample.ref ?? null,
        })
        const [call] = stage.vendor.calls
        expect(`${call?.method} ${call?.target}`).toBe(sample.lookup.target)
        expect(await ask(sample.lookup.absent)).toEqual({ isThere: false, ref: null })
        for (const unclear of [...USUAL_DOUBTS, ...(sample.lookup.unclear ?? [])])
          await expect(ask(unclear)).rejects.toThrow(ExpressionError)
      },
    )

    const listed = looked.filter(([, { lookup }]) => lookup?.found.includes('.exists('))
    test.each(listed.map(([name]) => name))('[VN23] %s is not denied by one page of several', (name) => {
      const operation = compiled(provider, name)
      const sample = samples.operations[name] as OperationSample
      const { pages = [] } = sample.lookup ?? {}
      if (pages.length === 0) throw new Error(`${name} has no sample of a page that others follow`)
      const scope = scopeOf(operation, sample, samples.config('https://api.example.com'))
      for (const { status, headers = {}, body } of pages) {
        const page = parseResponse({ status, headers, body: stringifyJson(body as JsonValue) })
        expect(() => operation.lookup?.found(scope, page)).toThrow(ExpressionError)
      }
    })

    test('[VN14] its probe distinguishes a valid credential from an invalid one', async () => {
      const { probe } = provider
      if (probe === null) {
        expect(samples.probe).toBeUndefined()
        return
      }
      const stage = await begin()
      stage.vendor.answer('*', samples.probe?.answer ?? { status: 200, body: {} })
      const probing = asOperation(provider, probe)
      const request = compilePath(probe, null, 'json')({ config: stage.config, vars: {} })
      const good = await send(stage, provider, request, probing.document)
      expect(wordOf(probing, good)).toBe('done')
      const [call] = stage.vendor.calls
      expect(`${call?.method} ${call?.target}`).toBe(samples.probe?.target)
      if (provider.auth[0] === 'none') return
      for (const token of stage.vendor.tokens.all()) stage.vendor.tokens.revoke(token.value)
      expect(wordOf(probing, await send(stage, provider, request, probing.document))).toBe('auth')
    })

    test('[VN15] a call over the vendor’s limit waits', async () => {
      const stage = await begin()
      const [name = ''] = Object.keys(provider.operations)
      const operation = compiled(provider, name)
      const sample = samples.operations[name] as OperationSample
      const request = operation.render(scopeOf(operation, sample, stage.config))
      stage.vendor.answer('*', sample.answer)
      stage.vendor.limit({ limit: 1, windowMs: 60_000, dialect: samples.limits ?? 'retry-after' })
      await send(stage, provider, request, operation.document)
      expect(wordOf(operation, await send(stage, provider, request, operation.document))).toBe('rate_limited')
    })
  })
}

/** What holds for every vendor unless its samples say otherwise. */
const USUAL_ANSWERS: readonly AnswerSample[] = [
  { status: 401, body: {}, as: 'auth' },
  { status: 429, body: {}, as: 'rate_limited' },
  { status: 503, body: {}, as: 'transient' },
  { status: 400, body: {}, as: 'validation' },
  { status: 422, body: {}, as: 'validation' },
]

/** Responses that prove nothing about an effect, from any vendor. */
const USUAL_DOUBTS: readonly VendorReply[] = [
  { status: 200, body: '<!doctype html><p>Sign in</p>' },
  { status: 200, body: { message: 'Sign in' } },
  { status: 200, body: null },
]

interface Stage {
  readonly vendor: VendorApi
  readonly client: HttpClient
  readonly config: JsonValue
  readonly address: string
}

/** With its provider's classification of every response. */
function compiled(provider: ProviderDocument, name: string): CompiledOperation {
  const operation = operationOf(provider, name)
  if (operation === null) throw new Error(`${provider.name} has no operation ${name}`)
  return compileOperation(operation)
}

function asOperation(
  provider: ProviderDocument,
  probe: NonNullable<ProviderDocument['probe']>,
): CompiledOperation {
  const [any] = Object.values(provider.operations)
  const { classify, refine } = provider
  return compileOperation({
    ...(any as OperationDocument),
    ...probe,
    body: null,
    lookup: null,
    idempotency: 'idempotent',
    classify,
    refine,
  })
}

function scopeOf(
  { document }: CompiledOperation,
  sample: OperationSample,
  config: JsonValue,
): OperationScope {
  const { examples } = document.input as { readonly examples?: readonly JsonValue[] }
  return { input: sample.input ?? examples?.[0] ?? null, config, key: KEY, vars: {} }
}

function send(
  { client, address }: Stage,
  provider: ProviderDocument,
  { method, target, headers, body }: PathRequest,
  { timeoutMs }: OperationDocument,
): Promise<HttpOutcome> {
  const auth = provider.auth[0] ?? 'none'
  const applied = applyValue(provider, { auth, username: 'ada' }, SECRET)
  const more = new URLSearchParams(applied.query).toString()
  const url = `${address}${target}${more === '' ? '' : `${target.includes('?') ? '&' : '?'}${more}`}`
  return client.send({
    method,
    url,
    headers: { ...headers, ...applied.headers },
    body,
    timeoutMs,
    maxResponseBytes: 1_000_000,
  })
}

function responseOf(outcome: HttpOutcome) {
  if (outcome.kind !== 'response') throw new Error(outcome.message)
  return parseResponse(outcome)
}

function outcomeOf({ status, headers = {}, body }: AnswerSample): HttpOutcome {
  return { kind: 'response', status, headers, body: stringifyJson(body), durationMs: 1 }
}

function wordOf(operation: CompiledOperation, outcome: HttpOutcome): FailureClass | 'done' {
  if (outcome.kind !== 'response') throw new Error(outcome.message)
  const retryAfterMs = parseRetryAfter(outcome.headers['retry-after'], 0)
  const facts = { kind: 'response', status: outcome.status, retryAfterMs } as const
  const verdict = operation.refine(parseResponse(outcome), classifyCall(facts, operation.policy))
  return verdict.as === 'done' ? 'done' : verdict.class
}

function plain(value: JsonValue): JsonValue {
  return parseJson(stringifyJson(value))
}
