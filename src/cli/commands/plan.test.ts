import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from '../../app.ts'
import { type Config, resolveConfig } from '../../config/index.ts'
import { renderBanner } from '../banner.ts'
import { runCli } from '../cli.fixture.ts'

const SOURCE = `kind: Source
name: shop
verify: { scheme: none }
subject: "shop.{{ payload.type }}"
---
kind: Source
name: stripe
verify: { scheme: stripe, secret: [{ ref: stripe-hook }, { env: STRIPE_HOOK }] }
subjects: stripe
`
const CODE = `import { defineFunction, defineRoute } from 'millrace'
export const book = defineFunction({ name: 'book', async run() { return {} } })
export const route = defineRoute({ name: 'book_order', on: 'shop.paid', key: "'B:' + string(payload.id)", do: { function: 'book' } })
`
const root = mkdtempSync(join(tmpdir(), 'millrace-plan-'))
const flows = join(root, 'flows')
const data = join(root, 'data')
let app: App
let config: Config

beforeAll(async () => {
  mkdirSync(flows)
  writeFileSync(join(flows, 'shop.yaml'), SOURCE)
  writeFileSync(join(flows, 'book.ts'), CODE)
  const env = {
    MILLRACE_DATA: data,
    MILLRACE_PORT: '0',
    MILLRACE_FLOWS: flows,
    MILLRACE_LOG: join(root, 'log.jsonl'),
  }
  const resolved = resolveConfig(env)
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
  config = resolved.config
  app = await startApp({ config, env })
})
afterAll(async () => {
  await app?.close()
  rmSync(root, { recursive: true })
})

const run = (line: string) =>
  runCli(line.split(' '), { env: { MILLRACE_DATA: data, MILLRACE_URL: app.url, MILLRACE_FLOWS: flows } })

test('[VA50] a node names unset secrets when it starts', async () => {
  const missing = [
    'the secret `stripe-hook` is not set, and Source/stripe needs it',
    'the environment variable `STRIPE_HOOK` is not set, and Source/stripe needs it',
  ]
  expect(app.definitions.missing).toEqual(missing)
  const banner = renderBanner(app, config, { link: null, command: 'millrace' })
  for (const line of missing) expect(banner).toContain(line)
})

test('[VA50] `check` names environment variables that are not set here', async () => {
  expect((await run('check')).stdout).toContain('the environment variable `STRIPE_HOOK` is not set')
})

test('[DV52] a plan of the node’s own folder includes its TypeScript, and is not refused', {
  timeout: 60_000,
}, async () => {
  const same = await run('plan')
  expect(same.stdout).toContain('Nothing changes; 3 definitions stay as they are.')
  writeFileSync(join(flows, 'shop.yaml'), SOURCE.replace('subject:', 'description: Ours.\nsubject:'))
  writeFileSync(join(flows, 'book.ts'), CODE.replace('shop.paid', 'shop.ordered'))
  const changed = await run('plan')
  expect(changed.stdout).toContain('~ update Source shop')
  expect(changed.stdout).toContain('~ update Route book_order')
  expect(changed.stdout).toContain('The folder of the node defines these')
  expect(changed.code).toBe(0)
  writeFileSync(join(flows, 'book.ts'), 'export const x = ')
  const broken = await run('plan')
  expect(broken.stdout).toContain('FN1')
  expect(broken.code).not.toBe(0)
})

test('[VA50] and writes one log line for each', async () => {
  await app.close()
  const lines = readFileSync(join(root, 'log.jsonl'), 'utf8').split('\n')
  const told = lines.filter((line) => line.includes('"secret.not-set"'))
  expect(told).toHaveLength(2)
  expect(told[0]).toContain('Source/stripe')
})
