import { describe, expect, test } from 'vitest'
import { heldBytesDefault } from './config.ts'
import { renderSettings, resolveConfig, SETTINGS } from './index.ts'

function resolve(env: Record<string, string | undefined>) {
  const resolved = resolveConfig(env)
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
  return resolved.config
}

function findings(env: Record<string, string>) {
  const resolved = resolveConfig(env)
  return resolved.ok ? [] : resolved.findings
}

describe('an empty environment', () => {
  test('gives a working development node', () => {
    expect(resolve({})).toEqual({
      environment: 'DEV',
      vars: {},
      dataFolder: './data',
      port: 4400,
      host: '127.0.0.1',
      store: { kind: 'sqlite', file: 'data/millrace.db' },
      acceptLoss: null,
      confirmCopy: null,
      node: 'node-1',
      roles: ['ingest', 'api', 'work', 'schedule', 'deliver'],
      nats: null,
      adminKey: null,
      masterKey: null,
      masterKeysOld: [],
      secretsFolder: null,
      secretEnv: null,
      vault: null,
      flowsFolder: null,
      log: 'data/millrace.log',
      logBytesMax: 67_108_864,
      logFiles: 5,
      logLevel: 'info',
      leaseMs: 30_000,
      concurrency: 256,
      runningBytes: 'auto',
      escalateAfterMs: 86_400_000,
      systemEvents: 'all',
      canonicalRetentionMs: 604_800_000,
      ledgerRetentionMs: 31_536_000_000,
      replayReadyPerMinute: 0,
      bodyBytesMax: 8_388_608,
      heldBytesMax: expect.any(Number),
      connectionsPerAddressMax: 512,
      keptHeaders: [],
      trustedProxies: [],
      publicUrl: null,
      outboundAllow: ['127.0.0.0/8', '::1/128'],
      outboundTenants: null,
      limits: { secrets: 2_000, definitions: 5_000, keys: 1_000, subscriptions: 20_000 },
      openJobsMax: 0,
      checkTimeoutMs: 10_000,
      shutdownMs: 10_000,
      drainDelayMs: 0,
    })
  })

  test('is the same as empty variables', () => {
    const empty = Object.fromEntries(Object.values(SETTINGS).map(({ env }) => [env, ' ']))
    expect(resolve(empty)).toEqual(resolve({}))
  })

  test('outside development logs to stdout, and reaches no private network', () => {
    for (const MILLRACE_ENV of ['QA', 'prod']) {
      expect(resolve({ MILLRACE_ENV })).toMatchObject({ log: 'stdout', outboundAllow: [], host: '127.0.0.1' })
    }
  })
})

