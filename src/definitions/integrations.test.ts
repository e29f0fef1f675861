import { describe, expect, test } from 'vitest'
import { BUILT_IN_PROVIDERS } from '../connectors/index.ts'
import { makeOutboundPolicy } from '../core/access/network/index.ts'
import {
  type ConnectionDocument,
  type CredentialDocument,
  type DefinitionDocument,
  hashDocument,
  type ProviderDocument,
  type RouteDocument,
} from '../core/definitions/documents/index.ts'
import { type CompileDeps, patchFields } from './index.ts'
import { checkIntegration, compileDefinitions } from './language.ts'

function compile(text: string, deps: Partial<CompileDeps> = {}) {
  return compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null, ...deps })
}

const PROVIDER = `
kind: Provider
name: acme
baseUrl: https://api.acme.example
auth: [bearer, basic]
probe: { path: /me }
rate: { perMinute: 300 }
config: { type: object, required: [region], properties: { region: { type: string } } }
endpoints: { uploads: https://up.acme.example }
operations:
  book:
    path: /book
    input: { type: object, required: [id, hours], properties: { id: {}, hours: { type: number } }, additionalProperties: false }
    keyTtl: 24h
  old: { method: GET, path: /old, deprecated: use book }
---
kind: Provider
name: other
baseUrl: https://other.example
probe: { path: / }
---
kind: Credential
name: acme-token
provider: acme
auth: bearer
secret: { ref: acme-token }
---
kind: Connection
name: acme-main
provider: acme
credential: acme-token
config: { region: eu }
---
kind: Connection
name: other-main
provider: other
`

const WORLD = compile(PROVIDER)

test('the base documents of these tests are valid', () => {
  expect(WORLD.findings).toEqual([])
})

/** The findings beside the deployed documents, at the mark. */
function find(marked: string, deps: Partial<CompileDeps> = {}) {
  const offset = marked.indexOf('¦')
  const before = marked.slice(0, offset)
  const text = marked.replace('¦', '')
  const { findings } = compile(text, { deployedDocuments: WORLD.documents, ...deps })
  const line = before.split('\n').length
  const column = offset - before.lastIndexOf('\n')
  return { findings, place: { line, column } }
}

const route = (action: string) => `kind: Route\nname: r\non: a.b\ndo: ${action}`
const book = (rest: string) => route(`{ operation: acme.book, connection: acme-main, ${rest} }`)
const provider = (lines: string, probe = 'probe: { path: / }') =>
  `kind: Provider\nname: p\nbaseUrl: https://p.example\n${probe}\n${lines}`
const operation = (fields: string) => provider(`operations: { ¦go: { path: /go, ${fields} } }`)
const connection = (lines: string, of = 'provider: acme') => `kind: Connection\nname: c\n${of}\n${lines}`
const credential = (lines: string, of = 'provider: acme\nsecret: { ref: s }') =>
  `kind: Credential\nname: k\n${of}\n${lines}`
const shut = 'credential: acme-token\nconfig: { region: eu }'

