// Failures, escalations and the ledger in a real browser: what is retried, what users take over, and what was done.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { goTo, shareBrowser, signedIn } from '../support/browser.ts'
import { openShop, type Shop } from '../support/shop.ts'

let browser: Browser
let shop: Shop
beforeAll(async () => {
  ;[browser, shop] = await Promise.all([shareBrowser(), openShop()])
})
afterAll(() => shop?.[Symbol.asyncDispose]())

test('[CN1] an escalation is counted, acknowledged with a note, and links to its failures and dead letters', async () => {
  await using made = await signedIn(browser, shop.node, '/escalations')
  const { page } = made
  await page.getByText('Nobody is called').waitFor()
  await shop.reached(await shop.order('bad-1'), 'invoice', 'dead')
  await shop.reached(await shop.order('bad-2'), 'invoice', 'dead')
  const item = page.getByRole('listitem', { name: /invoice: answered 422/ })
  await item.getByTitle('2 failures').waitFor()
  await item.getByText('validation').waitFor()
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Escalations 1' }).waitFor()

  await item.getByRole('link', { name: 'Its failures' }).click()
  await page.getByRole('heading', { name: 'Failures' }).waitFor()
  await page.getByRole('list', { name: 'Failures' }).getByText('INVOICE:bad-2').waitFor()
  await page.getByRole('button', { name: 'Of one escalation' }).waitFor()
  await goTo(page, '/escalations')
  await item.getByRole('link', { name: 'Dead letters' }).click()
  await page.locator('.group').filter({ hasText: 'answered 422' }).waitFor()
  expect(await page.getByLabel('Class').inputValue()).toBe('validation')

  await goTo(page, '/escalations')
  await item.getByRole('button', { name: 'Acknowledge' }).click()
  await page.getByRole('dialog').getByLabel('Note').fill('asking billing for the address')
  await page.getByRole('dialog').getByRole('button', { name: 'Acknowledge' }).click()
  await page.getByText('It is yours').waitFor()
  await page.getByText('Nobody is called').waitFor()
  await page.getByRole('tab', { name: 'Acknowledged' }).click()
  await item.getByText(/took it over .*: asking billing for the address/).waitFor()
  expect(made.complaints).toEqual([])
})

test('[CN2] an open failure says when it is retried; states and classes filter', async () => {
  const id = await shop.reached(await shop.order('busy-1'), 'invoice', 'ready')
  await using made = await signedIn(browser, shop.node, '/failures')
  const { page } = made
  const row = page.locator(`a[href="/work/${id}"]`)
  await row.getByText(/tries again in \d+ (min|h)/).waitFor()
  await row.getByText('transient').waitFor()
  await page.getByLabel('Class').selectOption('validation')
  await page.getByText('Nothing fails.').waitFor()
  await page.getByRole('tab', { name: 'Escalated' }).click()
  await page.getByText('INVOICE:bad-1').waitFor()
  expect(made.complaints).toEqual([])
})

test('[CN4] a key is found with its effect; a skipped job points at the first one', async () => {
  const first = await shop.reached(await shop.order('1001'), 'invoice', 'done')
  const skipped = await shop.reached(
    await shop.order('1001', { id: 'another delivery of it' }),
    'invoice',
    'skipped',
  )
  await using made = await signedIn(browser, shop.node, '/ledger')
  const { page } = made
  await page.getByRole('list', { name: 'Effects' }).getByText('INVOICE:1001').waitFor()
  await page.getByRole('tab', { name: 'Unknown' }).click()
  await page.getByText('Nothing is unknown').waitFor()
  await page.getByLabel('Key').fill('INVOICE:nowhere')
  await page.getByRole('main').getByRole('button', { name: 'Find' }).click()
  await page.getByText('The ledger does not know this key').waitFor()
  await page.getByLabel('Key').fill('INVOICE:1001')
  await page.getByRole('main').getByRole('button', { name: 'Find' }).click()
  await page.getByText('Further jobs with this key are skipped.').waitFor()
  await page.getByRole('link', { name: first }).waitFor()

  await goTo(page, `/work/${skipped}`)
  await page.getByRole('link', { name: 'the job that made it' }).click()
  await page.waitForURL(`**/work/${first}`)
  expect(made.complaints).toEqual([])
})
