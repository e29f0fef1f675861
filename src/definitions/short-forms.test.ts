// The shorter forms: each has the meaning and the hash of its long form, and findings at the place where it is written.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashDocument, languageOf } from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './compile.ts'

const compile = (text: string) => compileDefinitions([{ path: 'a.yaml', text }], { functions: () => 'hash' })

const hashesOf = (text: string) => {
  const { documents, findings } = compile(text)
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  return documents.map(hashDocument)
}

const found = (text: string) =>
  compile(text)
    .findings.filter(({ severity }) => severity === 'error')
    .map(({ rule, line, column, message }) => ({ rule, at: `${line}:${column}`, message }))

const source = (...lines: readonly string[]) => ['kind: Source', 'name: shop', ...lines, ''].join('\n')
const SECRET = 'secret: { env: SHOP_SECRET }'

describe('`vendor` of a source', () => {
  test.each(['github', 'gitlab', 'stripe', 'terraform-cloud', 'slack', 'shopify', 'workfront'])(
    '[SF1] %s stands for the scheme and the subjects',
    (vendor) => {
      expect(hashesOf(source(`vendor: ${vendor}`, SECRET))).toEqual(
        hashesOf(source(`verify: { scheme: ${vendor}, ${SECRET} }`, `subjects: ${vendor}`)),
      )
    },
  )

  test('[SF1] with a subject of its own, or of a vendor without a mapping, it is the scheme alone', () => {
    const subject = 'subject: "shop.events.{{ payload.type }}"'
    for (const vendor of ['stripe', 'linear', 'twilio', 'hubspot']) {
      expect(hashesOf(source(`vendor: ${vendor}`, SECRET, subject))).toEqual(
        hashesOf(source(`verify: { scheme: ${vendor}, ${SECRET} }`, subject)),
      )
    }
  })

  test('[SF1] two secrets while one is rotated', () => {
    const secrets = 'secret: [{ env: NEXT }, { ref: last }]'
    expect(hashesOf(source('vendor: stripe', secrets))).toEqual(
      hashesOf(source(`verify: { scheme: stripe, ${secrets} }`, 'subjects: stripe')),
    )
  })

  test.each([
    [[`vendor: strpe`, SECRET], 'F16', '3:9', 'this is one of'],
    [['vendor: hmac', SECRET], 'F16', '3:9', 'this is one of'],
    [['vendor: stripe'], 'F14', '1:1', '`secret` is missing'],
    [['vendor: stripe', 'secret: whsec_1234'], 'PV12', '4:9', 'a secret is not written here'],
    [['vendor: stripe', 'secret: { evn: A }'], 'F12', '4:11', 'did you mean `env`'],
    [['vendor: linear', SECRET], 'F28', '', 'a source names its events'],
    [['vendor: stripe', SECRET, 'subjects: stripe'], 'F35', '5:1', 'leave it out, or `subjects`'],
    [['vendor: stripe', SECRET, 'verify: { scheme: none }'], 'F35', '5:1', 'leave it out, or `verify`'],
    [[SECRET, 'verify: { scheme: none }', 'subject: a.b'], 'F35', '3:1', 'beside `vendor`'],
  ])('[SF2] %j is refused', (lines, rule, at, words) => {
    const all = found(source(...lines))
    const one = all.find((each) => each.rule === rule)
    expect(all.map((each) => each.rule)).toContain(rule)
    expect(one?.message).toContain(words)
    if (at !== '') expect(one?.at).toBe(at)
  })
})

const route = (key: string, more = '') => `kind: Route
name: book
on: shop.paid
key: ${JSON.stringify(key)}
${more}do: { http: { url: https://books.example/x, keyTtl: 1h } }
`

