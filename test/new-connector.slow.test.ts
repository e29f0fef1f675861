// `npm run new connector` in its own folder: its output passes the suite unchanged, and is listed.

import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')
let folder: string
let connectors: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-new-'))
  connectors = join(folder, 'src/connectors')
  mkdirSync(join(folder, 'src'))
  cpSync(join(root, 'src/connectors'), connectors, { recursive: true })
  for (const part of ['node_modules', 'test', 'src/core', 'src/ports', 'src/adapters'])
    symlinkSync(join(root, part), join(folder, part))
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    'export default { test: { include: ["src/**/*.test.ts"] } }',
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  return new Promise((done) => {
    execFile(process.execPath, args, { cwd: folder }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code ?? 1), text: stdout + stderr }),
    )
  })
}

const make = (...args: readonly string[]) =>
  run([join(root, 'scripts/new.mjs'), ...args, '--into', connectors])

test('[VN17] a new connector passes the suite unchanged, and is listed', async () => {
  const made = await make('connector', 'big-crm')
  expect(made).toMatchObject({ code: 0, text: expect.stringContaining('big-crm.test.ts') })
  const index = readFileSync(join(connectors, 'index.ts'), 'utf8')
  expect(index.match(/bigCrm/g)).toHaveLength(2)
  expect(index).toContain(
    "import type { ProviderDocument } from '../core/definitions/documents/index.ts'\nimport { bigCrm } from './big-crm/manifest.ts'\n",
  )
  const manifest = readFileSync(join(connectors, 'big-crm/manifest.ts'), 'utf8')
  expect(manifest).toContain("name: 'big-crm'")
  expect(manifest).toContain("title: 'Big Crm'")
  expect(manifest).not.toMatch(/acme/i)

  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const tested = await run([vitest, 'run', '--root', folder, 'src/connectors/big-crm'])
  expect(tested.text).toMatch(/Tests.+ passed/)
  expect(tested.text).not.toMatch(/failed/)
  expect(tested.code).toBe(0)
})

test.each([
  [['connector'], 'usage'],
  [['screen', 'x'], 'usage'],
  [['connector', 'Big_CRM'], 'cannot name a connector'],
  [['connector', 'github'], 'is there already'],
])('[VN17] %j is refused and changes nothing', async (args, why) => {
  const before = readFileSync(join(connectors, 'index.ts'), 'utf8')
  const refused = await run([
    join(root, 'scripts/new.mjs'),
    ...args,
    ...(args.length > 1 ? ['--into', connectors] : []),
  ])
  expect(refused.code).toBe(1)
  expect(refused.text).toContain(why)
  expect(readFileSync(join(connectors, 'index.ts'), 'utf8')).toBe(before)
})
