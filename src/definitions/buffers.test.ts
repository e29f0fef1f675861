// Flow control, order and batching as written: the normal form, names in scope, and findings
// (docs/spec/definitions.md).

import { describe, expect, test } from 'vitest'
import { hashDocument, type RouteDocument } from '../core/definitions/documents/index.ts'
import { DAY, MINUTE, SECOND } from '../core/foundation/time/index.ts'
import type { Finding } from './index.ts'
import { compileDefinitions } from './language.ts'

const functions = () => 'sha256:code'
const compile = (text: string) => compileDefinitions([{ path: 'a.yaml', text }], { functions })

const work = 'do: { function: work }'
const route = (rest: string, action = work) => `kind: Route\nname: r\non: a.b\n${rest}\n${action}\n`

/** `¦` stands before the character that the only finding must point at. */
function expectFinding(
  marked: string,
  rule: string,
  severity: Finding['severity'],
  message: string,
): Finding {
  const before = marked.slice(0, marked.indexOf('¦')).split('\n')
  const { findings } = compile(marked.replace('¦', ''))
  expect(findings).toMatchObject([
    { rule, severity, line: before.length, column: (before.at(-1) as string).length + 1 },
  ])
  expect(findings[0]?.message).toContain(message)
  return findings[0] as Finding
}

function documentOf(text: string): RouteDocument {
  const { documents, findings } = compile(text)
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  return documents.find(({ kind }) => kind === 'Route') as RouteDocument
}

const BUFFERS = [
  'each',
  'fanOut',
  'priority',
  'drain',
  'rateLimit',
  'concurrency',
  'order',
  'debounce',
  'batch',
]

describe('normal form', () => {
  test('[DF14] a value equal to the default is left out', () => {
    const plain = documentOf(route(''))
    for (const name of [...BUFFERS, 'circuit', 'ledgerKeepMs', 'keyMigration'])
      expect(plain).not.toHaveProperty(name)
    const written = 'fanOut: all\npriority: normal\ndrain: INSTANT\nuniqueness: operation'
    expect(hashDocument(documentOf(route(written)))).toBe(hashDocument(plain))
  })

  test('[DF14] durations are milliseconds, profiles resolved, defaults filled in', () => {
    const text = route(`each: { of: payload.entries }
fanOut: one
priority: high
drain: FEED_SAFE_5MIN
rateLimit: { perMinute: 120 }
order: { by: element.id, version: element.version, stale: skip, onBlocked: skip }
debounce: { by: element.id, window: 60s, keep: first }
batch: { size: 50, results: result.items, item: { key: item.ref, ok: "item.status == 'OK'" } }
circuit: { failures: 3, openFor: 1m }
ledger: { keep: 120d }
keyMigration: { from: payload.old, note: it was never used }`)
    expect(documentOf(text)).toMatchObject({
      each: { of: 'payload.entries', as: 'element', max: 500 },
      fanOut: 'one',
      priority: 'high',
      drain: { profile: 'FEED_SAFE_5MIN', everyMs: 5 * MINUTE, events: 25, cycles: 2 },
      rateLimit: { profile: null, perMinute: 120, burst: 20 },
      order: { by: 'element.id', version: 'element.version', stale: 'skip', onBlocked: 'skip' },
      debounce: { by: 'element.id', windowMs: MINUTE, maxWaitMs: 10 * MINUTE, keep: 'first' },
      batch: {
        size: 50,
        maxWaitMs: 5 * SECOND,
        results: 'result.items',
        item: { key: 'item.ref', ok: "item.status == 'OK'" },
      },
      circuit: { consecutive: 3, ratio: 0.5, of: 20, openMs: MINUTE },
      ledgerKeepMs: 120 * DAY,
      keyMigration: { from: 'payload.old', note: 'it was never used' },
      do: { type: 'function', with: '{{ batch }}' },
    })
    const usual =
      'order: { by: payload.id, stale: run, onBlocked: hold }\ncircuit: off\nconcurrency: { limit: 3 }'
    expect(documentOf(route(usual))).toMatchObject({ circuit: 'off', concurrency: { limit: 3 } })
    expect(documentOf(route(usual)).order).toEqual({ by: 'payload.id' })
  })

  test('[DF14] [F25] profiles of the bundle are resolved by kind', () => {
    const profiles =
      'kind: Profile\nname: slow\nrate: { perMinute: 6 }\n---\nkind: Profile\nname: nightly\ndrain: { every: 1d, events: 100 }\n---\n'
    const { documents } = compile(`${profiles}${route('rateLimit: slow\ndrain: nightly')}`)
    expect(documents[2]).toMatchObject({
      rateLimit: { profile: 'slow', perMinute: 6, burst: 1 },
      drain: { profile: 'nightly', everyMs: DAY, events: 100, cycles: 1 },
    })
    expectFinding(
      `${profiles}${route('rateLimit: ¦nightly')}`,
      'F25',
      'error',
      'is a drain profile, and this needs a rate',
    )
    expectFinding(`${profiles}${route('drain: ¦nightli')}`, 'F25', 'error', 'no drain profile `nightli`')
    expectFinding(route('drain: ¦FEED_SAVE_5MIN'), 'F25', 'error', 'no drain profile').suggestion
    expectFinding(route('retry: ¦FEED_SAFE_5MIN'), 'F25', 'error', 'is a drain profile')
    expectFinding(route('rateLimit: ¦slow'), 'F25', 'error', 'and none is defined')
  })

  test('[F28] [F14] a profile is of one kind', () => {
    const profile = (rest: string) => `kind: Profile\nname: p\n${rest}`
    expectFinding(
      profile('retry: { attempts: 1 }\n¦rate: { perMinute: 1 }'),
      'F28',
      'error',
      'keep one of `retry`, `rate`',
    )
    expect(compile(profile('')).findings).toMatchObject([{ rule: 'F14' }])
    expect(compile(profile('retri: { attempts: 1 }')).findings.map(({ rule }) => rule)).toEqual(['F12'])
  })
})

