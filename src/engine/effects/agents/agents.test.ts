import { expect, test } from 'vitest'
import type { AgentDocument, RouteDocument } from '../../../core/definitions/documents/index.ts'
import type { HttpOutcome, HttpRequest } from '../../../ports/http-client.ts'
import { accept, answered, makeWorld, ROUTE, SOURCE, workOf } from '../../engine.fixture.ts'
import type { Change } from '../../observe/change-feed.ts'

const AGENT: AgentDocument = {
  kind: 'Agent',
  name: 'prioritiser',
  description: null,
  baseUrl: 'https://models.example/v1/',
  secret: { env: 'MODEL_KEY' },
  headers: { 'x-team': 'triage' },
  model: 'small-1',
  system: 'You are brief.',
  user: 'Order {{ order }}',
  output: { type: 'object', required: ['priority'], properties: { priority: { type: 'string' } } },
  temperature: null,
  timeoutMs: 20_000,
  budget: { tokens: 100 },
  repairs: 1,
}

const asking = (agent: Partial<AgentDocument> = {}): RouteDocument => ({
  ...ROUTE,
  do: { type: 'agent', agent: { ...AGENT, ...agent }, with: { order: '{{ payload.order }}' } },
})

/** Streamed as the protocol does. */
function streamed(text: string, tokens = 10): HttpOutcome {
  const data = [
    { choices: [{ delta: { content: text.slice(0, 3) } }] },
    { choices: [{ delta: { content: text.slice(3) }, finish_reason: 'stop' }] },
    { choices: [], usage: { total_tokens: tokens } },
  ]
  const body = `${data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`
  return {
    kind: 'response',
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    body,
    durationMs: 5,
  }
}

const FITS = streamed('{"priority":"high"}')
const ODD = streamed('high!')

async function ask(answers: readonly HttpOutcome[], agent: Partial<AgentDocument> = {}, secrets = ['k3y']) {
  const requests: HttpRequest[] = []
  const world = makeWorld((request) => {
    requests.push(request)
    return answers[requests.length - 1] ?? null
  }, secrets)
  const node = await world.node({ documents: [SOURCE, asking(agent)] })
  const changes: Change[] = []
  node.engine.watch({ changed: (_tenant, change) => void changes.push(change), lost: () => {} })
  const event = await accept(world, node)
  await world.pass(60_000)
  const work = await workOf(world, event)
  return { world, node, requests, work, changes, entry: await world.reads.ledger('BOOK:o1') }
}

test('[AG1] [AG3] a valid answer ends the job; the secret is in the request and nowhere else', async () => {
  const { work, requests, entry, node, world, changes } = await ask([FITS])
  expect(work).toMatchObject({ state: 'done', attempts: 1 })
  expect(entry).toMatchObject({ state: 'done', result: '{"priority":"high"}' })
  expect(requests[0]).toMatchObject({
    method: 'POST',
    url: 'https://models.example/v1/chat/completions',
    headers: { authorization: 'Bearer k3y', 'x-team': 'triage' },
  })
  expect(JSON.parse(requests[0]?.body ?? '').messages).toEqual([
    { role: 'system', content: 'You are brief.' },
    { role: 'user', content: 'Order o1' },
  ])
  const kept = JSON.stringify([await world.kept.system('verification').dump(), node.log, changes])
  expect(kept).not.toContain('k3y')
})

test('[AG1] an invalid answer is requested again, with what is wrong', async () => {
  const { work, requests, entry } = await ask([ODD, FITS])
  expect(work).toMatchObject({ state: 'done', attempts: 1 })
  expect(entry?.result).toBe('{"priority":"high"}')
  expect(JSON.parse(requests[1]?.body ?? '').messages.slice(2)).toEqual([
    { role: 'assistant', content: 'high!' },
    { role: 'user', content: expect.stringMatching(/^the answer is not JSON\. /) },
  ])
})

test('[AG1] an answer that stays invalid is retried by the profile, and then a dead letter says why', async () => {
  const { work, requests, entry, world } = await ask([ODD, ODD, ODD, ODD, ODD, ODD])
  expect(requests).toHaveLength(6)
  expect(work).toMatchObject({ state: 'dead', attempts: 3, class: 'transient' })
  expect(work.lastError).toContain('the answer does not fit: the answer is not JSON')
  expect(entry?.state).toBe('released')
  expect((await world.reads.deadLetters({ cursor: null, limit: 5 })).items).toHaveLength(1)
})

test('[AG2] the cost of all attempts together is recorded, and ends at the budget', async () => {
  const dear = streamed('high!', 30)
  const { work, requests } = await ask([dear, dear, dear, dear, dear])
  // 30, 60 | 90, and 10 tokens are too few for another answer.
  expect(requests.map(({ body }) => JSON.parse(body ?? '').max_tokens)).toEqual([100, 70, 40])
  expect(work).toMatchObject({ state: 'dead', class: 'validation' })
  expect(work.lastError).toContain('the budget of 100 tokens is used up (90 so far)')
})

test('[AG4] a failing server is retried, also one that aborts in the middle', async () => {
  const broken: HttpOutcome = {
    kind: 'response',
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    body: 'data: {"error":{"type":"overloaded"}}\n\n',
    durationMs: 1,
  }
  const { work, requests } = await ask([answered(500), broken, FITS])
  expect(work).toMatchObject({ state: 'done', attempts: 3 })
  expect(requests).toHaveLength(3)
})

test('[AG3] without its secret an agent is not called', async () => {
  const { work, requests } = await ask([FITS], {}, [])
  expect(requests).toHaveLength(0)
  expect(work).toMatchObject({ state: 'dead', class: 'config' })
  expect(work.lastError).toBe(
    'agent prioritiser: the environment variable `MODEL_KEY` has no value: set it and restart the nodes, then replay',
  )
})

test('[AG5] its text is published while it answers', async () => {
  const { changes, work } = await ask([FITS])
  expect(changes.filter(({ type }) => type === 'agent')[0]).toMatchObject({
    agent: 'prioritiser',
    work: work.id,
    instance: null,
    characters: 3,
    text: '{"p',
  })
})

test('[AG6] an interrupted call is repeated, not parked', async () => {
  const lost: HttpOutcome = {
    kind: 'failed',
    sent: 'maybe',
    code: 'timeout',
    message: 'no answer',
    durationMs: 1,
  }
  const { work, requests } = await ask([lost, FITS])
  expect(work).toMatchObject({ state: 'done', attempts: 2 })
  expect(requests).toHaveLength(2)
})
