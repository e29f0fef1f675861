import { connectorConformance } from '../connector.conformance.ts'
import { openaiCompatible } from './manifest.ts'

const error = (code: string) => ({ error: { code, message: 'no' } })

connectorConformance(openaiCompatible, {
  config: (url) => ({ baseUrl: `${url}/v1`, organization: 'org-1' }),
  effect: 'createChatCompletion',
  refusal: { status: 401, body: error('invalid_api_key') },
  probe: { target: 'GET /v1/models', answer: { status: 200, body: { data: [] } } },
  operations: {
    createChatCompletion: {
      target: 'POST /v1/chat/completions',
      headers: { 'openai-organization': 'org-1', authorization: 'Bearer planted-secret-0001' },
      json: { model: 'gpt-4.1-mini', messages: [{ role: 'user', content: 'Say yes.' }], temperature: 0 },
      answer: { status: 200, body: { id: 'chatcmpl-1', choices: [{ message: { content: 'yes' } }] } },
      result: { id: 'chatcmpl-1', choices: [{ message: { content: 'yes' } }] },
      ref: 'chatcmpl-1',
    },
    createEmbeddings: {
      target: 'POST /v1/embeddings',
      json: { model: 'text-embedding-3-small', input: ['one', 'two'] },
      answer: { status: 200, body: { model: 'text-embedding-3-small', data: [{ embedding: [0.5] }] } },
      ref: 'text-embedding-3-small',
    },
    listModels: {
      target: 'GET /v1/models',
      answer: { status: 200, body: { data: [{ id: 'a' }] } },
      result: [{ id: 'a' }],
    },
  },
  answers: [
    { status: 429, body: error('rate_limit_exceeded'), as: 'rate_limited' },
    { status: 429, body: error('insufficient_quota'), as: 'config' },
    { status: 404, body: error('model_not_found'), as: 'config' },
    { status: 400, body: error('context_length_exceeded'), as: 'validation' },
    // A repeated request costs tokens at most.
    { status: 500, body: {}, as: 'transient' },
  ],
})