describe('templates in keys', () => {
  test.each([
    ['BOOKS:INVOICE:{{ payload.data.object.id }}', "'BOOKS:INVOICE:' + string(payload.data.object.id)"],
    ['{{ payload.id }}', 'payload.id'],
    ['{{payload.a}}:{{ payload.b }}', "string(payload.a) + ':' + string(payload.b)"],
    ["it's {{ payload.id }}\\", "'it\\'s ' + string(payload.id) + '\\\\'"],
    ["X:{{ hash(payload.a, '}}') }}", "'X:' + string(hash(payload.a, '}}'))"],
    ["X:{{ {'a': payload.id}['a'] }}", "'X:' + string({'a': payload.id}['a'])"],
  ])('[SF3] %s is the formula %s', (template, formula) => {
    expect(hashesOf(route(template))).toEqual(hashesOf(route(formula)))
  })

  test('[SF3] any text around a template comes back from the formula as it is', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!text.includes('{') && text !== '')
        const { documents } = compile(route(`${text}{{ payload.id }}`))
        const [document] = documents as readonly { key: string }[]
        expect(document?.key.endsWith(' + string(payload.id)')).toBe(true)
      }),
      { numRuns: 200 },
    )
  })

  test('[SF3] an expression that contains braces in a text stays an expression', () => {
    const [document] = compile(route("'{{' + payload.id")).documents as readonly { key: string }[]
    expect(document?.key).toBe("'{{' + payload.id")
  })

  test('[SF3] in the key of a step and in the formula that a migration names', () => {
    const workflow = (key: string) => `kind: Workflow
name: orders
version: 1.0.0
start: new
triggers: [{ on: shop.paid, action: create, correlate: payload.id }]
places: { new: {}, done: { final: true } }
transitions:
  book: { from: new, to: done, key: ${JSON.stringify(key)}, do: { http: { url: https://a.example, keyTtl: 1h } } }
`
    expect(hashesOf(workflow('PRIO:{{ data.id }}'))).toEqual(hashesOf(workflow("'PRIO:' + string(data.id)")))
    const migration = (from: string) =>
      `keyMigration: { from: ${JSON.stringify(from)}, note: the vendor dedups }\n`
    expect(hashesOf(route('B:{{ payload.id }}', migration('A:{{ payload.id }}')))).toEqual(
      hashesOf(route('B:{{ payload.id }}', migration("'A:' + string(payload.id)"))),
    )
  })

  test.each([
    ['X:{{ vars.region }}:{{ payload.id }}', 'F13', '4:12'],
    ['X:{{ payload.id }}:{{ paylod.id }}', 'F20', '4:29'],
    ['X:{{ payload.id }}:{{ header.date }}', 'KY1', '4:29'],
    ["X:{{ payload.id }}:{{ secret('a') }}", 'IX1', '4:29'],
    ['X:{{ payload.id', 'F20', ''],
  ])('[SF4] a finding in %s stands where it is written', (key, rule, at) => {
    const all = found(route(key))
    const one = all.find((each) => each.rule === rule)
    expect(all.length).toBeGreaterThan(0)
    if (at !== '') expect(one?.at).toBe(at)
  })
})

test('[SF5] `deadLetter.channel` is refused by its name', () => {
  const [one] = found(route('A:{{ payload.id }}', 'deadLetter: { channel: ops }\n'))
  expect(one).toMatchObject({ rule: 'F13', at: '5:15' })
  expect(one?.message).toContain('`channel` is not available in this version')
})