describe('bounds', () => {
  test.each([
    ['each: { of: payload.a, max: ¦5001 }'],
    ['each: { of: payload.a, max: ¦0 }'],
    ['concurrency: { limit: ¦0 }'],
    ['rateLimit: { perMinute: ¦0 }'],
    ['rateLimit: { perMinute: 5, burst: ¦2000000 }'],
    ['drain: { every: ¦100ms, events: 1 }'],
    ['drain: { every: 1m, events: ¦0 }'],
    ['drain: { every: 1m, events: 1, cycles: ¦1001 }'],
    ['debounce: { by: payload.id, window: ¦2d }\nmaxWait: 30d'],
    ['debounce: { by: payload.id, window: ¦5ms }'],
    ['batch: { size: ¦1001 }'],
    ['batch: { size: 5, maxWait: ¦2h }'],
    ['circuit: { ratio: ¦1.5 }'],
    ['circuit: { failures: ¦0 }'],
    ['circuit: { openFor: ¦2d }'],
    ['ledger: { keep: ¦1h }'],
  ])('[F19] %s', (text) => {
    expectFinding(route(text), 'F19', 'error', '')
  })

  test.each([
    ['circuit: ¦on', 'F16'],
    ['circuit: { ¦failres: 5 }', 'F12'],
    ['priority: ¦urgent', 'F16'],
    ['fanOut: ¦any', 'F16'],
    ['order: { by: payload.id, stale: ¦skipp }', 'F16'],
    ['drain: { every: ¦5, events: 1 }', 'F18'],
    ['batch: { size: "¦5" }', 'F15'],
  ])('[F12] [F15] [F16] [F18] %s', (text, rule) => {
    const { findings } = compile(route(text.replace('¦', '')))
    expect(findings).toMatchObject([{ rule, severity: 'error' }])
  })
})

