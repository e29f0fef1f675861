// Slack's Web API. It responds 200 to almost everything: the result of a call is in `ok` and `error`.
//
// A message carries its key as metadata, which readers do not see: after a call with an unknown outcome the channel's
// history is searched for it. That needs the scope `channels:history` (or `groups:history`); without it the outcome
// stays unknown, and a user decides. The same holds if the message is not on the first page and others follow: threads
// are read from the oldest on, and some apps get 15 messages at a time.

import { foundIn, isFull } from '../lookup.ts'
import { type Manifest, makeProvider, type OperationManifest } from '../manifest.ts'
import { anyText, anything, fields, flag, input, list, output, text } from '../schema.ts'

const OK = output({ ok: flag() })
const CHANNEL = { channel: text('Its id, such as C024BE91L.') }
const EXAMPLE = { channel: 'C024BE91L' }
const MARK = 'hash(key)'
const HAS_CURSOR = "coalesce(result.body.response_metadata.next_cursor, '') != ''"
const METADATA = { event_type: 'millrace_call', event_payload: { ref: `{{ ${MARK} }}` } }

const BLOCKS = {
  text: anyText('What is shown in notifications, and where blocks cannot be.'),
  blocks: list(anything(), 'Blocks of Block Kit.'),
  attachments: list(anything()),
}

/** If Slack says that it exists already, the call is done. */
function repeatable(
  part: Omit<OperationManifest, 'method' | 'idempotency'>,
  doneAt?: string,
): OperationManifest {
  return {
    ...part,
    method: 'POST',
    idempotency: 'idempotent',
    ...(doneAt !== undefined && {
      refine: [{ when: `result.body.error == '${doneAt}'`, as: 'done' as const }],
    }),
  }
}

function oneOfErrors(...errors: readonly string[]): string {
  return `result.status == 200 && result.body.ok == false && result.body.error in [${errors.map((one) => `'${one}'`).join(', ')}]`
}

