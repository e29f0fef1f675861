import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { DefinitionDocument } from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './language.ts'

const deps = { functions: () => 'sha256:a' }

const compile = (text: string, more: Partial<Parameters<typeof compileDefinitions>[1]> = {}) =>
  compileDefinitions([{ path: 'a.yaml', text }], { ...deps, ...more })

const told = (text: string, more: Parameters<typeof compile>[1] = {}) =>
  compile(text, more).findings.map(({ severity, rule, line, column, suggestion, message }) => ({
    at: `${severity} ${rule} ${line}:${column}`,
    message,
    ...(suggestion === undefined ? {} : { suggestion }),
  }))

const GITHUB = 'kind: Source\nname: github\nverify: { scheme: none }\nsubjects: github\n'
const SHOP = 'kind: Source\nname: shop\nverify: { scheme: none }\nsubject: "shop.events.{{ payload.kind }}"\n'
const route = (on: string, action = 'emit: done.with.it') =>
  `kind: Route\nname: r\non: ${on}\ndo: { ${action} }\n`

describe('a route that waits for a subject that nothing can publish', () => {
  test.each([
    ['github.events.issue.opened', 'github.events.issues.opened'],
    ['github.events.issues.open', 'github.events.issues.opened'],
    ['github.event.push', 'github.events.push'],
    ['github.events.pull_requests.closed', 'github.events.pull_request.closed'],
    ['github.events.pull_request.merged', undefined],
    ['github.events.pushes.>', undefined],
  ])('[CA16] %s', (on, near) => {
    const [finding, ...others] = told(`${GITHUB}---\n${route(`[${on}]`)}`)
    expect(others).toEqual([])
    expect(finding?.at).toBe('warning CA16 8:6')
    expect(finding?.message).toContain(`nobody publishes \`${on}\``)
    if (near !== undefined) expect(finding).toMatchObject({ suggestion: near })
  })

  test.each([
    ['gitlab.events.mergerequest.opened', 'gitlab.events.merge_request.created'],
    ['gitlab.events.merge-request.merge', 'gitlab.events.merge_request.merged'],
    ['gitlab.events.issue.opened', 'gitlab.events.issue.created'],
    ['gitlab.events.workitem.close', 'gitlab.events.work_item.closed'],
  ])('[CA16] %s is another spelling of %s', (on, near) => {
    const [finding] = told(`${GITHUB.replaceAll('github', 'gitlab')}---\n${route(`[${on}]`)}`)
    expect(finding).toMatchObject({ suggestion: near })
  })

  test.each([
    ['github.events.issues.opened'],
    ['github.events.>'],
    ['github.events.*.opened'],
    ['"*.events.push"'],
    ['">"'],
    ['github.events.repository_dispatch.deploy'],
    ['shop.events.anything.at.all'],
    ['shop.*.paid'],
    ['done.with.it'],
  ])('[CA16] %s is published', (on) => {
    const emits = route('github.events.push').replace('name: r', 'name: other')
    expect(told(`${GITHUB}---\n${SHOP}---\n${emits}---\n${route(on, 'function: f')}`)).toEqual([])
  })

  test('[CA16] the position is reported, alone or in a list', () => {
    expect(told(`${GITHUB}---\n${route('[github.events.push, nobody.says]')}`)[0]?.at).toBe(
      'warning CA16 8:26',
    )
    const [alone] = told(`${GITHUB}---\n${route('nobody.says')}`)
    expect(alone?.at).toBe('warning CA16 8:5')
    expect(alone?.message).toContain('`catalog` of a source')
  })

  test('[CA16] rules, schedules, lists and functions publish too', () => {
    const gitlab =
      'kind: Source\nname: gitlab\nverify: { scheme: none }\nsubject: external.events.gitlab\ndispatch: { rules: [{ emit: "gitlab.issue.{{ payload.a }}" }] }\n'
    expect(told(`${gitlab}---\n${route('[external.events.gitlab, gitlab.issue.opened]')}`)).toEqual([])
    const nightly = 'kind: Source\nname: nightly\nschedule: { cron: "0 2 * * *" }\n'
    expect(told(`${nightly}---\n${route('schedule.nightly')}`)).toEqual([])
    const listed = `${SHOP}catalog: { subjects: [{ subject: shop.events.paid }] }\n`
    expect(told(`${listed}---\n${route('shop.events.paid')}`)).toEqual([])
    expect(told(`${listed}---\n${route('shop.events.payed')}`)).toMatchObject([
      { suggestion: 'shop.events.paid' },
    ])
    expect(told(`${SHOP}---\n${route('billing.checked')}`, { emits: ['billing.checked'] })).toEqual([])
  })

  test('[CA16] deployed documents beside the files count, unless the files replace them', () => {
    const deployedDocuments = compile(`${GITHUB}---\n${SHOP}`).documents as readonly DefinitionDocument[]
    expect(told(route('github.events.push'), { deployedDocuments })).toEqual([])
    expect(told(route('github.events.pusch'), { deployedDocuments })).toMatchObject([
      { suggestion: 'github.events.push' },
    ])
    const other = SHOP.replace('shop.events', 'store.events')
    expect(told(`${other}---\n${route('shop.events.paid')}`, { deployedDocuments })).toMatchObject([
      { at: expect.stringContaining('CA16') },
    ])
  })

  test('[CA16] nothing is reported without a source, or beside one that has an error', () => {
    expect(told(route('github.events.pusch'))).toEqual([])
    const broken = `${GITHUB}status: unknown\n---\n${route('github.events.pusch')}`
    expect(told(broken).map(({ at }) => at)).toEqual([expect.stringContaining('error F16')])
  })

  test('[CA16] many routes and many subjects are checked in one go', () => {
    const subjects = Array.from({ length: 2_000 }, (_, index) => `{ subject: big.events.e${index} }`)
    const big = `${SHOP.replace('shop.events', 'big.events')}catalog: { subjects: [${subjects.join(', ')}] }\n`
    const routes = Array.from({ length: 400 }, (_, index) =>
      route(`["big.*.e${index}", big.events.x${index}]`).replace('name: r', `name: r${index}`),
    )
    const findings = told([big, ...routes].join('---\n'))
    expect(findings.length).toBeGreaterThanOrEqual(100)
    expect(findings.every(({ at }) => at.startsWith('warning CA16'))).toBe(true)
  })
})

