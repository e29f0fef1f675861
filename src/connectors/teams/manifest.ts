// Microsoft Teams, by a workflow with the trigger "When a Teams webhook request is received".
//
// Its address ends in a signature (`sig=`), which is the secret: the connection's configuration has the address up to
// the workflow's id, and the signature is the credential, sent in the query. Teams does not report the result of a
// message, so it can neither be looked up nor probed: a connection is active once a user says so.

import { type Manifest, makeProvider } from '../manifest.ts'
import { anything, input, list, text } from '../schema.ts'

/** A card with one text, if the input has no card. */
const TEXT_CARD =
  "{{ coalesce(input.card, {'type': 'AdaptiveCard', '$schema': 'http://adaptivecards.io/schemas/adaptive-card.json', 'version': '1.4', 'body': [{'type': 'TextBlock', 'text': coalesce(input.title, ''), 'weight': 'bolder', 'isVisible': input.title != null, 'wrap': true}, {'type': 'TextBlock', 'text': coalesce(input.text, ''), 'wrap': true}], 'actions': coalesce(input.links, []).map(link, {'type': 'Action.OpenUrl', 'title': link.title, 'url': link.url})}) }}"

const manifest: Manifest = {
  name: 'teams',
  title: 'Microsoft Teams',
  description: 'Messages to a channel or a chat of Microsoft Teams, by a workflow’s address.',
  category: 'chat',
  auth: ['apiKey'],
  authentication: { query: 'sig' },
  baseUrl: '{{ config.baseUrl }}',
  config: {
    type: 'object',
    properties: {
      baseUrl: text('The workflow’s address up to its id: https://…/workflows/0123abc.'),
      apiVersion: text('What the address has as api-version; left out: 2016-06-01.'),
      trigger: text('The step between `triggers/` and `/paths` of the address; left out: manual.'),
    },
    required: ['baseUrl'],
    additionalProperties: false,
    examples: [{ baseUrl: 'https://prod-01.westeurope.logic.azure.com/workflows/0123abc' }],
  },
  capabilities: ['messages'],
  // Four a second at most, and fewer over a longer time.
  buckets: { default: { perMinute: 100, burst: 4 } },
  operations: {
    postMessage: {
      description: 'Posts an Adaptive Card, or a text with a title and links.',
      method: 'POST',
      path: "/triggers/{{ coalesce(config.trigger, 'manual') }}/paths/invoke",
      query: {
        'api-version': "{{ coalesce(config.apiVersion, '2016-06-01') }}",
        sp: "/triggers/{{ coalesce(config.trigger, 'manual') }}/run",
        sv: '1.0',
      },
      body: {
        type: 'message',
        attachments: [
          { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: TEXT_CARD },
        ],
      },
      input: {
        ...input(
          {},
          {
            title: text(),
            text: text('Markdown, as far as cards have it.'),
            links: list(
              input({ title: text(), url: text() }, {}, { title: 'Open', url: 'https://example.com' }),
            ),
            card: anything('A whole Adaptive Card, in place of the rest.'),
          },
          { title: 'Deployed', text: 'Version 1.2.0 is in QA.' },
        ),
        anyOf: [{ required: ['text'] }, { required: ['card'] }],
      },
      idempotency: 'none',
    },
  },
}

export const teams = makeProvider(manifest)
