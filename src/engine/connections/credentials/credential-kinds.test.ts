// Every kind of credential: how it authorizes a call, and that nothing of it is left behind.

import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import type { CredentialDocument } from '../../../core/definitions/documents/index.ts'
import type { HttpRequest } from '../../../ports/http-client.ts'
import { makeStoreTime } from '../../commit/store-time.ts'
import type { Item } from '../../leases/leased-job.ts'
import { DECISIONS } from '../../settlement/decision-functions.ts'
import type { ToAuthorize } from '../connection-types.ts'
import {
  answered,
  CLIENT,
  CONNECTION,
  CREDENTIAL,
  makeKeepingWorld,
  PROVIDER,
  TENANT,
} from './credentials.fixture.ts'
import { makeVerify } from './verify-secret.ts'

const PLAIN = 'planted-where-nobody-may-see-it'
const PEM = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({
  format: 'pem',
  type: 'pkcs8',
}) as string
const KEY_FILE = JSON.stringify({
  client_email: 'robot@crm.example',
  private_key: PEM,
  token_uri: 'https://crm.example/token',
})
const TOKEN = 'derived-and-as-secret'

const KINDS: readonly (readonly [string, CredentialDocument, string, RegExp])[] = [
  ['apiKey', CREDENTIAL, PLAIN, new RegExp(`"x-key":"${PLAIN}"`)],
  ['basic', { ...CREDENTIAL, auth: 'basic', username: 'ada' }, PLAIN, /"authorization":"Basic [\w=]+"/],
  ['bearer', { ...CREDENTIAL, auth: 'bearer' }, PLAIN, new RegExp(`${PLAIN}"`)],
  ['hmac', { ...CREDENTIAL, auth: 'hmac', hmac: { algorithm: 'sha256' } }, PLAIN, /"x-key":"[0-9a-f]{64}"/],
  ['oauth2', CLIENT, PLAIN, new RegExp(`"Bearer ${TOKEN}"`)],
  [
    'githubApp',
    { ...CREDENTIAL, auth: 'githubApp', githubApp: { appId: '1', installationId: '2' } },
    PEM,
    new RegExp(`"Bearer ${TOKEN}"`),
  ],
  [
    'serviceAccount',
    { ...CREDENTIAL, auth: 'serviceAccount', serviceAccount: { scopes: ['read'], subject: null } },
    KEY_FILE,
    new RegExp(`"Bearer ${TOKEN}"`),
  ],
]

const isForToken = ({ url }: HttpRequest) => url.endsWith('/token') || url.endsWith('/access_tokens')

test.each(KINDS)('[CD5] [CD6] [CD12] %s', async (_kind, credential, value, shown) => {
  let status = 200
  const world = makeKeepingWorld(
    (request) =>
      isForToken(request) ? answered(201, { access_token: TOKEN, expires_in: 3_600 }) : answered(status),
    { credential },
  )
  await world.run(world.vault.set(TENANT, 'crm-key', value, { isPending: false, by: 'ada' }))
  const node = await world.node()
  const answer = await world.run(node.call())
  expect(answer).toMatchObject({ problem: null, outcome: { status: 200 }, credentialVersion: 1 })
  expect(JSON.stringify(world.sent.at(-1)?.headers)).toMatch(shown)
  status = 401
  const refused = await world.run(node.call())
  const about = { version: refused.credentialVersion, correlationId: 'story', error: 'answered 401' }
  expect(await world.run(node.keeping.credentials.refused(TENANT, 'crm', about))).toMatchObject({
    is: 'wait',
  })
  await world.pass(node, 5_000)
  const dump = await world.run(world.store.system('verification').dump())
  const view = await world.run(node.keeping.operatorApi.credential(TENANT, 'crm'))
  const everywhere = JSON.stringify([dump, node.log.messages, node.log.controls, view])
  const secrets = [PLAIN, TOKEN, Buffer.from(PLAIN).toString('base64').slice(0, 20), PEM.slice(60, 100)]
  for (const secret of secrets) expect(everywhere).not.toContain(secret)
})

test('[CD6] an app on its own server is verified there, if no probe can be called', async () => {
  const asked: ToAuthorize[] = []
  const verify = makeVerify({
    clock: { now: () => 0, monotonic: () => 0, after: () => () => {}, defer: queueMicrotask },
    time: makeStoreTime({ now: () => 0, monotonic: () => 0 }),
    decisions: DECISIONS,
    vars: () => ({}),
    outboundClient: { send: () => Promise.reject(new Error('there is nothing to call')) },
    async authorize(request) {
      asked.push(request)
      return { ok: true, version: 1, headers: {}, query: {}, secrets: [] }
    },
  })
  const account = {
    tenant: TENANT,
    provider: { ...PROVIDER, probe: null },
    credential: CREDENTIAL,
    hash: 'sha256:0',
    connection: { ...CONNECTION, endpoints: { default: 'https://git.own.example/api/v3' } },
  }
  expect((await verify({} as Item, account, 'pending')).failure).toBeNull()
  expect(asked).toMatchObject([{ base: 'https://git.own.example/api/v3', secret: 'pending' }])
})