const STEPS = `kind: Route
name: onboard
on: shop.events.customer.created
where: payload.plan != 'trial'
key: "ONBOARD:{{ payload.id }}"
retry: { attempts: 3, backoff: fixed }
deadLetter: { severity: high }
delay: 1m
steps:
  - name: account
    do: { http: { url: https://crm.example/accounts, keyTtl: 24h, body: { id: "{{ payload.id }}" } } }
    out: { account: result.body.id }
    undo: { http: { method: DELETE, url: "https://crm.example/accounts/{{ result.body.id }}" } }
  - name: welcome
    delay: 5m
    retry: STEP
    key: "WELCOME:{{ payload.id }}"
    do: { emit: mail.events.welcome.due }
  - name: greet
    do: { function: greet }
`
const LONG_STEPS = `kind: Workflow
name: onboard
deadLetter: { severity: high }
start: account
triggers:
  - on: shop.events.customer.created
    where: payload.plan != 'trial'
    correlate: "'ONBOARD:' + string(payload.id)"
    unique: live
places:
  account: { timeout: { after: 1m, fire: account } }
  welcome: { timeout: { after: 5m, fire: welcome } }
  greet: {}
  done: { final: true }
  rolling_back: {}
  failed: { type: error }
onFailure: { undo: done-steps, through: rolling_back, to: failed }
transitions:
  account:
    from: account
    to: welcome
    on: timer
    key: "'account:ONBOARD:' + string(payload.id)"
    retry: { attempts: 3, backoff: fixed }
    do: { http: { url: https://crm.example/accounts, keyTtl: 24h, body: { id: "{{ payload.id }}" } } }
    out: { account: result.body.id }
    undo: { http: { method: DELETE, url: "https://crm.example/accounts/{{ result.body.id }}" } }
  welcome:
    from: welcome
    to: greet
    on: timer
    key: "'WELCOME:' + string(payload.id)"
    retry: STEP
    do: { emit: mail.events.welcome.due, data: "{{ payload }}" }
  greet:
    from: greet
    to: done
    key: "'greet:ONBOARD:' + string(payload.id)"
    retry: { attempts: 3, backoff: fixed }
    do: { function: greet, with: "{{ payload }}" }
`

const steps = (lines: string, more = '') => `kind: Route\nname: a\non: shop.paid\n${more}steps:\n${lines}`
const ONE = '  - { name: one, do: { emit: shop.one } }\n'
const warned = (text: string) =>
  compile(text).findings.map(({ rule, line, column, message }) => ({
    rule,
    at: `${line}:${column}`,
    message,
  }))

