// Routes with order and flow control, in a real browser: their state, which job blocks which, and how to continue; and
// a job's relation to others.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { goTo, shareBrowser, signedIn } from '../support/browser.ts'
import { openShop, type Shop } from '../support/shop.ts'
import { gatherBatch, holdLane, openCircuit, stockFlows, tellStock, workOf } from '../support/stock.ts'

let browser: Browser
let shop: Shop
beforeAll(async () => {
  ;[browser, shop] = await Promise.all([shareBrowser(), openShop({ more: stockFlows })])
})
afterAll(() => shop?.[Symbol.asyncDispose]())

test('[CN8] a route shows its buffers in words and its state; a held lane is released with a reason', async () => {
  const { holder, next, last } = await holdLane(shop.node, 'a-1')
  await using made = await signedIn(browser, shop.node, '/routes/book_stock')
  const { page } = made
  await page.getByText('One after another for each payload.sku.').waitFor()
  await page.getByText('A dead or parked job blocks the others.').waitFor()
  await page.getByText('30 per minute').waitFor()
  await page.getByText('calls go through', { exact: true }).waitFor()
  await page.getByRole('link', { name: '2 waiting' }).waitFor()
  const held = page.locator('.held').filter({ hasText: 'a-1' })
  await held.getByText('2 jobs wait behind it').waitFor()
  expect(await held.getByRole('link', { name: 'blocked by' }).getAttribute('href')).toBe(`/work/${holder.id}`)

  // [CN9] A job's own page says which job it waits behind.
  await goTo(page, `/work/${last.id}`)
  await page.getByText('1 before it, behind').waitFor()
  await page.getByRole('link', { name: next.id }).waitFor()
  await page.getByRole('link', { name: holder.id }).waitFor()
  await goTo(page, `/work/${holder.id}`)
  await page.getByText('It holds its lane up.').waitFor()
  await goTo(page, '/lanes')
  await page.getByRole('list', { name: 'Held lanes' }).getByRole('link').first().click()
  await page.getByText('It holds its lane up.').waitFor()
  expect(page.url()).toContain(`/work/${holder.id}`)

  await goTo(page, '/')
  await page.getByRole('link', { name: /Lanes of book_stock are held up/ }).click()
  await held.getByRole('button', { name: 'Unblock' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Unblock' }).click()
  await dialog.getByText('A reason is required.').waitFor()
  await dialog.getByLabel('Reason').fill('booked by hand')
  await dialog.getByRole('button', { name: 'Unblock' }).click()
  await page.getByText('The lane is unblocked').waitFor()
  await held.waitFor({ state: 'detached' })
  await workOf(shop.node, 'book_stock', 'done', 2)
  expect(made.complaints).toEqual([])
})

test('[CN8] a route that paused itself says so in the list, the overview and on its page, and is resumed', async () => {
  await openCircuit(shop.node)
  await using made = await signedIn(browser, shop.node, '/')
  const { page } = made
  await page.getByRole('link', { name: /mirror_stock paused itself/ }).waitFor()
  await goTo(page, '/routes')
  const row = page.getByRole('list', { name: 'Routes' }).getByRole('link', { name: /mirror_stock/ })
  await row.getByText('circuit open').waitFor()
  await row.click()
  await page.getByText('The circuit is open: calls failed (transient).').waitFor()
  await page.getByText(/A trial call follows in (29|30) min/).waitFor()
  await page.getByRole('button', { name: 'Close the circuit' }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill('the marketplace is back')
  await page.getByRole('dialog').getByRole('button', { name: 'Close the circuit' }).click()
  await page.getByText('The circuit is closed', { exact: true }).waitFor()
  await page.getByText('calls go through').waitFor()
  await workOf(shop.node, 'mirror_stock', 'done')
  expect(made.complaints).toEqual([])
})

test('[CN9] a batch lists its members, a member its batch, an element its number', async () => {
  const { batch, members } = await gatherBatch(shop.node)
  await using made = await signedIn(browser, shop.node, `/work/${batch.id}`)
  const { page } = made
  await page.getByRole('link', { name: 'BILL:busy-a' }).waitFor()
  expect(await page.locator('.members li').count()).toBe(3)
  await goTo(page, `/work/${members[0]!.id}`)
  await page.getByText('Part of a batch').waitFor()
  await page.getByRole('link', { name: batch.id }).waitFor()

  await tellStock(shop.node, 'listed', 'l-1', { entries: [{ id: 'e1' }, { id: 'e2' }] })
  const entries = await workOf(shop.node, 'check_entries', 'done', 2)
  await goTo(page, `/work/${entries[0]!.id}`)
  await page.getByText(/number [12] of its list/).waitFor()
  expect(made.complaints).toEqual([])
})
