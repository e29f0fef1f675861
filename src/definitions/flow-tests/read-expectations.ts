// Reads what a flow test expects.

import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { Expectations, ExpectedCall, ExpectedPart } from '../../core/testing/flow-test/index.ts'
import type { FieldPath } from '../finding.ts'
import type { PartReader } from './part-reader.ts'
import { readCallAddress } from './read-steps.ts'

const TIMES_MAX = 1_000

/** The lists of `expect`, and the fields by which an element of each is compared. */
const EXPECTED = {
  emitted: { what: 'an emitted event', fields: ['subject', 'data', 'objectId', 'source'] },
  instances: {
    what: 'an instance',
    fields: ['workflow', 'version', 'state', 'place', 'places', 'data', 'correlation'],
  },
  deadLetters: {
    what: 'a dead letter',
    fields: [
      'route',
      'workflow',
      'subscription',
      'source',
      'reason',
      'class',
      'attempts',
      'key',
      'step',
      'severity',
    ],
  },
  parked: {
    what: 'a parked job',
    fields: ['route', 'workflow', 'subscription', 'source', 'class', 'attempts', 'key'],
  },
  waiting: {
    what: 'a waiting job',
    fields: ['route', 'workflow', 'subscription', 'source', 'class', 'attempts', 'key'],
  },
} as const

export function readExpectations(
  reader: PartReader,
  value: JsonValue | undefined,
  path: FieldPath,
): Expectations {
  if (value === undefined)
    reader.report({ rule: 'missing', message: '`expect` is missing: it says what must come of it', path })
  const allowed = ['calls', 'keys', ...Object.keys(EXPECTED)]
  const fields = value === undefined ? {} : (reader.fields(value, path, '`expect`', allowed) ?? {})
  const parts = (name: keyof typeof EXPECTED) => readParts(reader, name, fields[name], [...path, name])
  return {
    path,
    calls: readEach(reader, fields.calls, [...path, 'calls'], (one, place) => readCall(reader, one, place)),
    keys: readEach(reader, fields.keys, [...path, 'keys'], (one, place) => reader.needed(one, place)),
    emitted: parts('emitted'),
    instances: parts('instances'),
    // What went wrong is never overlooked.
    deadLetters: parts('deadLetters') ?? [],
    parked: parts('parked') ?? [],
    waiting: parts('waiting') ?? [],
  }
}

function readEach<Read>(
  reader: PartReader,
  value: JsonValue | undefined,
  path: FieldPath,
  read: (one: JsonValue, path: FieldPath) => Read,
): readonly Read[] | null {
  const isList = Array.isArray(value)
  return reader.list(value)?.map((one, index) => read(one, isList ? [...path, index] : path)) ?? null
}

function readCall(reader: PartReader, value: JsonValue, path: FieldPath): ExpectedCall {
  if (typeof value === 'string')
    return { path, to: readCallAddress(reader, value, path), times: 1, fields: {} }
  const fields = reader.fields(value, path, 'a call', ['to', 'headers', 'body', 'times']) ?? {}
  const { body, headers } = fields
  const written = reader.texts(headers, [...path, 'headers'])
  const lower = Object.fromEntries(Object.entries(written).map(([name, one]) => [name.toLowerCase(), one]))
  return {
    path,
    to: readCallAddress(reader, fields.to, [...path, 'to']),
    times: reader.wholeNumber(fields.times, [...path, 'times'], { min: 1, max: TIMES_MAX }) ?? 1,
    fields: { ...(headers === undefined ? {} : { headers: lower }), ...(body === undefined ? {} : { body }) },
  }
}

function readParts(
  reader: PartReader,
  name: keyof typeof EXPECTED,
  value: JsonValue | undefined,
  path: FieldPath,
): readonly ExpectedPart[] | null {
  const { what, fields } = EXPECTED[name]
  return readEach(reader, value, path, (one, place): ExpectedPart => {
    const read = reader.fields(one, place, what, fields) ?? {}
    if (!Array.isArray(read.places)) return { path: place, fields: read }
    // Sorted as the instance shows them.
    return { path: place, fields: { ...read, places: [...read.places].map(String).sort() } }
  })
}
