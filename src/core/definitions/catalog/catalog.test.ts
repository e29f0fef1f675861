import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { renderGithubCatalog } from '../../../../scripts/lib/github-catalog.ts'
import { matchesPattern, parsePattern } from '../../events/subject/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import { compileSource, MAPPING_NAMES, MAPPINGS, type MappingName } from '../../ingest/source/index.ts'
import type { DefinitionDocument, SourceDocument } from '../documents/index.ts'
import { compileSchema, findEntry, patternOfTemplate, publishedBy } from './index.ts'
import { GITHUB_PAYLOADS } from './vendors/github.generated.ts'
import { GITHUB_EVENTS } from './vendors/github.ts'
import { vendorEntries } from './vendors/index.ts'

function source(more: Partial<SourceDocument>): SourceDocument {
  return {
    kind: 'Source',
    name: 'shop',
    description: null,
    verify: { scheme: 'none' },
    subject: 'shop.events.{{ payload.kind }}',
    event: { id: null, objectType: null, objectId: null, occurredAt: null },
    dedup: { by: null, windowMs: 60_000 },
    limits: { bodyBytes: 65_536, depth: 16 },
    status: 'active',
    ...more,
  }
}

const ready = (name: MappingName, more: Partial<SourceDocument> = {}) =>
  source({ mapping: name, subject: MAPPINGS[name].subject, event: MAPPINGS[name].event, ...more })

const subjects = (document: DefinitionDocument) => publishedBy(document).map(({ subject }) => subject)

describe('the subjects of the ready mappings', () => {
  /** Fields that the vendor sends outside the payload. */
  const headersFor = (subject: string): Readonly<Record<string, string>> => {
    const [, , event = '', action = ''] = subject.split('.')
    return { 'x-github-event': event, 'x-shopify-topic': `${event}/${action}` }
  }

  test.each(MAPPING_NAMES)(
    '[CA10] %s: each is a subject of its own, whose example matches and maps to it',
    (name) => {
      const entries = vendorEntries(name)
      const compiled = compileSource(ready(name))
      expect(entries.length).toBeGreaterThan(10)
      expect(new Set(entries.map(({ subject }) => subject)).size).toBe(entries.length)
      for (const { subject, description, schema, example } of entries) {
        expect(parsePattern(subject).ok, subject).toBe(true)
        expect(description, subject).toMatch(/^[A-Z].*\.$/)
        if (schema === null) continue
        const checked = compileSchema(schema)
        expect(checked, subject).toMatchObject({ ok: true })
        if (checked.ok) expect(checked.check(example as JsonValue), subject).toBeNull()
        const named = compiled.name({
          header: headersFor(subject),
          payload: example as JsonValue,
          tenant: 'default',
          payloadHash: 'x',
        })
        expect(named, subject).toMatchObject({ ok: true })
        if (named.ok) expect(matchesPattern(subject, named.names.subject), named.names.subject).toBe(true)
      }
    },
  )

  test('[CA10] GitHub’s schemas are those of its real payloads; write them with `npx tsx scripts/write-github-catalog.ts`', () => {
    const file = readFileSync(new URL('./vendors/github.generated.ts', import.meta.url), 'utf8')
    // Compared without a diff, which would be too long to read.
    expect(file === renderGithubCatalog()).toBe(true)
    expect(GITHUB_PAYLOADS.length).toBeLessThan(250_000)
    const known = Object.keys(JSON.parse(GITHUB_PAYLOADS).payloads).map(
      (name) => name.split('.')[0] as string,
    )
    expect([...new Set(known)].filter((event) => GITHUB_EVENTS[event] === undefined)).toEqual([])
  })
})

