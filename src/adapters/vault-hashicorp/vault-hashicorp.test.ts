import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { AppError } from '../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { fingerprintOf } from '../../core/secrets/index.ts'
import type { Clock } from '../../ports/clock.ts'
import { secretVaultConformance, vaultConformance } from '../../ports/vault.conformance.ts'
import type { SecretVault } from '../../ports/vault.ts'
import { makeMemoryLog } from '../log-memory/index.ts'
import { type HashicorpVaultOptions, makeHashicorpVault } from './index.ts'
import { startVaultServer } from './server.fixture.ts'

const T = DEFAULT_TENANT
const by = 'ada'
const SET = { isPending: false, by }
const TOKEN = 'hvs.given'
const ROLE = { roleId: 'role', secretId: 'secret id', ttlS: 60 }

const parts: AsyncDisposable[] = []
afterEach(async () => {
  for (const part of parts.splice(0)) await part[Symbol.asyncDispose]()
})

async function makeWorld(
  over: Partial<HashicorpVaultOptions> = {},
  about: Partial<Parameters<typeof startVaultServer>[0]> = {},
) {
  let now = 1_000_000
  const clock: Clock = { now: () => now, monotonic: () => now, after: () => () => {}, defer: queueMicrotask }
  const server = await startVaultServer({ now: () => now, ...about })
  server.give(TOKEN)
  const log = makeMemoryLog()
  const makeNode = () => {
    const vault = makeHashicorpVault(
      {
        url: server.url,
        login: { by: 'token', token: TOKEN },
        mount: 'secret',
        prefix: 'millrace',
        namespace: null,
        staleMs: 300_000,
        ...over,
      },
      { clock, log },
    )
    parts.push(vault)
    return vault
  }
  return {
    server,
    log,
    makeNode,
    vault: makeNode(),
    pass: (ms: number) => {
      now += ms
    },
  }
}

const AT = 'millrace/default/crm'
const values = (vault: SecretVault) => vault.resolve(T, [{ ref: 'crm' }])
const names = ({ messages }: ReturnType<typeof makeMemoryLog>) => messages.map(({ name }) => name)

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof AppError)) throw new Error('it was not refused', { cause: error })
  return `${error.code}: ${error.message}`
}

vaultConformance('hashicorp', async () => {
  const { vault } = await makeWorld()
  let count = 0
  return {
    vault,
    set: async (value) => {
      count += 1
      await vault.set(T, `secret-${count}`, value, SET)
      return { ref: `secret-${count}` }
    },
    missing: () => ({ ref: 'not-set' }),
  }
})

secretVaultConformance('hashicorp', async () => {
  const { vault, makeNode, pass } = await makeWorld()
  return { vault, another: () => makeNode(), pass }
})

