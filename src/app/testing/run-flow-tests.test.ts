import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeTestCli, runCli } from '../../cli/cli.fixture.ts'
import { runProgram } from '../../cli/program.ts'
import { runFlowTests } from './index.ts'

const FLOWS = `kind: Vars
name: stages
values: { stage: local }
---
kind: Source
name: shop
verify: { scheme: hmac, secret: { env: SHOP_SECRET }, header: x-signature }
subject: "shop.events.{{ payload.kind }}"
event: { id: payload.id, objectType: order, objectId: payload.order }
---
kind: Source
name: nightly
schedule: { cron: "0 2 1,2 6 *", zone: UTC }
---
kind: Route
name: book
on: shop.events.paid
key: "'BOOK:' + payload.order"
retry: { attempts: 3, delays: [1h, 5h] }
do:
  http:
    method: POST
    url: https://books.example/bookings
    keyTtl: 24h
    headers: { x-env: "{{ vars.stage }}" }
    body: { order: "{{ payload.order }}" }
---
kind: Route
name: report
on: schedule.nightly
key: "'REPORT:' + event.id"
do: { http: { method: POST, url: https://books.example/reports, keyTtl: 24h } }
`

const COUNT = `kind: Route
name: count
on: shop.events.counted
key: "'COUNT:' + payload.order"
do: { function: count_order, with: { order: "{{ payload.order }}" } }
`

const CODE = `import { connect } from 'node:net'
import { defineFunction } from 'millrace'

export const countOrder = defineFunction({
  name: 'count_order',
  async run({ order }: { order: string }, ctx) {
    if (order === 'socket') {
      const socket = connect(9, '127.0.0.1')
      socket.destroy()
    }
    const counted = await ctx.effect('count', async (key, signal) => {
      const response = await fetch('https://counter.example/' + order, { method: 'POST', signal })
      return { status: response.status, ...(await response.json()) }
    }, { idempotent: true })
    await new Promise((resolve) => setTimeout(resolve, 1))
    ctx.emit('shop.order.counted', counted)
    return counted
  },
})
`

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-flow-tests-'))
  writeFileSync(join(folder, 'shop.yaml'), FLOWS)
})
afterEach(() => rmSync(folder, { recursive: true }))

const write = (text: string) => writeFileSync(join(folder, 'shop.test.yaml'), text)

const BOOKED = `- name: booked
  given: { vars: { stage: test } }
  send: { source: shop, body: { kind: paid, id: e-1, order: o-1 }, times: 2 }
  answers:
    - { to: "POST https://books.example/bookings", status: 503 }
    - { to: "POST https://books.example/bookings", lost: timeout }
    - { to: "POST https://books.example/bookings", status: 201, after: 2s }
  expect:
    calls: { to: "POST https://books.example/bookings", headers: { x-env: test }, body: { order: o-1 }, times: 3 }
    keys: ["BOOK:o-1"]
`

test('[FT6] [VR9] a test runs through the real engine: signed, deduplicated, retried after hours, in an instant', async () => {
  write(BOOKED)
  const first = await runFlowTests({ folder })
  expect(first).toMatchObject({
    ok: true,
    findings: [],
    tests: [{ name: 'booked', ok: true, differences: [] }],
  })
})

