// The first half is the specification's own examples, of its JSON format and its HTTP binding; where they omit the bytes, the
// test supplies some.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type JsonValue, parseJson } from '../../foundation/json/index.ts'
import type { StoredEvent } from '../event/index.ts'
import {
  type CloudEvent,
  type CloudResult,
  formatBinary,
  formatStructured,
  fromEvent,
  parseBinary,
  parseStructured,
  toDraft,
} from './index.ts'

const DEPTH = 64
const BYTES = Buffer.from('\u0001\u0002 some bytes').toString('base64')

const common = {
  specversion: '1.0',
  type: 'com.example.someevent',
  source: '/mycontext',
  time: '2018-04-05T17:31:00Z',
  comexampleextension1: 'value',
  comexampleothervalue: 5,
} as const
const commonHeaders = {
  'ce-specversion': '1.0',
  'ce-type': 'com.example.someevent',
  'ce-source': '/mycontext',
  'ce-time': '2018-04-05T17:31:00Z',
  'ce-comexampleextension1': 'value',
  'ce-comexampleothervalue': '5',
} as const

const EXAMPLES: readonly (readonly [
  name: string,
  structured: JsonValue,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
])[] = [
  [
    'binary data',
    {
      ...common,
      id: 'A234-1234-1234',
      datacontenttype: 'application/vnd.apache.thrift.binary',
      data_base64: BYTES,
    },
    { ...commonHeaders, 'ce-id': 'A234-1234-1234', 'content-type': 'application/vnd.apache.thrift.binary' },
    Buffer.from(BYTES, 'base64'),
  ],
  [
    'an XML document',
    {
      ...common,
      id: 'B234-1234-1234',
      unsetextension: null,
      datacontenttype: 'application/xml',
      data: '<much wow="xml"/>',
    },
    { ...commonHeaders, 'ce-id': 'B234-1234-1234', 'content-type': 'application/xml' },
    '<much wow="xml"/>',
  ],
  [
    'a JSON object',
    {
      ...common,
      subject: null,
      id: 'C234-1234-1234',
      datacontenttype: 'application/json',
      data: { appinfoA: 'abc', appinfoB: 123, appinfoC: true },
    },
    { ...commonHeaders, 'ce-id': 'C234-1234-1234', 'content-type': 'application/json' },
    '{\n  "appinfoA" : "abc",\n  "appinfoB" : 123,\n  "appinfoC" : true\n}',
  ],
  [
    'a literal JSON string',
    { ...common, subject: null, id: 'D234-1234-1234', data: "I'm just a string" },
    { ...commonHeaders, 'ce-id': 'D234-1234-1234', 'content-type': 'application/json' },
    `"I'm just a string"`,
  ],
]

function must(result: CloudResult): CloudEvent {
  if (!result.ok) throw new Error(JSON.stringify(result.faults))
  return result.event
}

const dataOf = ({ data }: CloudEvent) => (data.form === 'json' ? parseJson(data.text) : data)
/** Integers are text in headers, and the JSON type is implicit in JSON. */
const alike = (event: CloudEvent) => ({
  ...event,
  data: dataOf(event),
  datacontenttype: event.datacontenttype ?? 'application/json',
  extensions: Object.fromEntries(
    Object.entries(event.extensions).map(([name, value]) => [name, String(value)]),
  ),
})

describe('the examples of the specification', () => {
  test.each(EXAMPLES)('[CE1] [CE2] %s is the same in both modes', (_name, structured, headers, body) => {
    const one = must(parseStructured(structured))
    const other = must(parseBinary(headers, Buffer.from(body), DEPTH))
    expect(alike(one)).toEqual(alike(other))
    expect(one).toMatchObject({ type: 'com.example.someevent', time: Date.parse('2018-04-05T17:31:00Z') })
    expect(one.extensions).toEqual({ comexampleextension1: 'value', comexampleothervalue: 5 })
  })

  test.each(EXAMPLES)('[CE3] %s round-trips', (_name, structured, headers) => {
    const event = must(parseStructured(structured))
    expect(must(parseStructured(parseJson(formatStructured(event))))).toEqual(event)
    const written = formatBinary(event)
    expect(written.headers).toEqual({ ...headers, 'ce-time': '2018-04-05T17:31:00.000Z' })
    expect(alike(must(parseBinary(written.headers, written.body, DEPTH)))).toEqual(alike(event))
  })

  test('[CE2] header values are percent-encoded, and quotes are removed', () => {
    const event = must(parseStructured({ ...common, id: 'E', subject: 'Euro € 😀' }))
    const { headers } = formatBinary(event)
    expect(headers['ce-subject']).toBe('Euro%20%E2%82%AC%20%F0%9F%98%80')
    const subject = (text: string) =>
      must(parseBinary({ ...commonHeaders, 'ce-id': 'E', 'ce-subject': text }, Buffer.alloc(0), DEPTH))
        .subject
    expect(subject('Euro%20%E2%82%AC%20%F0%9F%98%80')).toBe('Euro € 😀')
    expect(subject('%e2%82%ac')).toBe('€')
    expect(subject('"a \\"b\\" c"')).toBe('a "b" c')
    expect(subject('%41')).toBe('A')
  })

  test.each(['%C0%A0', '%', '%zz', '\u00e9', 'a\u0007'])('[CE2] a header of %j is refused', (text) => {
    const headers = { ...commonHeaders, 'ce-id': 'E', 'ce-subject': text }
    expect(parseBinary(headers, Buffer.alloc(0), DEPTH)).toMatchObject({
      ok: false,
      faults: [{ attribute: 'subject' }],
    })
  })

  test.each([
    'https://github.com/cloudevents',
    'mailto:cncf-wg-serverless@lists.cncf.io',
    'urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66',
    '/cloudevents/spec/pull/123',
    '/sensors/tn-1234567/alerts',
    '1-555-123-4567',
  ])('[CE4] %s is a source', (source) => {
    expect(must(parseStructured({ ...common, id: '1', source })).source).toBe(source)
  })
})

