// A secret planted in every kind of credential, used, refused, replaced and quoted back by vendors that reveal too
// much: it is found nowhere, in the whole API, in the log, or in the files of the data folder.

import { generateKeyPairSync } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { shopOf } from '../support/depot.ts'
import { readFiles, spellings } from '../support/find-values.ts'
import { buildDist, eventually, type NodeProcess, startNode } from '../support/node-process.ts'
import { makeVendor, type VendorCall } from '../support/vendor-api/index.ts'
import { makeWorkspace } from '../support/workspace.ts'

beforeAll(buildDist)

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const PEM = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
const PUBLIC = publicKey.export({ format: 'pem', type: 'spki' }) as string
const CLIENT_SECRET = 'k-oauth2-planted-secret'

interface Kind {
  readonly name: string
  /** Lines of the provider. */
  provider(tokens: string): string
  /** Lines of the credential. */
  readonly credential: string
  secret(tokens: string): string
}

const plain = (name: string, provider: string, credential: string): Kind => ({
  name,
  provider: () => provider,
  credential,
  secret: () => `k-${name}-planted-secret`,
})
const derived = (
  name: string,
  auth: string,
  more: string,
  secret: Kind['secret'] = () => CLIENT_SECRET,
): Kind => ({
  name,
  provider: (url) =>
    auth === 'oauth2'
      ? `auth: oauth2\noauth2: { tokenUrl: ${url}/oauth/token, authorizeUrl: ${url}/oauth/authorize }`
      : `auth: ${auth}`,
  credential: `auth: ${auth}\n${more}`,
  secret,
})

const KINDS: readonly Kind[] = [
  plain('header', 'auth: apiKey', 'auth: apiKey'),
  plain('query', 'auth: apiKey\nauthentication: { query: access }', 'auth: apiKey'),
  plain('basic', 'auth: basic', 'auth: basic\nusername: shop'),
  plain('bearer', 'auth: bearer', 'auth: bearer'),
  plain('hmac', 'auth: hmac', 'auth: hmac'),
  derived('client', 'oauth2', 'oauth2: { clientId: shop }'),
  derived('consent', 'oauth2', 'oauth2: { clientId: shop, grant: authorizationCode }'),
  derived('app', 'githubApp', 'githubApp: { appId: "1", installationId: "2" }', () => PEM),
  derived('robot', 'serviceAccount', 'serviceAccount: { scopes: [read] }', (url) =>
    JSON.stringify({ client_email: 'robot@shop', private_key: PEM, token_uri: `${url}/oauth/token` }),
  ),
]
const isDerived = ({ credential }: Kind) => !/apiKey|basic|bearer|hmac/.test(credential)

const flowsOf = (kind: Kind, open: string, tokens: string) => `
kind: Provider
name: ${kind.name}
baseUrl: ${isDerived(kind) ? tokens : open}
probe: { path: /me }
${kind.provider(tokens)}
operations:
  echo: { path: /echo, idempotency: idempotent }
  quarrel: { path: /quarrel, idempotency: idempotent }
---
kind: Credential
name: ${kind.name}
provider: ${kind.name}
secret: { ref: ${kind.name} }
${kind.credential}
---
kind: Connection
name: ${kind.name}
provider: ${kind.name}
credential: ${kind.name}
probe: { every: 5s }
---
kind: Route
name: ${kind.name}_echo
on: shop.echo
key: "'${kind.name}:ECHO:' + payload.id"
do: { operation: ${kind.name}.echo, connection: ${kind.name}, with: { id: "{{ payload.id }}" } }
---
kind: Route
name: ${kind.name}_quarrel
on: shop.quarrel
key: "'${kind.name}:QUARREL:' + payload.id"
do: { operation: ${kind.name}.quarrel, connection: ${kind.name}, with: { id: "{{ payload.id }}" } }
`
const SOURCE = `
kind: Source
name: shop
verify: { scheme: none }
subject: "shop.{{ payload.status }}"
event: { id: payload.id }
`

/** Vendors that quote the request in their response. */
const quote = (status: number) => (call: VendorCall) => ({
  status,
  headers: { 'x-you-sent': call.headers.authorization ?? call.headers['x-api-key'] ?? call.target },
  body: {
    message: `you sent ${call.target}`,
    headers: call.headers,
    id: call.headers.authorization ?? call.target,
  },
})
const ANSWERS = {
  'GET /me': { status: 200, body: {} },
  'POST /echo': quote(200),
  'POST /quarrel': quote(422),
}