test('[FT6] two runs give the same result, to the byte', async () => {
  write(BOOKED.replace('keys: ["BOOK:o-1"]', 'keys: []\n    calls: []').replace(/ {4}calls: \{.*\n/, ''))
  const [first, second] = [await runFlowTests({ folder }), await runFlowTests({ folder })]
  expect(first.ok).toBe(false)
  expect(first.tests[0]?.differences.length).toBe(4)
  expect(second).toEqual(first)
})

test('[FT1] a wrong expectation fails with what was expected, what was there, and where it is written', async () => {
  write(
    BOOKED.replace('order: o-1 }, times: 3', 'order: o-2 }, times: 3').replace(
      '["BOOK:o-1"]',
      '["BOOK:o-2"]',
    ),
  )
  const { code, stdout } = await runCli(['test', folder])
  expect(code).toBe(1)
  expect(stdout).toBe(`failed  booked  shop.test.yaml:1:9
    shop.test.yaml:9:12 the call POST https://books.example/bookings differs
      9 |     calls: { to: "POST https://books.example/bookings", headers: { x-env: test }, body: { order: o-2 }, times: 3 }
      - body.order: "o-2"
      + body.order: "o-1"
    shop.test.yaml:9:12 the call POST https://books.example/bookings differs
      9 |     calls: { to: "POST https://books.example/bookings", headers: { x-env: test }, body: { order: o-2 }, times: 3 }
      - body.order: "o-2"
      + body.order: "o-1"
    shop.test.yaml:9:12 the call POST https://books.example/bookings differs
      9 |     calls: { to: "POST https://books.example/bookings", headers: { x-env: test }, body: { order: o-2 }, times: 3 }
      - body.order: "o-2"
      + body.order: "o-1"
    shop.test.yaml:10:12 no effect has the key BOOK:o-2
      10 |     keys: ["BOOK:o-2"]
      - "BOOK:o-2"
      + "BOOK:o-1"
1 test, 1 failed
`)
  const { code: same, stdout: json } = await runCli(['test', folder, '--json'])
  expect(same).toBe(1)
  expect(JSON.parse(json)).toMatchObject({
    ok: false,
    tests: [{ name: 'booked', ok: false, differences: [{ file: 'shop.test.yaml', line: 9 }, {}, {}, {}] }],
  })
})

test('[FT3] a call that no answer is written for fails the test by its address, and nothing leaves the machine', async () => {
  write(`- name: unexpected
  send: { source: shop, body: { kind: paid, id: e-1, order: o-1 } }
  answers: { to: "POST https://books.example/booking" }
  expect: { keys: ["BOOK:o-1"] }
`)
  const { tests } = await runFlowTests({ folder })
  expect(tests[0]?.differences).toMatchObject([
    {
      line: 3,
      message:
        'the call POST https://books.example/bookings was not expected: no answer is written for it under `answers`; did you mean `POST https://books.example/booking` there?',
    },
  ])
})

test('[FT4] a request without a signature is refused as on a node', async () => {
  write(`- name: refused
  send: { source: shop, body: { kind: paid, id: e-1, order: o-1 }, signed: false, refused: signature_missing }
  expect: { calls: [], keys: [] }
- name: wrong
  given: { secrets: { SHOP_SECRET: one } }
  send: { source: shop, headers: { x-signature: abc }, body: {}, signed: false }
  expect: { calls: [] }
`)
  const { tests } = await runFlowTests({ folder })
  expect(tests.map(({ ok, differences }) => [ok, ...differences.map(({ message }) => message)])).toEqual([
    [true],
    [false, expect.stringMatching(/^the request to shop was refused with signature_wrong: /)],
  ])
})

test('[FT2] a job that cannot go on is seen, and a schedule fires when its time is skipped', async () => {
  write(`- name: gives up
  send: { source: shop, body: { kind: paid, id: e-1, order: o-1 } }
  answers: { to: "POST https://books.example/bookings", status: 503, times: 3 }
  expect: { keys: [], deadLetters: { route: book, reason: cap_reached, attempts: 3 } }
- name: at night
  given: { time: "2026-05-31T12:00:00Z" }
  send: { wait: 48h }
  answers: { to: "POST https://books.example/reports", times: any }
  expect: { calls: { to: "POST https://books.example/reports", times: 2 } }
- name: overlooked
  send: { source: shop, body: { kind: paid, id: e-1, order: o-1 } }
  answers: { to: "POST https://books.example/bookings", status: 400 }
  expect: {}
`)
  const { tests } = await runFlowTests({ folder })
  expect(tests.map(({ ok, differences }) => [ok, ...differences.map(({ message }) => message)])).toEqual([
    [true],
    [true],
    [false, 'the dead letter of route book was not expected'],
  ])
})

test('[FT7] functions of the folder run, fetch from the scripted vendors, and open no connection', async () => {
  writeFileSync(join(folder, 'count.yaml'), COUNT)
  writeFileSync(join(folder, 'count.ts'), CODE)
  const realFetch = globalThis.fetch
  write(`- name: counted
  send: { source: shop, body: { kind: counted, id: e-1, order: o-1 } }
  answers:
    - { to: "POST https://counter.example/o-1", lost: reset }
    - { to: "POST https://counter.example/o-1", status: 202, body: { total: 3 }, after: 1s }
  expect:
    keys: ["COUNT:o-1", "COUNT:o-1#count"]
    emitted: { subject: shop.order.counted, data: { status: 202, total: 3 } }
- name: socket
  send: { source: shop, body: { kind: counted, id: e-1, order: socket } }
  expect: { deadLetters: { route: count } }
`)
  const { findings, tests } = await runFlowTests({ folder })
  expect(findings).toEqual([])
  expect(tests.map(({ ok, differences }) => [ok, ...differences])).toEqual([[true], [true]])
  // What is not of a test has its network, before and after.
  expect(globalThis.fetch).toBe(realFetch)
  expect(() =>
    connect({ port: 9, host: '127.0.0.1' })
      .on('error', () => {})
      .destroy(),
  ).not.toThrow()
})

test('[FT7] a file that calls out while it is loaded is an error that names the address', async () => {
  writeFileSync(join(folder, 'count.yaml'), COUNT)
  const called: string[] = []
  const server = createServer(({ url = '' }, response) => {
    called.push(url)
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/rates`
  try {
    for (const top of [`await fetch('${address}')`, `void fetch(new Request('${address}'))`]) {
      writeFileSync(join(folder, 'count.ts'), `${CODE}${top}\n`)
      write(BOOKED)
      const { findings, tests } = await runFlowTests({ folder })
      expect(tests).toEqual([])
      expect(findings.map(({ file, message }) => [file, message])).toContainEqual([
        'count.ts',
        expect.stringContaining(`fetch of ${address} at the top of a file`),
      ])
    }
    expect(called).toEqual([])
  } finally {
    server.close()
  }
})

test('[FT5] mistakes in tests and definitions are findings, and nothing runs', async () => {
  write('- name: a\n  send: { source: shopp }\n  expect: {}\n')
  const { code, stdout } = await runCli(['test', folder])
  expect([code, stdout]).toEqual([
    3,
    `shop.test.yaml:2:19 error DF9: there is no source \`shopp\`: did you mean \`shop\`?
  2 |   send: { source: shopp }
    |                   ^
  write: shop

1 error, 0 warnings
`,
  ])
  writeFileSync(join(folder, 'bad.yaml'), 'kind: Route\nname: bad\n')
  expect(await runFlowTests({ folder })).toMatchObject({
    ok: false,
    tests: [],
    findings: [{ file: 'bad.yaml' }, {}],
  })
})

test('a part of the tests is chosen by name or file; a folder without tests says how to write one', async () => {
  expect(await runCli(['test', folder])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('has no tests.\nWrite one beside your definitions'),
  })
  write(`${BOOKED}${BOOKED.replace('name: booked', 'name: another')}`)
  const { stdout } = await runCli(['test', folder, '--only', 'ANOTH'])
  expect(stdout).toBe('ok  another\n1 test, all passed\n')
  expect((await runCli(['test', folder, '--only', 'none'])).stderr).toContain('has no test with ‘none’')
  expect((await runCli(['test', join(folder, 'nowhere')])).code).toBe(2)
})

