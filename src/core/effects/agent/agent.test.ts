import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AgentDocument } from '../../definitions/documents/index.ts'
import {
  chatRequest,
  estimateTokens,
  makeAnswerCheck,
  makeStreamReader,
  type Reply,
  readWhole,
} from './index.ts'

const AGENT: AgentDocument = {
  kind: 'Agent',
  name: 'issue prioritiser',
  description: null,
  baseUrl: 'https://models.example.com/v1',
  secret: null,
  headers: {},
  model: 'small-1',
  system: null,
  user: '{{ title }}',
  output: { type: 'object', required: ['priority'], properties: { priority: { enum: ['low', 'high'] } } },
  temperature: 0,
  timeoutMs: 10_000,
  budget: null,
  repairs: 1,
}

const said = (text: string, finish: string | null = 'stop'): Reply => ({
  text,
  tokens: 1,
  finish,
  error: null,
})

const piece = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`
const END = `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }] })}\n\ndata: ${JSON.stringify(
  {
    choices: [],
    usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
  },
)}\n\ndata: [DONE]\n\n`

test('[AG4] requests a stream, its usage, and an answer in the shape of the schema', () => {
  const body = JSON.parse(chatRequest(AGENT, [{ role: 'user', content: 'a "title"' }], 50))
  expect(body).toEqual({
    model: 'small-1',
    messages: [{ role: 'user', content: 'a "title"' }],
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0,
    max_tokens: 50,
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'issue_prioritiser', schema: AGENT.output },
    },
  })
  const plain = JSON.parse(chatRequest({ ...AGENT, output: null, temperature: null }, [], null))
  expect(Object.keys(plain)).toEqual(['model', 'messages', 'stream', 'stream_options'])
})

describe('a stream', () => {
  const stream = `: comment\r\n${piece('{"pri')}${piece('ority":')}${piece(' "höh"}')}${END}`

  test('[AG4] is parsed wherever it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 12 }), (cuts) => {
        const pieces: string[] = []
        const reader = makeStreamReader((text) => pieces.push(text))
        let from = 0
        for (const to of [...cuts, stream.length].sort((a, b) => a - b)) {
          reader.read(stream.slice(from, to))
          from = to
        }
        expect(reader.end()).toEqual({ text: '{"priority": "höh"}', tokens: 7, finish: 'stop', error: null })
        expect(pieces).toEqual(['{"pri', 'ority":', ' "höh"}'])
      }),
    )
  })

  test('[AG4] that breaks off reports it, without the words of the server', () => {
    const reader = makeStreamReader(() => {})
    reader.read(`${piece('a')}data: {"error":{"type":"overloaded","message":"you asked: s3cret"}}\n\n`)
    expect(reader.end()).toMatchObject({ text: 'a', error: 'the server broke off: overloaded' })
    const broken = makeStreamReader(() => {})
    broken.read('data: {"choices"\n')
    expect(broken.end().error).toBe('a piece of the stream is not JSON')
  })

  test('[AG4] never throws, whatever a server sends', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.string(),
            fc.json().map((text) => `data: ${text}\n`),
          ),
        ),
        (chunks) => {
          const reader = makeStreamReader(() => {})
          for (const chunk of chunks) reader.read(chunk)
          const reply = reader.end()
          expect(typeof reply.text).toBe('string')
          expect(typeof readWhole(chunks.join('')).text).toBe('string')
        },
      ),
    )
  })
})

test('[AG4] a complete response is accepted as well', () => {
  const body = {
    choices: [{ message: { content: 'yes' }, finish_reason: 'stop' }],
    usage: { total_tokens: 3 },
  }
  expect(readWhole(JSON.stringify(body))).toEqual({ text: 'yes', tokens: 3, finish: 'stop', error: null })
  expect(readWhole('<html>').error).toBe('the answer is not JSON')
  expect(readWhole('{}').error).toBe('the answer says nothing')
})

test('[AG1] an answer is JSON that matches, in a code fence or not; otherwise the reason is reported without values', () => {
  const check = makeAnswerCheck(AGENT)
  expect(check(said('{"priority":"high"}'))).toEqual({ ok: true, value: { priority: 'high' } })
  expect(check(said('```json\n{"priority":"low"}\n```'))).toEqual({ ok: true, value: { priority: 'low' } })
  expect(check(said('high'))).toEqual({ ok: false, problem: 'the answer is not JSON' })
  expect(check(said('{}'))).toEqual({ ok: false, problem: 'answer.priority is missing' })
  const wrong = check(said('{"priority":"s3cret"}'))
  expect(wrong.ok).toBe(false)
  expect(JSON.stringify(wrong)).not.toContain('s3cret')
  expect(check(said('{"priority":"high"}', 'length'))).toMatchObject({ ok: false })
  expect(check(said('{"priority":"high"}', 'content_filter'))).toMatchObject({ ok: false })
})

test('[AG1] without a schema the answer is non-empty text', () => {
  const check = makeAnswerCheck({ output: null })
  expect(check(said('hello'))).toEqual({ ok: true, value: 'hello' })
  expect(check(said(''))).toMatchObject({ ok: false })
})

test('[AG2] usage that a server does not report is estimated, so that a budget still limits', () => {
  expect(estimateTokens([{ role: 'user', content: '12345678' }], '1')).toBe(3)
})