describe('names in scope', () => {
  const each = 'each: { of: payload.entries, as: entry }'
  const http = (rest: string) => `do: { http: { method: PUT, url: "https://x.example/", ${rest} } }`
  test('[DF13] an element is known wherever one job is meant', () => {
    const more =
      'key: "\'A:\' + entry.id + entry.version"\norder: { by: entry.owner, version: entry.version, stale: skip }'
    expect(compile(route(`${each}\n${more}`, http('body: { id: "{{ entry.id }}" }'))).findings).toEqual([])
    expectFinding(route(`${each}\nwhere: ¦entry.id == 1`), 'F20', 'error', '`entry` is not in scope')
    expectFinding(route('key: ¦entry.id'), 'F20', 'error', '`entry` is not in scope')
  })

  test('[DF13] its name must not mean anything else', () => {
    for (const name of ['payload', 'batch', 'item', 'true', 'a-b', '1x'])
      expect(compile(route(`each: { of: payload.entries, as: "${name}" }`)).findings).toMatchObject([
        { rule: 'F10' },
      ])
  })

  test('[DF13] a batch sees its jobs and no single event', () => {
    const batch = 'batch: { size: 5 }'
    const map = "\"{{ batch.map(b, {'ref': b.key, 'hours': b.payload.hours}) }}\""
    expect(compile(route(batch, http(`body: { items: ${map} }`))).findings).toEqual([])
    expectFinding(
      route(batch, http('body: { all: "{{ batch }}", one: "{{ ¦payload.id }}" }')),
      'F21',
      'error',
      '`payload` is of one item, and a batch has many: write `batch[*].payload`',
    )
    expectFinding(route('', http('body: { all: "{{ ¦batch }}" }')), 'F21', 'error', 'a route with `batch`')
    expectFinding(route('key: ¦item.id'), 'F20', 'error', 'it is there in `batch.item`')
    expectFinding(
      route('batch: { size: 5, results: result.items, item: { key: item.ref, ok: ¦payload.ok } }'),
      'F20',
      'error',
      'not in scope',
    )
  })

  test('[DF13] `extRef` and `found` are known in an upsert', () => {
    expectFinding(route('', http('body: { ref: "{{ ¦extRef }}" }')), 'F21', 'error', '`extRef` is a function')
    expect(
      compile(upsert({ update: '{ path: "/a/{{ found.id }}", body: { ref: "{{ extRef }}" } }' })).findings,
    ).toEqual([])
    expectFinding(
      upsert({ create: '{ path: "/a/{{ ¦found.id }}", body: { ref: "{{ extRef }}" } }' }),
      'F21',
      'error',
      'in `update` of an `upsert`',
    )
  })
})

describe('lanes', () => {
  test.each([
    ['order: { by: payload.id }\nconcurrency: { limit: 2, ¦by: payload.x }', '`order` lets one item'],
    [
      'debounce: { by: payload.id, window: 1s }\nconcurrency: { limit: 2, ¦by: payload.x }',
      '`debounce` lets one item',
    ],
    ['order: { by: payload.id }\ndebounce: { by: ¦payload.x, window: 1s }', 'the same as `order.by`'],
  ])('[DF1] %s', (text, message) => {
    expectFinding(route(text), 'DF1', 'error', message)
  })

  test('[DF1] fields that go together', () => {
    const both =
      'order: { by: payload.id }\ndebounce: { by: " payload.id ", window: 1s }\nconcurrency: { limit: 2 }'
    expect(compile(route(both)).findings).toEqual([])
  })

  test('[DF2] skipping stale events needs a version', () => {
    expectFinding(route('order: { by: payload.id, ¦stale: skip }'), 'DF2', 'error', 'needs a `version`')
    expectFinding(
      route('order: { by: payload.id, ¦version: payload.v }'),
      'DF2',
      'warning',
      'changes nothing',
    )
    expect(compile(route('order: { by: payload.id, version: payload.v, stale: skip }')).findings).toEqual([])
  })

  test.each([
    ['order: { by: ¦event.id }', 'no two belong together'],
    ['debounce: { by: ¦header.x-request-id, window: 1s }', 'no two belong together'],
    ['concurrency: { limit: 1, by: ¦event.traceId }', 'no two belong together'],
    ['debounce: { by: ¦"\'all\'", window: 1s }', 'the same for every event'],
  ])('[DF3] %s', (text, message) => {
    expectFinding(route(text), 'DF3', 'warning', message)
  })
  test('[DF3] one lane for the whole route may be intended', () => {
    expect(compile(route('order: { by: "\'all\'" }')).findings).toEqual([])
  })
})

