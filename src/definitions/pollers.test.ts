import { describe, expect, test } from 'vitest'
import {
  languageOf,
  type PollerDocument,
  type WorkflowDocument,
} from '../core/definitions/documents/index.ts'
import { compilePoller, openWindow } from '../core/polling/poller/index.ts'
import { compileDefinitions } from './compile.ts'

const PLAIN = `kind: Poller
name: orders
list:
  http:
    url: https://shop.example/orders
    query: { since: "{{ window.from }}", "until": "{{ window.to }}", kind: "a b&c", limit: "{{ pageSize }}" }
cursor: { field: item.at }
subject: shop.orders.updated
event: { objectId: item.id }
`

function compile(text: string) {
  const { documents, findings } = compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
  return { document: documents[0] as PollerDocument | undefined, findings }
}

function messagesOf(text: string): readonly string[] {
  return compile(text).findings.map(({ rule, message }) => `${rule} ${message}`)
}

describe('a poller', () => {
  test('[PO10] has the usual cadence, overlap, lag and pages', () => {
    expect(compile(`${PLAIN}paging: { style: page, param: page }\n`).document).toMatchObject({
      cadence: { everyMs: 300_000 },
      overlapMs: 600_000,
      safetyLagMs: 30_000,
      sinceMs: 30 * 86_400_000,
      paging: { pageSize: 200, maxPages: 50, first: 1 },
      items: 'result.body',
      data: '{{ item }}',
    })
  })

  test('[ND24] is left to nodes that know pollers', () => {
    expect(languageOf(compile(PLAIN).document as PollerDocument)).toBe(5)
  })

  test('[PO10] asks for its window, with percent-encoded texts', () => {
    const { document } = compile(PLAIN)
    if (document === undefined) throw new Error('it is not valid')
    const poller = compilePoller(document)
    const { action } = poller.route
    if (action.type !== 'http') throw new Error('it is another action')
    const window = openWindow({ watermark: 1_700_000_000_000, origin: null }, poller.rules, 1_700_000_600_000)
    expect(action.render(poller.requestScope(window), 'k').url).toBe(
      'https://shop.example/orders?since=2023-11-14T22%3A03%3A20.000Z&until=2023-11-14T22%3A22%3A50.000Z&kind=a%20b%26c&limit=200',
    )
    expect(poller.rules).toMatchObject({ hasFrom: true, hasTo: true })
  })

  test.each([
    ['was: old\n', '`was` is not available in this version: leave it out'],
    ['maxWindow: 1d\n', '`maxWindow` is not available'],
    ['sweep: { every: 1d }\n', '`sweep` is not available'],
    ['drift: tag\n', '`drift` is not available'],
    ['reconcile: { every: 1h }\n', '`reconcile` is not available'],
    ['completeness: orders\n', '`completeness` is not available'],
    ['overlap: auto\n', '`overlap: auto` is not available'],
    ['paging: { style: odata }\n', '`style: odata` is not available'],
  ])('[PO16] %s is refused by name', (more, message) => {
    expect(messagesOf(PLAIN + more)).toEqual([expect.stringContaining(message)])
    expect(messagesOf(PLAIN + more)[0]).toMatch(/^F13 /)
  })

  test('[PO16] so are further fields of the cursor', () => {
    expect(messagesOf(PLAIN.replace('item.at }', 'item.at, id: item.id }'))).toEqual([
      'F13 `id` is not available in this version: leave it out',
    ])
  })

  test.each([
    ['every: 5m\ncron: "* * * * *"\n', 'keep one of them'],
    ['zone: Europe/Berlin\n', '`zone` is that of `cron`'],
    ['cron: "* * *"\n', 'write five fields'],
  ])('[PO1] a cadence such as %j is refused', (more, message) => {
    expect(messagesOf(PLAIN + more)).toEqual([expect.stringContaining(message)])
  })

  test('[PO1] a list says which call it is', () => {
    const without = PLAIN.replace(/ {2}http:[\s\S]*pageSize \}\}" \}\n/, '  items: result\n')
    expect(messagesOf(without)).toContainEqual(
      expect.stringContaining('say what lists: `http` or `operation`'),
    )
  })

  test('[PO15] a request that names no window is noticed', () => {
    const everything = PLAIN.replaceAll(/\{\{ window\.\w+ \}\}/g, 'x')
    expect(messagesOf(everything)).toEqual([expect.stringContaining('each poll reads everything')])
    const upper = PLAIN.replace('{{ window.from }}', 'x')
    expect(messagesOf(upper)).toEqual([expect.stringContaining('PO15 nothing in the request names')])
    expect(messagesOf(PLAIN)).toEqual([])
  })

  test.each([
    ['{ style: page, param: page }', true],
    ['{ style: offset, param: at }', true],
    ['{ style: page, param: page, total: result.body.total }', false],
    ['{ style: link }', false],
  ])('[PO17] pages as %s: what may be missed is noticed', (paging, isNoticed) => {
    const found = messagesOf(`${PLAIN}paging: ${paging}\n`)
    expect(found).toEqual(isNoticed ? [expect.stringContaining('PO17 without `total`')] : [])
  })
})

