// Any REST API, without its own manifest: the address comes from the connection, and the request from the input. If
// more is known of an API (what its responses mean, how its calls are repeated safely), write a `kind: Provider`.

import { type Manifest, makeProvider, type OperationManifest } from '../manifest.ts'
import { anything, fields, input, text } from '../schema.ts'

const PATH = {
  path: { ...text('Begins with a slash, percent-encoded, without a query.'), pattern: '^/[^?#\\s\\\\]*$' },
}
const MORE = { query: fields('Values by name; a list repeats its name.'), headers: fields('Texts by name.') }
const EXAMPLE = { path: '/v1/things/7', query: { expand: 'all' } }

function call(
  method: string,
  description: string,
  part: Pick<OperationManifest, 'idempotency'> & Partial<OperationManifest>,
): OperationManifest {
  const hasBody = !['GET', 'DELETE', 'HEAD'].includes(method)
  return {
    description,
    method,
    path: '{{ input.path }}',
    query: { '*': '{{ input.query }}' },
    headers: { '*': '{{ input.headers }}' },
    ...(hasBody && { body: '{{ input.body }}' }),
    input: input(
      PATH,
      hasBody ? { ...MORE, body: anything('A text is sent as it is, anything else as JSON.') } : MORE,
      hasBody ? { ...EXAMPLE, body: { name: 'one' } } : EXAMPLE,
    ),
    ...part,
  }
}

const manifest: Manifest = {
  name: 'http',
  title: 'HTTP API',
  description: 'Any REST API: its address is the connection’s, its paths are those of the input.',
  category: 'generic',
  auth: ['bearer', 'none', 'apiKey', 'basic', 'oauth2', 'hmac'],
  authentication: { header: 'x-api-key', prefix: '' },
  oauth2: { authorizeUrl: '{{ config.authorizeUrl }}', tokenUrl: '{{ config.tokenUrl }}' },
  baseUrl: '{{ config.baseUrl }}',
  config: {
    type: 'object',
    properties: {
      baseUrl: text('What stands before every path: https://api.example.com/v2.'),
      probe: text(
        'A path that can be read with the credential, such as /me. Left out: the address itself; a 404 or 405 there says that the API can be reached, and the credential is not verified.',
      ),
      tokenUrl: text('Of oauth2.'),
      authorizeUrl: text('Of oauth2 with people who allow it.'),
    },
    required: ['baseUrl'],
    additionalProperties: false,
    examples: [{ baseUrl: 'https://api.example.com/v2', probe: '/me' }],
  },
  capabilities: ['any'],
  probe: { method: 'GET', path: "{{ coalesce(config.probe, '/') }}" },
  operations: {
    get: call('GET', 'Reads something.', { idempotency: 'idempotent' }),
    post: call(
      'POST',
      'Makes something. The key is sent as Idempotency-Key, but whether the API knows it is not known.',
      { idempotency: 'none', keyHeader: 'idempotency-key' },
    ),
    put: call('PUT', 'Puts something in place of what is there.', { idempotency: 'idempotent' }),
    patch: call('PATCH', 'Changes a part of something.', {
      idempotency: 'none',
      keyHeader: 'idempotency-key',
    }),
    delete: call('DELETE', 'Removes something; what is gone already is removed.', {
      idempotency: 'idempotent',
      classify: { 404: 'done', 410: 'done' },
    }),
  },
}

export const http = makeProvider(manifest)