describe('findings', () => {
  test.each<[id: string, text: string, message: string, suggestion?: string]>([
    ['[PV1]', connection(shut, 'provider: ¦acne'), 'there is no provider `acne`', 'acme'],
    ['[PV1]', credential('', 'provider: ¦acne\nsecret: { ref: s }'), 'there is no provider `acne`', 'acme'],
    ['[PV1]', route('{ operation: ¦acne.book, connection: acme-main }'), 'no provider `acne`', 'acme.book'],
    [
      '[PV2]',
      book('with: { id: 1, hours: 2 }').replace('acme-main', '¦acme-man'),
      'no connection',
      'acme-main',
    ],
    [
      '[PV2]',
      route('{ http: { method: PUT, url: /x, connection: ¦acme-man } }'),
      'no connection',
      'acme-main',
    ],
    [
      '[PV2]',
      'kind: Agent\nname: a\nmodel: m\nuser: hello\nconnection: ¦acme-man',
      'no connection `acme-man`',
      'acme-main',
    ],
    ['[PV3]', connection('credential: ¦acme-tokn\nconfig: { region: eu }'), 'no credential', 'acme-token'],
    ['[PV4]', route('{ operation: ¦acme.bok, connection: acme-main }'), 'no operation `bok`', 'acme.book'],
    ['[PV4]', route('{ operation: ¦book, connection: acme-main }'), 'with its provider', 'acme.book'],
    ['[PV5]', route('{ operation: acme.book, connection: ¦other-main }'), 'one to `other`', 'acme-main'],
    [
      '[PV5]',
      `${connection('credential: ¦acme-token', 'provider: shut')}\n---\nkind: Provider\nname: shut\nbaseUrl: https://s.example\nauth: bearer\nprobe: { path: / }`,
      'sent to a stranger',
    ],
    ['[PV6]', book('¦with: { id: 1 }'), 'needs `hours`'],
    ['[PV6]', book('with: { id: 1, hours: 2, ¦hour: 3 }'), 'takes no `hour`', 'hours'],
    ['[PV6]', book('with: { id: 1, hours: ¦two }'), 'does not take this'],
    ['[PV7]', credential('auth: ¦apiKey'), 'does not know `apiKey`'],
    ['[PV7]', credential('auth: basic').replace('kind', '¦kind'), 'needs `username`'],
    ['[PV7]', credential('auth: bearer\n¦username: me'), '`username` belongs to `auth: basic`'],
    ['[PV7]', credential('', 'provider: ¦other\nsecret: { ref: s }'), 'takes no credential'],
    [
      '[PV7]',
      credential('rotation: { ¦every: 90d }', 'provider: acme\nsecret: { env: S }'),
      'cannot be rotated from here',
    ],
    ['[PV7]', provider('auth: oauth2').replace('kind', '¦kind'), 'where tokens come from'],
    ['[PV7]', provider('¦oauth2: { tokenUrl: https://p.example/t }'), 'belongs to `auth: oauth2`'],
    ['[PV7]', provider('auth: basic\n¦authentication: { header: x }'), '`authentication` belongs to'],
    ['[PV7]', provider('auth: bearer\nauthentication: { ¦query: key }'), 'only an `apiKey`'],
    ['[F28]', provider('auth: apiKey\nauthentication: { header: x, ¦query: key }'), 'keep one'],
    ['[PV8]', operation('idempotency: ¦native').replace('¦go', 'go'), 'how long the vendor remembers'],
    [
      '[PV8]',
      operation('idempotency: none, ¦keyTtl: 1h').replace('¦go', 'go'),
      'belongs to `idempotency: native`',
    ],
    ['[PV8]', operation('idempotency: ¦lookup').replace('¦go', 'go'), 'needs to know how to look'],
    [
      '[PV8]',
      operation('idempotency: none, ¦lookup: { path: "/{{ key }}", found: "true" }').replace('¦go', 'go'),
      'belongs to `idempotency: lookup`',
    ],
    [
      '[PV8]',
      operation('keyTtl: 1h, body: {}, keyHeader: ¦none').replace('¦go', 'go'),
      'nothing sends the key',
    ],
    [
      '[PV9]',
      operation('idempotency: none, endpoint: ¦up').replace('¦go', 'go'),
      'there is no endpoint `up`',
    ],
    [
      '[PV9]',
      operation('idempotency: none, buckets: [¦core]').replace('¦go', 'go'),
      'there is no bucket `core`',
    ],
    ['[PV9]', provider('rotation: { create: ¦make, secret: result.body.token }'), 'no operation `make`'],
    ['[PV9]', connection(`${shut}\nendpoints: { ¦upload: https://x.example }`), 'no `upload`', 'uploads'],
    ['[PV9]', connection(`${shut}\nbuckets: { ¦core: { perMinute: 5 } }`), 'no `core`'],
    ['[PV10]', connection('credential: acme-token\nconfig: ¦{ region: 5 }'), '`config.region`'],
    ['[PV10]', connection('credential: acme-token\nconfig: ¦{ area: "{{ vars.self }}" }'), 'lacks `region`'],
    ['[PV12]', credential('secret: ¦s3cr3t', 'provider: acme'), 'is not written here'],
    [
      '[PV12]',
      operation('idempotency: none, headers: { ¦Authorization: x }').replace('¦go', 'go'),
      'comes with',
    ],
    [
      '[PV12]',
      route('{ http: { method: PUT, connection: acme-main, url: /x, headers: { ¦authorization: x } } }'),
      'comes with the credential',
    ],
    ['[PV17]', connection('config: { region: eu }').replace('kind', '¦kind'), 'wants to know who calls'],
    ['[PV17]', connection('¦credential: acme-token', 'provider: other'), 'takes no credential'],
    [
      '[F14]',
      route('{ operation: acme.book }').replace('do:', '¦do:'),
      '`connection` is missing',
      'connection: acme-main',
    ],
    [
      '[F28]',
      provider('rate: { perMinute: 5 }\nbuckets: { ¦default: { perMinute: 6 } }'),
      'keep one of them',
    ],
    [
      '[F35]',
      route('{ operation: acme.book, connection: acme-main, ¦data: {} }'),
      'belongs to `emit`',
      'with',
    ],
    [
      '[F35]',
      route('{ http: { method: PUT, url: "https://x.example" }, ¦connection: acme-main }'),
      'stands in `http`',
    ],
    [
      '[F35]',
      'kind: Agent\nname: a\nmodel: m\nuser: hi\nconnection: acme-main\n¦secret: { ref: s }',
      'brings its credential',
    ],
  ])('%s %j', (id, text, message, suggestion) => {
    const { findings, place } = find(text)
    const errors = findings.filter((one) => one.severity === 'error')
    expect(errors).toEqual([
      {
        severity: 'error',
        rule: id.slice(1, -1),
        message: expect.stringContaining(message),
        file: 'a.yaml',
        ...place,
        ...(errors[0]?.suggestion === undefined && suggestion === undefined
          ? {}
          : { suggestion: suggestion ?? expect.any(String) }),
      },
    ])
  })

  test.each<[id: string, text: string, message: string]>([
    [
      '[PV8]',
      operation('lookup: { path: /go, found: "true" }').replace('¦go', 'go').replace('lookup', '¦lookup'),
      'nothing here looks for',
    ],
    ['[F32]', operation(''), 'an unknown outcome'],
    ['[PV11]', provider('auth: bearer').replace('baseUrl: https', 'baseUrl: ¦http'), 'everybody on the way'],
    [
      '[PV12]',
      connection('config: { region: eu, apiToken: ¦abc }\ncredential: acme-token'),
      'looks like a secret',
    ],
    ['[PV13]', route('{ operation: ¦acme.old, connection: acme-main }'), 'deprecated: use book'],
    [
      '[PV13]',
      `${connection('', 'provider: ¦gone')}\n---\n${provider('deprecated: use acme').replace('name: p', 'name: gone')}`,
      'the provider `gone` is deprecated: use acme',
    ],
    ['[PV16]', provider('', '').replace('kind', '¦kind'), 'without a `probe`'],
    ['[PV16]', provider('', 'probe: { method: ¦POST, path: / }'), 'only reads'],
    ['[VA9]', credential('', 'provider: acme\nsecret: { ref: ¦s }'), 'millrace secrets set s'],
  ])('%s (warning) %j', (id, text, message) => {
    const { findings, place } = find(text, { secrets: (name) => name === 'acme-token' })
    expect(findings).toMatchObject([
      { severity: 'warning', rule: id.slice(1, -1), message: expect.stringContaining(message), ...place },
    ])
  })

  test('[PV16] a connection is not probed if its provider cannot be', () => {
    const text = `${connection('probe: { every: 5m }', 'provider: mute')}\n---\n${provider('', '').replace('name: p', 'name: mute')}`
    expect(compile(text).findings.map(({ rule, line }) => `${rule} ${line}`)).toEqual(['PV16 4', 'PV16 6'])
    expect(compile(text.replace('{ every: 5m }', 'none')).findings).toMatchObject([{ line: 6 }])
  })

  test('[PV1] [PV2] [PV3] files alone may name documents of the API, unless they cannot be resolved without them', () => {
    const found = (text: string) => compile(text).findings.map(({ rule, severity }) => `${rule} ${severity}`)
    expect(found(connection('credential: k', 'provider: mine'))).toEqual(['PV1 warning', 'PV3 warning'])
    expect(found(route('{ http: { method: PUT, url: /x, connection: c } }'))).toEqual(['PV2 warning'])
    expect(found(credential('auth: bearer', 'provider: mine\nsecret: { ref: s }'))).toEqual(['PV1 warning'])
    expect(found(credential('', 'provider: mine\nsecret: { ref: s }'))).toEqual(['PV1 error'])
    expect(found(route('{ operation: mine.do, connection: c }'))).toEqual(['PV1 error', 'PV2 warning'])
  })

  test('[PV10] the result of a template is checked later', () => {
    expect(
      find(connection('credential: acme-token\nconfig: { region: "{{ vars.self }}" }')).findings,
    ).toEqual([])
  })

  test('[PV6] the result of a template is checked when it runs', () => {
    for (const given of ['"{{ payload }}"', '{ id: "{{ payload.id }}", hours: "{{ payload.hours }}" }']) {
      expect(find(book(`with: ${given}`)).findings).toEqual([])
    }
    expect(find(route('{ operation: acme.book, connection: acme-main }')).findings).toEqual([])
  })

  test('[PV11] [SL6] an address that the node may not call is an error there, and http in production', () => {
    const local = provider('auth: bearer').replace('https://p.example', 'http://127.0.0.1:1')
    expect(compile(local).findings).toEqual([])
    const rules = (text: string, deps: Partial<CompileDeps>) =>
      compile(text, deps).findings.map(({ rule, severity }) => `${rule} ${severity}`)
    expect(rules(local, { outbound: makeOutboundPolicy([]) })).toEqual(['SL6 error'])
    expect(rules(local, { isProduction: true })).toEqual(['SL6 warning'])
    expect(rules(local, { outbound: makeOutboundPolicy(['127.0.0.0/8']), isProduction: true })).toEqual([])
    const plain = provider('auth: bearer').replace('https', 'http')
    expect(rules(plain, { isProduction: true })).toEqual(['PV11 error'])
    expect(rules(provider('').replace('https', 'http'), { isProduction: true })).toEqual([])
  })

  test('[PV12] no secret is written in clear text, wherever one is used', () => {
    const source = (secret: string) =>
      `kind: Source\nname: s\nsubject: a.b\nverify: { scheme: github, secret: ${secret} }`
    const agent = 'kind: Agent\nname: a\nmodel: m\nuser: hi\nbaseUrl: https://a.example\nsecret: ¦abc'
    for (const text of [source('¦abc'), agent]) {
      const { findings, place } = find(text)
      expect(findings).toMatchObject([{ rule: 'PV12', ...place }])
    }
  })

  test('[VA10] files of secrets belong to the node’s owner', () => {
    const text = credential('', 'provider: acme\nsecret: { ¦file: token }')
    const { findings, place } = find(text, { hasEnvironment: false })
    expect(findings).toMatchObject([{ rule: 'VA10', ...place }])
    expect(find(text).findings).toEqual([])
  })

  test('[PV18] addresses under a connection', () => {
    const http = (fields: string) => route(`{ http: { method: PUT, ${fields} } }`)
    expect(find(http('url: /x, connection: acme-main, probe: { url: /y, found: "true" }')).findings).toEqual(
      [],
    )
    expect(find(http('url: "https://api.acme.example/x", connection: acme-main')).findings).toEqual([])
    for (const text of [
      http('url: ¦/x'),
      http('url: "https://x.example", probe: { url: ¦/x, found: "true" }'),
    ]) {
      const { findings, place } = find(text)
      expect(findings).toMatchObject([
        { rule: 'F30', ...place, message: expect.stringContaining('needs a `connection`') },
      ])
    }
    const agent = 'kind: Agent\nname: a\nmodel: m\nuser: hello\n'
    expect(find(`${agent}connection: acme-main`).findings).toEqual([])
    expect(find(`${agent}connection: acme-main\nbaseUrl: /v1`).findings).toEqual([])
    expect(find(`¦${agent}`).findings).toMatchObject([
      { rule: 'F14', message: expect.stringContaining('or `connection`') },
    ])
    const upsert = (fields: string) =>
      route(
        `{ upsert: { ${fields}extRef: "{{ key }}", find: { path: "/a?r={{ extRef }}", found: "true" }, create: { path: /a, body: "{{ extRef }}" } } }`,
      )
    expect(find(upsert('connection: acme-main, ')).findings).toEqual([])
    expect(find(upsert('')).findings).toMatchObject([{ rule: 'F14' }])
  })
})

