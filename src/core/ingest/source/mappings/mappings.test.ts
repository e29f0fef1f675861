import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SourceDocument } from '../../../definitions/documents/index.ts'
import { parseSubject } from '../../../events/subject/index.ts'
import type { JsonValue } from '../../../foundation/json/index.ts'
import { compileSource } from '../source.ts'
import { MAPPING_NAMES, MAPPINGS, type MappingName } from './index.ts'

type Header = Readonly<Record<string, string>>

const sources = new Map(
  MAPPING_NAMES.map((name) => {
    const { subject, event } = MAPPINGS[name]
    const document: SourceDocument = {
      kind: 'Source',
      name: name.replaceAll('-', '_'),
      description: null,
      verify: { scheme: 'none' },
      subject,
      mapping: name,
      event,
      dedup: { by: 'event.id', windowMs: 60_000 },
      limits: { bodyBytes: 65_536, depth: 16 },
      status: 'active',
    }
    return [name, compileSource(document)] as const
  }),
)

function nameIt(mapping: MappingName, payload: JsonValue, header: Header = {}) {
  const named = sources.get(mapping)?.name({ header, payload, tenant: 'default', payloadHash: 'sha256:ab' })
  if (named?.ok !== true) throw new Error(named?.problem)
  return named.names
}

const AT = Date.UTC(2024, 0, 2, 3, 4, 5)
const ISO = '2024-01-02T03:04:05Z'

describe('GitHub', () => {
  const header = { 'x-github-event': 'issues', 'x-github-delivery': 'd1' }

  test('[CA3] event and action, by the delivery’s id, about the repository', () => {
    const payload = { action: 'opened', issue: { updated_at: ISO }, repository: { id: 7 } }
    expect(nameIt('github', payload, header)).toEqual({
      subject: 'github.events.issues.opened',
      objectType: 'repository',
      objectId: '7',
      occurredAt: AT,
      dedupKey: 'd1',
    })
  })

  test('[CA3] no action, no token; no repository, the organisation', () => {
    const push = { ...header, 'x-github-event': 'push' }
    expect(nameIt('github', { organization: { id: 3 } }, push)).toMatchObject({
      subject: 'github.events.push',
      objectType: 'organization',
      objectId: '3',
      occurredAt: null,
    })
    expect(nameIt('github', {}, push)).toMatchObject({ objectType: null, objectId: null })
  })
})

describe('GitLab', () => {
  test.each([
    ['open', 'created'],
    ['close', 'closed'],
    ['reopen', 'reopened'],
    ['update', 'updated'],
    ['merge', 'merged'],
    ['approved', 'approved'],
    ['unapproval', 'approval_removed'],
  ])('[CA4] the action `%s` is `%s`', (action, word) => {
    const payload = { object_kind: 'issue', object_attributes: { id: 301, action, updated_at: ISO } }
    expect(nameIt('gitlab', payload, { 'idempotency-key': 'k1', 'x-gitlab-event-uuid': 'u1' })).toEqual({
      subject: `gitlab.events.issue.${word}`,
      objectType: 'issue',
      objectId: '301',
      occurredAt: AT,
      dedupKey: 'k1',
    })
  })

  test.each([
    [{ object_kind: 'push', project_id: 15 }, 'push', '15'],
    [{ object_kind: 'tag_push', project_id: 15 }, 'tag_push', '15'],
    [{ object_kind: 'note', object_attributes: { id: 9 } }, 'note', '9'],
    [{ object_kind: 'pipeline', object_attributes: { id: 31, status: 'success' } }, 'pipeline.success', '31'],
    [{ object_kind: 'build', build_id: 1977, build_status: 'failed' }, 'build.failed', '1977'],
    [{ object_kind: 'deployment', deployment_id: 15, status: 'running' }, 'deployment.running', '15'],
    [{ object_kind: 'release', id: 1, action: 'create' }, 'release.created', '1'],
    [{ event_name: 'user_add_to_group', group_id: 78 }, 'user_add_to_group', '78'],
    [{ object_kind: 'feature_flag', object_attributes: { id: 6 } }, 'feature_flag', '6'],
  ])('[CA4] %j is %s', (payload, rest, objectId) => {
    expect(nameIt('gitlab', payload)).toMatchObject({
      subject: `gitlab.events.${rest}`,
      objectId,
      // Without a key from GitLab, the content distinguishes two events.
      dedupKey: `sha256:ab:${objectId}`,
    })
  })

  test('[CA4] a time in its own format is parsed', () => {
    const object_attributes = { updated_at: '2024-01-02 03:04:05 UTC' }
    expect(nameIt('gitlab', { object_kind: 'note', object_attributes }).occurredAt).toBe(AT)
  })
})

