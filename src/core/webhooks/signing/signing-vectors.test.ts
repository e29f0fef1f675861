// The published vectors: a receiver in any language can be tested with them. `npm run docs` regenerates them.
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import type { Signing } from '../../definitions/documents/index.ts'
import { newSecret, publicKeyOf, signDelivery } from './index.ts'

const TIMESTAMP = 1_767_225_600
const seed = (first: number) => Uint8Array.from({ length: 32 }, (_, at) => (first + at * 7) % 256)
const STANDARD = newSecret('standard', seed(1))
const FORMER = newSecret('standard', seed(2))
const PRIVATE = newSecret('ed25519', seed(3))
const GITHUB = newSecret('github', seed(4))

const event = (data: string) =>
  `{"id":"evt_01936b7e-0000-7000-8000-000000000001","type":"orders.created","timestamp":"2026-01-01T00:00:00.000Z","data":${data}}`
const PLAIN = event('{"order":7}')

interface Case {
  readonly name: string
  readonly signing: Signing
  readonly secrets: readonly string[]
  readonly body: string
}

const CASES: readonly Case[] = [
  { name: 'one secret', signing: 'standard', secrets: [STANDARD], body: PLAIN },
  { name: 'an overlap of two secrets', signing: 'standard', secrets: [STANDARD, FORMER], body: PLAIN },
  {
    name: 'characters of two, three and four bytes',
    signing: 'standard',
    secrets: [STANDARD],
    body: event('{"name":"Müller – 東京 🚚"}'),
  },
  {
    name: 'spaces, escapes and large numbers, which parsing and writing again would change',
    signing: 'standard',
    secrets: [STANDARD],
    body: event('{ "a" : 1.0, "b": 12345678901234567890, "c": "\\u00fc\\/" }'),
  },
  { name: 'a public key', signing: 'ed25519', secrets: [PRIVATE], body: PLAIN },
  { name: 'from a secret to a public key', signing: 'ed25519', secrets: [PRIVATE, STANDARD], body: PLAIN },
  { name: 'the header of GitHub', signing: 'github', secrets: [GITHUB], body: PLAIN },
]

test('[SN15] the published vectors are what is signed, and the library of Standard Webhooks produces the same', async () => {
  const id = 'evt_01936b7e-0000-7000-8000-000000000001'
  const vectors = CASES.map(({ name, signing, secrets, body }) => {
    const headers = signDelivery({ signing, secrets, id, timestamp: TIMESTAMP, body })
    const verifyWith = secrets.map((secret) => publicKeyOf(secret) ?? secret)
    for (const secret of secrets.filter((text) => text.startsWith('whsec_'))) {
      const signature = new Webhook(secret).sign(id, new Date(TIMESTAMP * 1000), body)
      expect(String(headers['webhook-signature']).split(' ')).toContain(signature)
    }
    return { name, signing, id, timestamp: TIMESTAMP, body, signWith: secrets, verifyWith, headers }
  })
  const note =
    'Deliveries as Millrace signs them. Each of verifyWith verifies body with headers, at the time of timestamp. The secrets are published: never use them.'
  const text = `${JSON.stringify({ note, vectors }, null, 2)}\n`
  await expect(text).toMatchFileSnapshot('../../../../docs/webhook-vectors.json')
})