const manifest: Manifest = {
  name: 'slack',
  title: 'Slack',
  description: 'Messages, channels and people of a Slack workspace.',
  category: 'chat',
  auth: ['bearer', 'oauth2'],
  oauth2: {
    authorizeUrl: 'https://slack.com/oauth/v2/authorize',
    tokenUrl: "{{ coalesce(config.baseUrl, 'https://slack.com/api') }}/oauth.v2.access",
    scopes: ['chat:write', 'channels:history', 'channels:read', 'users:read.email'],
    clientAuth: 'body',
  },
  baseUrl: "{{ coalesce(config.baseUrl, 'https://slack.com/api') }}",
  config: {
    type: 'object',
    properties: { baseUrl: text('Of GovSlack: https://slack-gov.com/api.') },
    additionalProperties: false,
    examples: [{}],
  },
  capabilities: ['messages', 'channels', 'people', 'reactions'],
  buckets: {
    // Slack's tiers, per method and workspace.
    default: { perMinute: 50, burst: 10 },
    tier2: { perMinute: 20, burst: 5 },
    tier4: { perMinute: 100, burst: 20 },
    // One a second in a channel, with short bursts.
    messages: { perMinute: 60, burst: 10 },
  },
  probe: { method: 'GET', path: '/auth.test' },
  refine: [
    { when: oneOfErrors('ratelimited', 'rate_limited', 'message_limit_exceeded'), as: 'rate_limited' },
    {
      when: oneOfErrors('invalid_auth', 'not_authed', 'token_revoked', 'token_expired', 'account_inactive'),
      as: 'auth',
    },
    // No new secret helps if the app itself lacks the permission.
    {
      when: oneOfErrors(
        'missing_scope',
        'no_permission',
        'channel_not_found',
        'not_in_channel',
        'is_archived',
        'not_allowed_token_type',
        'ekm_access_denied',
        'org_login_required',
        'team_access_not_granted',
        'unknown_method',
        'method_deprecated',
        'deprecated_endpoint',
      ),
      as: 'config',
    },
    { when: oneOfErrors('service_unavailable', 'request_timeout'), as: 'transient' },
    // Slack says of these that some of it may have happened.
    { when: oneOfErrors('internal_error', 'fatal_error'), as: 'unknown' },
    { when: 'result.status == 200 && result.body.ok != true', as: 'validation' },
  ],
  operations: {
    postMessage: {
      description: 'Posts a message to a channel or a thread.',
      method: 'POST',
      path: '/chat.postMessage',
      body: {
        channel: '{{ input.channel }}',
        text: '{{ input.text }}',
        blocks: '{{ input.blocks }}',
        attachments: '{{ input.attachments }}',
        thread_ts: '{{ input.threadTs }}',
        reply_broadcast: '{{ input.broadcast }}',
        unfurl_links: '{{ input.unfurl }}',
        metadata: METADATA,
      },
      input: input(
        CHANNEL,
        {
          ...BLOCKS,
          threadTs: text('The message that it answers.'),
          broadcast: flag('Whether an answer is shown in the channel, too.'),
          unfurl: flag(),
        },
        { ...EXAMPLE, text: 'Deployed.' },
      ),
      output: output({ ok: flag(), channel: text(), ts: text() }),
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: "{{ input.threadTs == null ? '/conversations.history' : '/conversations.replies' }}",
        query: {
          channel: '{{ input.channel }}',
          ts: '{{ input.threadTs }}',
          limit: '100',
          include_all_metadata: 'true',
        },
        ...foundIn(
          'result.body.messages',
          `one.metadata.event_payload.ref == ${MARK}`,
          `coalesce(result.body.has_more, false) || ${HAS_CURSOR} || ${isFull('result.body.messages', 100)}`,
          'ts',
        ),
      },
      ref: 'result.body.ts',
      buckets: ['messages'],
      scopes: ['chat:write'],
    },
    updateMessage: repeatable({
      description: 'Changes a message that the app posted.',
      path: '/chat.update',
      body: {
        channel: '{{ input.channel }}',
        ts: '{{ input.ts }}',
        text: '{{ input.text }}',
        blocks: '{{ input.blocks }}',
        attachments: '{{ input.attachments }}',
      },
      input: input({ ...CHANNEL, ts: text() }, BLOCKS, {
        ...EXAMPLE,
        ts: '1503435956.000247',
        text: 'Done.',
      }),
      output: output({ ok: flag(), channel: text(), ts: text() }),
      ref: 'result.body.ts',
      scopes: ['chat:write'],
    }),
    deleteMessage: repeatable(
      {
        description: 'Removes a message that the app posted; one that is gone already is removed.',
        path: '/chat.delete',
        body: { channel: '{{ input.channel }}', ts: '{{ input.ts }}' },
        input: input({ ...CHANNEL, ts: text() }, {}, { ...EXAMPLE, ts: '1503435956.000247' }),
        output: OK,
        scopes: ['chat:write'],
      },
      'message_not_found',
    ),
    addReaction: repeatable(
      {
        description: 'Adds a reaction to a message.',
        path: '/reactions.add',
        body: { channel: '{{ input.channel }}', timestamp: '{{ input.ts }}', name: '{{ input.name }}' },
        input: input(
          { ...CHANNEL, ts: text(), name: text('Of the emoji, without colons.') },
          {},
          { ...EXAMPLE, ts: '1503435956.000247', name: 'white_check_mark' },
        ),
        output: OK,
        scopes: ['reactions:write'],
      },
      'already_reacted',
    ),
    createChannel: {
      description: 'Opens a channel. Names are taken once in a workspace.',
      method: 'POST',
      path: '/conversations.create',
      body: { name: '{{ input.name }}', is_private: '{{ coalesce(input.isPrivate, false) }}' },
      input: input(
        { name: text('Lower case, without spaces, 80 characters at most.') },
        { isPrivate: flag() },
        { name: 'incident-42' },
      ),
      output: output({ id: text(), name: text() }),
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: '/conversations.list',
        query: { types: 'public_channel,private_channel', exclude_archived: 'false', limit: '1000' },
        // Its pages may be short, and even empty, before the last.
        ...foundIn('result.body.channels', 'one.name == input.name', HAS_CURSOR),
      },
      result: 'result.body.channel',
      ref: 'result.body.channel.id',
      buckets: ['tier2'],
      scopes: ['channels:manage', 'channels:read'],
    },
    inviteToChannel: repeatable(
      {
        description: 'Invites people to a channel.',
        path: '/conversations.invite',
        body: { channel: '{{ input.channel }}', users: "{{ input.users.join(',') }}" },
        input: input(
          { ...CHANNEL, users: list(text('Id of a person.')) },
          {},
          { ...EXAMPLE, users: ['W1234567890', 'U2345678901'] },
        ),
        output: OK,
        ref: 'result.body.channel.id',
        scopes: ['channels:manage'],
      },
      'already_in_channel',
    ),
    setTopic: repeatable({
      description: 'Sets the topic of a channel.',
      path: '/conversations.setTopic',
      body: { channel: '{{ input.channel }}', topic: '{{ input.topic }}' },
      input: input({ ...CHANNEL, topic: anyText() }, {}, { ...EXAMPLE, topic: 'Incident 42' }),
      output: OK,
      buckets: ['tier2'],
      scopes: ['channels:manage'],
    }),
    archiveChannel: repeatable(
      {
        description: 'Archives a channel; one that is archived already is archived.',
        path: '/conversations.archive',
        body: { channel: '{{ input.channel }}' },
        input: input(CHANNEL, {}, EXAMPLE),
        output: OK,
        buckets: ['tier2'],
        scopes: ['channels:manage'],
      },
      'already_archived',
    ),
    lookupUserByEmail: {
      description: 'Finds a person by their address.',
      method: 'GET',
      path: '/users.lookupByEmail',
      query: { email: '{{ input.email }}' },
      input: input({ email: text() }, {}, { email: 'ada@example.com' }),
      output: output({ id: text() }, { name: text(), profile: fields() }),
      idempotency: 'idempotent',
      result: 'result.body.user',
      ref: 'result.body.user.id',
      scopes: ['users:read.email'],
    },
    openConversation: {
      description: 'Opens a direct message with one person or several; the same people have one.',
      method: 'POST',
      path: '/conversations.open',
      body: { users: "{{ input.users.join(',') }}" },
      input: input({ users: list(text('Id of a person.')) }, {}, { users: ['W1234567890'] }),
      output: output({ id: text() }),
      idempotency: 'idempotent',
      result: 'result.body.channel',
      ref: 'result.body.channel.id',
      scopes: ['im:write', 'mpim:write'],
    },
    getUser: {
      description: 'Reads a person.',
      method: 'GET',
      path: '/users.info',
      query: { user: '{{ input.user }}' },
      input: input({ user: text() }, {}, { user: 'W1234567890' }),
      output: output({ id: text() }, { name: text() }),
      idempotency: 'idempotent',
      result: 'result.body.user',
      ref: 'result.body.user.id',
      buckets: ['tier4'],
      scopes: ['users:read'],
    },
  },
  inbound: { scheme: 'slack', subjects: 'slack' },
}

export const slack = makeProvider(manifest)
