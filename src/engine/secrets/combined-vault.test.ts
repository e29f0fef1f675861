import { expect, test } from 'vitest'
import type {
  CredentialDocument,
  SecretRef,
  SubscriptionDocument,
} from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { Vault } from '../../ports/vault.ts'
import { ROUTE, SOURCE } from '../engine.fixture.ts'
import { combineVaults, unsetSecrets } from './combined-vault.ts'

test('each reference is resolved by its own vault, in one call if one vault has them all', async () => {
  const asked: string[] = []
  const vault = (name: string): Vault => ({
    resolve: async (_tenant, refs) => {
      asked.push(`${name} ${JSON.stringify(refs)}`)
      return refs.map((ref) => `${name}:${Object.values(ref)[0]}`)
    },
  })
  const both = combineVaults({ env: vault('env'), file: vault('file'), ref: vault('ref') })
  expect(await both.resolve(DEFAULT_TENANT, [{ ref: 'a' }, { ref: 'b' }])).toEqual(['ref:a', 'ref:b'])
  expect(await both.resolve(DEFAULT_TENANT, [{ env: 'A' }])).toEqual(['env:A'])
  expect(asked).toHaveLength(2)
  expect(await both.resolve(DEFAULT_TENANT, [])).toEqual([])
  expect(await both.resolve(DEFAULT_TENANT, [{ ref: 'a' }, { env: 'A' }, { ref: 'b' }])).toEqual([
    'ref:a',
    'env:A',
    'ref:b',
  ])
  expect(await both.resolve(DEFAULT_TENANT, [{ file: 'a' }, { ref: 'b' }, { file: 'c' }])).toEqual([
    'file:a',
    'ref:b',
    'file:c',
  ])
})

test('[VA9] [SL5] secrets that definitions name and the vault does not have are known at the start', () => {
  const subscription = (name: string, secret: SecretRef | null) =>
    ({ kind: 'Subscription', name, secret }) as SubscriptionDocument
  const source = (name: string, secret: readonly SecretRef[]) => ({
    ...SOURCE,
    name,
    verify: { scheme: 'github', secret } as const,
  })
  const documents = [
    SOURCE,
    ROUTE,
    source('one', [{ ref: 'there' }, { env: 'NOT_SET' }]),
    source('two', [{ ref: 'there' }, { ref: 'not-there' }]),
    subscription('three', { ref: 'nowhere' }),
    subscription('four', null),
    { kind: 'Credential', name: 'five', secret: { ref: 'not-there' } } as CredentialDocument,
    { kind: 'Credential', name: 'six', secret: { file: 'not-there' } } as CredentialDocument,
  ]
  expect(unsetSecrets(documents, new Set(['there']))).toEqual([
    { of: 'source', definition: 'two', name: 'not-there' },
    { of: 'subscription', definition: 'three', name: 'nowhere' },
    { of: 'credential', definition: 'five', name: 'not-there' },
  ])
})
