// Acme's API: what it is for, which version of it, and its peculiarities. `npm run new connector` creates a connector
// from this folder; docs/connectors.md says what to change, and in which order.

import { foundIn } from '../lookup.ts'
import { type Manifest, makeProvider } from '../manifest.ts'
import { anyText, input, list, output, text, whole } from '../schema.ts'

const THING = output({ id: whole(), name: text() }, { url: text() })

const manifest: Manifest = {
  name: 'acme',
  title: 'Acme',
  description: 'Things of an Acme account.',
  category: 'other',
  // The supported credentials; the first is the usual one.
  auth: ['bearer'],
  // `config.baseUrl` lets tests and private servers replace it.
  baseUrl: "{{ coalesce(config.baseUrl, 'https://api.acme.example') }}",
  config: {
    type: 'object',
    properties: { baseUrl: text('Of one’s own server.'), workspace: text('Its name.') },
    required: ['workspace'],
    additionalProperties: false,
    examples: [{ workspace: 'main' }],
  },
  capabilities: ['things'],
  // In every request.
  headers: { accept: 'application/json' },
  buckets: { default: { perMinute: 300, burst: 30 } },
  // Reads something that requires a valid credential.
  probe: { method: 'GET', path: '/me' },
  // What a response means if its status does not say it; the first match counts.
  refine: [{ when: "result.status == 403 && result.body.code == 'missing_scope'", as: 'config' }],
  operations: {
    getThing: {
      description: 'Reads a thing.',
      method: 'GET',
      path: '/workspaces/{{ config.workspace }}/things/{{ input.id }}',
      input: input({ id: whole() }, {}, { id: 7 }),
      output: THING,
      idempotency: 'idempotent',
    },
    createThing: {
      description: 'Makes a thing; the reference says whether it is there.',
      method: 'POST',
      path: '/workspaces/{{ config.workspace }}/things',
      body: { name: '{{ input.name }}', tags: '{{ input.tags }}', reference: '{{ hash(key) }}' },
      input: input({ name: text() }, { tags: list(text()) }, { name: 'one', tags: ['new'] }),
      output: THING,
      // Choose by what the vendor offers: `native` (it knows our key), `lookup` (it can be asked), `idempotent`, or `none`.
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: '/workspaces/{{ config.workspace }}/things',
        query: { reference: '{{ hash(key) }}' },
        // The third says when a response is not the whole list: what is not on this page may be on the next.
        ...foundIn('result.body.items', 'one.reference == hash(key)', 'result.body.next != null'),
      },
      ref: 'result.body.id',
      scopes: ['things:write'],
    },
    updateThing: {
      description: 'Changes a thing.',
      method: 'PATCH',
      path: '/workspaces/{{ config.workspace }}/things/{{ input.id }}',
      body: { name: '{{ input.name }}', note: '{{ input.note }}' },
      input: input({ id: whole() }, { name: text(), note: anyText() }, { id: 7, name: 'two' }),
      output: THING,
      idempotency: 'idempotent',
      ref: 'result.body.id',
      scopes: ['things:write'],
    },
    deleteThing: {
      description: 'Removes a thing; one that is gone already is removed.',
      method: 'DELETE',
      path: '/workspaces/{{ config.workspace }}/things/{{ input.id }}',
      input: input({ id: whole() }, {}, { id: 7 }),
      idempotency: 'idempotent',
      classify: { 404: 'done' },
      scopes: ['things:write'],
    },
  },
}

export const acme = makeProvider(manifest)
