// Every parameter of every operation in the OpenAPI document, with values that programs send by mistake and attackers
// on purpose. The list follows the document: a new operation is covered without a change here.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OpenApiOperation, readDocument } from '../src/http/document.fixture.ts'
import { type ApiNode, startApiNode } from './support/api-node.ts'

const document = readDocument()
type Parameter = NonNullable<OpenApiOperation['parameters']>[number]
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    operation,
    parameters: (operation.parameters ?? []).filter((one) => one.in === 'query' || one.in === 'path'),
  })),
)
const tried = operations.filter(({ parameters }) => parameters.length > 0)

/** As written in an address. */
const NOT_NUMBERS = [
  'Infinity',
  '-Infinity',
  '1e999',
  '-1e999',
  'NaN',
  '0x10',
  '0b1',
  '%2B5',
  '%205',
  '5%20',
  '05',
  '1.5',
  '1_0',
  '',
  'null',
  'true',
  '99999999999999999999999999',
  '-1',
]
const NASTY = [
  ...NOT_NUMBERS,
  '0',
  '%00',
  '%0a',
  '%ff',
  '%',
  '..%2f..',
  '__proto__',
  'constructor',
  '%27%3B--',
  '%F0%9F%92%A9',
  '%ED%A0%80',
  '2026-02-30T00:00:00Z',
  '2026-01-01T24:00:00Z',
  'x'.repeat(3_000),
]

let node: ApiNode
beforeAll(async () => {
  node = await startApiNode()
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
})

interface Tried {
  readonly status: number
  readonly type: string
  readonly text: string
}

async function send(method: string, address: string): Promise<Tried> {
  const abort = new AbortController()
  const answer = await fetch(`${node.app.url}${address}`, {
    method,
    redirect: 'manual',
    headers: {
      authorization: `Bearer ${node.app.adminKey.value}`,
      ...(method !== 'GET' && method !== 'DELETE' && { 'content-type': 'application/json' }),
    },
    ...(method !== 'GET' && method !== 'DELETE' && { body: '{}' }),
    signal: abort.signal,
  })
  const type = answer.headers.get('content-type') ?? ''
  // A stream has no end.
  if (type.startsWith('text/event-stream')) abort.abort()
  const text = type.startsWith('text/event-stream') ? '' : await answer.text()
  return { status: answer.status, type, text }
}

function addressOf(path: string, parameter: Parameter, value: string): string {
  const inPath = (name: string) => (parameter.in === 'path' && name === parameter.name ? value : 'none')
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => inPath(name))
  return parameter.in === 'query' ? `${address}?${parameter.name}=${value}` : address
}

function faultOf({ status, type, text }: Tried): string | null {
  if (status >= 500) return `${status} ${text}`
  if (status < 400) return null
  if (!type.startsWith('application/problem+json')) return `${status} is ${type}`
  const problem = JSON.parse(text)
  return problem.status === status && typeof problem.next === 'string' ? null : text
}

test('there is something to test', () => {
  expect(tried.length).toBeGreaterThan(50)
})

describe('[AP25] no parameter makes an operation fail', () => {
  test.each(tried)('$name', async ({ method, path, parameters }) => {
    const faults: string[] = []
    for (const parameter of parameters) {
      const values = parameter.in === 'query' ? [...NASTY, `1&${parameter.name}=2`] : NASTY
      const found = await Promise.all(
        values.map(async (value) => {
          const answer = await send(method, addressOf(path, parameter, value))
          const fault = faultOf(answer)
          const isNumber = parameter.in === 'query' && parameter.schema.type === 'integer'
          if (fault !== null) return `${parameter.name}=${value}: ${fault}`
          return isNumber && NOT_NUMBERS.includes(value) && answer.status !== 400
            ? `${parameter.name}=${value} is taken: ${answer.status}`
            : null
        }),
      )
      faults.push(...found.filter((fault) => fault !== null))
    }
    expect(faults).toEqual([])
  })
})