describe('an entry', () => {
  test('[VA16] is one per tenant and name, below the prefix, with the value where users look for it', async () => {
    const { vault, server } = await makeWorld()
    await vault.set(T, 'crm', 'one', SET)
    await vault.set(T, 'crm', 'two', { ...SET, overlapMs: 60_000 })
    await vault.set(T, 'crm', 'three', { isPending: true, by: 'bob' })
    const held = (version: number, value: string) => ({
      version,
      value,
      fingerprint: fingerprintOf(T, 'crm', value),
    })
    expect(server.data(AT)).toEqual({
      ...held(2, 'two'),
      pending: held(3, 'three'),
      former: [{ ...held(1, 'one'), until: 1_060_000 }],
      updatedBy: 'bob',
    })
    await vault.set('acme' as TenantId, 'crm', 'theirs', SET)
    expect(server.data('millrace/acme/crm')?.value).toBe('theirs')
  })

  test('[VA17] that a user wrote directly works, has the version of its write, and keeps its other fields', async () => {
    const { vault, server, pass } = await makeWorld()
    server.put(AT, { value: 'by hand', note: 'ask Ada' })
    expect(await vault.current(T, 'crm')).toMatchObject({ version: 1, value: 'by hand' })
    expect(await vault.find(T, 'crm')).toMatchObject({
      version: 1,
      updatedBy: 'the vault',
      updatedAt: 1_000_000,
    })
    await vault.set(T, 'crm', 'next', { isPending: true, by })
    expect(server.data(AT)).toMatchObject({ value: 'by hand', version: 1, note: 'ask Ada' })
    // A user changes only the value, as `vault kv patch` does.
    server.put(AT, { ...server.data(AT), value: 'patched' })
    pass(5_000)
    expect(await vault.current(T, 'crm')).toMatchObject({ version: 3, value: 'patched' })
    expect(await vault.promote(T, 'crm', by)).toEqual({ version: 2 })
    server.put(AT, { value: 'by hand again', pending: 'waits' })
    expect([(await vault.pending(T, 'crm'))?.value, (await vault.find(T, 'crm'))?.version]).toEqual([
      'waits',
      5,
    ])
  })

  test('[VA17] without a string as its value is not set, or cannot be read, and the others are listed', async () => {
    const { vault, server, log } = await makeWorld()
    server.put(AT, { password: 'elsewhere' })
    server.put('millrace/default/number', { value: 7 })
    server.put('millrace/default/good', { value: 'x' })
    server.put('millrace/default/folder/below', { value: 'x' })
    expect(await values(vault)).toEqual([])
    expect(await refusal(vault.resolve(T, [{ ref: 'number' }]))).toMatch(
      /^secret_unreadable: .*number.*not a text/,
    )
    expect((await vault.list(T, { cursor: null, limit: 10 })).items.map(({ name }) => name)).toEqual(['good'])
    expect([...(await vault.names(T))]).toEqual(['good'])
    expect(names(log)).toContain('vault.unreadable')
  })

  test('[VA16] whose latest version was deleted does not exist, and can be set again', async () => {
    const { vault, server } = await makeWorld()
    await vault.set(T, 'crm', 'one', SET)
    server.softDelete(AT)
    expect([await vault.find(T, 'crm'), await vault.pending(T, 'crm')]).toEqual([null, null])
    expect(await refusal(vault.remove(T, 'crm', by))).toMatch(/^not_found/)
    expect(await vault.set(T, 'crm', 'two', { ...SET, expectedVersion: null })).toEqual({ version: 2 })
    expect(await values(vault)).toEqual(['two'])
  })

  test('[VA12] that changes between our read and our write is not overwritten', async () => {
    const { vault, server } = await makeWorld()
    await vault.set(T, 'crm', 'one', SET)
    server.beforeWrite = () => {
      server.beforeWrite = null
      server.put(AT, { value: 'theirs' })
    }
    expect(await refusal(vault.set(T, 'crm', 'ours', SET))).toMatch(/^conflict/)
    expect(server.data(AT)).toEqual({ value: 'theirs' })
  })

  test('[N11] no log line and no error contains a value or a token', async () => {
    const { vault, server, log, pass } = await makeWorld()
    await vault.set(T, 'crm', 'a hidden value', SET)
    await values(vault)
    pass(5_000)
    const said: string[] = []
    for (const state of ['sealed', 'new', 'standby', 'gone'] as const) {
      server.state = state
      said.push(await refusal(vault.set(T, 'crm', 'another hidden value', SET)))
      await values(vault)
      pass(5_000)
    }
    expect(JSON.stringify([said, log.messages])).not.toMatch(/hidden value|hvs\./)
  })
})