describe('values', () => {
  test('are read in their own units', () => {
    const config = resolve({
      MILLRACE_ENV: 'PROD',
      MILLRACE_DATA: '/var/lib/millrace',
      MILLRACE_PORT: '0',
      MILLRACE_HOST: '0.0.0.0',
      MILLRACE_ALLOW_PLAINTEXT: 'http',
      MILLRACE_LEASE: '1.5m',
      MILLRACE_BODY_LIMIT: '512KiB',
      MILLRACE_OUTBOUND_ALLOW: '10.0.0.0/8, fd00::/8 192.168.1.7,loopback,CRM.internal, *.example.internal',
      MILLRACE_LOG: 'stderr',
    })
    expect(config).toMatchObject({
      store: { kind: 'sqlite', file: '/var/lib/millrace/millrace.db' },
      port: 0,
      host: '0.0.0.0',
      leaseMs: 90_000,
      bodyBytesMax: 524_288,
      outboundAllow: [
        '10.0.0.0/8',
        'fd00::/8',
        '192.168.1.7/32',
        '127.0.0.0/8',
        '::1/128',
        'crm.internal',
        '*.example.internal',
      ],
      log: 'stderr',
    })
  })

  test('of the store are a file or a PostgreSQL URL', () => {
    const store = (MILLRACE_STORE: string) => resolve({ MILLRACE_STORE }).store
    expect(store('postgres://u:p@db/x')).toEqual({ kind: 'postgres', url: 'postgres://u:p@db/x' })
    expect(store('postgresql:///x')).toEqual({ kind: 'postgres', url: 'postgresql:///x' })
    expect(store('./a.db')).toEqual({ kind: 'sqlite', file: './a.db' })
    expect(store('sqlite:/a/b.db')).toEqual({ kind: 'sqlite', file: '/a/b.db' })
  })

  test('[VA8] of master keys are bytes, the current one and any number of old ones', () => {
    const [one, two] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
    const config = resolve({
      MILLRACE_MASTER_KEY: Buffer.from(one).toString('base64'),
      MILLRACE_MASTER_KEYS_OLD: `${Buffer.from(two).toString('hex')}, ${Buffer.from(one).toString('base64url')}`,
    })
    expect(config).toMatchObject({ masterKey: one, masterKeysOld: [two, one] })
  })

  test('[VA14] a master key that is too simple is refused in PROD, and may still be an old one', () => {
    const simple = '00'.repeat(32)
    expect(resolve({ MILLRACE_ENV: 'QA', MILLRACE_MASTER_KEY: simple }).masterKey).toHaveLength(32)
    const [found] = findings({ MILLRACE_ENV: 'PROD', MILLRACE_MASTER_KEY: simple })
    expect(found).toMatchObject({
      setting: 'MILLRACE_MASTER_KEY',
      message: expect.stringContaining('openssl rand'),
    })
    expect(found?.message).not.toContain(simple)
    const good = Buffer.from(Uint8Array.from({ length: 32 }, (_, index) => index * index)).toString('hex')
    const moved = { MILLRACE_ENV: 'PROD', MILLRACE_MASTER_KEY: good, MILLRACE_MASTER_KEYS_OLD: simple }
    expect(resolve(moved).masterKeysOld).toHaveLength(1)
  })

  test('of the vault are its address and one authentication method', () => {
    const MILLRACE_VAULT_URL = 'https://vault.example.com:8200/'
    expect(resolve({ MILLRACE_VAULT_URL, MILLRACE_VAULT_TOKEN: 'hvs.x' }).vault).toEqual({
      url: 'https://vault.example.com:8200',
      login: { by: 'token', token: 'hvs.x' },
      mount: 'secret',
      prefix: 'millrace',
      namespace: null,
      staleMs: 300_000,
    })
    const role = { MILLRACE_VAULT_ROLE_ID: 'r', MILLRACE_VAULT_SECRET_ID: 's' }
    const paths = {
      MILLRACE_VAULT_MOUNT: '/kv/team/',
      MILLRACE_VAULT_PREFIX: 'a/b',
      MILLRACE_VAULT_NAMESPACE: 'eu',
    }
    expect(
      resolve({ MILLRACE_VAULT_URL, ...role, ...paths, MILLRACE_VAULT_STALE: '0s' }).vault,
    ).toMatchObject({
      login: { by: 'role', roleId: 'r', secretId: 's' },
      mount: 'kv/team',
      prefix: 'a/b',
      namespace: 'eu',
      staleMs: 0,
    })
    expect(resolve({ MILLRACE_VAULT_URL, MILLRACE_VAULT_TOKEN_FILE: '/run/token' }).vault?.login).toEqual({
      by: 'file',
      file: '/run/token',
    })
  })

  test.each<[string, Record<string, string>]>([
    ['MILLRACE_VAULT_TOKEN', { MILLRACE_VAULT_URL: 'https://v' }],
    ['MILLRACE_VAULT_TOKEN', { MILLRACE_VAULT_URL: 'https://v', MILLRACE_VAULT_ROLE_ID: 'r' }],
    [
      'MILLRACE_VAULT_TOKEN',
      { MILLRACE_VAULT_URL: 'https://v', MILLRACE_VAULT_TOKEN: 't', MILLRACE_VAULT_TOKEN_FILE: 'f' },
    ],
    ['MILLRACE_VAULT_URL', { MILLRACE_VAULT_TOKEN: 't' }],
    ['MILLRACE_VAULT_URL', { MILLRACE_VAULT_SECRET_ID: 's' }],
    ['MILLRACE_VAULT_URL', { MILLRACE_VAULT_URL: 'vault:8200', MILLRACE_VAULT_TOKEN: 't' }],
    [
      'MILLRACE_VAULT_URL',
      { MILLRACE_ENV: 'PROD', MILLRACE_VAULT_URL: 'http://v', MILLRACE_VAULT_TOKEN: 't' },
    ],
    [
      'MILLRACE_VAULT_PREFIX',
      { MILLRACE_VAULT_URL: 'https://v', MILLRACE_VAULT_TOKEN: 't', MILLRACE_VAULT_PREFIX: 'a/../b' },
    ],
  ])('of the vault that do not fit are found at %s: %j', (setting, env) => {
    const found = findings(env)
    expect(found.map((one) => one.setting)).toEqual([setting])
    expect(found[0]?.message).toMatch(/Set|Write/)
  })

  test('of allowed networks always include this machine in development', () => {
    const allow = (MILLRACE_ENV: string) =>
      resolve({ MILLRACE_ENV, MILLRACE_OUTBOUND_ALLOW: '10.0.0.0/8' }).outboundAllow
    expect(allow('DEV')).toEqual(['127.0.0.0/8', '::1/128', '10.0.0.0/8'])
    expect(allow('PROD')).toEqual(['10.0.0.0/8'])
  })

  test('are frozen', () => {
    const config = resolve({})
    expect(
      Object.isFrozen(config) && Object.isFrozen(config.store) && Object.isFrozen(config.outboundAllow),
    ).toBe(true)
  })
})

