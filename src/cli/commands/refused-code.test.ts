import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from '../../app.ts'
import { resolveConfig } from '../../config/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { runCli } from '../cli.fixture.ts'

const BOOK = `import { defineFunction, defineRoute } from 'millrace'
export const book = defineFunction({ name: 'book', run: () => null })
export default defineRoute({ name: 'book', on: 'shop.paid', do: book.with({}) })
`
const root = mkdtempSync(join(tmpdir(), 'millrace-refused-code-'))
const data = join(root, 'data')
let app: App
let hash: string

async function start(): Promise<App> {
  const env = {
    MILLRACE_DATA: data,
    MILLRACE_PORT: '0',
    MILLRACE_FLOWS: root,
    MILLRACE_LOG: join(root, 'log.jsonl'),
  }
  const resolved = resolveConfig(env)
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
  return startApp({ config: resolved.config, env })
}

beforeAll(async () => {
  writeFileSync(join(root, 'book.ts'), BOOK)
  const former = await start()
  const names = { kind: 'code', prefix: 'hash/', cursor: null, limit: 10 } as const
  const [stored] = (await former.store.forTenant(DEFAULT_TENANT).records(names)).items
  hash = stored?.key.slice('hash/'.length) ?? ''
  const { signature: _, ...unsigned } = JSON.parse(stored?.body ?? '{}')
  await former.store.commit({
    tenant: DEFAULT_TENANT,
    guards: [],
    writes: [
      {
        ...{ w: 'record.put', kind: 'code', key: `hash/${hash}`, version: 1 },
        body: JSON.stringify(unsigned),
      },
    ],
  })
  await former.close()
  // Its file is gone: deploying it again is not possible.
  rmSync(join(root, 'book.ts'))
  app = await start()
})
afterAll(async () => {
  await app?.close()
  rmSync(root, { recursive: true })
})

const run = (...args: readonly string[]) =>
  runCli(args, { env: { MILLRACE_DATA: data, MILLRACE_URL: app.url } })
const ready = async () =>
  (await (await fetch(`${app.url}/readyz`)).json()) as {
    status: string
    notes?: string[]
    checks: Record<string, string>
  }

test('[FN30] refused code is listed, read and signed from the command line', async () => {
  expect(await ready()).toMatchObject({
    status: 'ready',
    notes: [expect.stringContaining('millrace sign-code')],
    checks: { code: 'refused' },
  })
  const listed = await run('refused-code')
  expect(listed).toMatchObject({ code: 0 })
  expect(listed.stdout).toContain(`${hash}  book.ts`)
  expect(listed.stdout).toContain('it is not signed')
  expect(listed.stdout).toContain('used by: default/Route/book')
  expect((await run('refused-code', hash)).stdout).toContain('defineFunction')

  expect(await run('sign-code', hash)).toMatchObject({ code: 2, stderr: expect.stringContaining('--reason') })
  expect(await run('sign-code', 'ab'.repeat(32), '--reason', 'a guess')).toMatchObject({ code: 6 })
  expect((await ready()).checks).toMatchObject({ code: 'refused' })

  const signed = await run('sign-code', hash, '--reason', 'the former version stored it')
  expect(signed).toMatchObject({ code: 0, stdout: 'signed: its jobs continue\n' })
  expect((await run('refused-code')).stdout).toBe('No code is refused.\n')
  expect((await run('refused-code', hash)).stderr).toContain('no refused code has this hash')
  const after = await ready()
  expect([after.status, after.notes, after.checks.code]).toEqual(['ready', undefined, undefined])
})