test('[CA5] Stripe: the type, as it is', () => {
  const payload = {
    id: 'evt_1',
    object: 'event',
    type: 'invoice.paid',
    created: AT / 1_000,
    data: { object: { id: 'in_1', object: 'invoice' } },
  }
  expect(nameIt('stripe', payload)).toEqual({
    subject: 'stripe.events.invoice.paid',
    objectType: 'invoice',
    objectId: 'in_1',
    occurredAt: AT,
    dedupKey: 'evt_1',
  })
  const thin = {
    id: 'evt_2',
    type: 'v2.core.account.updated',
    created: ISO,
    related_object: { id: 'acct_1' },
  }
  expect(nameIt('stripe', thin)).toMatchObject({
    subject: 'stripe.events.v2.core.account.updated',
    objectId: 'acct_1',
    occurredAt: AT,
  })
})

test('[CA6] Terraform Cloud: the trigger; the same notification has the same key', () => {
  const payload = (trigger: string, at: string) => ({
    payload_version: 1,
    notification_configuration_id: 'nc-1',
    run_id: 'run-1',
    workspace_id: 'ws-1',
    notifications: [{ trigger, run_status: 'applied', run_updated_at: at }],
  })
  const first = nameIt('terraform-cloud', payload('run:completed', ISO))
  expect(first).toMatchObject({
    subject: 'terraform-cloud.events.run.completed',
    objectType: 'run',
    objectId: 'run-1',
    occurredAt: AT,
  })
  const keys = [
    first,
    nameIt('terraform-cloud', { ...payload('run:completed', ISO), run_message: 'again' }),
    nameIt('terraform-cloud', payload('run:errored', ISO)),
    nameIt('terraform-cloud', payload('run:completed', '2024-01-02T03:04:06Z')),
  ].map(({ dedupKey }) => dedupKey)
  expect(keys[1]).toBe(keys[0])
  expect(new Set(keys).size).toBe(3)
  expect(
    nameIt('terraform-cloud', { trigger: 'assessment:drifted', details: { workspace_id: 'ws-1' } }),
  ).toMatchObject({ subject: 'terraform-cloud.events.assessment.drifted', objectId: 'ws-1' })
})

test.each([
  [
    {
      type: 'event_callback',
      event_id: 'Ev1',
      event_time: AT / 1_000,
      event: { type: 'message', channel: 'C1' },
    },
    {
      subject: 'slack.events.message',
      objectType: 'channel',
      objectId: 'C1',
      dedupKey: 'Ev1',
      occurredAt: AT,
    },
  ],
  [
    { event_id: 'Ev2', event: { type: 'message', subtype: 'channel_join', channel: 'C1' } },
    { subject: 'slack.events.message.channel_join' },
  ],
  [
    { event_id: 'Ev3', team_id: 'T1', event: { type: 'channel_created', channel: { id: 'C2' } } },
    { subject: 'slack.events.channel_created', objectId: 'C2' },
  ],
  [
    { command: '/weather', text: 'Berlin', trigger_id: 't1', channel_id: 'C3' },
    { subject: 'slack.events.slash_command.weather', objectId: 'C3', dedupKey: 't1' },
  ],
  [
    { type: 'block_actions', trigger_id: 't2', team: { id: 'T1' }, channel: { id: 'C4' } },
    { subject: 'slack.events.block_actions', objectId: 'C4', dedupKey: 't2' },
  ],
  [
    { type: 'view_submission', trigger_id: 't3', team: { id: 'T1' } },
    { subject: 'slack.events.view_submission', objectType: 'team', objectId: 'T1' },
  ],
])('[CA7] Slack: %j', (payload, names) => {
  expect(nameIt('slack', payload as JsonValue)).toMatchObject(names)
})

