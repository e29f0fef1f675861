// Mail by SMTP: one submission per call, to the user's own server or a provider's. The server belongs to the
// connection; the credential is a user name and password there.
//
// No server can be asked whether it accepted a message, so a submission that broke off after its first byte needs a
// decision. The message id derives from the key: servers that deduplicate find duplicates.

import { type Manifest, makeProvider } from '../manifest.ts'
import { anyText, fields, input, list, map, text } from '../schema.ts'

const ADDRESSES = list(text('An address, or a name with one: Ada <ada@example.com>.'))
/** For the adapter, not for the server. */
const PLAIN = { 'x-smtp-plain': '{{ config.insecure }}' }

const manifest: Manifest = {
  name: 'email',
  title: 'E-mail (SMTP)',
  description: 'Messages by any mail server that takes submissions.',
  category: 'mail',
  auth: ['basic', 'none'],
  baseUrl:
    "{{ config.security == 'starttls' ? 'smtp' : 'smtps' }}://{{ config.host }}:{{ coalesce(config.port, config.security == 'starttls' ? 587 : 465) }}",
  config: {
    type: 'object',
    properties: {
      host: text('As in smtp.example.com.'),
      port: {
        type: 'integer',
        minimum: 1,
        maximum: 65_535,
        description: 'Left out: 465, or 587 of starttls.',
      },
      security: { type: 'string', enum: ['tls', 'starttls'], description: 'Left out: tls.' },
      from: text('The sender, where an input says none.'),
      insecure: { type: 'boolean', description: 'Without TLS, to a server on this machine alone.' },
    },
    required: ['host'],
    additionalProperties: false,
    examples: [{ host: 'smtp.example.com', from: 'Millrace <millrace@example.com>' }],
  },
  capabilities: ['messages'],
  headers: PLAIN,
  buckets: { default: { perMinute: 60, burst: 20 } },
  probe: { method: 'HEAD', path: '/' },
  operations: {
    send: {
      description: 'Sends a message. Attachments are in base64.',
      method: 'POST',
      path: '/',
      body: {
        from: '{{ coalesce(input.from, config.from) }}',
        to: '{{ input.to }}',
        cc: '{{ input.cc }}',
        bcc: '{{ input.bcc }}',
        replyTo: '{{ input.replyTo }}',
        subject: '{{ input.subject }}',
        text: '{{ input.text }}',
        html: '{{ input.html }}',
        headers: '{{ input.headers }}',
        attachments: '{{ input.attachments }}',
      },
      input: {
        ...input(
          { to: ADDRESSES, subject: text() },
          {
            from: text('Left out: that of the connection.'),
            cc: ADDRESSES,
            bcc: ADDRESSES,
            replyTo: text(),
            text: anyText(),
            html: anyText(),
            headers: fields('Texts by name, which begins with x- or list-.'),
            attachments: list(map({ filename: text(), content: anyText() }, { contentType: text() })),
          },
          { to: ['ada@example.com'], subject: 'Deployed', text: 'Version 1.2.0 is in QA.' },
        ),
        anyOf: [{ required: ['text'] }, { required: ['html'] }],
      },
      output: {
        type: 'object',
        properties: { messageId: text(), accepted: list(text()), rejected: list(text()) },
        required: ['messageId', 'accepted'],
      },
      idempotency: 'none',
      keyHeader: 'idempotency-key',
      ref: 'result.body.messageId',
      // Some recipients have the message and some do not: a user decides, since sending it again doubles it for the
      // former.
      classify: { 207: 'unknown' },
      timeoutMs: 60_000,
    },
  },
}

export const email = makeProvider(manifest)
