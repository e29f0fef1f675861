import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredEvent } from '../../events/event/index.ts'
import { joinEncrypted } from '../../events/sensitive/index.ts'
import { matchesPattern } from '../../events/subject/index.ts'
import type { EventId, InstanceId, TenantId } from '../../foundation/ids/index.ts'
import { parseJson } from '../../foundation/json/index.ts'
import type { InstanceState, Marking } from '../../workflows/instance/index.ts'
import {
  encodeToken,
  eventMessage,
  eventSubject,
  judgeLease,
  type Marked,
  messageOf,
  type OutboxRow,
  parseLease,
  RELAY_LEASE_MS,
  tokenMessages,
  tokenSubject,
} from './index.ts'

const TENANT = 'acme' as TenantId

describe('subjects', () => {
  test.each([
    ['order', 'order'],
    ['größe', 'größe'],
    ['a.b', 'a%2Eb'],
    ['in review', 'in%20review'],
    ['*', '%2A'],
    ['>', '%3E'],
    ['100%', '100%25'],
    ['a\n', 'a%0A'],
    ['a\u00a0b\u2028', 'a\u00a0b\u2028'],
    ['', '%'],
  ])('[BU21] %j is the token %j', (name, token) => {
    expect(encodeToken(name)).toBe(token)
  })

  test('[BU21] every name is one valid token, and different names are different tokens', () => {
    const name = fc.oneof(fc.string({ unit: 'binary', maxLength: 1_000 }), fc.string({ maxLength: 12 }))
    fc.assert(
      fc.property(name, name, (a, b) => {
        const [one, other] = [encodeToken(a), encodeToken(b)]
        for (const token of [one, other]) {
          // NATS ends a subject at these alone; other spaces of Unicode are characters like any.
          // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
          expect(token).not.toMatch(/[\u0000-\u0020\u007f.*>]/)
          expect(token).not.toBe('')
          expect(new TextEncoder().encode(token).length).toBeLessThanOrEqual(1_000)
          expect(matchesPattern('millrace.*', `millrace.${token}`)).toBe(true)
        }
        expect(one === other).toBe(a === b)
      }),
      { numRuns: 100 },
    )
  })

  test('[BU20] events and tokens have their subjects', () => {
    expect(eventSubject(TENANT, 'github.events.push')).toBe('acme.events.github.events.push')
    expect(tokenSubject(TENANT, 'triage', 'in review', 'ins_1-1')).toBe(
      'acme.workflows.triage.places.in%20review.tokens.ins_1-1',
    )
  })
})

describe('tokens', () => {
  const at = (marking: Marking, fields: Partial<Marked> = {}): Marked => ({
    ...{ id: 'ins_1' as InstanceId, workflow: 'triage', state: 'active', marking, revision: 1 },
    ...fields,
  })

  test('[BU22] a token that moved left one subject and came to another', () => {
    const rows = tokenMessages(TENANT, at({ a: 1 }), at({ b: 1 }, { revision: 2 }))
    expect(rows).toEqual([
      {
        ...{ id: 'ins_1.2.0', subject: 'acme.workflows.triage.places.a.tokens.ins_1-1', body: null },
        ...{ about: 'token', event: null },
      },
      {
        ...{ id: 'ins_1.2.1', subject: 'acme.workflows.triage.places.b.tokens.ins_1-1' },
        ...{ about: 'token', event: null },
        body: '{"tenant":"acme","workflow":"triage","instance":"ins_1","place":"b","token":"ins_1-1"}',
      },
    ])
  })

  test('[BU22] a token that stays is not published again', () => {
    expect(tokenMessages(TENANT, at({ a: 1, b: 2 }), at({ a: 1, b: 2 }))).toEqual([])
  })

  test('[BU77] data goes along, digit for digit, and its change publishes the tokens that stay', () => {
    const data = parseJson('{"n":1.10}') as never
    const publish = (before: Marked, isChanged: boolean) =>
      tokenMessages(TENANT, before, at({ a: 1, b: 1 }, { revision: 2 }), { data, isChanged })
    const rows = publish(at({ a: 1 }), false)
    expect(rows.map(({ subject }) => subject)).toEqual(['acme.workflows.triage.places.b.tokens.ins_1-1'])
    expect(rows[0]?.body).toContain('"data":{"n":1.10}')
    expect(publish(at({ a: 1, b: 1 }), true)).toHaveLength(2)
    expect(publish(at({ a: 1, b: 1 }), false)).toEqual([])
    const shown = messageOf(
      { ...rows[0]!, tenant: TENANT, createdAt: 5_000 } as OutboxRow,
      undefined,
      'millrace',
    )
    expect(shown?.body).toContain('"data":{"n":1.10}')
  })

  test('[BU23] the last message of each subject says where the tokens of an active instance are', () => {
    const marking = fc.dictionary(fc.constantFrom('a', 'b.c', 'ü x', 'd'), fc.nat(3), { maxKeys: 4 })
    const state = fc.constantFrom<InstanceState>('active', 'active', 'active', 'completed', 'cancelled')
    const workflow = fc.constantFrom('triage', 'triage', 'other')
    fc.assert(
      fc.property(fc.array(fc.tuple(marking, state, workflow), { maxLength: 12 }), (steps) => {
        const mirror = new Map<string, string>()
        const ids = new Set<string>()
        let before: Marked | null = null
        let told = 0
        for (const [index, [marked, is, of]] of steps.entries()) {
          const after = at(marked, { state: is, workflow: of, revision: index + 1 })
          for (const { id, subject, body } of tokenMessages(TENANT, before, after)) {
            ids.add(id)
            told += 1
            if (body === null) mirror.delete(subject)
            else mirror.set(subject, body)
          }
          before = after
          const counts: Record<string, number> = {}
          for (const body of mirror.values()) {
            const { place, workflow: name } = JSON.parse(body)
            expect(name).toBe(of)
            counts[place] = (counts[place] ?? 0) + 1
          }
          const there = Object.entries(marked).filter(([, count]) => count > 0)
          expect(counts).toEqual(is === 'active' ? Object.fromEntries(there) : {})
        }
        expect(ids.size).toBe(told)
      }),
      { numRuns: 300 },
    )
  })
})