test('[CA8] Shopify: the topic', () => {
  const header = {
    'x-shopify-topic': 'orders/create',
    'x-shopify-webhook-id': 'w1',
    'x-shopify-triggered-at': '2024-01-02T03:04:05.000000000Z',
  }
  const newer = Object.fromEntries(Object.entries(header).map(([name, value]) => [name.slice(2), value]))
  for (const headers of [header, newer]) {
    expect(nameIt('shopify', { id: 820_982_911_946_154_508n }, headers)).toEqual({
      subject: 'shopify.events.orders.create',
      objectType: 'orders',
      objectId: '820982911946154508',
      occurredAt: AT,
      dedupKey: 'w1',
    })
  }
})

test('[CA9] Workfront: the object and what happened to it', () => {
  const message = (eventType: string, states: object) => ({
    eventType,
    subscriptionId: 's1',
    eventTime: { epochSecond: AT / 1_000, nano: 5 },
    ...states,
  })
  const hour = nameIt(
    'workfront',
    message('UPDATE', { newState: { ID: 'h1', objCode: 'HOUR' }, oldState: {} }),
  )
  expect(hour).toMatchObject({
    subject: 'workfront.events.hour.updated',
    objectType: 'hour',
    objectId: 'h1',
    occurredAt: AT,
  })
  const issue = nameIt(
    'workfront',
    message('DELETE', { newState: {}, oldState: { ID: 'i1', objCode: 'OPTASK' } }),
  )
  expect(issue).toMatchObject({ subject: 'workfront.events.issue.deleted', objectId: 'i1' })
  expect(issue.dedupKey).not.toBe(hour.dedupKey)
})

describe('for any input', () => {
  /** Fields that mappings read, with arbitrary values. */
  const word = fc.oneof(
    fc.constantFrom(
      'a b.c',
      '*',
      '>',
      '.',
      '',
      ' ',
      'a..b',
      '\u0000',
      '\ud800',
      'x'.repeat(300),
      'é\u00a0ü',
      '__proto__',
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.array(fc.constantFrom('a', '.', '/', ':', '*'), { maxLength: 60 }).map((parts) => parts.join('')),
  )
  const value = fc.oneof(word, fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(null, 7, true, 1e300))
  const names =
    'action type command object_kind event_name eventType trigger status id subtype updated_at'.split(' ')
  const some = fc.dictionary(fc.constantFrom(...names, 'objCode', 'channel', 'created'), value, {
    noNullPrototype: true,
  })
  const payload = fc
    .tuple(
      some,
      fc.dictionary(
        fc.constantFrom('event', 'object_attributes', 'newState', 'data', 'repository', 'issue', 'eventTime'),
        fc.oneof(value, some),
        { noNullPrototype: true },
      ),
      fc.oneof(value, fc.array(fc.oneof(value, some), { maxLength: 2 })),
    )
    .map(([flat, nested, notifications]) => ({ ...flat, ...nested, notifications }) as JsonValue)
  const header = fc.dictionary(
    fc.constantFrom('x-github-event', 'x-shopify-topic', 'idempotency-key'),
    word,
    { noNullPrototype: true },
  )

  test.each(MAPPING_NAMES)('[CA2] %s gives it a valid subject', (name) => {
    fc.assert(
      fc.property(fc.oneof(payload, fc.jsonValue() as fc.Arbitrary<JsonValue>), header, (sent, headers) => {
        const { subject } = nameIt(name, sent, headers)
        expect(parseSubject(subject).ok).toBe(true)
        expect(subject.startsWith(`${name}.events.`)).toBe(true)
      }),
      { seed: 17, numRuns: 300 },
    )
  })

  test('[CA2] a word with dots and spaces stays one token', () => {
    expect(nameIt('github', { action: 'a b.c' }, { 'x-github-event': 'repository_dispatch' }).subject).toBe(
      'github.events.repository_dispatch.a_b_c',
    )
  })
})
