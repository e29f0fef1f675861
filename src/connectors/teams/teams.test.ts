import { connectorConformance } from '../connector.conformance.ts'
import { teams } from './manifest.ts'

connectorConformance(teams, {
  config: (url) => ({ baseUrl: `${url}/workflows/0123abc` }),
  operations: {
    postMessage: {
      target:
        'POST /workflows/0123abc/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=planted-secret-0001',
      headers: { 'content-type': 'application/json' },
      json: {
        type: 'message',
        attachments: [
          {
            contentType: 'application/vnd.microsoft.card.adaptive',
            contentUrl: null,
            content: {
              type: 'AdaptiveCard',
              $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
              version: '1.4',
              body: [
                { type: 'TextBlock', text: 'Deployed', weight: 'bolder', isVisible: true, wrap: true },
                { type: 'TextBlock', text: 'Version 1.2.0 is in QA.', wrap: true },
              ],
              actions: [],
            },
          },
        ],
      },
      answer: { status: 202 },
    },
  },
  answers: [
    { status: 404, body: { error: { code: 'WorkflowNotFound' } }, as: 'config' },
    { status: 502, body: {}, as: 'unknown' },
  ],
})
