// The example of webhooks: its definitions are valid, and its receiver accepts what we sign and nothing else.

import { createHmac } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startApp } from '../src/app.ts'
import { resolveConfig } from '../src/config/index.ts'
import { signDelivery } from '../src/core/webhooks/signing/index.ts'
import { compileDefinitions } from '../src/definitions/language.ts'
import { startCrm } from './support/examples.ts'
import { GROUNDS, makeStores } from './support/stores.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

const stores = makeStores()
afterAll(() => stores.close())

test('[SL1] the example is valid: only a node can judge its address', () => {
  const path = 'examples/webhooks/shop.yaml'
  const text = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
  const { documents, findings } = compileDefinitions([{ path, text }], { functions: () => null })
  expect(documents.map(({ kind, name }) => `${kind}/${name}`)).toEqual(['Source/shop', 'Subscription/crm'])
  expect(findings).toMatchObject([{ rule: 'SL6', severity: 'warning' }])
})

test('its receiver accepts what is signed with its secret, once, and refuses the rest', async () => {
  const crm = await startCrm(SECRET)
  const send = async (secrets: readonly string[], order: number, id = `evt_${order}`) => {
    const body = JSON.stringify({
      what: 'shop.events.order.paid',
      order: { id: order, total: 250 },
      customer: 'C-1',
    })
    const timestamp = Math.floor(Date.now() / 1000)
    const headers = signDelivery({ signing: 'standard', secrets, id, timestamp, body })
    const { status } = await fetch(`${crm.url}/hooks`, { method: 'POST', body, headers })
    return status
  }
  try {
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
    expect([await send([other], 1), await send([SECRET], 1), await send([SECRET], 1)]).toEqual([
      401, 200, 200,
    ])
    // While secrets overlap, either is accepted.
    expect(await send([other, SECRET], 2)).toBe(200)
    expect([await send([SECRET], 3), await send([SECRET], 3)]).toEqual([503, 200])
    expect(crm.received.map(({ order }) => order.id)).toEqual([1, 2, 3])
  } finally {
    await crm.close()
  }
})

test.each(GROUNDS)('a node on %s sends it the orders that match, without sensitive data', async (ground) => {
  await using store = await stores.make(ground)
  const crm = await startCrm(SECRET)
  const data = mkdtempSync(join(tmpdir(), 'millrace-example-'))
  const flows = join(data, 'flows')
  mkdirSync(flows)
  const text = readFileSync(new URL('../examples/webhooks/shop.yaml', import.meta.url), 'utf8')
  writeFileSync(join(flows, 'shop.yaml'), text.replace('http://127.0.0.1:4503', crm.url))
  const env = {
    MILLRACE_DATA: data,
    MILLRACE_PORT: '0',
    MILLRACE_FLOWS: flows,
    MILLRACE_LOG: join(data, 'log.jsonl'),
    SHOP_SECRET: 'shop-secret',
    ...store.env,
  }
  const config = resolveConfig(env)
  if (!config.ok) throw new Error(JSON.stringify(config.findings))
  const app = await startApp({ config: config.config, env })
  try {
    const set = await fetch(`${app.url}/v1/secrets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.adminKey.value}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'crm-signing', value: SECRET }),
    })
    expect(set.ok).toBe(true)
    for (const [id, total] of [
      [7, 250],
      [8, 20],
    ]) {
      const customer = { number: 'C-1', email: 'ann@example.com' }
      const body = JSON.stringify({ id: `e-${id}`, status: 'paid', order: { id, total }, customer })
      const signature = createHmac('sha256', 'shop-secret').update(body).digest('hex')
      const headers = { 'content-type': 'application/json', 'x-shop-signature': signature }
      expect((await fetch(`${app.url}/in/default/shop`, { method: 'POST', headers, body })).status).toBe(202)
    }
    // Before the drain: what is not published by then is left to the node's next start.
    await store.told()
    expect(await app.engine.drain(10_000)).toEqual({ left: 0 })
    expect(crm.received).toEqual([
      {
        id: expect.stringMatching(/^evt_/),
        what: 'shop.events.order.paid',
        order: { id: 7, total: 250 },
        customer: 'C-1',
      },
    ])
  } finally {
    await app.close()
    await crm.close()
    rmSync(data, { recursive: true })
  }
})
