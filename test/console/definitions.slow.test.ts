// Sources, routes, versions and the editor in a real browser against the real node.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { shareBrowser, signedIn } from '../support/browser.ts'
import { openShop, type Shop } from '../support/shop.ts'

let browser: Browser
let shop: Shop
beforeAll(async () => {
  ;[browser, shop] = await Promise.all([shareBrowser(), openShop()])
})
afterAll(() => shop?.[Symbol.asyncDispose]())

const REFUND = `kind: Route
name: refund
on: [shop.events.order.refunded]
do: { emit: shop.order.refund_announced, data: { order: "{{ payload.order.number }}" } }
`

test('sources and routes are listed; a page shows text, owner, history and recent events', async () => {
  const id = await shop.order('1001')
  await using made = await signedIn(browser, shop.node, '/sources')
  const { page } = made
  await page.getByRole('link', { name: /shop.*Orders of the shop/ }).click()
  await page.getByRole('heading', { name: 'shop' }).waitFor()
  await page.getByText('Read-only here: it belongs to the folder.').waitFor()
  await page.getByLabel('YAML').getByText('objectType').waitFor()
  await page.locator(`a[href="/events/${id}"]`).waitFor()
  await page.getByText('Version 1').waitFor()

  await page.getByRole('link', { name: 'Routes', exact: true }).click()
  await page.getByRole('link', { name: /invoice.*One invoice per paid order/ }).waitFor()
  expect(await page.locator('main [data-row]').count()).toBe(3)
  expect(made.complaints).toEqual([])
})

test('a route is paused, resumed and disabled', async () => {
  await using made = await signedIn(browser, shop.node, '/routes/announce')
  const { page } = made
  const confirm = async (name: string) => {
    await page.getByRole('button', { name }).click()
    await page.getByRole('dialog').getByLabel('Reason (optional)').fill('because')
    await page.getByRole('dialog').getByRole('button', { name }).click()
  }
  await confirm('Pause')
  await page.getByRole('heading').getByText('paused').waitFor()
  await page.goto(shop.node.url)
  await page.getByText('announce is paused').click()
  await confirm('Resume')
  await page.getByRole('heading').getByText('active').waitFor()
  await confirm('Disable')
  await page.getByRole('heading').getByText('disabled').waitFor()
  await confirm('Resume')
  await page.getByRole('heading').getByText('active').waitFor()
})

test('the editor shows findings at their lines, then the plan, then applies; and a version is rolled back', async () => {
  await using made = await signedIn(browser, shop.node, '/definitions/edit')
  const { page } = made
  const text = page.getByLabel('Definitions as YAML')
  await text.fill(REFUND.replace('emit:', 'emitt:'))
  await page.getByRole('button', { name: 'Check and plan' }).click()
  await page.getByRole('list', { name: 'Findings' }).getByText('Line 4').first().waitFor()
  await page.locator('.yaml-editor__line--marked').getByText('4').waitFor()
  expect(await page.getByRole('button', { name: 'Apply' }).isDisabled()).toBe(true)

  await text.fill(REFUND)
  await page.getByRole('button', { name: 'Check and plan' }).click()
  await page.getByLabel('Difference').getByText('+ name: refund').waitFor()
  await page.getByLabel('Reason (optional)').fill('refunds are told too')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('Version 2 is deployed').waitFor()
  await page.getByRole('link', { name: /refund/ }).click()
  await page.getByRole('link', { name: 'Edit' }).click()
  await expect.poll(() => page.getByLabel('Definitions as YAML').inputValue()).toContain('name: refund')

  await page.goto(`${shop.node.url}/definitions/versions`)
  await page.getByRole('button', { name: 'Go back to version 1' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click()
  await page.getByText('The content of version 1 is deployed again').waitFor()
  await page.getByText('Version 3').waitFor()
  await page.goto(`${shop.node.url}/routes`)
  await page.getByRole('link', { name: /invoice/ }).waitFor()
  expect(await page.getByRole('link', { name: /refund/ }).count()).toBe(0)
})
