import { connectorConformance, markOf } from '../connector.conformance.ts'
import { slack } from './manifest.ts'

const CHANNEL = 'C024BE91L'
const TS = '1503435956.000247'
const METADATA = { event_type: 'millrace_call', event_payload: { ref: markOf() } }
const error = (name: string) => ({ ok: false, error: name })
const OK = { status: 200, body: { ok: true } }

connectorConformance(slack, {
  config: (url) => ({ baseUrl: url }),
  effect: 'postMessage',
  limits: 'slack',
  refusal: { status: 200, body: error('invalid_auth') },
  probe: { target: 'GET /auth.test', answer: { status: 200, body: { ok: true, team: 'T1' } } },
  operations: {
    postMessage: {
      target: 'POST /chat.postMessage',
      headers: { 'content-type': 'application/json', authorization: 'Bearer planted-secret-0001' },
      json: { channel: CHANNEL, text: 'Deployed.', metadata: METADATA },
      answer: { status: 200, body: { ok: true, channel: CHANNEL, ts: TS } },
      result: { ok: true, channel: CHANNEL, ts: TS },
      ref: TS,
      lookup: {
        target: `GET /conversations.history?channel=${CHANNEL}&limit=100&include_all_metadata=true`,
        there: { status: 200, body: { ok: true, messages: [{ ts: '1.0' }, { ts: TS, metadata: METADATA }] } },
        absent: { status: 200, body: { ok: true, messages: [{ ts: '1.0' }], has_more: false } },
        pages: [
          { status: 200, body: { ok: true, messages: [{ ts: '1.0' }], has_more: true } },
          { status: 200, body: { ok: true, messages: [], response_metadata: { next_cursor: 'bmV4dA==' } } },
          { status: 200, body: { ok: true, messages: Array.from({ length: 100 }, () => ({ ts: '1.0' })) } },
        ],
        unclear: [{ status: 200, body: error('missing_scope') }],
      },
    },
    updateMessage: {
      target: 'POST /chat.update',
      json: { channel: CHANNEL, ts: TS, text: 'Done.' },
      answer: { status: 200, body: { ok: true, channel: CHANNEL, ts: TS } },
      ref: TS,
    },
    deleteMessage: { target: 'POST /chat.delete', json: { channel: CHANNEL, ts: TS }, answer: OK },
    addReaction: {
      target: 'POST /reactions.add',
      json: { channel: CHANNEL, timestamp: TS, name: 'white_check_mark' },
      answer: OK,
    },
    createChannel: {
      target: 'POST /conversations.create',
      json: { name: 'incident-42', is_private: false },
      answer: { status: 200, body: { ok: true, channel: { id: 'C1', name: 'incident-42' } } },
      result: { id: 'C1', name: 'incident-42' },
      ref: 'C1',
      lookup: {
        target:
          'GET /conversations.list?types=public_channel%2Cprivate_channel&exclude_archived=false&limit=1000',
        there: {
          status: 200,
          body: {
            ok: true,
            channels: [{ id: 'C1', name: 'incident-42' }],
            response_metadata: { next_cursor: 'x' },
          },
        },
        absent: { status: 200, body: { ok: true, channels: [], response_metadata: { next_cursor: '' } } },
        pages: [
          { status: 200, body: { ok: true, channels: [], response_metadata: { next_cursor: 'dGVhbTo=' } } },
        ],
        unclear: [{ status: 200, body: error('missing_scope') }],
      },
    },
    inviteToChannel: {
      target: 'POST /conversations.invite',
      json: { channel: CHANNEL, users: 'W1234567890,U2345678901' },
      answer: { status: 200, body: { ok: true, channel: { id: CHANNEL } } },
      ref: CHANNEL,
    },
    setTopic: {
      target: 'POST /conversations.setTopic',
      json: { channel: CHANNEL, topic: 'Incident 42' },
      answer: OK,
    },
    archiveChannel: { target: 'POST /conversations.archive', json: { channel: CHANNEL }, answer: OK },
    lookupUserByEmail: {
      target: 'GET /users.lookupByEmail?email=ada%40example.com',
      answer: { status: 200, body: { ok: true, user: { id: 'W1', name: 'ada' } } },
      result: { id: 'W1', name: 'ada' },
      ref: 'W1',
    },
    openConversation: {
      target: 'POST /conversations.open',
      json: { users: 'W1234567890' },
      answer: { status: 200, body: { ok: true, channel: { id: 'D1' } } },
      result: { id: 'D1' },
      ref: 'D1',
    },
    getUser: {
      target: 'GET /users.info?user=W1234567890',
      answer: { status: 200, body: { ok: true, user: { id: 'W1234567890' } } },
      ref: 'W1234567890',
    },
  },
  answers: [
    { status: 200, body: { ok: true, ts: TS }, as: 'done' },
    ...(
      [
        ['ratelimited', 'rate_limited'],
        ['invalid_auth', 'auth'],
        ['not_authed', 'auth'],
        ['token_revoked', 'auth'],
        ['token_expired', 'auth'],
        ['missing_scope', 'config'],
        ['channel_not_found', 'config'],
        ['is_archived', 'config'],
        ['service_unavailable', 'transient'],
        ['internal_error', 'unknown'],
        ['msg_too_long', 'validation'],
        ['no_text', 'validation'],
      ] as const
    ).map(([name, as]) => ({ status: 200, body: error(name), as })),
    { operation: 'addReaction', status: 200, body: error('already_reacted'), as: 'done' },
    { operation: 'inviteToChannel', status: 200, body: error('already_in_channel'), as: 'done' },
    { operation: 'archiveChannel', status: 200, body: error('already_archived'), as: 'done' },
    { operation: 'deleteMessage', status: 200, body: error('message_not_found'), as: 'done' },
    { operation: 'createChannel', status: 200, body: error('name_taken'), as: 'validation' },
    // An HTML page instead of a response.
    { status: 200, body: '<html>', as: 'validation' },
  ],
  inbound: {
    secret: 's3cret',
    headers: {},
    payload: { type: 'event_callback', team_id: 'T1', event_id: 'Ev1', event: { type: 'app_mention' } },
    subject: 'slack.events.app_mention',
  },
})