const byKind = <Document extends DefinitionDocument>(
  documents: readonly DefinitionDocument[],
  kind: Document['kind'],
) => documents.filter((one): one is Document => one.kind === kind)

describe('normal forms', () => {
  test('[PV21] omitted fields', () => {
    const { documents } = WORLD
    const [acme] = byKind<ProviderDocument>(documents, 'Provider')
    expect(acme).toMatchSnapshot()
    expect(byKind<ConnectionDocument>(documents, 'Connection')[0]).toMatchSnapshot()
    expect(byKind<CredentialDocument>(documents, 'Credential')[0]).toMatchSnapshot()
  })

  test('[PV21] a credential has its provider’s first model', () => {
    const { documents, findings } = compile(credential(''), { deployedDocuments: WORLD.documents })
    expect(findings).toEqual([])
    expect(documents).toMatchObject([{ auth: 'bearer' }])
  })

  test.each<[written: string, idempotency: string, more: object]>([
    ['method: GET', 'idempotent', { body: null, keyHeader: null }],
    ['method: PUT', 'idempotent', { body: '{{ input }}' }],
    ['idempotency: none', 'none', { body: '{{ input }}' }],
    ['idempotency: none, body: null', 'none', { body: null }],
    ['keyTtl: 1h', 'native', { keyTtlMs: 3_600_000, keyHeader: 'idempotency-key' }],
    ['keyTtl: 1h, keyHeader: X-Key', 'native', { keyHeader: 'x-key' }],
    ['keyTtl: 1h, keyHeader: none, query: { k: "{{ key }}" }', 'native', { keyHeader: null }],
    [
      'lookup: { path: "/{{ key }}", found: result.body.ok }',
      'lookup',
      { lookup: expect.objectContaining({ method: 'GET', afterMs: 30_000 }) },
    ],
  ])('[PV21] an operation with %s is %s', (written, idempotency, more) => {
    const { documents, findings } = compile(operation(written).replace('¦', ''))
    expect(findings).toEqual([])
    expect((documents[0] as ProviderDocument).operations.go).toMatchObject({ idempotency, ...more })
  })

  test.each([
    ['auth: apiKey', { header: 'x-api-key', prefix: '', query: null }],
    ['auth: bearer', { header: 'authorization', prefix: 'Bearer ', query: null }],
    ['auth: hmac', { header: 'x-signature', prefix: '', query: null }],
    ['auth: basic', { header: null, prefix: '', query: null }],
    ['auth: apiKey\nauthentication: { query: key }', { header: null, prefix: '', query: 'key' }],
    ['auth: bearer\nauthentication: { header: X-Token }', { header: 'x-token', prefix: '', query: null }],
  ])('[PV21] for %j a value travels as %j', (lines, authentication) => {
    expect(compile(provider(lines)).documents).toMatchObject([{ authentication }])
  })

  test('[PV19] an operation is pinned with its provider’s classification of responses', () => {
    const general = PROVIDER.replace('rate:', 'classify: { 423: transient, 409: validation }\nrate:')
    const text = general.replace('keyTtl: 24h', 'keyTtl: 24h\n    classify: { 409: done }')
    const action = book('with: { id: 1, hours: 2 }, classify: { 404: done }, timeout: 5s')
    const { documents, findings } = compile(`${text}---\n${action}`)
    expect(findings).toEqual([])
    const [made] = byKind<RouteDocument>(documents, 'Route')
    expect(made?.do).toMatchObject({
      type: 'operation',
      provider: 'acme',
      connection: 'acme-main',
      with: { id: 1, hours: 2 },
      timeoutMs: 5_000,
      classify: { 404: 'done' },
      operation: { name: 'book', path: '/book', classify: { 409: 'done', 423: 'transient' } },
    })
    // A later change of the provider leaves it as it is, until it is applied again.
    const again = compile(action, { deployedDocuments: WORLD.documents })
    const [other] = byKind<RouteDocument>(again.documents, 'Route')
    expect(other?.do).toHaveProperty('operation.classify', {})
  })

  test('[PV14] the names of built-in providers are reserved', () => {
    expect(BUILT_IN_PROVIDERS.length).toBeGreaterThan(3)
    for (const { name } of BUILT_IN_PROVIDERS) {
      expect(compile(provider('').replace('name: p', `name: ${name}`)).findings).toMatchObject([
        { rule: 'PV14' },
      ])
    }
  })
})