describe('a catalog', () => {
  const catalog = (entry: string) => told(`${SHOP}catalog:\n  subjects:\n    - ${entry}\n`)

  test.each([
    ['{ subject: "shop..paid" }', 'error F24', 'a token is empty'],
    ['{ subject: shop.paid, schema: { typ: object } }', 'error CA14', '`typ` is no keyword'],
    ['{ subject: shop.paid, schema: { $ref: "https://example.com/a" } }', 'error CA14', 'begins with `#`'],
    ['{ subject: shop.paid, schema: { pattern: "(a" } }', 'error CA14', 'pattern'],
    [
      '{ subject: shop.paid, schema: { properties: { id: { type: integer } } }, example: { id: a } }',
      'error CA17',
      'the example does not fit its schema: `id` is a string, not integer',
    ],
    ['{ subject: shop.paid, schema: { type: object }, example: 7 }', 'error CA17', 'it is a number'],
  ])('[CA14] [CA17] %s: %s', (entry, at, message) => {
    expect(catalog(entry)).toEqual([
      { at: expect.stringContaining(at), message: expect.stringContaining(message) },
    ])
  })

  test('[CA17] that is correct is accepted', () => {
    const schema = '{ type: object, required: [id], properties: { id: { type: integer } } }'
    expect(
      catalog(`{ subject: shop.paid, description: Paid., schema: ${schema}, example: { id: 7 } }`),
    ).toEqual([])
  })
})

test.each(['demo', 'functions'])('[CA16] the example `%s` waits for no unpublished subject', (folder) => {
  const text = readFileSync(new URL(`../../examples/${folder}/github.yaml`, import.meta.url), 'utf8')
  expect(told(text).filter(({ at }) => at.includes('CA'))).toEqual([])
})