describe('messages', () => {
  const event: StoredEvent = {
    ...{ id: 'evt_1' as EventId, tenant: TENANT, source: 'shop', subject: 'order.created', objectType: null },
    ...{ objectId: null, occurredAt: null, correlationId: 'c\r\nx: y', causationId: null, traceId: 't' },
    ...{ dedupKey: 'd', payloadHash: 'h', headers: '{"authorization":"x"}', data: '{"n":1.0,"user":"ada"}' },
    ...{ raw: null, sensitive: [], matched: 1, receivedAt: 0, duplicates: 0, lastDuplicateAt: null },
  }
  const rowOf = (fields: Partial<OutboxRow> = {}): OutboxRow => ({
    ...eventMessage(event),
    ...{ tenant: TENANT, position: 1, createdAt: 1_000 },
    ...fields,
  })

  test('[BU24] an event is published as the API lists it, with its original payload and without its headers', () => {
    const message = messageOf(rowOf(), event, 'millrace')
    expect(message).toMatchObject({ id: 'evt_1', subject: 'millrace.acme.events.order.created' })
    expect(JSON.parse(message?.body ?? '')).toMatchObject({
      ...{ id: 'evt_1', tenant: 'acme', source: 'shop', subject: 'order.created' },
      ...{ receivedAt: '1970-01-01T00:00:00.000Z', data: { n: 1, user: 'ada' } },
    })
    expect(message?.body).toContain('"data":{"n":1.0,"user":"ada"}')
    expect(message?.body).not.toContain('authorization')
  })

  test('[BU24] headers are one line each', () => {
    expect(messageOf(rowOf(), event, 'a.b')?.headers).toEqual({
      'millrace-tenant': 'acme',
      'millrace-subject': 'order.created',
      'millrace-correlation': 'c%0D%0Ax: y',
    })
  })

  test('[BU25] sensitive values are hidden, and an event that cannot be decrypted is published without them', () => {
    const hidden = messageOf(rowOf(), { ...event, sensitive: ['payload.user'] }, 'millrace')?.body ?? ''
    expect(JSON.parse(hidden)).toMatchObject({
      sensitive: ['payload.user'],
      data: { n: 1, user: '[hidden]' },
    })
    expect(hidden).not.toContain('ada')
    const encrypted = { ...event, data: joinEncrypted({ keyId: 'ab', paths: 'cGF0aHM', sealed: 'c2VhbGVk' }) }
    expect(JSON.parse(messageOf(rowOf(), encrypted, 'millrace')?.body ?? '')).toMatchObject({
      data: null,
      unreadable: expect.any(String),
    })
  })

  test('[BU26] an event that is gone is not published', () => {
    expect(messageOf(rowOf(), undefined, 'millrace')).toBeNull()
  })

  test('[BU22] a token is published with the instant of its arrival, and as an empty message when it left', () => {
    const [row] = tokenMessages(TENANT, null, {
      ...{ id: 'ins_1' as InstanceId, workflow: 'w', state: 'active', marking: { a: 1 }, revision: 1 },
    })
    const told = messageOf(rowOf({ ...row, createdAt: 5_000 }), undefined, 'millrace')
    expect(JSON.parse(told?.body ?? '')).toEqual({
      ...{ tenant: 'acme', workflow: 'w', instance: 'ins_1', place: 'a', token: 'ins_1-1' },
      since: '1970-01-01T00:00:05.000Z',
    })
    expect(messageOf(rowOf({ ...row, body: null }), undefined, 'millrace')?.body).toBe('')
  })
})

describe('the lease of the relay', () => {
  const lease = { by: 'a', until: 10_000 }
  test.each([
    ['nobody has it', null, 'a', 0, { is: 'take' }],
    ['another has it', lease, 'b', 4_000, { is: 'others', forMs: 6_000 }],
    ['another had it', lease, 'b', 10_000, { is: 'take' }],
    ['it is fresh', lease, 'a', 1_000, { is: 'held' }],
    ['it is soon over', lease, 'a', 2_000, { is: 'take' }],
  ])('[BU28] %s', (_, kept, by, now, judged) => {
    expect(judgeLease(kept, by, now)).toEqual(judged)
  })

  test('[BU28] a record that does not parse has no holder', () => {
    expect(['', '[]', 'null', '{"by":1}', '{"by":"a"}'].map(parseLease)).toEqual([
      null,
      null,
      null,
      null,
      null,
    ])
    expect(parseLease(JSON.stringify(lease))).toEqual(lease)
    expect(RELAY_LEASE_MS).toBeGreaterThan(10_000)
  })
})