describe('environments', () => {
  const of = (environment: string, region: string) =>
    connection(
      `credential: acme-token\nconfig: { region: ${region} }${environment === '' ? '' : `\nenvironment: ${environment}`}`,
    )
  const regions = (text: string, environment?: CompileDeps['environment']) => {
    const given = environment === undefined ? {} : { environment }
    const { documents, findings } = compile(text, { deployedDocuments: WORLD.documents, ...given })
    return [
      ...byKind<ConnectionDocument>(documents, 'Connection').map(({ config }) => config),
      ...findings.map(({ rule, severity }) => `${rule} ${severity}`),
    ]
  }

  test('[PV20] the document of the environment applies, or else the one without', () => {
    const text = [of('PROD', 'us'), of('', 'eu')].join('\n---\n')
    expect(regions(text, 'PROD')).toEqual([{ region: 'us' }])
    expect(regions(text, 'QA')).toEqual([{ region: 'eu' }])
    expect(regions(text)).toEqual([{ region: 'eu' }])
    expect(regions(of('QA', 'eu'), 'PROD')).toEqual([])
  })

  test('[PV20] [F11] one of each, and all are checked', () => {
    const text = [of('PROD', 'us'), of('PROD', 'eu')].join('\n---\n')
    expect(regions(text, 'DEV')).toEqual(['F11 error'])
    expect(regions(of('PROD', '5'), 'DEV')).toEqual(['PV10 error'])
  })

  test('[PV20] the environment it was written for is not part of it', () => {
    const hashOf = (text: string) =>
      compile(text, { deployedDocuments: WORLD.documents, environment: 'PROD' }).documents.map(hashDocument)
    expect(hashOf(of('PROD', 'eu'))).toEqual(hashOf(of('', 'eu')))
  })

  test('[PV15] a reference to a missing document is reported', () => {
    const text = `${of('PROD', 'us')}\n---\n${route('{ http: { method: PUT, url: /x, connection: c } }')}`
    expect(regions(text, 'QA')).toEqual(['PV15 warning'])
    expect(regions(text, 'PROD')).toEqual([{ region: 'us' }])
    const key = credential('environment: PROD')
    const using = connection('credential: k\nconfig: { region: eu }')
    expect(regions(`${key}\n---\n${using}`, 'QA')).toEqual([{ region: 'eu' }, 'PV15 warning'])
  })
})