describe('`steps` of a route', () => {
  test('[SF8] they stand for a workflow, with its hash', () => {
    expect(hashesOf(STEPS)).toEqual(hashesOf(LONG_STEPS))
    expect(
      hashesOf(
        JSON.stringify({
          kind: 'Route',
          name: 'a',
          on: 'shop.paid',
          steps: [{ name: 'one', do: { emit: 'shop.one' } }],
        }),
      ),
    ).toEqual(hashesOf(steps(ONE)))
  })

  test('[SF8] without a key, an event has its steps once', () => {
    const [document] = compile(steps(ONE)).documents as readonly {
      triggers: readonly { correlate: object; unique: string }[]
      transitions: readonly { key: string; retry: { profile: string } }[]
    }[]
    expect(document?.triggers).toMatchObject([{ correlate: { default: "'a:' + event.id" }, unique: 'live' }])
    expect(document?.transitions).toMatchObject([
      { key: "'one:' + ('a:' + event.id)", retry: { profile: 'STANDARD' } },
    ])
    expect(warned(steps(ONE))).toEqual([])
  })

  test('[SF8] numbers and durations may be values of `vars`', () => {
    const vars = 'kind: Vars\nname: v\nvalues: { wait: 5m, tries: 3 }\n---\n'
    const filled = (wait: string, tries: string) =>
      steps(
        `  - { name: one, delay: ${wait}, do: { emit: shop.one } }\n`,
        `retry: { attempts: ${tries}, backoff: fixed }\n`,
      )
    const { documents, findings } = compile(vars + filled('"{{ vars.wait }}"', '"{{ vars.tries }}"'))
    expect(findings).toEqual([])
    const [, written] = documents
    const [expected] = compile(filled('5m', '3')).documents as unknown as readonly Record<string, unknown>[]
    const { places, transitions } = expected ?? {}
    expect(written).toMatchObject({ kind: 'Workflow', places, transitions })
    // The deployed workflow is the one that is written, and is not read a second time.
    const text = vars + filled('"{{ vars.wait }}"', '"{{ vars.tries }}"')
    const changed = text.replace('wait: 5m', 'wait: 6m')
    const again = compileDefinitions([{ path: 'a.yaml', text: changed }], {
      functions: () => 'hash',
      deployedDocuments: documents,
      filledBeside: [{ path: 'a.yaml', text }],
    })
    expect(again.documents.map(({ kind, name }) => `${kind}/${name}`)).toEqual(['Vars/v', 'Workflow/a'])
    expect(again.refilled).toEqual([])
  })

  test.each([
    ['payload.id', "'one:' + payload.id"],
    ["'A:' + payload.a + payload.b", "'one:' + ('A:' + payload.a + payload.b)"],
    ['A:{{ payload.a }}', "'one:A:' + string(payload.a)"],
    ["payload.a ? 'x' : 'y'", "'one:' + (payload.a ? 'x' : 'y')"],
  ])('[SF8] the key %s is that of each step, after its name', (key, formula) => {
    const text = steps(ONE, `key: ${JSON.stringify(key)}\n`)
    const [document] = compile(text).documents as readonly { transitions: readonly { key: string }[] }[]
    expect(document?.transitions[0]?.key).toBe(formula)
  })

  test.each([
    [steps(ONE, 'do: { emit: shop.x }\n'), 'F28', '4:1', 'exclude each other'],
    [steps(ONE, 'drain: INSTANT\n'), 'F35', '4:1', 'with `steps` a route is a workflow'],
    [steps(ONE, 'order: { by: payload.id }\n'), 'F35', '4:1', 'do: { start'],
    [steps(ONE + ONE), 'SF9', '6:13', 'there is a step `one` already'],
    [steps('  - { name: done, do: { emit: shop.one } }\n'), 'SF9', '5:13', 'name the step otherwise'],
    [steps('  - { name: one }\n'), 'F14', '5:5', '`do` is missing'],
    [steps('  - { name: one, do: { emit: shop.one }, delay: 1 hour }\n'), 'F18', '5:49', 'a duration'],
    [steps('  - { name: one, do: { emti: shop.one } }\n'), 'F12', '5:24', 'did you mean `emit`'],
    [
      steps('  - { name: one, forEach: { of: payload.x }, do: { emit: shop.one } }\n'),
      'F13',
      '5:18',
      'belongs to a route',
    ],
    [
      steps('  - { name: one, delay: 1m, do: { emit: shop.one } }\n', 'delay: 1m\n'),
      'F35',
      '6:18',
      'keep one',
    ],
    [
      steps('  - { name: one, do: { emit: shop.one, data: "{{ steps.two.result }}" } }\n'),
      'WL7',
      '5:46',
      'there is no transition `two`',
    ],
    [steps('  - { name: one, do: { function: gone } }\n'), 'F29', '5:34', 'there is no function'],
    [
      steps(ONE, 'key: "X:{{ payload.id }}:{{ header.date }}"\n'),
      'KY1',
      '4:29',
      'differs with each delivery',
    ],
    [steps(ONE, 'retry: STANDRAD\n'), 'F25', '4:8', 'there is no retry profile'],
  ])('[SF9] %j is refused where it is written, once', (text, rule, at, words) => {
    const all = compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
      .findings.filter(({ severity }) => severity === 'error')
      .map((one) => ({ rule: one.rule, at: `${one.line}:${one.column}`, message: one.message }))
    expect(all).toEqual([{ rule, at, message: expect.stringContaining(words) }])
  })

  test('[SF9] a route says what to do', () => {
    expect(found('kind: Route\nname: a\non: shop.paid\n')).toMatchObject([{ rule: 'F14', at: '1:1' }])
  })
})

