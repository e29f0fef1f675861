import { connectorConformance } from '../connector.conformance.ts'
import { email } from './manifest.ts'

connectorConformance(email, {
  config(url) {
    const { hostname, port } = new URL(url)
    return {
      host: hostname,
      port: Number(port),
      security: 'starttls',
      insecure: true,
      from: 'millrace@example.com',
    }
  },
  token: (secret) => btoa(`ada:${secret}`),
  probe: { target: 'HEAD /', answer: { status: 200 } },
  operations: {
    send: {
      target: 'POST /',
      headers: { 'x-smtp-plain': 'true', authorization: `Basic ${btoa('ada:planted-secret-0001')}` },
      json: {
        from: 'millrace@example.com',
        to: ['ada@example.com'],
        subject: 'Deployed',
        text: 'Version 1.2.0 is in QA.',
      },
      answer: {
        status: 200,
        body: { messageId: '<1@example.com>', accepted: ['ada@example.com'], rejected: [] },
      },
      ref: '<1@example.com>',
    },
  },
  answers: [
    { status: 500, body: {}, as: 'unknown' },
    { status: 207, body: { accepted: ['ada@example.com'], rejected: ['bob@example.com'] }, as: 'unknown' },
  ],
})