describe('an invalid CloudEvent', () => {
  const good = { ...common, id: '1' }
  test.each([
    [{ ...good, specversion: '0.3' }, 'specversion'],
    [{ ...good, specversion: undefined }, 'specversion'],
    [{ ...good, id: '' }, 'id'],
    [{ ...good, id: 7 }, 'id'],
    [{ ...good, id: 'x'.repeat(1_025) }, 'id'],
    [{ ...good, source: undefined }, 'source'],
    [{ ...good, source: 'a b' }, 'source'],
    [{ ...good, source: '1:2' }, 'source'],
    [{ ...good, source: '/a#b#c' }, 'source'],
    [{ ...good, source: '/a%2' }, 'source'],
    [{ ...good, type: '' }, 'type'],
    [{ ...good, subject: '' }, 'subject'],
    [{ ...good, subject: 'a\u0000' }, 'subject'],
    [{ ...good, subject: '\ud800' }, 'subject'],
    [{ ...good, time: '2018-04-05' }, 'time'],
    [{ ...good, time: '2018-04-05T17:31:00' }, 'time'],
    [{ ...good, time: '2018-13-05T17:31:00Z' }, 'time'],
    [{ ...good, time: '2026-02-30T00:00:00Z' }, 'time'],
    [{ ...good, time: '2026-03-01T24:00:00Z' }, 'time'],
    [{ ...good, time: '2026-03-01T00:00Z' }, 'time'],
    [{ ...good, datacontenttype: 'json' }, 'datacontenttype'],
    [{ ...good, dataschema: '/relative' }, 'dataschema'],
    [{ ...good, Upper: 'x' }, 'Upper'],
    [{ ...good, with_underscore: 'x' }, 'with_underscore'],
    [{ ...good, abcdefghijklmnopqrstu: 'x' }, 'abcdefghijklmnopqrstu'],
    [{ ...good, ext: { a: 1 } }, 'ext'],
    [{ ...good, ext: 1.5 }, 'ext'],
    [{ ...good, ext: 2 ** 31 }, 'ext'],
    [{ ...good, data: 1, data_base64: 'AA==' }, 'data'],
    [{ ...good, data_base64: 'A' }, 'data_base64'],
    [{ ...good, data_base64: 'AA' }, 'data_base64'],
    [{ ...good, datacontenttype: 'text/plain', data: { a: 1 } }, 'data'],
    [
      Object.fromEntries([...Object.entries(good), ...Array.from({ length: 70 }, (_, n) => [`x${n}`, 1])]),
      'extensions',
    ],
  ])('[CE4] %j is refused at %s', (value, attribute) => {
    const plain = Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined))
    const result = parseStructured(plain as JsonValue)
    expect(result.ok ? [] : result.faults.map((fault) => fault.attribute)).toEqual([attribute])
  })

  test.each([[null], ['text'], [[]], [7]])('[CE4] %j is not an event at all', (value) => {
    expect(parseStructured(value as JsonValue)).toMatchObject({ ok: false, faults: [{ attribute: 'event' }] })
  })

  test('[CE4] every fault of an event is reported', () => {
    const result = parseStructured({ specversion: '2', time: 'now', source: ' ' })
    expect(result.ok ? [] : result.faults.map(({ attribute }) => attribute).sort()).toEqual([
      'id',
      'source',
      'specversion',
      'time',
      'type',
    ])
  })

  test('[CE2] in binary mode only the content-type header declares the content type, and JSON must be valid', () => {
    const headers = { ...commonHeaders, 'ce-id': '1', 'content-type': 'application/json' }
    const faultOf = (more: Record<string, string>, body: string | Buffer) => {
      const result = parseBinary({ ...headers, ...more }, Buffer.from(body), DEPTH)
      return result.ok ? null : result.faults[0]?.attribute
    }
    expect(faultOf({ 'ce-datacontenttype': 'text/plain' }, '1')).toBe('datacontenttype')
    expect(faultOf({}, 'no JSON')).toBe('data')
    expect(faultOf({}, Buffer.from([0x22, 0xff, 0x22]))).toBe('data')
    expect(faultOf({}, '[['.repeat(64))).toBe('data')
    expect(faultOf({ 'content-type': 'text/plain' }, Buffer.from([0xff]))).toBe(null)
  })

  test('[GU28] a duplicate key is refused in binary mode as in the others', () => {
    const headers = { ...commonHeaders, 'ce-id': '1', 'content-type': 'application/json' }
    const read = (body: string) => parseBinary(headers, Buffer.from(body), DEPTH)
    expect(read('{"a":1,"\\u0061":2}')).toMatchObject({ ok: false, faults: [{ attribute: 'data' }] })
    expect(read('{"a":1,"b":{"a":2}}')).toMatchObject({ ok: true })
  })

  test('[CE4] no input makes the parser throw', () => {
    const member = fc.tuple(
      fc.oneof(
        fc.string(),
        fc.constantFrom('id', 'source', 'type', 'specversion', 'time', 'data', 'data_base64', '__proto__'),
      ),
      fc.jsonValue(),
    )
    fc.assert(
      fc.property(fc.array(member), fc.boolean(), (members, isGood) => {
        const value = { ...(isGood && good), ...Object.fromEntries(members) } as JsonValue
        const result = parseStructured(value)
        if (!result.ok) {
          expect(result.faults.length).toBeGreaterThan(0)
          return
        }
        const again = must(parseStructured(parseJson(formatStructured(result.event))))
        expect(again).toEqual(result.event)
      }),
    )
  })
})