test('[FT9] a user acts between the steps: a dead letter is replayed, a parked job resolved, a route paused', async () => {
  write(`- name: replayed
  send:
    - { source: shop, body: { id: e-1, kind: paid, order: o-1 } }
    - replay: { route: book, key: "BOOK:o-1" }
  answers:
    - { to: "POST https://books.example/bookings", status: 422 }
    - { to: "POST https://books.example/bookings", status: 201 }
  expect: { keys: ["BOOK:o-1"] }
- name: resolved
  send:
    - { subject: schedule.nightly, data: {} }
    - { source: shop, body: { id: e-1, kind: paid, order: o-1 } }
    - { wait: 7h }
    - resolve: { route: book, as: done }
  answers:
    - { to: "POST https://books.example/reports" }
    - { to: "POST https://books.example/bookings", lost: reset, times: 3 }
  expect: { keys: ["BOOK:o-1"] }
- name: paused and resumed
  send:
    - pause: { route: book }
    - { source: shop, body: { id: e-1, kind: paid, order: o-1 } }
    - { wait: 2h }
    - resume: { route: book }
  answers: { to: "POST https://books.example/bookings" }
  expect: { calls: { to: POST https://books.example/bookings }, keys: ["BOOK:o-1"] }
- name: paused for good
  send:
    - pause: { route: book }
    - { source: shop, body: { id: e-1, kind: paid, order: o-1 } }
  expect: { calls: [], waiting: { route: book } }
- name: retried at once
  send:
    - { source: shop, body: { id: e-1, kind: paid, order: o-1 } }
    - retry: { route: book }
  answers:
    - { to: "POST https://books.example/bookings", status: 503 }
    - { to: "POST https://books.example/bookings" }
  expect: { keys: ["BOOK:o-1"] }
`)
  const { tests, findings } = await runFlowTests({ folder })
  expect(findings).toEqual([])
  expect(tests.map(({ name, differences }) => [name, differences])).toEqual([
    ['replayed', []],
    ['resolved', []],
    ['paused and resumed', []],
    ['paused for good', []],
    ['retried at once', []],
  ])
})

