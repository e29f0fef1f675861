// Any server that speaks the OpenAI protocol. A request changes nothing there: a lost call is repeated, and costs
// tokens at most.

import { type Manifest, makeProvider, type OperationManifest } from '../manifest.ts'
import { anything, fields, input, list, map, number, oneOf, output, text, whole } from '../schema.ts'

const ANSWER_MS = 120_000

function ask(part: Omit<OperationManifest, 'method' | 'idempotency' | 'timeoutMs'>): OperationManifest {
  return { ...part, method: 'POST', idempotency: 'idempotent', timeoutMs: ANSWER_MS }
}

const manifest: Manifest = {
  name: 'openai-compatible',
  title: 'OpenAI-compatible API',
  description: 'Models behind any server that speaks the OpenAI protocol.',
  category: 'ai',
  auth: ['bearer', 'none'],
  baseUrl: "{{ coalesce(config.baseUrl, 'https://api.openai.com/v1') }}",
  config: {
    type: 'object',
    properties: {
      baseUrl: text('Up to and with /v1; left out: that of OpenAI.'),
      organization: text(),
      project: text(),
    },
    additionalProperties: false,
    examples: [{}],
  },
  capabilities: ['chat', 'embeddings', 'models'],
  headers: { 'openai-organization': '{{ config.organization }}', 'openai-project': '{{ config.project }}' },
  // Accounts differ by orders of magnitude; the headers of each response say what is left.
  buckets: { default: { perMinute: 500, burst: 50 } },
  probe: { method: 'GET', path: '/models' },
  refine: [
    // Waiting does not refill an account.
    { when: "result.status == 429 && result.body.error.code == 'insufficient_quota'", as: 'config' },
    { when: "result.status == 404 && result.body.error.code == 'model_not_found'", as: 'config' },
    {
      when: "result.status == 403 && result.body.error.code == 'unsupported_country_region_territory'",
      as: 'config',
    },
  ],
  operations: {
    createChatCompletion: ask({
      description: 'Asks a model, with all messages up to now.',
      path: '/chat/completions',
      body: {
        model: '{{ input.model }}',
        messages: '{{ input.messages }}',
        temperature: '{{ input.temperature }}',
        top_p: '{{ input.topP }}',
        max_completion_tokens: '{{ input.maxTokens }}',
        stop: '{{ input.stop }}',
        seed: '{{ input.seed }}',
        response_format: '{{ input.responseFormat }}',
        tools: '{{ input.tools }}',
        tool_choice: '{{ input.toolChoice }}',
        user: '{{ input.user }}',
      },
      input: input(
        {
          model: text(),
          messages: list(
            map(
              { role: oneOf('system', 'developer', 'user', 'assistant', 'tool'), content: anything() },
              { name: text(), tool_calls: list(fields()), tool_call_id: text() },
            ),
          ),
        },
        {
          temperature: number(),
          topP: number(),
          maxTokens: whole(),
          stop: anything(),
          seed: whole(),
          responseFormat: fields(),
          tools: list(fields()),
          toolChoice: anything(),
          user: text(),
        },
        { model: 'gpt-4.1-mini', messages: [{ role: 'user', content: 'Say yes.' }], temperature: 0 },
      ),
      output: output({ choices: list(output({ message: fields() })) }, { usage: fields() }),
      ref: 'result.body.id',
    }),
    createEmbeddings: ask({
      description: 'Turns texts into vectors.',
      path: '/embeddings',
      body: { model: '{{ input.model }}', input: '{{ input.input }}', dimensions: '{{ input.dimensions }}' },
      input: input(
        { model: text(), input: anything('A text, or a list of them.') },
        { dimensions: whole() },
        { model: 'text-embedding-3-small', input: ['one', 'two'] },
      ),
      output: output({ data: list(output({ embedding: list(number()) })) }),
      ref: 'result.body.model',
    }),
    listModels: {
      description: 'The models that the account may ask.',
      method: 'GET',
      path: '/models',
      input: input({}, {}, {}),
      output: list(output({ id: text() })),
      idempotency: 'idempotent',
      result: 'result.body.data',
    },
  },
}

export const openaiCompatible = makeProvider(manifest)