const stored = (more: Partial<StoredEvent>): StoredEvent => ({
  id: 'evt_1' as StoredEvent['id'],
  tenant: 'default' as StoredEvent['tenant'],
  source: 'github',
  subject: 'github.events.push',
  objectType: 'repository',
  objectId: '42',
  occurredAt: null,
  correlationId: 'c1',
  causationId: null,
  traceId: 't1',
  dedupKey: 'd1',
  payloadHash: 'h1',
  headers: '{}',
  data: '{"a":1.0}',
  raw: null,
  sensitive: [],
  matched: 0,
  receivedAt: Date.parse('2026-01-02T03:04:05.678Z'),
  duplicates: 0,
  lastDuplicateAt: null,
  ...more,
})

describe('as events of ours', () => {
  const draftOf = (value: JsonValue) => toDraft(must(parseStructured(value)))

  test('[CE5] type, source, id, subject, time, correlation and trace are mapped', () => {
    const result = draftOf({
      ...common,
      id: 'C1',
      subject: 'order/7',
      correlationid: 'case-9',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      data: { a: 1 },
    })
    expect(result).toMatchObject({
      ok: true,
      draft: {
        source: 'publish:/mycontext',
        subject: 'com.example.someevent',
        objectId: 'order/7',
        occurredAt: Date.parse('2018-04-05T17:31:00Z'),
        dedupKey: 'C1',
        correlationId: 'case-9',
        traceId: '0af7651916cd43dd8448eb211c80319c',
        payload: { a: 1 },
        data: '{"a":1}',
        raw: null,
        headers: {
          'ce-source': '/mycontext',
          'ce-comexampleothervalue': '5',
          'content-type': 'application/json',
        },
      },
    })
  })

  test.each([
    ['a..b', 'a token is empty'],
    ['a.*', 'no wildcards'],
    ['a b', 'no spaces'],
    ['x'.repeat(256), 'at most 255'],
  ])('[CE5] the type %j is not a subject', (type, message) => {
    const result = draftOf({ ...common, id: '1', type })
    expect(result.ok ? '' : result.faults[0]?.message).toContain(message)
  })

  test.each(['millrace.started', 'integration.failed', 'workflow.a.created', 'webhook.dead', 'webhook'])(
    '[CE6] no client may publish %s',
    (type) => {
      const result = draftOf({ ...common, id: '1', type })
      expect(result.ok ? '' : result.faults[0]?.message).toContain('is kept for')
      expect(draftOf({ ...common, id: '1', type: `my-${type}` }).ok).toBe(true)
    },
  )

  test('[CE7] text and bytes are stored as text, missing data as null', () => {
    const payloadOf = (more: JsonValue & object) => {
      const result = draftOf({ ...common, id: '1', ...more })
      return result.ok ? [result.draft.payload, result.draft.raw] : result.faults
    }
    expect(payloadOf({ datacontenttype: 'text/plain', data: 'hello' })).toEqual(['hello', 'hello'])
    expect(payloadOf({ data_base64: BYTES })).toEqual([BYTES, null])
    expect(payloadOf({})).toEqual([null, null])
    expect(payloadOf({ data: null })).toEqual([null, null])
    expect(payloadOf({ data: 12345678901234567890n })).toEqual([12345678901234567890n, null])
  })

  test('[CE8] [DL14] an edited copy names its original, and no publisher can forge that', () => {
    const causationId = 'evt_0' as StoredEvent['id']
    const extensionsOf = (more: Partial<StoredEvent>, headers: Record<string, string> = {}) =>
      fromEvent(stored(more), { headers, data: '1' }).extensions
    expect(extensionsOf({ causationId, dedupKey: 'edit:dlq_1:2' })).toMatchObject({ editedfrom: 'evt_0' })
    expect(extensionsOf({ causationId })).not.toHaveProperty('editedfrom')
    expect(extensionsOf({ dedupKey: 'edit:dlq_1:2' })).not.toHaveProperty('editedfrom')
    const claimed = { 'ce-editedfrom': 'evt_9', 'content-type': 'application/json' }
    expect(extensionsOf({ source: 'publish:/x' }, claimed)).not.toHaveProperty('editedfrom')
  })

  test('[CE8] a webhook’s event is exported completely, digit for digit', () => {
    const event = stored({ causationId: 'evt_0' as StoredEvent['id'] })
    const text = formatStructured(fromEvent(event, { headers: {}, data: event.data }))
    expect(text.endsWith(',"data":{"a":1.0}}')).toBe(true)
    expect(JSON.parse(text)).toEqual({
      specversion: '1.0',
      id: 'evt_1',
      source: '/tenants/default/sources/github',
      type: 'github.events.push',
      subject: '42',
      time: '2026-01-02T03:04:05.678Z',
      datacontenttype: 'application/json',
      correlationid: 'c1',
      causationid: 'evt_0',
      data: { a: 1 },
    })
  })

  test('[CE8] data that a viewer may not see is not treated as text or bytes', () => {
    const headers = { 'content-type': 'image/png', 'content-transfer-encoding': 'base64' }
    const event = fromEvent(stored({ source: 'publish:/x' }), { headers, data: '"[hidden]"' })
    expect(event).toMatchObject({
      datacontenttype: 'application/json',
      data: { form: 'json', text: '"[hidden]"' },
    })
  })

  test('[CE9] an exported event equals the imported one, and can be imported again', () => {
    const word = fc.string({
      unit: fc.constantFrom('a', 'é', '1', '-', '€', '😀', '%', '"', ' '),
      minLength: 1,
      maxLength: 8,
    })
    const data = fc.oneof(
      fc.constant({}),
      fc.jsonValue().map((value) => ({ data: value })),
      word.map((text) => ({ data: text, datacontenttype: 'text/plain' })),
      fc
        .uint8Array({ maxLength: 9 })
        .map((bytes) => ({ data_base64: Buffer.from(bytes).toString('base64') })),
      fc.constant({ datacontenttype: 'application/json' }),
    )
    const more = fc.record(
      {
        subject: word,
        time: fc.integer({ min: 0, max: 4e12 }).map((at) => new Date(at).toISOString()),
        dataschema: fc.constant('https://example.com/schema'),
        ext1: fc.oneof(word, fc.integer({ min: -9, max: 9 }), fc.boolean()),
        correlationid: fc.constantFrom('case-1', 'case-2'),
        traceparent: fc.constant('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(data, more, (carried, attributes) => {
        const sent = must(
          parseStructured({ ...common, id: 'x', type: 'a.b', ...carried, ...attributes } as JsonValue),
        )
        const drafted = toDraft(sent)
        if (!drafted.ok) throw new Error('refused')
        const { draft } = drafted
        const { source, subject, objectId, occurredAt, correlationId } = draft
        const event = stored({ source, subject, objectId, occurredAt, correlationId: correlationId ?? 'c1' })
        const out = fromEvent(event, { headers: draft.headers, data: draft.data })
        const { id: _id, source: _source, ...rest } = alike(out)
        const { id: _sentId, source: _sentSource, ...wanted } = alike(sent)
        expect(rest).toEqual({
          ...wanted,
          time: wanted.time ?? event.receivedAt,
          extensions: { ...wanted.extensions, correlationid: event.correlationId },
        })
        const again = toDraft(must(parseStructured(parseJson(formatStructured(out)))))
        expect(again).toMatchObject({
          ok: true,
          draft: { subject: draft.subject, objectId: draft.objectId, data: draft.data, raw: draft.raw },
        })
      }),
    )
  })
})
