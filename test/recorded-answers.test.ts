// What the API answers, byte for byte: every operation over a node that does the same in every run, and thousands of requests that must be
// refused. A change that means to leave answers as they are passes without `-u`.

import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OpenApiDocument, readDocument } from '../src/http/document.fixture.ts'
import { type RecordedNode, startRecordedNode } from './support/recorded-node.ts'
import { askEverything, badRequests, makeRecorder, type Recorded } from './support/recorded-requests.ts'

let node: RecordedNode
let document: OpenApiDocument
const recorded: Recorded[] = []

beforeAll(async () => {
  document = readDocument()
  node = await startRecordedNode()
  const recorder = makeRecorder(node, recorded)
  await askEverything(node, recorder)
  for (const [path, item] of Object.entries(document.paths)) {
    const isAsked = recorded.some(({ request }) => request.url.split('?')[0] === path)
    if (item.get?.operationId.startsWith('list') && !path.includes('{') && !isAsked)
      await recorder.ask('GET', path)
  }
})
afterAll(() => node.close())

const render = ({ request, answer }: Recorded) => {
  const { method, url, headers, body } = request
  const sent = body === undefined ? '' : ` ${typeof body === 'string' ? body : JSON.stringify(body)}`
  const said = headers === undefined ? '' : ` ${JSON.stringify(headers)}`
  return `${method} ${url}${said}${sent}\n${answer.status} ${JSON.stringify(answer.headers)}\n${answer.text}\n`
}

test('every operation answers as recorded', async () => {
  await expect(recorded.map(render).join('\n')).toMatchFileSnapshot('recorded/answers.txt')
})

test('every operation is recorded', () => {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId }]) => ({ operationId, method, path })),
  )
  const isRecorded = ({ method, path }: { method: string; path: string }) => {
    const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/?]+')}(\\?|$)`)
    return recorded.some(
      ({ request, answer }) =>
        request.method.toLowerCase() === method && pattern.test(request.url) && answer.status < 300,
    )
  }
  const missing = operations.filter((one) => !isRecorded(one)).map(({ operationId }) => operationId)
  expect(missing.sort()).toEqual(MISSING)
})

/** Only their refusals are recorded here; `/in` and the stream are not served by the framework, and the document has its own test. */
const MISSING: readonly string[] = [
  'authorizeCredential',
  'closeCircuit',
  'closeWorkflowCircuit',
  'finishAuthorization',
  'getOpenApi',
  'ingest',
  'probeWork',
  'revealSubscriptionSecret',
  'sendDemo',
  'signOut',
  'stream',
]

test('every wrong request is refused as recorded', async () => {
  const lines: string[] = []
  for (const request of badRequests(document)) {
    const { status, text } = await node.call(request)
    const body = request.body === undefined ? '' : JSON.stringify(request.body)
    const sent =
      body.length > 200
        ? `${body.slice(0, 40)}… ${createHash('sha256').update(body).digest('hex').slice(0, 8)}`
        : body
    const problem = JSON.parse(text === '' ? 'null' : text)
    const shown =
      status < 400 ? `${text.length}` : JSON.stringify([problem.code, problem.detail, problem.details])
    lines.push(`${request.method} ${request.url.slice(0, 120)} ${sent} → ${status} ${shown}`)
  }
  expect(lines.length).toBeGreaterThan(1_000)
  await expect(`${lines.sort().join('\n')}\n`).toMatchFileSnapshot('recorded/refusals.txt')
})