describe('batches', () => {
  test('[DF4] need an action for the batch', () => {
    expectFinding(
      route('¦batch: { size: 5 }', 'do: { emit: b.c, data: 1 }'),
      'DF4',
      'error',
      'an event of each item',
    )
    const findings = compile(upsert({ more: 'batch: { size: 5 }', extRef: '{{ key }}' })).findings
    expect(findings.map(({ rule }) => rule)).toContain('DF4')
    expectFinding(
      route('batch: { size: 5, ¦results: result.items }'),
      'DF4',
      'error',
      '`results` needs `item`',
    )
    expectFinding(
      route('batch: { size: 5, ¦item: { key: item.a, ok: item.b } }'),
      'DF4',
      'error',
      '`item` needs `results`',
    )
  })

  test('[DF5] say what is in them', () => {
    const http = (body: string) => `do: { ¦http: { method: PUT, url: "https://x.example/", body: ${body} } }`
    expectFinding(
      route('batch: { size: 5 }', http('{ a: 1 }')),
      'DF5',
      'warning',
      'says nothing of the items',
    )
    const each = 'each: { of: payload.entries, as: entry }\nbatch: { size: 5 }'
    expect(compile(route(each, http('"{{ batch[*].entry }}"').replace('¦', ''))).findings).toEqual([])
  })
})

describe('times', () => {
  test('[DF6] a burst may last at least a window', () => {
    const debounce = (rest: string) => route(`debounce: { by: payload.id, ${rest} }`)
    expect(
      expectFinding(debounce('window: 1m, maxWait: ¦30s'), 'DF6', 'error', 'never ends by itself').suggestion,
    ).toBe('1m')
    expectFinding(
      debounce('window: 1m, maxWait: ¦2d'),
      'DF6',
      'warning',
      'longer than `maxWait` of the route (1d)',
    )
    expectFinding(debounce('window: ¦12h'), 'DF6', 'warning', 'kept waiting for 5d')
    expect(compile(debounce('window: 1m, maxWait: 1m')).findings).toEqual([])
  })

  test.each([
    [
      'drain: { every: 5m, events: 50, cycles: 4 }\nrateLimit: ¦{ perMinute: 30 }',
      '50 × 4 = 200 items every 5m, and the rate limit of 30 a minute allows 150 calls',
    ],
    [
      'drain: { every: 1m, events: 100 }\nbatch: { size: 10 }\nrateLimit: ¦{ perMinute: 9 }',
      '100 × 1 = 100 items every 1m, in batches of 10 10 calls, and the rate limit of 9 a minute allows 9 calls',
    ],
    ['drain: FEED_CATCHUP_5MIN\nrateLimit: ¦{ perMinute: 39 }', '= 200 items every 5m'],
  ])('[DF7] %s', (text, message) => {
    expectFinding(route(text), 'DF7', 'warning', message)
  })
  test.each([
    'drain: { every: 5m, events: 50, cycles: 4 }\nrateLimit: { perMinute: 40 }',
    'drain: { every: 1m, events: 100 }\nbatch: { size: 10 }\nrateLimit: { perMinute: 10 }',
    'drain: INSTANT\nrateLimit: { perMinute: 1 }',
  ])('[DF7] not %s', (text) => {
    expect(compile(route(text)).findings).toEqual([])
  })

  test('[DF8] a failed job is alive at the next drain', () => {
    const drain = 'drain: ¦{ every: 12h, events: 5 }\nmaxWait: 1h\nretry: { attempts: 2, delays: [1m] }'
    expectFinding(route(drain), 'DF8', 'warning', 'it has 1h 1m (`maxWait` and retries)')
    expect(compile(route(drain.replace('¦', '').replace('1h\n', '1d\n'))).findings).toEqual([])
  })
})

