import { expect, test } from 'vitest'
import { compileDefinitions } from '../language.ts'
import { checkFlowTests, readFlowTests } from './index.ts'

const FLOWS = `
kind: Source
name: shop
verify: { scheme: none }
subject: shop.paid
---
kind: Source
name: nightly
schedule: { cron: "0 2 * * *" }
---
kind: Route
name: book
on: shop.paid
do: { emit: shop.booked }
`

const read = (text: string) => readFlowTests([{ path: 'shop.test.yaml', text }])
const lines = (findings: ReturnType<typeof read>['findings']) =>
  findings.map(
    ({ line, column, rule, message, suggestion }) =>
      `${line}:${column} ${rule} ${message}${suggestion === undefined ? '' : ` → ${suggestion}`}`,
  )
const findings = (text: string) => {
  const { tests, findings: own } = read(text)
  const { documents } = compileDefinitions([{ path: 'flows.yaml', text: FLOWS }], { functions: () => null })
  return lines([...own, ...checkFlowTests(tests, documents)])
}

test('a test is read with its defaults, and single values are lists of one', () => {
  const { tests, findings: none } = read(`
name: a paid order is booked
send: { source: shop, body: { id: 1.5 }, headers: { X-A: 1 } }
answers: { to: "POST https://a.example/b", body: { ok: true } }
expect: { keys: A, calls: "POST https://a.example/b", deadLetters: { route: book } }
`)
  expect(none).toEqual([])
  expect(tests.map((one) => one.test)).toEqual([
    {
      name: 'a paid order is booked',
      path: [],
      given: { vars: {}, secrets: {}, time: Date.UTC(2026, 0, 1) },
      steps: [
        {
          type: 'request',
          path: ['send'],
          source: 'shop',
          headers: { 'content-type': 'application/json', 'x-a': '1' },
          body: '{"id":1.5}',
          times: 1,
          isSigned: true,
          refused: null,
        },
      ],
      answers: [
        {
          path: ['answers'],
          to: { method: 'POST', url: 'https://a.example/b' },
          times: 1,
          afterMs: 0,
          answer: {
            kind: 'response',
            status: 200,
            headers: { 'content-type': 'application/json' },
            body: '{"ok":true}',
          },
        },
      ],
      expect: {
        path: ['expect'],
        calls: [
          {
            path: ['expect', 'calls'],
            to: { method: 'POST', url: 'https://a.example/b' },
            times: 1,
            fields: {},
          },
        ],
        keys: ['A'],
        emitted: null,
        instances: null,
        deadLetters: [{ path: ['expect', 'deadLetters'], fields: { route: 'book' } }],
        parked: [],
        waiting: [],
      },
    },
  ])
})

test('steps of a list are requests, events and pauses', () => {
  const { tests } = read(`
- name: three
  given: { time: "2026-01-05T08:00:00+01:00", vars: { a: 1 }, secrets: { b: c } }
  send:
    - { source: shop, body: plain, times: 2, signed: false, refused: signature_missing }
    - { subject: shop.paid, data: [1], id: x, objectId: y }
    - wait: 5m
  expect: {}
`)
  expect(tests[0]?.test).toMatchObject({
    given: { time: Date.UTC(2026, 0, 5, 7), vars: { a: 1 }, secrets: { b: 'c' } },
    steps: [
      {
        headers: { 'content-type': 'text/plain' },
        body: 'plain',
        times: 2,
        isSigned: false,
        refused: 'signature_missing',
      },
      { type: 'event', subject: 'shop.paid', data: [1], id: 'x', objectId: 'y', times: 1 },
      { type: 'wait', ms: 300_000 },
    ],
  })
})

test('[FT5] mistakes are reported where they are, with what to write', () => {
  expect(
    findings(`
- name: one
  sent: { source: shop }
  send: { source: shp, bdy: {}, times: 0 }
  answers: [{ to: https://a.example, lost: never, status: 1 }, { to: POST https://a.example, status: 99, after: 5 }]
  expect: { call: [], deadLetters: [{ rote: book }, { route: boook }] }
- name: one
  send: [{ wait: 5 }, { source: nightly }, { source: shop, refused: signature_wrnog }]
  given: { time: noon }
- nothing
`),
  ).toEqual([
    '3:3 F12 a test has no field `sent`: did you mean `send`? → send',
    '4:24 F12 a request has no field `bdy`: did you mean `body`? → body',
    '4:40 F19 `times` is a whole number from 1 to 1000',
    '5:19 F16 write the method and the whole address, such as `POST https://api.example.com/orders`; `*` stands for any text',
    '5:44 F16 `lost` is one of `timeout`, `reset`, `refused`',
    '5:44 F35 `lost` means that no answer comes: leave the rest out',
    '5:102 F19 `status` is a whole number from 200 to 599',
    '5:113 F18 `after` is a duration with its unit, such as `30s`, `5m` or `2h`',
    '6:13 F12 `expect` has no field `call`: did you mean `calls`? → calls',
    '6:39 F12 a dead letter has no field `rote`: did you mean `route`? → route',
    '7:3 F14 `expect` is missing: it says what must come of it',
    '7:9 F11 another test of this file has this name',
    '8:18 F18 `wait` is a duration with its unit, such as `30s`, `5m` or `2h`',
    '8:69 F16 `signature_wrnog` is no error code: did you mean `signature_wrong`? → signature_wrong',
    '9:18 F16 `time` is an instant such as `2026-01-05T08:00:00Z`',
    '10:3 F15 a test is a map with `name`, `given`, `send`, `answers`, `expect`',
    '4:19 DF9 there is no source `shp`: did you mean `shop`? → shop',
    '6:62 DF9 there is no route `boook`: did you mean `book`? → book',
    '8:33 DF9 nightly is a schedule, and nobody sends to it: write `- wait: …` until it fires',
  ])
})

test('what cannot be read as YAML is reported like a definition', () => {
  expect(findings('- name: [')[0]).toMatch(/^1:\d+ F1 /)
  expect(findings('')).toEqual([])
})

test('the place of a part is where it is written, or its parent', () => {
  const text = '- name: a\n  send: { source: shop }\n  expect:\n    keys:\n      - A\n'
  const [one] = read(text).tests
  expect(one?.place).toEqual({ file: 'shop.test.yaml', line: 1, column: 9 })
  expect(one?.placeOf([0, 'expect', 'keys', 0])).toMatchObject({ line: 5, column: 9 })
  expect(one?.placeOf([0, 'expect', 'calls'])).toMatchObject({ line: 3, column: 3 })
})

test('[FT5] a pause is no longer than what a run can wait for', () => {
  const read = (wait: string) =>
    readFlowTests([
      { path: 'a.test.yaml', text: `- name: a\n  send: { wait: ${wait} }\n  expect: { calls: [] }\n` },
    ]).findings
  expect(read('3650d')).toEqual([])
  expect(read('3651d')).toMatchObject([{ line: 2, message: '`wait` is a duration of at most 3650d' }])
})