test('[N11] [DR3] [CD12] edge case: a vendor quotes the secret in its response', async () => {
  await using workspace = makeWorkspace()
  await using open = await makeVendor({ answers: ANSWERS })
  const oauth = { clientId: 'shop', clientSecret: CLIENT_SECRET, publicKey: PUBLIC, accessTtlMs: 60_000 }
  await using tokens = await makeVendor({ answers: ANSWERS, oauth })
  const yaml = [SOURCE, ...KINDS.map((kind) => flowsOf(kind, open.url, tokens.url))].join('---')
  const flows = await workspace.writeFlows(yaml)
  const node = await startNode({ workspace, flows })
  const shop = shopOf(node)
  const heard: string[] = []

  for (const kind of KINDS) await shop.setSecret(kind.name, kind.secret(tokens.url))
  const asked = await node.post<{ url: string }>('/v1/integrations/credentials/consent/authorize', {})
  const back = (await fetch(asked.url, { redirect: 'manual' })).headers.get('location') ?? ''
  const consent = await fetch(back)
  heard.push(await consent.text())
  expect(consent.status).toBe(200)
  for (const { name } of KINDS) {
    const tested = await node.post<{ ok: boolean }>(`/v1/integrations/connections/${name}/test`, {})
    expect(tested.ok, name).toBe(true)
    heard.push(JSON.stringify(tested))
  }

  const send = async (status: string, id = status) => {
    const body = JSON.stringify({ id, status })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${node.url}/in/default/shop`, { method: 'POST', headers, body })
  }
  await send('echo')
  await send('quarrel')
  const count = async (path: string) => (await shop.list(path)).length
  await eventually('all were quoted', async () => {
    const done = await count('/v1/integrations/runs?state=completed&purpose=work')
    return done === KINDS.length && (await count('/v1/dead-letters')) === KINDS.length
  })
  // A value that replaces the other, and then vendors that refuse all of them and quote them.
  await shop.setSecret('bearer', 'k-next-bearer-planted-secret', true)
  await eventually('it is in use', async () => (await shop.credential('bearer')).version === 2)
  for (const vendor of [open, tokens]) vendor.answer('POST /echo', quote(401))
  await send('echo', 'again')
  await eventually('all were refused', async () => {
    const refused = [...open.callsOf('POST /echo'), ...tokens.callsOf('POST /echo')]
    return refused.filter(({ status }) => status === 401).length >= KINDS.length
  })

  const answered = await askEverything(node, heard)
  expect(answered).toBeGreaterThan(40)
  const live = readFiles(workspace.data)
  node.kill('SIGTERM')
  const { stdout, stderr } = await node.exited
  const files = [...live, ...readFiles(workspace.data)]
  const database = files.filter(({ path }) => path.endsWith('millrace.db'))
  const log = files.find(({ path }) => path.endsWith('millrace.log'))
  // The search can find something: what is not secret is there.
  expect(database.some(({ bytes }) => bytes.includes('shop.quarrel'))).toBe(true)
  expect(log?.bytes.includes('shop.quarrel')).toBe(true)
  expect(heard.some((text) => text.includes('you sent'))).toBe(true)

  const sent = [...open.calls, ...tokens.calls]
  const values = [
    ...KINDS.flatMap((kind) =>
      kind.secret(tokens.url).includes('PRIVATE KEY') ? [] : [kind.secret(tokens.url)],
    ),
    'k-next-bearer-planted-secret',
    ...PEM.split('\n')
      .filter((line) => line.length === 64)
      .slice(2, 5),
    ...tokens.tokens.all().map(({ value }) => value),
    // As sent over the wire: the signed values, what a user's browser brought, and the proof that we asked for it.
    ...sent.flatMap(({ headers }) => /^(?:Basic|Bearer) (.+)$/.exec(headers.authorization ?? '')?.[1] ?? []),
    ...sent.flatMap(({ headers }) => headers['x-signature'] ?? []),
    ...tokens.callsOf('POST /oauth/token').flatMap(({ body }) => secretFieldsOf(body)),
  ]
  const kinds = new Set(values)
  expect(kinds.size).toBeGreaterThan(15)
  for (const value of kinds) {
    for (const spelling of spellings(value)) {
      const found = files.filter(({ bytes }) => bytes.includes(spelling)).map(({ path }) => path)
      expect(found, `${value.slice(0, 60)} in files`).toEqual([])
      const text = spelling.toString()
      expect(
        heard.filter((one) => one.includes(text)),
        `${value.slice(0, 60)} in answers`,
      ).toEqual([])
      expect([stdout, stderr].filter((one) => one.includes(text))).toEqual([])
    }
  }
  // Every secret that the vendors issued has this name.
  for (const text of [...heard, stdout, stderr]) expect(text).not.toContain('planted-secret')
  for (const { path, bytes } of files) expect(bytes.includes('planted-secret'), path).toBe(false)
})

function secretFieldsOf(body: string): readonly string[] {
  const form = new URLSearchParams(body)
  return ['client_secret', 'code_verifier', 'refresh_token', 'assertion'].flatMap(
    (name) => form.get(name) ?? [],
  )
}

/** Every GET of the document; if a path needs an id, those of its list. */
async function askEverything(node: NodeProcess, heard: string[]): Promise<number> {
  const ask = async (path: string): Promise<string> => {
    const response = await fetch(node.url + path, { headers: { authorization: `Bearer ${node.adminKey}` } })
    const text = await response.text()
    expect(response.status, path).toBeLessThan(500)
    heard.push(JSON.stringify([...response.headers]), text)
    return response.status === 200 ? text : ''
  }
  const document = JSON.parse(await ask('/openapi.json')) as { paths: Record<string, { get?: unknown }> }
  const paths = Object.entries(document.paths).flatMap(([path, { get }]) =>
    // The stream does not end; it has the same content as the lists.
    get === undefined || path === '/v1/stream' ? [] : [path],
  )
  const ids = new Map<string, readonly string[]>()
  let answered = 0
  for (const path of paths.filter((one) => !one.includes('{'))) {
    const text = await ask(path === '/healthz' ? path : `${path}?limit=200`).then((one) => one || ask(path))
    if (text !== '') answered += 1
    if (!text.startsWith('{"items"')) continue
    const { items } = JSON.parse(text) as { items: readonly { id?: string; name?: string; kind?: string }[] }
    ids.set(
      path,
      items.flatMap(({ id, name, kind }) =>
        path === '/v1/definitions' && kind !== undefined ? [`${kind}/${name}`] : (id ?? name ?? []),
      ),
    )
  }
  for (const path of paths.filter((one) => one.includes('{'))) {
    const [base = '', rest = ''] = path.split(/\/\{(?:kind\}\/\{)?[a-z]+\}/, 2)
    for (const id of ids.get(base) ?? []) {
      const filled = id.split('/').map(encodeURIComponent).join('/')
      if ((await ask(`${base}/${filled}${rest.includes('{') ? '' : rest}`)) !== '') answered += 1
    }
  }
  return answered
}