describe('problems', () => {
  test('are found all at once, each with what to write', () => {
    const found = findings({
      MILLRACE_ENV: 'STAGING',
      MILLRACE_PORT: '70000',
      MILLRACE_HOST: 'http://x/',
      MILLRACE_STORE: 'mysql://root:hidden@db/x',
      MILLRACE_NODE: 'a b',
      MILLRACE_ADMIN_KEY: 'hidden key',
      MILLRACE_MASTER_KEY: 'hidden',
      MILLRACE_MASTER_KEYS_OLD: `${'00'.repeat(32)},hidden`,
      MILLRACE_LOG_LEVEL: 'debug',
      MILLRACE_LEASE: '30',
      MILLRACE_CONCURRENCY: '-1',
      MILLRACE_BODY_LIMIT: '1GiB',
      MILLRACE_OUTBOUND_ALLOW: '10.0.0.0/8,10.0.0.0.8',
      MILLRACE_SHUTDOWN: 'soon',
    })
    expect(found.map(({ setting }) => setting).sort()).toEqual([
      'MILLRACE_ADMIN_KEY',
      'MILLRACE_BODY_LIMIT',
      'MILLRACE_CONCURRENCY',
      'MILLRACE_ENV',
      'MILLRACE_HOST',
      'MILLRACE_LEASE',
      'MILLRACE_LOG_LEVEL',
      'MILLRACE_MASTER_KEY',
      'MILLRACE_MASTER_KEYS_OLD',
      'MILLRACE_NODE',
      'MILLRACE_OUTBOUND_ALLOW',
      'MILLRACE_PORT',
      'MILLRACE_SHUTDOWN',
      'MILLRACE_STORE',
    ])
    for (const { message } of found) {
      expect(message).toMatch(/cannot be used\. .*(Write|Use|write)/)
      expect(message).not.toContain('hidden')
    }
  })

  test('of other kinds of stores say what is supported', () => {
    for (const MILLRACE_STORE of [':memory:', 'sqlite::memory:', 'postgres://bad host/', 'redis://x']) {
      expect(findings({ MILLRACE_STORE })).toHaveLength(1)
    }
  })

  test('with unknown names are warnings', () => {
    const resolved = resolveConfig({
      MILLRACE_PROT: '1',
      MILLRACE_URL: 'x',
      MILLRACE_TEST_NODE22: 'x',
      PATH: '/bin',
    })
    expect(resolved.ok && resolved.warnings.map(({ setting }) => setting)).toEqual(['MILLRACE_PROT'])
  })
})

