// Keys, secrets and tenants in a real browser against the real node; and what a smaller role does not see.

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

test('a key is created, shown once, works, and is revoked', async () => {
  await using made = await signedIn(browser, shop.node, '/settings?tab=keys')
  const { page } = made
  await page.getByText('No keys yet').waitFor()
  await page.getByRole('button', { name: 'New key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Make the key' }).click()
  await dialog.locator('.field__error').waitFor()
  await dialog.getByLabel('Name').fill('pipeline')
  await dialog.getByLabel('Role').selectOption('viewer')
  await dialog.getByLabel('Expires').selectOption('30d')
  await dialog.getByRole('button', { name: 'Make the key' }).click()
  await dialog.getByText('It is shown this once.').waitFor()
  const key = (await dialog.locator('.command code').textContent()) ?? ''
  expect(key).toMatch(/^mrk_default_/)
  await dialog.getByRole('button', { name: 'I have copied it' }).click()
  expect(await page.content()).not.toContain(key)

  await using viewer = await signedIn(browser, { ...shop.node, adminKey: key }, '/settings')
  await viewer.page.getByText('viewer', { exact: true }).first().waitFor()
  expect(await viewer.page.getByRole('tab', { name: 'Keys' }).count()).toBe(0)
  await viewer.page.goto(`${shop.node.url}/routes/invoice`)
  await viewer.page.getByRole('heading', { name: 'invoice' }).waitFor()
  expect(await viewer.page.getByRole('button', { name: 'Pause' }).count()).toBe(0)

  await page.getByRole('button', { name: 'Revoke pipeline' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('pipeline is revoked').waitFor()
  await page.getByText('No keys yet').waitFor()
  const refused = await fetch(`${shop.node.url}/v1/me`, { headers: { authorization: `Bearer ${key}` } })
  expect(refused.status).toBe(401)
  expect(made.complaints).toEqual([])
})

test('a secret is set, is not shown, is replaced at once or as pending, and deleted', async () => {
  await using made = await signedIn(browser, shop.node, '/settings?tab=secrets')
  const { page } = made
  const secrets = page.getByRole('list', { name: 'Secrets' })
  await page.getByText('No secrets yet').waitFor()
  await page.getByRole('button', { name: 'Set a secret' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('not a name!')
  await dialog.getByLabel('Value', { exact: true }).fill('the-value-of-the-secret')
  await dialog.getByRole('button', { name: 'Set', exact: true }).click()
  await dialog.locator('.field__error').waitFor()
  await dialog.getByLabel('Name').fill('SHOP_SECRET')
  await dialog.getByRole('button', { name: 'Set', exact: true }).click()
  await page.getByText('SHOP_SECRET is set').waitFor()
  await secrets.getByText('version 1').waitFor()
  await page.getByRole('button', { name: 'Set SHOP_SECRET anew' }).click()
  await dialog.getByLabel('Value', { exact: true }).fill('another-value')
  await dialog.getByRole('button', { name: 'Set', exact: true }).click()
  await secrets.getByText('version 2').waitFor()
  expect(await page.content()).not.toContain('the-value-of-the-secret')

  await page.getByRole('button', { name: 'Set SHOP_SECRET anew' }).click()
  await dialog.getByLabel('Value', { exact: true }).fill('the-value-to-come')
  await dialog.getByLabel('Keep it as the next value').check()
  await dialog.getByRole('button', { name: 'Set', exact: true }).click()
  await page.getByText('next one waits').waitFor()
  await secrets.getByText('version 2').waitFor()
  await page.getByRole('button', { name: 'Use the next value of SHOP_SECRET' }).click()
  await page.getByText('SHOP_SECRET has its next value').waitFor()
  await page.getByText('next one waits').waitFor({ state: 'detached' })
  await secrets.getByText('version 3').waitFor()

  await page.getByRole('button', { name: 'Delete SHOP_SECRET' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No secrets yet').waitFor()
})

test('a tenant is created; a wrong or taken name is reported at its field', async () => {
  await using made = await signedIn(browser, shop.node, '/settings?tab=tenants')
  const { page } = made
  await page.getByText('default', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'New tenant' }).click()
  const dialog = page.getByRole('dialog')
  const tryName = async (name: string) => {
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByRole('button', { name: 'Make the tenant' }).click()
  }
  await tryName('Not A Name')
  await dialog.locator('.field__error').waitFor()
  await tryName('default')
  await dialog.locator('.field__error').waitFor()
  await tryName('acme')
  await page.getByText('acme is there').waitFor()
  await page.getByRole('list', { name: 'Tenants' }).getByText('acme').waitFor()
})
