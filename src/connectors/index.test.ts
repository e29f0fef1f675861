import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BUILT_IN_PROVIDERS } from './index.ts'

const guide = readFileSync(join(import.meta.dirname, '../../docs/connectors.md'), 'utf8')

test('[VN3] the connectors are in the order of their names, each once', () => {
  const names = BUILT_IN_PROVIDERS.map(({ name }) => name)
  expect(names).toEqual([...new Set(names)].sort())
})

test.each(BUILT_IN_PROVIDERS.map((provider) => [provider.name, provider] as const))(
  '[VN22] the guide describes %s, its credentials and its operations, and how each is repeated',
  (name, { auth, operations }) => {
    const ways = auth.map((model) => `\`${model}\``).join(', ')
    const calls = Object.values(operations).map((one) => `\`${one.name}\` (${one.idempotency})`)
    expect(guide).toContain(`| \`${name}\` | ${ways} | ${calls.join(', ')} |`)
  },
)