test('[ND1] a node has all roles unless some are set, and no unknown one', () => {
  const shared = { MILLRACE_STORE: 'postgres://u:p@db/x' }
  expect(resolve(shared).roles).toEqual(['ingest', 'api', 'work', 'schedule', 'deliver'])
  expect(resolve({ ...shared, MILLRACE_ROLES: 'deliver, api' }).roles).toEqual(['api', 'deliver'])
  const [found] = findings({ ...shared, MILLRACE_ROLES: 'api,worker' })
  expect(found?.setting).toBe('MILLRACE_ROLES')
  expect(found?.message).toContain(
    '‘worker’ is not a role; write some of ingest, api, work, schedule, deliver.',
  )
  expect(findings({ ...shared, MILLRACE_ROLES: ',' })).toHaveLength(1)
})

test('[ND2] a node with SQLite has all roles', () => {
  const [found, ...others] = findings({ MILLRACE_ROLES: 'ingest,work,deliver' })
  expect(others).toEqual([])
  expect(found).toMatchObject({
    setting: 'MILLRACE_ROLES',
    message: expect.stringContaining('api, schedule'),
  })
  expect(resolve({ MILLRACE_ROLES: 'deliver,schedule,work,api,ingest' }).roles).toHaveLength(5)
})

test('the bus is servers of one cluster, with or without credentials', () => {
  const nats = (env: Record<string, string>) => resolve(env).nats
  expect(nats({ MILLRACE_NATS_URL: 'nats://a:4222,tls://u:p@b' })).toEqual({
    servers: ['nats://a:4222', 'tls://u:p@b'],
    credentialsFile: null,
    prefix: 'millrace',
    streams: [{ tenant: 'default', stream: '*' }],
  })
  const all = {
    MILLRACE_NATS_URL: 'nats://a',
    MILLRACE_NATS_CREDS: '/run/a.creds',
    MILLRACE_NATS_PREFIX: 'acme.eu',
  }
  expect(nats(all)).toMatchObject({
    servers: ['nats://a'],
    credentialsFile: '/run/a.creds',
    prefix: 'acme.eu',
  })
  for (const MILLRACE_NATS_URL of ['a:4222', 'http://a', 'nats://a/path', 'nats://a,b', 'nats://']) {
    const found = findings({ MILLRACE_NATS_URL })
    expect(
      found.map(({ setting }) => setting),
      MILLRACE_NATS_URL,
    ).toEqual(['MILLRACE_NATS_URL'])
  }
  expect(findings({ MILLRACE_NATS_PREFIX: 'a..b' })).toHaveLength(1)
  expect(findings({ MILLRACE_NATS_CREDS: '/run/a.creds' })).toMatchObject([{ setting: 'MILLRACE_NATS_URL' }])
})

test('[AC20] a short admin key is refused if others can reach the node', () => {
  const findings = (MILLRACE_ENV: string, MILLRACE_ADMIN_KEY: string) => {
    const resolved = resolveConfig({ MILLRACE_ENV, MILLRACE_ADMIN_KEY })
    return resolved.ok ? [] : resolved.findings.map(({ setting }) => setting)
  }
  expect(findings('PROD', 'short')).toEqual(['MILLRACE_ADMIN_KEY'])
  expect(findings('QA', 'x'.repeat(19))).toEqual(['MILLRACE_ADMIN_KEY'])
  expect(findings('QA', 'x'.repeat(20))).toEqual([])
  expect(findings('DEV', 'short')).toEqual([])
})

test('[AC22] an admin key that can be guessed is refused in PROD', () => {
  const resolved = (MILLRACE_ADMIN_KEY: string) => resolveConfig({ MILLRACE_ENV: 'PROD', MILLRACE_ADMIN_KEY })
  const weak = resolved('passwordpasswordpassword')
  expect(weak).toMatchObject({
    ok: false,
    findings: [{ setting: 'MILLRACE_ADMIN_KEY', message: expect.stringContaining('openssl rand') }],
  })
  expect(JSON.stringify(weak)).not.toContain('passwordpassword')
  expect(resolved('6Xn0vT2qkQhJ8wYbR4sLzA').ok).toBe(true)
})

