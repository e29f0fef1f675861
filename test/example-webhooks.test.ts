// The example of webhooks: what is written holds, and its receiver takes what we sign and nothing else.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { signDelivery } from '../src/core/signing/index.ts'
import { compileDefinitions } from '../src/definitions/index.ts'
import { startCrm } from './support/examples.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

test('[SL1] the example is sound: only its address is for a node to judge', () => {
  const path = 'examples/webhooks/shop.yaml'
  const text = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
  const { documents, findings } = compileDefinitions([{ path, text }], { functions: () => null })
  expect(documents.map(({ kind, name }) => `${kind}/${name}`)).toEqual(['Source/shop', 'Subscription/crm'])
  expect(findings).toMatchObject([{ rule: 'SL6', severity: 'warning' }])
})

test('its receiver takes what is signed with its secret, once, and refuses the rest', async () => {
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
    // While secrets overlap, either will do.
    expect(await send([other, SECRET], 2)).toBe(200)
    expect([await send([SECRET], 3), await send([SECRET], 3)]).toEqual([503, 200])
    expect(crm.received.map(({ order }) => order.id)).toEqual([1, 2, 3])
  } finally {
    await crm.close()
  }
})
