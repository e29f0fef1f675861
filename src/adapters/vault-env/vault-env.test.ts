import { expect, test } from 'vitest'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { vaultConformance } from '../../ports/vault.conformance.ts'
import { makeMemoryLog } from '../log-memory/index.ts'
import { makeEnvVault } from './index.ts'

vaultConformance('environment', async () => {
  const env: Record<string, string> = {}
  let count = 0
  return {
    vault: makeEnvVault({ env }),
    set: async (value) => {
      count += 1
      env[`SECRET_${count}`] = value
      return { env: `SECRET_${count}` }
    },
    missing: () => ({ env: 'NOT_SET' }),
  }
})

test('a default is used for a variable that is not set, and only then', async () => {
  const defaults = { A: 'default-a', B: 'default-b' }
  const vault = makeEnvVault({ env: { A: 'set', B: '' }, defaults })
  expect(await vault.resolve(DEFAULT_TENANT, [{ env: 'A' }, { env: 'B' }])).toEqual(['set', 'default-b'])
})

test('a definition cannot read the engine’s own settings as secrets', async () => {
  const vault = makeEnvVault({ env: { MILLRACE_ADMIN_KEY: 'k', Millrace_Admin_Key: 'k' } })
  const refs = [{ env: 'MILLRACE_ADMIN_KEY' }, { env: 'Millrace_Admin_Key' }]
  expect(await vault.resolve(DEFAULT_TENANT, refs)).toEqual([])
})

test('names of object methods are not set, and a vault entry is not found here', async () => {
  const vault = makeEnvVault({ env: {} })
  const refs = [{ env: 'constructor' }, { env: '__proto__' }, { ref: 'crm-signing' }]
  expect(await vault.resolve(DEFAULT_TENANT, refs)).toEqual([])
})

test('[VA10] the environment belongs to the node’s owner: for another tenant nothing is set', async () => {
  const vault = makeEnvVault({ env: { A: 'set' }, defaults: { B: 'default' } })
  const refs = [{ env: 'A' }, { env: 'B' }]
  expect(await vault.resolve(DEFAULT_TENANT, refs)).toEqual(['set', 'default'])
  expect(await vault.resolve('acme' as TenantId, refs)).toEqual([])
})

test('[VA23] without a list, names that usually hold secrets of the machine are not set, and the log names each once', async () => {
  const log = makeMemoryLog()
  const env = { AWS_SECRET_ACCESS_KEY: 'k', PGPASSWORD: 'k', node_auth: 'k', STRIPE_KEY: 's' }
  const vault = makeEnvVault({ env, log })
  for (const name of ['AWS_SECRET_ACCESS_KEY', 'PGPASSWORD', 'node_auth', 'PGPASSWORD'])
    expect(await vault.resolve(DEFAULT_TENANT, [{ env: name }]), name).toEqual([])
  expect(await vault.resolve(DEFAULT_TENANT, [{ env: 'STRIPE_KEY' }])).toEqual(['s'])
  expect(log.messages.map(({ name, fields }) => `${name} ${fields.name}`)).toEqual([
    'vault.env-refused AWS_SECRET_ACCESS_KEY',
    'vault.env-refused PGPASSWORD',
    'vault.env-refused node_auth',
  ])
})

test('[VA23] with a list, only listed names are set, and never a setting of the node', async () => {
  const env = { STRIPE_KEY: 's', AWS_SES: 'a', OTHER: 'o', STRIPE: 'x', MILLRACE_ADMIN_KEY: 'k' }
  const vault = makeEnvVault({ env, names: ['STRIPE_*', 'AWS_SES', 'MILLRACE_ADMIN_KEY'] })
  const names = Object.keys(env).map((name) => ({ env: name }))
  expect(await vault.resolve(DEFAULT_TENANT, names)).toEqual(['s', 'a'])
})
