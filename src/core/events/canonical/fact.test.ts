import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { EventId, TenantId } from '../../foundation/ids/index.ts'
import {
  CANONICAL_EVENTS,
  type FactContent,
  isFactWanted,
  packFact,
  subjectOfFact,
  unpackFact,
} from './index.ts'

const CAUSE = 'evt_0197c3f0-6bff-7000-8000-0097bf2f1e4d' as EventId
const CORRELATION = '0197c3f0-6bff-7000-8000-0097bf2f1e4d'
const WORK = 'wrk_0197c3f0-6c00-7000-8000-0097bf2f1e4d'

const DELIVERED: FactContent = {
  subject: 'webhook.delivered',
  data: {
    deliveryId: WORK,
    eventId: CAUSE,
    subject: 'shop.order.paid',
    subscription: 'crm',
    consumer: 'subscription:crm',
    attempts: 1,
    httpStatus: 200,
    durationMs: 41,
  },
  key: `${WORK}:1`,
  objectType: 'order',
  objectId: '1042',
  correlationId: CORRELATION,
  causationId: CAUSE,
  traceId: CORRELATION.replaceAll('-', ''),
  hops: 1,
}

const unpack = (content: FactContent) =>
  unpackFact({
    id: 'evt_0197c3f0-6c10-7000-8000-0097bf2f1e4d' as EventId,
    tenant: 'acme' as TenantId,
    createdAt: 1_000,
    body: packFact(content),
  })

describe('a fact', () => {
  test('[FA2] becomes the event that a definition would have selected', () => {
    expect(unpack(DELIVERED)).toMatchObject({
      source: 'millrace',
      subject: 'webhook.delivered',
      objectType: 'order',
      objectId: '1042',
      correlationId: CORRELATION,
      causationId: CAUSE,
      traceId: CORRELATION.replaceAll('-', ''),
      dedupKey: `webhook.delivered:${WORK}:1`,
      headers: '{"millrace-hops":"1","millrace-canonical":"1"}',
      data: JSON.stringify(DELIVERED.data),
      matched: 1,
      receivedAt: 1_000,
    })
    expect(subjectOfFact(packFact(DELIVERED))).toBe('webhook.delivered')
  })

  test.each(Object.entries(CANONICAL_EVENTS))(
    '[FA2] %s keeps every field of its data, in order',
    (subject, { example }) => {
      const data = example as FactContent['data']
      expect(unpack({ ...DELIVERED, subject, data }).data).toBe(JSON.stringify(data))
    },
  )

  test('[FA2] keeps what does not follow from other fields', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('subscription:crm', CAUSE, 'crm', ''))
    const content = fc.record({
      subject: fc.constantFrom('webhook.delivered', 'workflow.signup.entered.done', 'workflow.x'),
      data: fc.oneof(
        fc.record({
          ...{ deliveryId: text, eventId: text, subject: text, subscription: text, consumer: text },
          ...{ attempts: fc.nat(), httpStatus: fc.nat(), durationMs: fc.nat() },
        }),
        fc.record({ instance: text, workflow: text, version: text, state: text, place: text }),
        fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.oneof(text, fc.constant(null), fc.integer())),
      ),
      key: text,
      objectType: fc.option(text),
      objectId: fc.option(text),
      correlationId: text,
      causationId: fc.option(fc.constant(CAUSE)),
      traceId: text,
      hops: fc.nat(32),
    })
    fc.assert(
      fc.property(content, (one) => {
        const { objectType, objectId, correlationId, causationId, traceId } = one
        expect(unpack(one)).toMatchObject({
          ...{ objectType, objectId, correlationId, causationId, traceId },
          dedupKey: `${one.subject}:${one.key}`,
          data: JSON.stringify(one.data),
        })
      }),
    )
  })

  test('[FA3] of a delivery takes less than 220 bytes', () => {
    expect(packFact(DELIVERED).length).toBeLessThan(220)
  })

  test.each([
    ['webhook.dead', [true, true, false]],
    ['webhook.delivered', [true, false, false]],
    ['integration.run.completed', [true, false, false]],
    ['integration.connection.degraded', [true, true, false]],
    ['workflow.signup.failed', [true, true, false]],
    ['workflow.signup.completed', [true, false, false]],
    ['workflow.signup.entered.failed', [true, false, false]],
  ])('[FA4] %s is written by the settings all, failures and none: %j', (subject, expected) => {
    expect((['all', 'failures', 'none'] as const).map((mode) => isFactWanted(mode, subject))).toEqual(
      expected,
    )
  })
})
