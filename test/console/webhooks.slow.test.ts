// Outbound webhooks in a real browser against the real node, with an endpoint that works, fails, is gone and comes
// back.

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verify } from '../../src/sdk/client/index.ts'
import { axeFindings, shareBrowser, signedIn } from '../support/browser.ts'
import { type Endpoint, startEndpoint } from '../support/endpoint.ts'
import { openShop, type Shop } from '../support/shop.ts'

const PHONE = { width: 390, height: 844 }
const DESK = { width: 1440, height: 900 }

let browser: Browser
let shop: Shop
let endpoint: Endpoint
beforeAll(async () => {
  endpoint = await startEndpoint()
  const more = () => `kind: Subscription
name: warehouse
description: Refunds, for whoever packs.
url: "${endpoint.url}/warehouse"
on: [shop.events.order.refunded]
metadata: { owner: logistics }
`
  ;[browser, shop] = await Promise.all([shareBrowser(), openShop({ more })])
})
afterAll(async () => {
  await shop?.[Symbol.asyncDispose]()
  await endpoint?.[Symbol.asyncDispose]()
})

/** Light, dark, and no wider than a phone. */
async function look(page: Page, what: string): Promise<void> {
  expect([what, await axeFindings(page)]).toEqual([what, []])
  await page.setViewportSize(PHONE)
  const width = () => page.evaluate<number>('document.documentElement.scrollWidth')
  await expect.poll(width, { message: what }).toBe(PHONE.width)
  await page.setViewportSize(DESK)
}

const gotAt = (path: string) => endpoint.got.filter((one) => one.path === path)

