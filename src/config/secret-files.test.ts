import { expect, test } from 'vitest'
import { readSecretFiles, resolveConfig } from './index.ts'

const files: Readonly<Record<string, string>> = {
  '/run/secrets/store': 'postgres://me:word@db/hooks?sslmode=verify-full\n',
  '/run/secrets/empty': '\n',
}
const read = (path: string) => {
  const text = files[path]
  if (text === undefined) throw Object.assign(new Error('gone'), { code: 'ENOENT' })
  return text
}

test('[DE2] a secret is read from the named file, without its final line break', () => {
  const given = { MILLRACE_STORE_FILE: '/run/secrets/store', MILLRACE_ENV: 'PROD' }
  const { env, findings } = readSecretFiles(given, read)
  expect(findings).toEqual([])
  const resolved = resolveConfig(env)
  expect(resolved).toMatchObject({
    ok: true,
    config: { store: { kind: 'postgres', url: 'postgres://me:word@db/hooks?sslmode=verify-full' } },
    warnings: [],
  })
})

test.each([
  [{ MILLRACE_STORE_FILE: '/none' }, /\/none cannot be read \(ENOENT\); name a file that is there/],
  [{ MILLRACE_MASTER_KEY_FILE: '/run/secrets/empty' }, /is empty/],
  [{ MILLRACE_STORE_FILE: '/run/secrets/store', MILLRACE_STORE: './a.db' }, /MILLRACE_STORE is set as well/],
])('[DE2] a contradictory setting stops the start: %j', (env, message) => {
  const { findings } = readSecretFiles(env, read)
  expect(findings).toEqual([{ setting: Object.keys(env)[0], message: expect.stringMatching(message) }])
})

test('[DE2] a setting that is not a secret is not read from files, and one whose own name ends so stays as it is', () => {
  const env = { MILLRACE_PORT_FILE: '/none', MILLRACE_VAULT_TOKEN_FILE: '/none' }
  expect(readSecretFiles(env, read)).toEqual({ env, findings: [] })
})