describe('through the API', () => {
  const deployedDocuments = WORLD.documents
  const GIVEN = { name: 'c', provider: 'acme', credential: 'acme-token', config: { region: 'eu' } }

  test('[PV22] the same fields give the same document and hash, and a text to store', () => {
    const checked = checkIntegration('Connection', { ...GIVEN, description: null }, { deployedDocuments })
    expect(checked).toMatchObject({ ok: true, warnings: [], written: GIVEN })
    if (!checked.ok) return
    const [file] = compile(connection(shut), { deployedDocuments }).documents
    expect(hashDocument(checked.document)).toBe(hashDocument(file as ConnectionDocument))
    const { text } = checked.definition.authored
    expect(compile(text, { deployedDocuments }).documents).toEqual([checked.document])
  })

  test('[PV22] an explicitly empty field stays so in the text', () => {
    const given = {
      name: 'p',
      baseUrl: 'https://p.example',
      probe: { path: '/' },
      operations: { go: { path: '/', idempotency: 'none', body: null } },
    }
    const checked = checkIntegration('Provider', given, {})
    expect(checked.ok && compile(checked.definition.authored.text).documents).toEqual([
      checked.ok && checked.document,
    ])
    expect(checked.ok && checked.document.operations.go?.body).toBe(null)
  })

  test('[PV22] findings name the field, errors first', () => {
    const given = {
      name: 'c',
      provider: 'acne',
      credential: 'acme-token',
      config: { apiKey: 'x' },
      probe: { every: '1' },
    }
    const checked = checkIntegration('Connection', given, { deployedDocuments })
    expect(checked.ok ? [] : checked.findings.map(({ rule, field }) => `${rule} ${field}`)).toEqual([
      'PV1 provider',
      'F18 probe.every',
      'PV12 config.apiKey',
    ])
  })

  test('[PV22] a missing document, another kind or a value that is not a map is refused', () => {
    const refused = (kind: 'Provider' | 'Connection' | 'Credential', given: unknown) => {
      const checked = checkIntegration(kind, given, { deployedDocuments })
      return checked.ok ? [] : checked.findings.map(({ rule, field }) => `${rule} ${field}`)
    }
    expect(refused('Credential', {})).toEqual(['F14 name', 'F14 provider', 'F14 secret'])
    expect(refused('Connection', { ...GIVEN, kind: 'Provider' })).toEqual(['F8 kind'])
    expect(refused('Provider', null)).toEqual(['F7 '])
    expect(refused('Connection', [])).toEqual(['F7 '])
  })

  test('[PV15] only for the environment of the node', () => {
    const given = { ...GIVEN, environment: 'PROD' }
    expect(checkIntegration('Connection', given, { deployedDocuments })).toMatchObject({
      ok: false,
      findings: [{ rule: 'PV15', field: 'environment', suggestion: 'DEV' }],
    })
    expect(checkIntegration('Connection', given, { deployedDocuments, environment: 'PROD' })).toMatchObject({
      ok: true,
    })
  })

  test('[PV22] a change replaces fields, and null removes them', () => {
    const { credential: _, ...rest } = GIVEN
    expect(patchFields(GIVEN, { credential: null })).toEqual(rest)
    expect(patchFields(GIVEN, { config: {} })).toEqual({ ...GIVEN, config: {} })
  })
})