test('bodies in progress may hold at least one body', () => {
  const small = { MILLRACE_BODIES_LIMIT: '2MiB', MILLRACE_BODY_LIMIT: '4MiB' }
  expect(findings(small)).toMatchObject([{ setting: 'MILLRACE_BODIES_LIMIT' }])
  expect(resolve({ MILLRACE_BODY_LIMIT: '64MiB' }).heldBytesMax).toBeGreaterThanOrEqual(64 * 1_048_576)
  expect(heldBytesDefault(64 * 1_048_576)).toBe(8 * 1_048_576)
  expect(heldBytesDefault(64 * 1_024 * 1_048_576)).toBe(256 * 1_048_576)
})

test('[AC9] only listed proxies are trusted', () => {
  const proxies = (text: string) => {
    const resolved = resolveConfig({ MILLRACE_TRUSTED_PROXIES: text })
    return resolved.ok ? resolved.config.trustedProxies : null
  }
  expect(proxies('')).toEqual([])
  expect(proxies('10.0.0.0/8, 192.0.2.1')).toEqual(['10.0.0.0/8', '192.0.2.1/32'])
  expect(proxies('everybody')).toBeNull()
})

test('[GU6] the public address is one that a target can be appended to', () => {
  const address = (text: string) => {
    const resolved = resolveConfig({ MILLRACE_PUBLIC_URL: text })
    return resolved.ok ? resolved.config.publicUrl : 'refused'
  }
  expect(address('')).toBeNull()
  expect(address('https://hooks.example.com')).toBe('https://hooks.example.com')
  expect(address('https://Hooks.example.com:443/')).toBe('https://hooks.example.com')
  expect(address('http://10.0.0.1:4400/mill//')).toBe('http://10.0.0.1:4400/mill')
  for (const text of [
    'hooks.example.com',
    'ftp://a',
    'https://a?b',
    'https://a#',
    'https://u:p@a',
    'https://',
  ]) {
    expect(address(text), text).toBe('refused')
  }
})

test('docs/settings.md lists the current settings (vitest -u writes it)', async () => {
  await expect(renderSettings()).toMatchFileSnapshot('../../docs/settings.md')
})

test('every default in the documentation is one that can be written', () => {
  for (const { default: makeDefault, defaultText, parse, env } of Object.values(SETTINGS)) {
    const context = { environment: 'DEV', dataFolder: './data' } as const
    const text = makeDefault(context)
    if (text === null || text !== defaultText) continue
    expect(parse(text, context), env).not.toHaveProperty('text')
  }
})

test('[VA23] names of variables that definitions may read: none in PROD unless listed, and no setting of the node', () => {
  const names = (env: Record<string, string>) => resolve(env).secretEnv
  expect(names({ MILLRACE_ENV: 'PROD' })).toEqual([])
  expect(names({ MILLRACE_ENV: 'QA' })).toBeNull()
  expect(names({ MILLRACE_ENV: 'PROD', MILLRACE_SECRET_ENV: 'STRIPE_*, GITHUB_WEBHOOK_SECRET' })).toEqual([
    'STRIPE_*',
    'GITHUB_WEBHOOK_SECRET',
  ])
  for (const MILLRACE_SECRET_ENV of ['*', 'M*', 'mill*', 'MILLRACE_ADMIN_KEY', 'MILLRACE_*', 'A*B', 'A B-C'])
    expect(findings({ MILLRACE_SECRET_ENV }), MILLRACE_SECRET_ENV).toMatchObject([
      { setting: 'MILLRACE_SECRET_ENV', message: expect.stringContaining('write for example') },
    ])
})