describe('`delay` of a transition', () => {
  const net = (places: string, waiting: string, more = '') => `kind: Workflow
name: offer
start: sent
triggers: [{ on: shop.sent, correlate: payload.id, unique: live }]
places: ${places}
transitions:
  expire: ${waiting}
${more}`

  test('[SF11] it is the time-out of its place', () => {
    const end = 'done: { final: true }'
    expect(hashesOf(net(`{ sent: {}, ${end} }`, '{ from: sent, to: done, delay: 2d }'))).toEqual(
      hashesOf(
        net(
          `{ sent: { timeout: { after: 2d, fire: expire } }, ${end} }`,
          '{ from: sent, to: done, on: timer }',
        ),
      ),
    )
  })

  test.each([
    ['{ sent: {}, done: { final: true } }', '{ from: sent, to: done, delay: 2d, on: manual }', '', '7:35'],
    ['{ sent: {}, done: { final: true } }', '{ fromAny: [sent], to: done, delay: 2d }', '', '7:40'],
    [
      '{ sent: { timeout: { after: 1d, fire: expire } }, done: { final: true } }',
      '{ from: sent, to: done, delay: 2d }',
      '',
      '7:35',
    ],
    [
      '{ sent: {}, done: { final: true } }',
      '{ from: sent, to: done, delay: 2d }',
      '  other: { from: sent, to: done, delay: 1d }\n',
      '7:35',
    ],
  ])('[SF12] %s with %s is refused', (places, waiting, more, at) => {
    expect(found(net(places, waiting, more))[0]).toMatchObject({ rule: 'SF12', at })
  })
})

describe('`forEach` of a route', () => {
  const each = (lines: string) => `kind: Route
name: hours
on: time.approved
key: "'HOURS:' + entry.id"
${lines}
do: { http: { url: https://erp.example/hours, keyTtl: 1h, body: "{{ entry }}" } }
`

  test('[SF13] it is `each`, with the concurrency of one event', () => {
    expect(hashesOf(each('forEach: { of: payload.entries, as: entry, max: 20, parallel: 3 }'))).toEqual(
      hashesOf(
        each('each: { of: payload.entries, as: entry, max: 20 }\nconcurrency: { limit: 3, by: event.id }'),
      ),
    )
    expect(hashesOf(each('forEach: { of: payload.entries, as: entry }'))).toEqual(
      hashesOf(each('each: { of: payload.entries, as: entry }')),
    )
    expect(warned(each('forEach: { of: payload.entries, as: entry, parallel: 3 }'))).toEqual([])
  })

  test.each([
    ['forEach: { of: payload.a, as: entry }\neach: { of: payload.a, as: entry }', 'F35', '5:1'],
    ['forEach: { of: payload.a, as: entry, parallel: 2 }\nconcurrency: { limit: 1 }', 'F35', '5:38'],
    ['forEach: { of: payload.a, as: entry, paralel: 2 }', 'F12', '5:38'],
    ['forEach: { of: paylod.a, as: entry }', 'F20', '5:16'],
    ['forEach: { of: payload.a, as: entry, parallel: 0 }', 'F19', '5:48'],
  ])('[SF13] %s is refused', (lines, rule, at) => {
    expect(found(each(lines))).toMatchObject([{ rule, at }])
  })
})

test('[FO11] a route has a `delay`, and none beside `debounce`', () => {
  const delayed = (more: string) =>
    `kind: Route\nname: a\non: shop.paid\nkey: payload.id\n${more}do: { emit: shop.a }\n`
  const { documents } = compile(delayed('delay: 5m\n'))
  expect(documents).toMatchObject([{ delayMs: 300_000 }])
  // A node that does not know it would run its jobs at once.
  expect(documents.map(languageOf)).toEqual([5])
  expect(compile(delayed('')).documents.map(languageOf)).toEqual([1])
  expect(found(delayed('delay: 5m\ndebounce: { by: payload.id, window: 1m }\n'))).toMatchObject([
    { rule: 'F35', at: '5:1' },
  ])
})
