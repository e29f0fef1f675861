// Connections in a real browser against the real node, with a vendor that accepts some tokens and is unavailable at
// times.

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { axeFindings, shareBrowser, signedIn } from '../support/browser.ts'
import { openShop, type Shop } from '../support/shop.ts'
import { makeVendor, type VendorApi } from '../support/vendor-api/index.ts'

const PHONE = { width: 390, height: 844 }
const DESK = { width: 1440, height: 900 }
const TOKEN = 'first-token-of-the-depot'
const NEXT_TOKEN = 'second-token-of-the-depot'

let browser: Browser
let shop: Shop
let vendor: VendorApi
beforeAll(async () => {
  vendor = await makeVendor({
    tokens: [TOKEN],
    answers: {
      'GET /me': { status: 200, body: { login: 'mill' } },
      'POST /pickups': { status: 201, body: { id: 'p-1' } },
    },
  })
  const more = () => `kind: Provider
name: depot
title: The depot
description: Fetches what was sold.
category: logistics
baseUrl: "${vendor.url}"
auth: bearer
config: { type: object, required: [site], properties: { site: { type: string, title: Site } } }
probe: { path: /me }
rate: { perMinute: 600, burst: 20 }
operations:
  fetch:
    method: POST
    path: /pickups
    description: Asks for a pickup.
    body: { order: "{{ input.order }}" }
    input: { type: object, required: [order] }
    idempotency: native
    keyTtl: 24h
`
  ;[browser, shop] = await Promise.all([shareBrowser(), openShop({ more })])
})
afterAll(async () => {
  await shop?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
})

/** Light, dark, and no wider than a phone. */
async function look(page: Page, what: string): Promise<void> {
  expect([what, await axeFindings(page)]).toEqual([what, []])
  await page.setViewportSize(PHONE)
  const width = () => page.evaluate<number>('document.documentElement.scrollWidth')
  await expect.poll(width, { message: what }).toBe(PHONE.width)
  await page.setViewportSize(DESK)
}