async function confirm(page: Page, button: string, reason: string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(/^Reason/).fill(reason)
  await dialog.getByRole('button', { name: button, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}

let secret = ''

test('[CN16] [CN17] [CN18] [CN23] a subscription is created: findings at their fields, the secret once, and a test that arrives', async () => {
  await using made = await signedIn(browser, shop.node, '/subscriptions')
  const { page } = made
  await page
    .getByRole('link', { name: /warehouse/ })
    .getByText('folder')
    .waitFor()
  await page.getByRole('button', { name: 'New subscription' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByText('Where to? Begin with https://.').waitFor()
  await dialog.getByText('Which subjects? At least one.').waitFor()
  const url = dialog.getByLabel('Endpoint')
  const subjects = dialog.getByLabel('Subjects', { exact: true }).last()
  await url.fill('https://192.0.2.1/hooks')
  await subjects.fill('shop.events.order.paid')
  await dialog.getByText('Condition, body, headers, pace, owner').click()
  await dialog.getByLabel('Condition').fill('payload.order.total >')
  await dialog.getByLabel('Headers').fill('host: elsewhere')
  await dialog.getByRole('button', { name: 'Create' }).click()
  const findings = () => dialog.locator('.field__error').allTextContents()
  await expect.poll(findings).toHaveLength(2)
  await dialog.getByLabel('Condition').fill('payload.order.total > 10')
  await dialog.getByLabel('Headers').fill('x-team: crm')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await expect.poll(findings).toEqual([expect.stringContaining('MILLRACE_OUTBOUND_ALLOW')])
  await dialog.getByLabel('Owner and other notes').fill('owner: sales')
  await look(page, 'the form')
  await url.fill(`${endpoint.url}/crm?token=t0ken`)
  await dialog.getByLabel('Name').fill('crm')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByText('It is shown this once.').waitFor()
  await dialog.getByRole('region', { name: 'How to verify' }).getByText('verify(body').waitFor()
  secret = (await dialog.locator('.command code').textContent()) ?? ''
  expect(secret).toMatch(/^whsec_/)
  await look(page, 'the secret')
  await dialog.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByRole('heading', { name: 'crm' }).getByText('active').waitFor()
  expect(await page.content()).not.toContain(secret)

  await page.getByRole('button', { name: 'Send a test' }).click()
  await dialog.getByText('arrived', { exact: true }).waitFor()
  await dialog.getByText('HTTP 204').waitFor()
  await dialog.getByRole('region', { name: 'Request' }).getByText('webhook-signature').waitFor()
  await look(page, 'the test')
  const [call] = gotAt('/crm')
  expect(verify(call!.body, call!.headers, secret)).toMatchObject({ type: 'webhook.test' })
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  expect(made.complaints).toEqual([])
})

test('[CN16] [CN19] [CN20] [CN22] a failing endpoint shows as failing, one that is gone as disabled, each with what to do', async () => {
  // One attempt is the limit.
  const patched = await fetch(`${shop.node.url}/v1/webhooks/subscriptions/crm`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${shop.node.adminKey}`, 'content-type': 'application/json' },
    body: '{"retry":{"attempts":1,"delays":[]}}',
  })
  expect(patched.status).toBe(200)
  await using made = await signedIn(browser, shop.node, '/subscriptions/crm')
  const { page } = made
  const deliveries = page.getByRole('list', { name: 'Deliveries' }).getByRole('link')
  await page.getByText('Nothing was sent yet').waitFor()
  endpoint.answer('/crm', 500, '{"error":"the cellar is flooded"}')
  const failed = await shop.order('crm-1')
  await deliveries.filter({ hasText: 'dead' }).waitFor()
  await page.getByText('Deliveries fail.').waitFor()
  await page.getByText(/It disables itself in 4 d if nothing arrives until then/).waitFor()
  await page
    .getByRole('navigation', { name: 'Main' })
    .getByRole('link', { name: /Subscriptions/ })
    .getByText('1')
    .waitFor()
  await look(page, 'a failing subscription')

  await deliveries.first().click()
  await page.getByText('Attempt 1: Dead-lettered').waitFor()
  await page.getByRole('region', { name: 'Answer to attempt 1' }).getByText('the cellar is flooded').waitFor()
  await page.getByRole('region', { name: 'Body of the request' }).getByText('"crm-1"').waitFor()
  await look(page, 'a delivery')
  await page.getByRole('link', { name: failed }).click()
  await page.getByText('Matched 2 routes and 1 subscription').waitFor()
  await page.getByRole('link', { name: 'crm', exact: true }).click()

  endpoint.answer('/crm', 410)
  await shop.order('crm-2')
  await page.getByText('the endpoint responded 410, which means that it wants no more events').waitFor()
  expect(await page.getByRole('button', { name: 'Recover' }).count()).toBe(0)
  await shop.order('crm-3')
  await deliveries.filter({ hasText: 'skipped' }).waitFor()
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('link', { name: /crm is disabled: it answered 410/ }).waitFor()
  await page.goto(`${shop.node.url}/subscriptions?status=disabled`)
  const row = page.getByRole('list', { name: 'Subscriptions' }).getByRole('link')
  await row.getByText('it answered 410').waitFor()
  await row.getByText('2 failed').waitFor()
  await look(page, 'the list')
  await page.getByLabel('Search subscriptions').fill('nobody')
  await page.getByText('None is disabled').waitFor()
  expect(made.complaints).toEqual([])
})

test('[CN21] enabled with a test event, it gets its missed events after a preview; a delivery is sent again on purpose', async () => {
  await using made = await signedIn(browser, shop.node, '/subscriptions/crm')
  const { page } = made
  const dialog = page.getByRole('dialog')
  const deliveries = page.getByRole('list', { name: 'Deliveries' }).getByRole('link')
  endpoint.answer('/crm', 200, '{"ok":true}')
  await confirm(page, 'Enable', 'the cellar is dry')
  await deliveries.filter({ hasText: 'webhook.test' }).getByText('delivered').waitFor()
  await page.getByRole('heading', { name: 'crm' }).getByText('active').waitFor()

  await page.getByRole('button', { name: 'Recover' }).click()
  await dialog.getByLabel('Received since').fill('')
  await dialog.getByText('Since when?').waitFor()
  await dialog.getByLabel('Received since').fill('2020-01-01T00:00')
  await dialog.getByRole('button', { name: 'Show what would happen' }).click()
  await dialog.getByRole('list', { name: 'What would be sent' }).getByText('never sent').waitFor()
  await look(page, 'a look at a recovery')
  await dialog.getByLabel('Reason (optional)').fill('the flood')
  await dialog.getByRole('button', { name: 'Recover 3' }).click()
  await dialog.getByRole('heading', { name: 'Recovered' }).waitFor()
  await dialog.getByText(/^3 are on their way/).waitFor()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await expect.poll(() => deliveries.filter({ hasText: 'delivered' }).count()).toBe(4)
  const numbers = gotAt('/crm').map(({ body }) => JSON.parse(body).data.order?.number)
  for (const number of ['crm-1', 'crm-2', 'crm-3']) expect(numbers).toContain(number)

  await page.goto(`${shop.node.url}/deliveries?state=delivered&subscription=crm`)
  await deliveries.filter({ hasText: 'order.paid' }).first().click()
  await page.getByText('Attempt 1: Delivered').first().waitFor()
  const before = gotAt('/crm').length
  const first = page.url()
  await page.getByRole('button', { name: 'Resend' }).click()
  await dialog.getByRole('button', { name: 'Resend' }).click()
  await dialog.getByText('A reason is required.').waitFor()
  await dialog.getByLabel('Reason').fill('they lost it')
  await dialog.getByRole('button', { name: 'Resend' }).click()
  await expect.poll(() => page.url()).not.toBe(first)
  await page.getByText('sent again', { exact: true }).waitFor()
  await expect.poll(() => gotAt('/crm').length).toBe(before + 1)
  expect(made.complaints).toEqual([])
})

test('[CN17] [CN23] [CN24] a secret is rotated with an overlap and shown once; one of the folder is revealed once', async () => {
  await using made = await signedIn(browser, shop.node, '/subscriptions/crm?tab=secret')
  const { page } = made
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  await dialog.getByLabel('The former one signs too').selectOption('3d')
  await dialog.getByRole('button', { name: 'Rotate' }).click()
  await dialog.getByText(/^The former one signs too, and stops in [23] d/).waitFor()
  const next = (await dialog.locator('.command code').textContent()) ?? ''
  await dialog.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByText(/^signs too, stops in [23] d/).waitFor()
  expect(await page.content()).not.toContain(next)
  await page.getByRole('button', { name: 'Send a test' }).click()
  await dialog.getByText('arrived', { exact: true }).waitFor()
  const call = gotAt('/crm').at(-1)!
  for (const one of [secret, next]) expect(verify(call.body, call.headers, one)).toBeTruthy()

  await page.goto(`${shop.node.url}/subscriptions/warehouse?tab=secret`)
  await page.getByRole('button', { name: 'Show it once' }).click()
  await dialog.getByRole('button', { name: 'Show it now' }).click()
  await dialog.getByText(/^whsec_/).waitFor()
  await dialog.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByRole('button', { name: 'Show it once' }).waitFor({ state: 'detached' })
  await look(page, 'the secret of a subscription')
  await page.getByRole('tab', { name: 'Definition' }).click()
  await page.getByText('Read-only here: it belongs to the folder.').waitFor()
  await page.getByRole('button', { name: 'Copy as YAML' }).waitFor()
  expect(made.complaints).toEqual([])
})

test('[CN18] [CN24] a subscription of the API is edited and deleted; a viewer sees neither tokens nor buttons', async () => {
  const { key } = await shop.node.post<{ key: string }>('/v1/keys', { name: 'looks', role: 'viewer' })
  await using viewer = await signedIn(browser, { ...shop.node, adminKey: key }, '/subscriptions/crm')
  await viewer.page.getByText('/crm?token=[hidden]').first().waitFor()
  await viewer.page.getByRole('list', { name: 'Deliveries' }).getByRole('link').first().waitFor()
  const pressed = viewer.page
    .getByRole('main')
    .getByRole('button', { name: /Send|Recover|Pause|Disable|Edit/ })
  expect(await pressed.count()).toBe(0)
  expect(await viewer.page.content()).not.toContain('t0ken')

  await using made = await signedIn(browser, shop.node, '/subscriptions/crm?tab=definition')
  const { page } = made
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Edit' }).click()
  await expect.poll(() => dialog.getByLabel('Condition').inputValue()).toBe('payload.order.total > 10')
  await dialog.getByLabel('Condition').fill('')
  await dialog.getByLabel('Description').fill('For the sales team')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('crm is changed').waitFor()
  await page.getByText('For the sales team').first().waitFor()
  await look(page, 'what it says')
  type Document = { document: { where: unknown; retry: { attempts: number }; metadata: object } }
  const { document } = await shop.node.get<Document>('/v1/webhooks/subscriptions/crm')
  expect(document).toMatchObject({ retry: { attempts: 1 }, metadata: { owner: 'sales' } })
  expect(JSON.stringify(document.where)).not.toContain('total')
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('crm is deleted').waitFor()
  await page.getByRole('heading', { name: 'Subscriptions' }).waitFor()
  await page.getByRole('link', { name: /warehouse/ }).waitFor()
  expect(await page.getByRole('link', { name: /crm/ }).count()).toBe(0)
  expect(made.complaints).toEqual([])
})