describe('[PO21] what a poller says is sensitive', () => {
  const FLOW = `kind: Workflow
name: orders
version: 1.0.0
start: new
triggers:
  - { on: shop.orders.updated, action: create, correlate: { id: payload.id }, map: { mail: payload.user.email } }
places:
  new: {}
  done: { final: true }
transitions:
  go: { from: new, to: done, on: manual }
`
  const SENSITIVE = `${PLAIN}sensitive: [payload.user.email]\n`

  const encrypted = (text: string, deployed: readonly PollerDocument[] = []) => {
    const { documents } = compileDefinitions([{ path: 'a.yaml', text }], {
      functions: () => null,
      deployedDocuments: deployed,
    })
    const found = documents.find(({ kind }) => kind === 'Workflow') as WorkflowDocument | undefined
    return found?.security?.encrypt ?? null
  }

  test('is encrypted where a workflow copies it, whether its file or a deployed poller says so', () => {
    expect(encrypted(`${SENSITIVE}---\n${FLOW}`)).toEqual(['data.mail'])
    const deployed = compile(SENSITIVE).document as PollerDocument
    expect(encrypted(FLOW, [deployed])).toEqual(['data.mail'])
    expect(encrypted(`${PLAIN}---\n${FLOW}`, [deployed])).toBeNull()
    const source = 'kind: Source\nname: orders\nverify: { scheme: none }\nsubject: a.b\n---\n'
    expect(encrypted(source + FLOW, [deployed])).toEqual(['data.mail'])
  })

  test('begins with the payload', () => {
    expect(messagesOf(`${PLAIN}sensitive: [item.email]\n`)).toEqual([expect.stringMatching(/^SE1 /)])
  })

  test.each([
    ['', 'payload.id', 'item.id', 'object id'],
    ['data: { who: { key: "{{ item.id }}" } }\n', 'payload.who', 'item.id', 'object id'],
    ['data: { lines: ["{{ item.id + item.x }}"] }\n', 'payload.lines[*].a', 'item.id', 'object id'],
    ['data: { all: "{{ item }}" }\n', 'payload.all.at', 'item.at', 'time of a change'],
    ['', 'payload', 'item.id', 'object id'],
  ])('is not copied from the item into clear text: %s%s', (data, path, read, place) => {
    expect(messagesOf(`${PLAIN}${data}sensitive: ["${path}"]\n`)).toContainEqual(
      expect.stringMatching(new RegExp(`^SE4 .*the ${place}.*\\bhmac\\(${read}\\)`)),
    )
  })

  test.each([
    ['', 'payload.user'],
    ['data: { id: "{{ item.user }}", key: "{{ item.id }}" }\n', 'payload.id'],
    ['data: { id: "{{ hash(item.id) }}" }\n', 'payload.id'],
    ['data: { id: 5 }\n', 'payload.id'],
    ['', 'header.x-user'],
  ])('may stand beside other parts of the item: %s%s', (data, path) => {
    expect(messagesOf(`${PLAIN}${data}sensitive: ["${path}"]\n`)).toEqual([])
  })
})

test('[PO21] a ledger is kept for as long as the events of a poller can be replayed', () => {
  const route = `---
kind: Route
name: book
on: shop.orders.updated
key: payload.id
ledger: { keep: 120d }
do: { http: { method: POST, url: "https://a.example/" } }
`
  const ledgerOf = (more: string) => messagesOf(PLAIN + more + route).filter((one) => /ledger/.test(one))
  expect(ledgerOf('')).toEqual([])
  expect(ledgerOf('retention: 365d\n')).toEqual([expect.stringContaining('365d')])
})