describe('a vault that is unavailable', () => {
  test.each([
    ['sealed', 'vault_sealed', /sealed/],
    ['new', 'vault_sealed', /not yet initialized/],
    ['standby', 'vault_unavailable', /points elsewhere/],
    ['gone', 'vault_unavailable', /does not answer/],
    ['silent', 'vault_unavailable', /nothing came within 50 ms/],
  ] as const)('[VA18] %s is its own error: %s', async (state, code, message) => {
    const { vault, server } = await makeWorld({ timeoutMs: 50 })
    server.state = state
    for (const ask of [
      () => values(vault),
      () => vault.pending(T, 'crm'),
      () => vault.set(T, 'crm', 'x', SET),
      () => vault.list(T, { cursor: null, limit: 1 }),
      () => vault.names(T),
      () => vault.remove(T, 'crm', by),
    ]) {
      const said = await refusal(ask())
      expect(said.split(':')[0]).toBe(code)
      expect(said).toMatch(message)
    }
  })

  test('[VA18] nothing listens at the address', async () => {
    const { vault, server } = await makeWorld()
    await server.close()
    expect(await refusal(values(vault))).toMatch(/^vault_unavailable: .*ECONNREFUSED/)
  })

  test('[VA18] an engine that is missing or of another kind is an error, not an unset secret', async () => {
    const { vault } = await makeWorld({ mount: 'kv' })
    for (const ask of [() => values(vault), () => vault.names(T), () => vault.set(T, 'crm', 'x', SET)])
      expect(await refusal(ask())).toMatch(/^vault_unavailable: .*MILLRACE_VAULT_MOUNT/)
  })

  test('[VA19] values that were read stay usable for a time, and the log says so; callers do not wait for the vault meanwhile', async () => {
    const { vault, server, log, pass } = await makeWorld({ staleMs: 60_000 })
    await vault.set(T, 'crm', 'one', SET)
    server.state = 'gone'
    pass(5_000)
    expect(await values(vault)).toEqual(['one'])
    expect(log.messages.filter(({ name }) => name === 'vault.away')).toMatchObject([
      { level: 'error', fields: { code: 'vault_unavailable', staleMs: 60_000 } },
    ])
    server.state = 'silent'
    const before = server.requests.length
    for (let index = 0; index < 50; index += 1) expect(await values(vault)).toEqual(['one'])
    expect(server.requests.length).toBe(before)
    pass(54_999)
    expect((await vault.current(T, 'crm'))?.value).toBe('one')
    server.state = 'sealed'
    pass(1_001)
    expect(await refusal(values(vault))).toMatch(/^vault_/)
    expect(names(log).filter((name) => name === 'vault.away')).toHaveLength(1)
  })

  test('[VA19] it is available again when it responds', async () => {
    const { vault, server, log, pass } = await makeWorld()
    await vault.set(T, 'crm', 'one', SET)
    server.state = 'sealed'
    pass(5_000)
    expect(await values(vault)).toEqual(['one'])
    server.put(AT, { value: 'two' })
    server.state = 'up'
    pass(1_000)
    // This call asks in the background; the next one sees the result.
    expect(await values(vault)).toEqual(['one'])
    expect((await vault.pending(T, 'crm'))?.value).toBeUndefined()
    await expect.poll(() => values(vault)).toEqual(['two'])
    expect(names(log)).toContain('vault.back')
  })

  test('[VA19] that a secret is not set is not taken from memory', async () => {
    const { vault, server, pass } = await makeWorld()
    expect(await values(vault)).toEqual([])
    server.state = 'sealed'
    expect(await values(vault)).toEqual([])
    pass(5_000)
    expect(await refusal(values(vault))).toMatch(/^vault_sealed/)
    expect(await refusal(values(vault))).toMatch(/^vault_sealed/)
    expect(server.requests.filter((one) => one.endsWith('/crm'))).toHaveLength(2)
  })

  test('[VA19] with a time of zero no value stays usable', async () => {
    const { vault, server, pass } = await makeWorld({ staleMs: 0 })
    await vault.set(T, 'crm', 'one', SET)
    server.state = 'sealed'
    expect(await values(vault)).toEqual(['one'])
    pass(5_000)
    expect(await refusal(values(vault))).toMatch(/^vault_sealed/)
  })

  test('[VA19] a vault that denies access is not away: no value stays usable', async () => {
    const { vault, server, pass } = await makeWorld()
    await vault.set(T, 'crm', 'one', SET)
    server.revoke(TOKEN)
    pass(5_000)
    expect(await refusal(values(vault))).toMatch(
      /^vault_denied: secret\/data\/millrace\/default\/crm: .*permission denied/,
    )
  })

  test('[VA18] a path that the policy does not permit is denied, by its name', async () => {
    const { vault } = await makeWorld({}, { allowed: /^millrace\/default\/crm$/ })
    await vault.set(T, 'crm', 'one', SET)
    expect(await refusal(vault.set(T, 'erp', 'one', SET))).toMatch(
      /^vault_denied: secret\/data\/millrace\/default\/erp/,
    )
  })
})

