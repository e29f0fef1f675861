// Values that differ by environment in a real browser against the real node.

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

test('[VR16] values are set for all environments and for one, and a wrong one says why', async () => {
  await using made = await signedIn(browser, shop.node, '/vars')
  const { page } = made
  const values = page.getByRole('list', { name: 'Values' })
  const dialog = page.getByRole('dialog')
  await page.getByText('No values yet').waitFor()
  await page.getByRole('button', { name: 'New value' }).click()
  await dialog.getByLabel('Name').fill('self')
  await dialog.getByLabel('Value').fill('https://crm.dev.example')
  await dialog.getByRole('button', { name: 'Set', exact: true }).click()
  await dialog.getByText("the node's own").waitFor()
  await dialog.getByLabel('Name').fill('crm')
  await dialog.getByRole('button', { name: 'Set', exact: true }).click()
  await page.getByText('crm is set').waitFor()
  await values.getByText('nothing reads it').waitFor()

  await page.getByRole('button', { name: 'Edit crm' }).click()
  await dialog.getByLabel('Where').selectOption('PROD')
  await dialog.getByLabel('Value').fill('https://crm.example')
  await dialog.getByLabel('Reason').fill('the new system')
  await dialog.getByRole('button', { name: 'Set', exact: true }).click()
  await values.getByText('https://crm.example', { exact: true }).waitFor()
  expect(made.complaints).toEqual([])

  const { key } = await shop.node.post<{ readonly key: string }>('/v1/keys', { name: 'v', role: 'viewer' })
  await using other = await signedIn(browser, { ...shop.node, adminKey: key }, '/vars')
  await other.page.getByText('https://crm.example', { exact: true }).waitFor()
  expect(await other.page.getByRole('button', { name: 'Edit crm' }).count()).toBe(0)
})