test('[BU74] streams of each tenant: none in PROD unless listed, and an entry that cannot be read is named', () => {
  const streams = (env: Record<string, string>) =>
    resolve({ MILLRACE_NATS_URL: 'tls://a', ...env }).nats?.streams
  expect(streams({ MILLRACE_ENV: 'PROD' })).toEqual([])
  expect(streams({ MILLRACE_NATS_STREAMS: 'default=ORDERS, acme=ACME_*' })).toEqual([
    { tenant: 'default', stream: 'ORDERS' },
    { tenant: 'acme', stream: 'ACME_*' },
  ])
  for (const MILLRACE_NATS_STREAMS of ['ORDERS', 'acme=', 'acme=A.B', 'Acme=A', 'a=b=c'])
    expect(findings({ MILLRACE_NATS_STREAMS, MILLRACE_NATS_URL: 'nats://a' })).toMatchObject([
      { setting: 'MILLRACE_NATS_STREAMS', message: expect.stringContaining('acme=ACME_*') },
    ])
})

describe('[DE9] TLS in PROD', () => {
  const refused = (env: Record<string, string>) =>
    findings({ MILLRACE_ENV: 'PROD', ...env }).map(({ setting }) => setting)
  const store = (MILLRACE_STORE: string, more: Record<string, string> = {}) =>
    refused({ MILLRACE_STORE, ...more })

  test('PostgreSQL is encrypted and verified, or on this machine', () => {
    for (const url of [
      'postgres://u@db/x',
      'postgres://u@db/x?sslmode=disable',
      'postgres://u@db/x?sslmode=no-verify',
      'postgres://u@db/x?sslmode=require&uselibpqcompat=true',
      'postgres://u@db/x?ssl=0&sslmode=require',
      'postgres://localhost/x?host=db',
    ])
      expect(store(url), url).toEqual(['MILLRACE_STORE'])
    for (const url of [
      'postgres://u@db/x?sslmode=require',
      'postgres://u@db/x?sslmode=verify-full',
      'postgres://u@db/x?ssl=true',
      'postgres://u@localhost/x',
      'postgres://u@[::1]/x',
      'postgres:///x',
      'postgres://u@%2Fvar%2Frun/x',
      'postgres:///x?host=/var/run/postgresql',
    ])
      expect(store(url), url).toEqual([])
    expect(store('postgres:///x', { PGHOST: 'db' })).toEqual(['MILLRACE_STORE'])
    expect(store('postgres://u@db/x', { PGSSLMODE: 'verify-full' })).toEqual([])
  })

  test('NATS and the port of the node too, each with what to do, unless the operator overrides it', () => {
    expect(refused({ MILLRACE_NATS_URL: 'tls://a,nats://b' })).toEqual(['MILLRACE_NATS_URL'])
    expect(refused({ MILLRACE_NATS_URL: 'nats://127.0.0.1:4222,tls://b' })).toEqual([])
    expect(refused({ MILLRACE_HOST: '0.0.0.0' })).toEqual(['MILLRACE_HOST'])
    expect(refused({ MILLRACE_HOST: '::' })).toEqual(['MILLRACE_HOST'])
    expect(refused({ MILLRACE_HOST: '127.0.0.2' })).toEqual([])
    const all = {
      MILLRACE_HOST: '0.0.0.0',
      MILLRACE_NATS_URL: 'nats://a',
      MILLRACE_STORE: 'postgres://u:hidden@db/x',
    }
    const found = findings({ MILLRACE_ENV: 'PROD', ...all })
    expect(found).toHaveLength(3)
    for (const { message } of found) {
      expect(message).toMatch(/needs TLS.*MILLRACE_ALLOW_PLAINTEXT/)
      expect(message).not.toContain('hidden')
    }
    expect(refused({ ...all, MILLRACE_ALLOW_PLAINTEXT: 'postgres, http' })).toEqual(['MILLRACE_NATS_URL'])
    expect(refused({ ...all, MILLRACE_ALLOW_PLAINTEXT: 'http,nats,postgres' })).toEqual([])
    expect(refused({ MILLRACE_ALLOW_PLAINTEXT: 'everything' })).toEqual(['MILLRACE_ALLOW_PLAINTEXT'])
    expect(findings({ MILLRACE_ENV: 'QA', ...all })).toEqual([])
  })
})
