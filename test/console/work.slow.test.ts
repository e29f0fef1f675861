// Jobs by state and unknown outcomes: what a user sees and does, in a real browser against the real node.

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

test('an empty list says so; a job appears under its state, and is cancelled with a reason', async () => {
  await using made = await signedIn(browser, shop.node, '/work')
  const { page } = made
  await page.getByText('Nothing waits.').waitFor()
  const id = await shop.reached(await shop.order('busy-cancel'), 'invoice', 'ready')
  await page.locator(`a[href="/work/${id}"]`).getByText('retrying').waitFor()
  await page.locator(`a[href="/work/${id}"]`).click()
  await page.getByText('HTTP 503').waitFor()
  await page.getByText('transient').first().waitFor()

  await page.getByRole('button', { name: 'Cancel', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Cancel it' }).click()
  await dialog.getByText('A reason is required.').waitFor()
  await dialog.getByLabel('Reason').fill('the order was withdrawn')
  await dialog.getByRole('button', { name: 'Cancel it' }).click()
  await page.getByText('The item is cancelled').waitFor()
  await page.getByRole('heading').getByText('cancelled').waitFor()
  expect(made.complaints).toEqual([])
})

test('[CN3] unknown outcomes are listed, each with what may be done about it, and a user decides', async () => {
  const lost = await shop.order('lost-happened')
  const happened = await shop.reached(lost, 'invoice', 'parked')
  const notHappened = await shop.reached(await shop.order('lost-not'), 'invoice', 'parked')
  const cancelled = await shop.reached(await shop.order('lost-cancel'), 'invoice', 'parked')
  await using made = await signedIn(browser, shop.node, '/unknown')
  const { page } = made
  const item = (id: string) =>
    page.locator('.parked__item').filter({ has: page.locator(`a[href="/work/${id}"]`) })
  await item(happened).getByText('One call was sent and no answer came back.').waitFor()

  // This route has no probe: none is offered.
  expect(await item(happened).getByRole('button').allTextContents()).toEqual([
    'It happened',
    'It did not happen',
    'Retry',
    'Cancel',
  ])
  await item(happened).getByRole('button', { name: 'Retry' }).click()
  await page.getByText('It looks again at what is known').waitFor()
  await shop.reached(lost, 'invoice', 'parked')

  await item(happened).getByRole('button', { name: 'It happened' }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill('the invoice is there')
  await page.getByRole('dialog').getByRole('button', { name: 'Mark done' }).click()
  await page.getByText('The ledger says done').waitFor()
  await item(happened).waitFor({ state: 'detached' })

  shop.heal()
  await item(notHappened).getByRole('button', { name: 'It did not happen' }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill('there is no such invoice')
  await page.getByRole('dialog').getByRole('button', { name: 'Release and call again' }).click()
  await item(notHappened).waitFor({ state: 'detached' })
  await page.goto(`${shop.node.url}/work/${notHappened}`)
  await page.getByRole('heading').getByText('done').waitFor()
  expect(shop.invoices.filter((reference) => reference === 'INVOICE:lost-not')).toHaveLength(2)

  await page.goto(`${shop.node.url}/unknown`)
  await item(cancelled).getByRole('button', { name: 'Cancel', exact: true }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill('nobody needs it')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel it' }).click()
  // The unknown outcome outlives the job, and so does the way to settle it.
  await item(cancelled).getByText('Its work item was cancelled; the doubt stayed.').waitFor()
  await item(cancelled).getByRole('button', { name: 'It did not happen' }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill('billing has no such invoice')
  await page.getByRole('dialog').getByRole('button', { name: 'Release the key' }).click()
  await page.getByText('Every outcome is known').waitFor()
})

test('states and routes filter the list', async () => {
  await using made = await signedIn(browser, shop.node, '/work?state=done')
  const { page } = made
  await page.locator('[data-row]').first().waitFor()
  await page.getByRole('tab', { name: 'Cancelled' }).click()
  await page.getByText('INVOICE:busy-cancel').waitFor()
  await page.getByLabel('Route').selectOption('announce')
  await page.getByText('Nothing was cancelled.').waitFor()
})

test('retrying now makes the attempt at once', async () => {
  await using own = await openShop()
  const id = await own.reached(await own.order('busy-retry'), 'invoice', 'ready')
  await using made = await signedIn(browser, own.node, `/work/${id}`)
  own.heal()
  await made.page.getByRole('button', { name: 'Retry now' }).click()
  await made.page.getByText('It is due now').waitFor()
  await made.page.getByRole('heading').getByText('done').waitFor()
  expect(own.invoices).toEqual(['INVOICE:busy-retry'])
})