test('[FT9] a step that finds nothing to act on fails its test', async () => {
  write(`- name: nothing there
  send:
    - { source: shop, body: { id: e-1, kind: paid, order: o-1 } }
    - replay: { route: book }
    - resolve: { route: book, as: done, key: "BOOK:o-1" }
  answers: { to: "POST https://books.example/bookings" }
  expect: {}
`)
  const { tests } = await runFlowTests({ folder })
  expect(tests[0]?.differences.map(({ line, message }) => [line, message])).toEqual([
    [4, '`replay` of route book was refused with not_found: there is no open dead letter of route book'],
    [
      5,
      '`resolve` of route book was refused with not_found: there is no parked job of route book with the key BOOK:o-1',
    ],
  ])
})

test('[FT6] functions see the time of the test, and the machine keeps its own', async () => {
  writeFileSync(
    join(folder, 'clock.ts'),
    `import { defineFunction, defineRoute } from 'millrace'
export const look = defineFunction({
  name: 'look',
  run: (input, ctx) => {
    ctx.emit('clock.seen', {
      now: new Date().toISOString(), ms: Date.now() - new Date().getTime(), given: new Date(0).getTime(),
      is: new Date() instanceof Date, parsed: Date.parse('1970-01-01T00:00:01Z'), text: typeof Date(),
    })
  },
})
export default defineRoute({ name: 'look', on: 'clock.asked', do: look.with() })
`,
  )
  write(`- name: later
  given: { time: "2030-01-01T00:00:00Z" }
  send: [{ wait: 400d }, { subject: clock.asked, data: {} }]
  answers: { to: "POST https://books.example/reports", times: any }
  expect:
    emitted:
      subject: clock.seen
      data: { now: "2031-02-05T00:00:00.000Z", ms: 0, given: 0, is: true, parsed: 1000, text: string }
`)
  const before = Date.now()
  const { tests, findings } = await runFlowTests({ folder })
  expect(findings).toEqual([])
  expect(tests[0]?.differences).toEqual([])
  expect(Math.abs(Date.now() - before)).toBeLessThan(120_000)
})

test('[FT5] mistakes in the steps of a user are findings', async () => {
  write(`- name: wrong
  send:
    - replay: { rout: book }
    - resolve: { route: book }
    - pause: { route: bok }
    - resume: { route: book, key: a }
  expect: {}
`)
  const { findings } = await runFlowTests({ folder })
  expect(findings.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([
    expect.stringContaining('3:7 `replay` names one of'),
    expect.stringContaining('3:17 `replay` has no field `rout`: did you mean `route`?'),
    expect.stringContaining('4:7 say what became of the effect'),
    expect.stringContaining('6:30 `resume` has no field `key`'),
    expect.stringContaining('5:23 there is no route `bok`'),
  ])
})

test('[FT10] --watch runs the tests again when a file changes, and ends by a signal', async () => {
  write(`- name: one
  send: { source: shop, body: { id: e-1, kind: paid, order: o-1 } }
  answers: { to: "POST https://books.example/bookings", status: 422 }
  expect: {}
`)
  const ending = new AbortController()
  let isMended = false
  const { cli, written } = makeTestCli({
    signal: ending.signal,
    onWrite() {
      if (!isMended && written.stdout.includes('watching ')) {
        isMended = true
        write(`- name: one
  send: { source: shop, body: { id: e-1, kind: paid, order: o-1 } }
  answers: { to: "POST https://books.example/bookings" }
  expect: {}
`)
      }
      if (written.stdout.includes('all passed')) ending.abort()
    },
  })
  expect(await runProgram(['test', folder, '--watch'], cli)).toBe(130)
  expect(written.stdout).toContain('1 test, 1 failed')
  expect(written.stdout).toContain('1 test, all passed')
})
