import { describe, expect, test } from 'vitest'
import type { SourceDocument } from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './language.ts'

const compile = (text: string) => compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })

function sourceOf(text: string): SourceDocument {
  const { documents, findings } = compile(`kind: Source\nname: a\n${text}`)
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  return documents[0] as SourceDocument
}

const SENT = 'verify: { scheme: none }\nsubject: a.b\n'

describe('[F40] a source’s fields beyond its names', () => {
  test('are in its document only if they were written', () => {
    expect(Object.keys(sourceOf(SENT))).toEqual([
      'kind',
      'name',
      'description',
      'verify',
      'subject',
      'event',
      'dedup',
      'limits',
      'status',
    ])
  })

  test('have their units resolved and their defaults filled in', () => {
    const text = `${SENT}status: paused
allow: github
rateLimit: { perMinute: 600 }
sensitive: [payload.user.email]
retention: 7d
unmatched: deadLetter
dispatch: { rules: [{ when: payload.kind == 'issue', emit: "a.{{ payload.action }}" }] }
catalog: { subjects: [{ subject: a.b, schema: { type: object }, example: { text: "{{ as it is" } }] }
respond: { body: { ok: true } }
handshake: { when: query.challenge != null, body: "{{ query.challenge }}" }
`
    expect(sourceOf(text)).toMatchObject({
      status: 'paused',
      allow: ['github'],
      rateLimit: { perMinute: 600, burst: 100 },
      sensitive: ['payload.user.email'],
      retentionMs: 604_800_000,
      unmatched: 'deadLetter',
      dispatch: {
        mode: 'first',
        rules: [{ when: "payload.kind == 'issue'", emit: 'a.{{ payload.action }}', data: '{{ payload }}' }],
        otherwise: 'keep',
      },
      catalog: {
        mismatch: 'pass',
        subjects: [{ subject: 'a.b', schema: { type: 'object' }, example: { text: '{{ as it is' } }],
      },
      respond: { status: 200, contentType: 'application/json', body: { ok: true } },
      handshake: { method: 'POST', status: 200, contentType: 'text/plain; charset=utf-8' },
    })
  })

  test('a schedule needs neither a sender nor a name for its events', () => {
    expect(sourceOf('schedule: { cron: "0 2 * * *", zone: Europe/Berlin }')).toMatchObject({
      verify: { scheme: 'closed' },
      subject: 'schedule.a',
      schedule: { cron: '0 2 * * *', zone: 'Europe/Berlin', missed: 'once', data: null },
    })
  })

  test.each(['verify: { scheme: none }', 'allow: github', 'rateLimit: { perMinute: 1 }'])(
    '[F41] %s does not belong to a schedule',
    (line) => {
      const { findings } = compile(`kind: Source\nname: a\nschedule: { cron: "0 2 * * *" }\n${line}`)
      expect(findings.map(({ message }) => message)).toEqual([
        expect.stringContaining('nobody sends to a schedule'),
      ])
    },
  )
})
