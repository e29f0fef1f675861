// Every payload that GitHub's community has collected, signed with GitHub's own library, through ingest.
import { createRequire } from 'node:module'
import { sign } from '@octokit/webhooks-methods'
import { expect, test } from 'vitest'
import type { SourceDocument } from '../../core/definitions/documents/index.ts'
import { compileDefinitions } from '../../definitions/language.ts'
import { makeWorld } from '../engine.fixture.ts'

const all = createRequire(import.meta.url)('@octokit/webhooks-examples') as readonly {
  readonly name: string
  readonly examples: readonly { readonly action?: string }[]
}[]
const SECRET = 'It’s a secret'
const YAML = `
kind: Source
name: github
verify: { scheme: github, secret: { env: S } }
subjects: github
`

test('[CA20] [SV1] [SV3] all are accepted, named and stored byte for byte; with one flipped bit, none', async () => {
  const { documents } = compileDefinitions([{ path: 'a.yaml', text: YAML }], { functions: () => null })
  const world = makeWorld(() => null, [SECRET])
  const node = await world.node({ documents: documents as readonly SourceDocument[] })
  const payloads = await Promise.all(
    all
      .flatMap(({ name, examples }) => examples.map((example) => ({ name, example })))
      .map(async ({ name, example }, index) => {
        // Whitespace that no serializer would reproduce.
        const text = JSON.stringify(example, null, index % 4).replace('{', '{ ')
        const headers = {
          'content-type': 'application/json',
          'x-github-event': name,
          'x-github-delivery': `delivery-${index}`,
          'x-hub-signature-256': await sign(SECRET, text),
        }
        const subject = ['github.events', name, example.action].filter((token) => token != null).join('.')
        return { text, headers, subject }
      }),
  )
  expect(payloads).toHaveLength(329)
  const receive = (body: Uint8Array, headers: Record<string, string>) =>
    node.engine.receive({ tenant: 'default', source: 'github', headers, body }).then(
      () => 'accepted',
      (error: { code?: string }) => error.code,
    )
  const eventsOf = async () => (await world.store.system('verification').dump()).events

  const forged = payloads.map(({ text, headers }, index) => {
    const body = Buffer.from(text)
    const bit = (index * 7_919) % (body.length * 8)
    body[bit >> 3]! ^= 1 << (bit & 7)
    return receive(body, headers)
  })
  await world.pass()
  expect(new Set(await Promise.all(forged))).toEqual(new Set(['signature_wrong']))
  expect(await eventsOf()).toEqual([])

  const genuine = payloads.map(({ text, headers }) => receive(Buffer.from(text), headers))
  await world.pass()
  expect(new Set(await Promise.all(genuine))).toEqual(new Set(['accepted']))
  const kept = new Map((await eventsOf()).map((event) => [event.dedupKey, event]))
  const found = payloads.map(({ headers }) => kept.get(headers['x-github-delivery']))
  expect(found.map((event) => event?.data)).toEqual(payloads.map(({ text }) => text))
  expect(found.map((event) => event?.subject)).toEqual(payloads.map(({ subject }) => subject))
})