describe('hmac', () => {
  const messages = (text: string) =>
    compile(text).findings.map(({ rule, line, message }) => ({ rule, line, message }))
  const refused = (line: number) => [
    { rule: 'F20', line, message: expect.stringContaining('`hmac` cannot be used here') },
  ]

  test('[HK7] is refused in providers, connections, credentials and what a sender signs', () => {
    const operation = PROVIDER.replace(
      '    path: /book\n',
      "    path: /book\n    body: { id: '{{ hmac(input.id) }}' }\n",
    )
    expect(messages(operation)).toEqual(refused(13))
    const connection = PROVIDER.replace(
      'config: { region: eu }',
      'config: { region: "{{ hmac(vars.self) }}" }',
    )
    expect(messages(connection)).toEqual(refused(32))
    const source = [
      'kind: Source',
      'name: shop',
      'subject: shop.paid',
      'verify:',
      '  scheme: hmac',
      '  secret: { ref: shop }',
      '  header: x-signature',
      '  signed: "{{ hmac(body) }}"',
    ].join('\n')
    expect(messages(source)).toEqual(refused(8))
  })

  test('[HK7] may be named in prose, and is checked without a key elsewhere', () => {
    expect(
      compile(PROVIDER.replace('name: acme\n', 'name: acme\ndescription: signs by hmac (SHA-256)\n'))
        .findings,
    ).toEqual([])
    const route = [
      'kind: Route',
      'name: book',
      'on: shop.paid',
      'where: hmac(payload.email) != hash(payload.email)',
      'key: "\'BOOK:\' + hmac(payload.email)"',
      'do: { emit: shop.booked, data: { customer: "{{ hmac(payload.email) }}" } }',
    ].join('\n')
    expect(compile(route).findings).toEqual([])
    expect(messages(route.replace('hmac(payload.email)"', 'hmac()"'))).toMatchObject([
      { rule: 'F20', line: 5, message: expect.stringContaining('takes 1 to 16 arguments') },
    ])
  })
})