describe('authentication', () => {
  const login = { by: 'role', roleId: ROLE.roleId, secretId: ROLE.secretId } as const
  const logins = ({ requests }: { requests: string[] }) =>
    requests.filter((one) => one.includes('approle')).length
  const renewals = ({ requests }: { requests: string[] }) =>
    requests.filter((one) => one.includes('renew')).length

  test('[VA20] by a role: one login for all, renewed when two thirds of its life are over', async () => {
    const { vault, server, pass } = await makeWorld({ login }, { role: ROLE })
    await Promise.all(Array.from({ length: 20 }, (_, index) => vault.pending(T, `s-${index}`)))
    expect([logins(server), renewals(server)]).toEqual([1, 0])
    for (let minute = 0; minute < 10; minute += 1) {
      pass(40_000)
      await Promise.all([vault.pending(T, 'crm'), vault.pending(T, 'erp')])
    }
    expect([logins(server), renewals(server)]).toEqual([1, 10])
  })

  test('[VA20] by a role: a token that cannot be extended, has expired or was revoked is replaced', async () => {
    const { vault, server, pass } = await makeWorld({ login }, { role: { ...ROLE, mostS: 100 } })
    await vault.set(T, 'crm', 'one', SET)
    pass(40_000)
    await vault.pending(T, 'crm')
    pass(61_000)
    await vault.pending(T, 'crm')
    expect(logins(server)).toBe(2)
    server.revoke('hvs.role-2')
    expect((await vault.find(T, 'crm'))?.version).toBe(1)
    expect(logins(server)).toBe(3)
    pass(3_600_000)
    expect(await values(vault)).toEqual(['one'])
    expect(logins(server)).toBe(4)
  })

  test('[VA20] by an unknown role is denied', async () => {
    const { vault } = await makeWorld({ login: { ...login, secretId: 'wrong' } }, { role: ROLE })
    expect(await refusal(values(vault))).toMatch(
      /^vault_denied: auth\/approle\/login: invalid role or secret ID/,
    )
  })

  test('[VA20] by a token: renewed while it can be', async () => {
    const { vault, server, pass, log } = await makeWorld()
    server.give(TOKEN, { ttlS: 60, isRenewable: true, mostS: 100 })
    await vault.set(T, 'crm', 'one', SET)
    pass(40_000)
    await vault.pending(T, 'crm')
    expect(renewals(server)).toBe(1)
    pass(55_000)
    await vault.pending(T, 'crm')
    pass(5_000)
    expect(await refusal(vault.pending(T, 'crm'))).toMatch(/^vault_denied/)
    expect(names(log)).not.toContain('vault.logged-in')
  })

  test('[VA20] by a token: one that was first used at a sealed vault is renewed all the same', async () => {
    const { vault, server, pass } = await makeWorld()
    server.give(TOKEN, { ttlS: 60, isRenewable: true })
    server.state = 'sealed'
    expect(await refusal(vault.pending(T, 'crm'))).toMatch(/^vault_sealed/)
    server.state = 'up'
    expect(await vault.pending(T, 'crm')).toBeNull()
    pass(40_000)
    await vault.pending(T, 'crm')
    expect(renewals(server)).toBe(1)
  })

  test('[VA20] by a token that may not look itself up: used as it is', async () => {
    const { vault, server } = await makeWorld({}, { namespace: 'eu' })
    expect(await refusal(values(vault))).toMatch(/^vault_unavailable/)
    expect(server.requests[0]).toBe('GET auth/token/lookup-self')
  })

  test('[VA20] by a file: read again when its token is refused', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-token-'))
    const file = join(folder, 'token')
    try {
      const { vault, server } = await makeWorld({ login: { by: 'file', file } })
      expect(await refusal(values(vault))).toMatch(/^vault_denied: .*ENOENT/)
      await writeFile(file, '\n')
      expect(await refusal(values(vault))).toMatch(/^vault_denied: .*empty/)
      await writeFile(file, `${TOKEN}\n`)
      await vault.set(T, 'crm', 'one', SET)
      server.revoke(TOKEN)
      expect(await refusal(vault.pending(T, 'crm'))).toMatch(/^vault_denied/)
      server.give('hvs.next')
      await writeFile(file, 'hvs.next')
      expect((await vault.find(T, 'crm'))?.version).toBe(1)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  test('[VA20] into a namespace', async () => {
    const { vault, server } = await makeWorld({ namespace: 'eu/north' }, { namespace: 'eu/north' })
    await vault.set(T, 'crm', 'one', SET)
    expect(await values(vault)).toEqual(['one'])
    expect(server.headers()).toMatchObject({ 'x-vault-namespace': 'eu/north', 'x-vault-request': 'true' })
  })
})