test('[CN25] [CN26] a connection is created step by step, and tested live', async () => {
  await using made = await signedIn(browser, shop.node, '/connections')
  const { page } = made
  await page.getByText('No connections yet').waitFor()
  await page.getByRole('button', { name: 'New connection' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('GitHub', { exact: false }).first().waitFor()
  await look(page, 'the provider')
  await dialog.getByLabel('Search').fill('logistics')
  await dialog.getByRole('radio', { name: /The depot/ }).check()
  await dialog.getByRole('button', { name: 'Next' }).click()

  await dialog.getByLabel('Name of the credential').fill('depot-key')
  await dialog.getByLabel('Secret of the vault').fill('DEPOT')
  await dialog.getByLabel('The token (optional)').fill(TOKEN)
  await dialog.getByText('Description, rotation').click()
  await dialog.getByLabel('Rotation every').fill('30d')
  await look(page, 'the credential')
  await dialog.getByRole('button', { name: 'Next' }).click()

  const name = dialog.getByLabel('Name', { exact: true })
  await name.fill('not a name!')
  await dialog.getByRole('button', { name: 'Create and test' }).click()
  await dialog.locator('.field__error').first().waitFor()
  await name.fill('depot-main')
  await dialog.getByLabel('Description').fill('Everything that is picked up')
  await dialog.getByLabel('Site', { exact: true }).fill('north')
  await dialog.getByLabel('Probe every').fill('soon')
  await dialog.getByRole('button', { name: 'Create and test' }).click()
  await dialog.locator('.field__error').first().waitFor()
  await dialog.getByLabel('Probe every').fill('30s')
  await dialog.getByRole('button', { name: 'Create and test' }).click()
  await dialog.getByText('it works').waitFor()
  await look(page, 'the test')
  await dialog.getByRole('button', { name: 'Done' }).click()

  await page.getByRole('heading', { name: /depot-main/ }).waitFor()
  await page
    .getByRole('heading', { name: /depot-main/ })
    .getByText('active')
    .waitFor()
  expect(await page.content()).not.toContain(TOKEN)
  expect(await shop.node.get('/v1/integrations/connections/depot-main')).toMatchObject({
    probeEveryMs: 30_000,
  })
  expect(await shop.node.get('/v1/integrations/credentials/depot-key')).toMatchObject({
    rotation: { everyMs: 30 * 86_400_000 },
  })
  await page.goto(`${shop.node.url}/connections`)
  const row = page.getByRole('link', { name: /depot-main/ })
  await row.getByText('calls go through').waitFor()
  await look(page, 'the list')
  expect(made.complaints).toEqual([])
})

test('[CN27] a connection shows its health, its limits and its runs; its circuit is switched with a reason and an end', async () => {
  await using made = await signedIn(browser, shop.node, '/connections/depot-main')
  const { page } = made
  await page.getByText('600 per minute').waitFor()
  await page.getByRole('button', { name: 'Circuit' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Switch' }).click()
  await dialog.getByText('A reason is required.').waitFor()
  await dialog.getByLabel(/^Hold calls back/).check()
  await dialog.getByLabel('Reason').fill('They move their servers')
  await look(page, 'the circuit')
  await dialog.getByRole('button', { name: 'Switch' }).click()
  await page.getByText('Calls are stopped manually', { exact: false }).first().waitFor()
  await page.getByText('"They move their servers"', { exact: false }).waitFor()
  await look(page, 'a connection')
  await page.getByRole('button', { name: 'Circuit' }).click()
  await dialog.getByLabel('Reason').fill('They have moved')
  await dialog.getByRole('button', { name: 'Switch' }).click()
  await page.getByText('"They move their servers"', { exact: false }).waitFor({ state: 'detached' })

  await page.getByRole('tab', { name: 'Runs' }).click()
  await page.getByRole('list', { name: 'Runs' }).getByRole('link').first().click()
  await page.getByRole('heading', { name: 'Attempts' }).waitFor()
  await page.getByText('GET', { exact: false }).first().waitFor()
  expect(await page.content()).not.toContain(TOKEN)
  await look(page, 'a run')
  await page.goto(`${shop.node.url}/connections/depot-main?tab=definition`)
  await page.getByText('Version', { exact: false }).first().waitFor()
  await look(page, 'the definition')
  expect(made.complaints).toEqual([])
})

test('[CN29] a job that calls an operation is a run, and links to its event and back', async () => {
  const text = `kind: Route
name: pick_up
on: [shop.events.order.lost]
key: "'PICKUP:' + payload.order.number"
do: { operation: depot.fetch, connection: depot-main, with: { order: "{{ payload.order.number }}" } }
`
  await shop.node.post('/v1/definitions/apply', { files: [{ path: 'pick_up.yaml', text }] })
  const eventId = await shop.send(JSON.stringify({ id: 'l-1', type: 'order.lost', order: { number: '77' } }))
  await shop.reached(eventId, 'pick_up', 'done')
  await using made = await signedIn(browser, shop.node, '/runs')
  const { page } = made
  await page.getByLabel('Purpose').selectOption('work')
  await look(page, 'runs')
  await page.getByRole('link', { name: /fetch/ }).click()
  await page.getByRole('link', { name: 'PICKUP:77' }).waitFor()
  await page.getByRole('link', { name: eventId }).waitFor()

  const { key } = await shop.node.post<{ key: string }>('/v1/keys', { name: 'looks', role: 'viewer' })
  await using viewer = await signedIn(browser, { ...shop.node, adminKey: key }, new URL(page.url()).pathname)
  await viewer.page.getByText('is for operators and admins', { exact: false }).waitFor()
  await viewer.page.goto(`${shop.node.url}/connections/depot-main`)
  await viewer.page.getByRole('heading', { name: /depot-main/ }).waitFor()
  expect(await viewer.page.getByRole('button', { name: 'Test' }).count()).toBe(0)
  expect([...made.complaints, ...viewer.complaints]).toEqual([])
})

test('[CN28] a credential shows its versions by fingerprint; a rotation waits for its value, verifies it, and uses it', async () => {
  await using made = await signedIn(browser, shop.node, '/credentials')
  const { page } = made
  await page
    .getByRole('link', { name: /depot-key/ })
    .getByText('version 1')
    .waitFor()
  await look(page, 'credentials')
  await page.getByRole('link', { name: /depot-key/ }).click()
  const versions = page.getByRole('list', { name: 'Versions' })
  await versions.getByText('Version 1').waitFor()
  await page.getByRole('button', { name: 'Rotate', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('waits until you set the new value', { exact: false }).waitFor()
  await dialog.getByLabel(/^Reason/).fill('It is a year old')
  await dialog.getByRole('button', { name: 'Rotate', exact: true }).click()
  await page.getByText('A rotation waits for its new value.').waitFor()
  await look(page, 'a rotation that waits')
  vendor.tokens.accept(NEXT_TOKEN)
  await page.getByRole('button', { name: 'Set a new value' }).click()
  await dialog.getByLabel('The token').fill(NEXT_TOKEN)
  await look(page, 'a new value')
  await dialog.getByRole('button', { name: 'Rotate to it' }).click()
  await versions.getByText('Version 2').waitFor()
  await versions.getByText('former').waitFor()
  expect(await page.content()).not.toContain(NEXT_TOKEN)
  await look(page, 'a credential')
  expect(made.complaints).toEqual([])
})

test('[CN30] providers are found by what they are, and show their operations and how safe each is', async () => {
  await using made = await signedIn(browser, shop.node, '/providers')
  const { page } = made
  await page
    .getByRole('link', { name: /GitHub/ })
    .first()
    .waitFor()
  await look(page, 'providers')
  await page.getByLabel('Search providers').fill('logistics')
  await page.getByRole('link', { name: /The depot/ }).click()
  await page.getByText('idempotency key').waitFor()
  await page.getByText('Takes').click()
  await page.getByRole('region', { name: 'Takes, as JSON Schema' }).waitFor()
  await look(page, 'a provider')
  await page.getByRole('link', { name: 'Connect', exact: true }).click()
  await page.getByRole('dialog').getByLabel('Credential', { exact: true }).selectOption('depot-key')
  await page.keyboard.press('Escape')
  expect(made.complaints).toEqual([])
})

test('[CN27] a retired connection says who retired it, and offers nothing more', async () => {
  await using made = await signedIn(browser, shop.node, '/connections/depot-main')
  const { page } = made
  await page.getByRole('button', { name: 'Retire' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('We moved out')
  await dialog.getByRole('button', { name: 'Retire' }).click()
  await page.getByText('It is retired: no calls use it.').waitFor()
  await page.getByText('"We moved out"', { exact: false }).waitFor()
  expect(await page.getByRole('button', { name: 'Test', exact: true }).count()).toBe(0)
  expect(made.complaints).toEqual([])
})
