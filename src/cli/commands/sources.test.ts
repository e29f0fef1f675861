import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from '../../app.ts'
import { resolveConfig } from '../../config/index.ts'
import { runCli } from '../cli.fixture.ts'

const FLOWS = `kind: Source
name: stripe
verify: { scheme: stripe, secret: { env: STRIPE_SECRET } }
subjects: stripe
---
kind: Source
name: both
verify: { scheme: none }
subject: "both.events.{{ payload.type }}"
event: { id: payload.id }
catalog:
  subjects:
    - { subject: both.events.paid, description: It was paid., example: { id: b-1, type: paid } }
    - { subject: both.events.lost, example: { id: b-2, type: lost } }
---
kind: Source
name: shopify
verify: { scheme: shopify, secret: { env: SHOPIFY_SECRET } }
subjects: shopify
---
kind: Route
name: both
on: [both.events.paid]
do: { emit: both.announced }
`
const data = mkdtempSync(join(tmpdir(), 'millrace-sources-'))
const secrets = { STRIPE_SECRET: 'whsec_test', SHOPIFY_SECRET: 'shpss_test' }
let app: App
beforeAll(async () => {
  writeFileSync(join(data, 'flows.yaml'), FLOWS)
  const env = {
    ...secrets,
    MILLRACE_DATA: data,
    MILLRACE_PORT: '0',
    MILLRACE_FLOWS: data,
    MILLRACE_LOG: join(data, 'log.jsonl'),
  }
  const resolved = resolveConfig(env)
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
  app = await startApp({ config: resolved.config, env })
})
afterAll(async () => {
  await app?.close()
  rmSync(data, { recursive: true })
})

const run = (args: readonly string[], stdin?: string) =>
  runCli(args, {
    env: { ...secrets, MILLRACE_DATA: data, MILLRACE_URL: app.url },
    ...(stdin !== undefined && { stdin }),
  })
async function ask<Answer>(line: string, stdin?: string): Promise<Answer> {
  const { code, stdout, stderr } = await run([...line.split(' '), '--json'], stdin)
  expect({ line, code, stderr }).toEqual({ line, code: 0, stderr: '' })
  return JSON.parse(stdout) as Answer
}
interface Sent {
  readonly eventId: string
  readonly duplicate: boolean
}
const subjectOf = async (id: string) => (await ask<{ subject: string }>(`events ${id}`)).subject

test('[LI6] send has an example for another vendor’s source, and for a custom one', async () => {
  const stripe = await ask<Sent>('send stripe --event invoice.paid')
  expect(await subjectOf(stripe.eventId)).toBe('stripe.events.invoice.paid')
  const shopify = await ask<Sent>('send shopify --event orders.create')
  expect(await subjectOf(shopify.eventId)).toBe('shopify.events.orders.create')
  const own = await ask<Sent>('send both --event lost')
  expect(await subjectOf(own.eventId)).toBe('both.events.lost')
  // An example that is sent again is another event; by default, it is one that a route matches.
  expect((await ask<Sent>('send stripe --event invoice.paid')).duplicate).toBe(false)
  expect(await subjectOf((await ask<Sent>('send both')).eventId)).toBe('both.events.paid')
  const misspelt = await run(['send', 'stripe', '--event', 'invoice.payed'])
  expect(misspelt.stderr).toContain('Did you mean stripe.events.invoice.paid?')
  const unknown = await run(['send', 'both', '--event', 'nonsense'])
  expect(unknown).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('both.events.lost, both.events.paid'),
  })
  const refused = await run(['send', 'stripe', '--event', 'invoice.paid', '--secret', 'another'])
  expect(refused).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('STRIPE_SECRET') })
})

test('[LI7] publish keeps digits, and accepts an id once', async () => {
  const made = await ask<Sent>('publish both.events.paid --data - --id p-1', '{"n":9007199254740993}')
  expect(made.duplicate).toBe(false)
  expect((await run(['events', made.eventId, '--json'])).stdout).toContain('9007199254740993')
  expect(await ask<Sent>('publish both.events.paid --id p-1')).toMatchObject({
    eventId: made.eventId,
    duplicate: true,
  })
  const file = join(data, 'data.json')
  writeFileSync(file, '{"from":"a file"}')
  const told = await run(['publish', 'both.events.paid', '--data', `@${file}`])
  expect(told.stdout).toMatch(/^evt_\S+\nhttp:\S+\/events\/evt_\S+\n$/)
  expect(await run(['publish', 'both.events.paid', '--data', 'text'])).toMatchObject({ code: 2, stdout: '' })
  expect(await run(['publish', 'not a subject'])).toMatchObject({ code: 1, stdout: '' })
})

test('[LI8] rejections, the catalog, and a replay of events after a preview', async () => {
  await fetch(`${app.url}/in/default/both`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: 'secret text that is not JSON',
  })
  const rejections = await run(['rejections', '--source', 'both'])
  expect(rejections.stdout).toMatch(/^COUNT +SOURCE +REASON +LATEST\n +1 +both +not_json /)
  expect(rejections.stdout).toMatch(/both +not_json +400 +127\.0\.0\.1/)
  expect(rejections.stdout).not.toContain('secret text')
  const catalog = await ask<{ items: { subject: string }[] }>('catalog --source both')
  expect(catalog.items.map(({ subject }) => subject)).toContain('both.events.paid')
  const shown = await run(['catalog', 'both.events.paid'])
  expect(shown.stdout).toMatch(/^routes +both$/m)
  expect(shown.stdout).toContain('"type": "paid"')
  expect((await run(['catalog', 'nobody.publishes.it'])).code).toBe(6)
  const count = async (line: string) => (await ask<{ items: object[] }>(line)).items.length
  expect(await count('events --source both --from 1h')).toBeGreaterThan(0)
  expect(await count('events --source both --to 1h')).toBe(0)
  expect(await count('events --correlation nobody')).toBe(0)
  expect((await run(['events', '--from', 'soon'])).code).toBe(2)

  expect((await run(['replay', 'events'])).code).toBe(2)
  const asked = await run(['replay', 'events', '--subject', 'both.events.paid', '--from', '1h'])
  expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  expect(asked.stdout).toMatch(/^ID +SUBJECT +CONSUMER +VERDICT +WHY/)
  expect(asked.stdout).toContain('would-skip')
  const done = await run(['replay', 'events', '--subject', 'both.events.paid', '--from', '1h', '--yes'])
  expect(done).toMatchObject({ code: 0, stdout: expect.stringMatching(/replayed +3 of 3/) })
})

test('[LI9] an ambiguous name is asked about; both can be named', async () => {
  const unclear = await run(['pause', 'both'])
  expect(unclear).toMatchObject({ code: 2, stderr: expect.stringContaining('source/both') })
  expect((await run(['pause', 'source/both', '--reason', 'a test'])).stdout).toBe('Source both is paused\n')
  expect((await ask<Sent>('send both --event paid')).duplicate).toBe(false)
  expect((await run(['disable', 'source/both'])).stdout).toBe('Source both is disabled\n')
  expect((await run(['send', 'both', '--event', 'paid'])).code).toBe(6)
  expect((await run(['resume', 'source/both'])).stdout).toBe('Source both is active\n')
  expect((await run(['pause', 'route/nothing'])).code).toBe(6)
})
