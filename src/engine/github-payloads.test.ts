// All real payloads of GitHub, through the real way in: signed by GitHub's own library, named, kept, and found again.

import { sign } from '@octokit/webhooks-methods'
import { expect, test } from 'vitest'
import { readGithubExamples } from '../../scripts/lib/github-catalog.ts'
import { findEntry, publishedBy } from '../core/catalog/index.ts'
import type { SourceDocument } from '../core/definition/index.ts'
import { AppError } from '../core/errors/index.ts'
import { MAPPINGS } from '../core/source/index.ts'
import { makeWorld, SOURCE } from './world.fixture.ts'

const SECRET = 'a secret of GitHub’s and ours'

const GITHUB: SourceDocument = {
  ...SOURCE,
  name: 'github',
  verify: { scheme: 'github', secret: [{ env: 'GITHUB_WEBHOOK_SECRET' }] },
  subject: MAPPINGS.github.subject,
  mapping: 'github',
  event: MAPPINGS.github.event,
  dedup: { by: 'event.id', windowMs: 60_000 },
  limits: { bodyBytes: 1_048_576, depth: 64 },
  catalog: { mismatch: 'tag', subjects: [] },
}

const payloads = readGithubExamples()
  .flatMap(({ name, examples }) => examples.map((payload) => ({ name, payload })))
  // Every other one with spaces that no serialiser of ours would write.
  .map(({ name, payload }, index) => ({
    name,
    payload,
    delivery: `delivery-${index}`,
    text: JSON.stringify(payload, null, index % 2 === 0 ? undefined : 3),
  }))

test('[CA20] [CA18] 329 payloads are accepted, named, fit their schemas, and are found byte for byte; with one bit flipped none is', async () => {
  expect(payloads).toHaveLength(329)
  const world = makeWorld(() => null, [SECRET])
  const node = await world.node({ documents: [GITHUB] })
  const catalog = publishedBy(GITHUB)

  const send = async (name: string, delivery: string, signature: string, body: Uint8Array) => {
    const headers = {
      'content-type': 'application/json',
      'x-github-event': name,
      'x-github-delivery': delivery,
      'x-hub-signature-256': signature,
    }
    const sent = node.engine.accept({ tenant: 'default', source: 'github', headers, body }).then(
      (accepted) => accepted,
      (error: unknown) => error,
    )
    await world.pass()
    return sent
  }

  for (const [index, { name, payload, delivery, text }] of payloads.entries()) {
    const signature = await sign(SECRET, text)
    const body = new TextEncoder().encode(text)
    const flipped = Uint8Array.from(body)
    const place = (index * 7_919) % body.length
    flipped[place] = (body[place] as number) ^ (1 << (index % 8))
    const refused = await send(name, `${delivery}-flipped`, signature, flipped)
    expect(refused, `${name} ${index}`).toBeInstanceOf(AppError)
    expect(refused).toMatchObject({ code: 'signature_wrong' })

    const accepted = (await send(name, delivery, signature, body)) as { readonly eventId: never }
    expect(accepted, `${name} ${index}`).toMatchObject({ duplicate: false })
    const event = await world.reads.event(accepted.eventId)
    const action = typeof payload.action === 'string' ? `.${payload.action}` : ''
    expect(event?.subject).toBe(`github.events.${name}${action}`)
    expect(findEntry(catalog, String(event?.subject)), event?.subject).toBeDefined()
    expect(event?.data === text, `${name} ${index}`).toBe(true)
    expect(event).toMatchObject({ dedupKey: delivery, source: 'github' })
    // Tagged would be what does not fit the schema that was inferred from it.
    expect(event?.headers).not.toContain('millrace-mismatch')
  }
  const { items } = await world.reads.events({ cursor: null, limit: 500 })
  expect(items).toHaveLength(payloads.length)
})

test('[CA18] what does not fit is kept and marked, by path and type; a sender cannot mark it', async () => {
  const world = makeWorld(() => null, [SECRET])
  const node = await world.node({ documents: [GITHUB] })
  const headersOf = async (text: string, delivery: string) => {
    const headers = {
      'content-type': 'application/json',
      'x-github-event': 'issues',
      'x-github-delivery': delivery,
      'x-hub-signature-256': await sign(SECRET, text),
      'millrace-mismatch': 'mine',
    }
    const body = new TextEncoder().encode(text)
    const sent = node.engine.accept({ tenant: 'default', source: 'github', headers, body })
    await world.pass()
    return JSON.parse((await world.reads.event((await sent).eventId))?.headers ?? '{}')
  }
  const fitting = payloads.find(({ name, payload }) => name === 'issues' && payload.action === 'opened')
  expect(await headersOf(String(fitting?.text), 'd1')).not.toHaveProperty('millrace-mismatch')
  expect(await headersOf('{"action":"opened","issue":"s3cret"}', 'd2')).toMatchObject({
    'millrace-mismatch': 'payload.repository is missing',
  })
})