function upsert({
  more = '',
  extRef = '{{ payload.id }}',
  find = '{ path: "/a?ref={{ extRef }}", found: "true", id: result.body.id }',
  create = '{ path: /a, body: { ref: "{{ extRef }}" } }',
  update = 'none',
  lock = 'single',
}): string {
  const parts = `extRef: ${JSON.stringify(extRef)}, find: ${find}, create: ${create}, update: ${update}, lock: ${lock}`
  return route(more, `do: { upsert: { baseUrl: "https://x.example", ${parts} } }`)
}

describe('upsert', () => {
  test('[DF14] its normal form', () => {
    expect(documentOf(upsert({ update: '{ path: "/a/{{ found.id }}" }' })).do).toEqual({
      type: 'upsert',
      baseUrl: 'https://x.example',
      headers: {},
      extRef: '{{ payload.id }}',
      find: {
        method: 'GET',
        path: '/a?ref={{ extRef }}',
        found: 'true',
        id: 'result.body.id',
        afterMs: 30 * SECOND,
      },
      create: {
        method: 'POST',
        path: '/a',
        body: { ref: '{{ extRef }}' },
        idempotent: false,
        keyTtlMs: null,
      },
      update: { method: 'PUT', path: '/a/{{ found.id }}', body: null, idempotent: true, keyTtlMs: null },
      lock: 'single',
      timeoutMs: 10 * SECOND,
      classify: {},
    })
    expect(documentOf(upsert({})).do).toMatchObject({ update: null })
  })

  test('[DF9] the reference is looked up and written', () => {
    expect(compile(upsert({})).findings).toEqual([])
    expectFinding(
      upsert({ create: '{ path: /a, body: { a: 1 } }' }).replace('create:', '¦create:'),
      'DF9',
      'warning',
      'never found again',
    )
    expectFinding(
      upsert({ find: '{ path: ¦/a, found: "true" }' }),
      'DF9',
      'warning',
      'nothing here looks for',
    )
  })

  test('[DF10] an id that is read is found', () => {
    expectFinding(
      upsert({
        update: '{ path: "/a/{{ found.id }}" }',
        find: '{ path: "/{{ extRef }}", found: "true" }',
      }).replace('find:', '¦find:'),
      'DF10',
      'error',
      'say in `find.id`',
    )
  })

  test('[DF11] a record without a lock', () => {
    expectFinding(upsert({ more: 'uniqueness: record', lock: '¦none' }), 'DF11', 'warning', 'create twice')
    expect(compile(upsert({ lock: 'none' })).findings).toEqual([])
  })

  test('[F30] [F32] [PV2] [F12] its requests', () => {
    expectFinding(
      upsert({ create: '{ path: ¦a, body: "{{ extRef }}" }' }),
      'F30',
      'error',
      'stands behind `baseUrl`',
    )
    expectFinding(
      upsert({ update: '{ method: PATCH, path: /a }' }).replace('update:', '¦update:'),
      'F32',
      'warning',
      'whether it was changed',
    )
    const text = upsert({})
    expectFinding(
      text.replace('baseUrl', 'connection: ¦sap, baseUrl'),
      'PV2',
      'warning',
      'there is no connection',
    )
    expectFinding(text.replace('baseUrl', '¦timeout: 5s, baseUrl'), 'F12', 'error', 'stands beside `upsert`')
  })
})

test('[DF12] a route that must be alone is not always with another', () => {
  const two = (one: string, other: string) =>
    compile(`${route(one)}---\n${route(other).replace('name: r', 'name: s')}`).findings
  expect(two('fanOut: one', '')).toMatchObject([{ rule: 'DF12', severity: 'warning', line: 4, column: 9 }])
  expect(two('fanOut: one\nwhere: payload.a', '')).toEqual([])
  expect(two('fanOut: one', 'where: payload.b')).toEqual([])
  expect(two('fanOut: one', 'status: disabled')).toEqual([])
  expect(two('fanOut: first', '')).toEqual([])
})
