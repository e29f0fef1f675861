import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runCli } from '../cli.fixture.ts'

const flows = mkdtempSync(join(tmpdir(), 'millrace-check-'))
afterAll(() => rmSync(flows, { recursive: true }))
writeFileSync(
  join(flows, 'a.yaml'),
  `kind: Source
name: stripe
verify: { scheme: stripe, secret: { env: STRIPE_HOOK } }
subjects: stripe
---
kind: Source
name: orders
nats: { stream: ORDERS, subjects: [orders.>] }
subjects: orders
`,
)

const check = async (env: Record<string, string>) => {
  const { stdout, stderr } = await runCli(['check', flows], { env })
  return stdout + stderr
}

test('a check reports on variables and streams what a node with the same environment would report', async () => {
  const bus = { MILLRACE_ENV: 'PROD', MILLRACE_NATS_URL: 'tls://a.example' }
  const refused = await check(bus)
  expect(refused).toContain('MILLRACE_SECRET_ENV')
  expect(refused).toContain('MILLRACE_NATS_STREAMS')
  const allowed = await check({
    ...bus,
    MILLRACE_SECRET_ENV: 'STRIPE_*',
    MILLRACE_NATS_STREAMS: 'default=ORDERS',
  })
  expect(allowed).not.toContain('MILLRACE_SECRET_ENV')
  expect(allowed).not.toContain('MILLRACE_NATS_STREAMS')
  expect(await check({ ...bus, MILLRACE_NATS_STREAMS: '=' })).toContain('MILLRACE_NATS_STREAMS cannot be')
})