describe('what a definition can publish', () => {
  test.each([
    ['shop.events.paid', 'shop.events.paid'],
    ['shop.events.{{ payload.kind }}', 'shop.events.>'],
    ['shop.{{ payload.kind }}.done', 'shop.>'],
    ['shop.a{{ payload.kind }}', 'shop.>'],
    ['{{ payload.kind }}', '>'],
    ["{{ 'a.b' }}.c", '>'],
    ['shop..paid', null],
    ['shop.events.{{', null],
  ])('[CA11] the template %s gives %s', (template, pattern) => {
    expect(patternOfTemplate(template)).toBe(pattern)
  })

  test('[CA11] a source: its listed subjects, those of its mapping, otherwise its template; and those it dispatches', () => {
    expect(subjects(source({}))).toEqual(['shop.events.>'])
    expect(subjects(source({ subject: 'schedule.nightly' }))).toEqual(['schedule.nightly'])
    const listed = { mismatch: 'pass', subjects: [{ subject: 'shop.events.paid' }] } as const
    expect(subjects(source({ catalog: listed }))).toEqual(['shop.events.paid'])
    // A list covers only the listed events: for the others the template still counts.
    const foreign = { mismatch: 'pass', subjects: [{ subject: 'billing.checked' }] } as const
    expect(subjects(source({ catalog: foreign }))).toEqual(['billing.checked', 'shop.events.>'])
    const rules = [
      { when: null, emit: 'shop.order.paid', data: null },
      { when: null, emit: 'shop.{{ payload.kind }}', data: null },
    ]
    expect(subjects(source({ dispatch: { mode: 'first', rules, otherwise: 'keep' } }))).toEqual([
      'shop.events.>',
      'shop.order.paid',
      'shop.>',
    ])
    const github = subjects(ready('github', { catalog: foreign }))
    expect(github).toContain('github.events.issues.opened')
    expect(github).toContain('billing.checked')
    expect(github).not.toContain('github.events.>')
  })

  test('[CA11] written subjects win over built-in ones', () => {
    const mine = { subject: 'github.events.push', description: 'Mine.' }
    const published = publishedBy(ready('github', { catalog: { mismatch: 'pass', subjects: [mine] } }))
    expect(findEntry(published, 'github.events.push')).toMatchObject({ description: 'Mine.', mapping: null })
    expect(findEntry(published, 'github.events.repository_dispatch.mine')).toMatchObject({
      subject: 'github.events.repository_dispatch.*',
      mapping: 'github',
    })
    expect(findEntry(published, 'gitlab.events.push')).toBeUndefined()
  })
})

describe('payloads', () => {
  const schema = { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } }
  const catalog = (mismatch: 'pass' | 'tag' | 'quarantine') => ({
    mismatch,
    subjects: [
      { subject: 'shop.events.paid', schema },
      { subject: 'shop.refunds.*', schema: false },
    ],
  })

  test('[CA18] are not checked unless the source requests it', () => {
    expect(compileSource(source({})).mismatch).toBeUndefined()
    expect(compileSource(source({ catalog: catalog('pass') })).mismatch).toBeUndefined()
    expect(compileSource(ready('github')).mismatch).toBeUndefined()
  })

  test.each(['tag', 'quarantine'] as const)('[CA18] %s: a mismatch is reported by path and type', (mode) => {
    const { mismatch } = compileSource(source({ catalog: catalog(mode) }))
    expect(mismatch?.('shop.events.paid', { id: 1 })).toBeNull()
    expect(mismatch?.('shop.events.paid', { id: 's3cret' })).toBe('payload.id is a string, not integer')
    expect(mismatch?.('shop.refunds.made', {})).toBe('payload is not allowed here')
    expect(mismatch?.('shop.events.other', { id: 's3cret' })).toBeNull()
  })

  test('[CA18] built-in schemas count where the source requests it, and written ones win', () => {
    const asks = compileSource(ready('github', { catalog: { mismatch: 'tag', subjects: [] } }))
    expect(asks.mismatch?.('github.events.issues.opened', { action: 'opened' })).toBe(
      'payload.issue is missing',
    )
    const own = { subject: 'github.events.issues.opened', schema: true }
    const mine = compileSource(ready('github', { catalog: { mismatch: 'tag', subjects: [own] } }))
    expect(mine.mismatch?.('github.events.issues.opened', { action: 'opened' })).toBeNull()
  })
})
