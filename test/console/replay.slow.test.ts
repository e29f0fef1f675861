// What a replay asks and shows in a real browser: what differs, what it costs, why, how fast, and an intended second
// effect.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { goTo, shareBrowser, signedIn } from '../support/browser.ts'
import { openShop, type Shop } from '../support/shop.ts'
import { stockFlows, tellStock, workOf } from '../support/stock.ts'

let browser: Browser
let shop: Shop
beforeAll(async () => {
  const env = { MILLRACE_ENV: 'PROD', MILLRACE_OUTBOUND_ALLOW: '127.0.0.1/32' }
  ;[browser, shop] = await Promise.all([shareBrowser(), openShop({ more: stockFlows, env })])
})
afterAll(() => shop?.[Symbol.asyncDispose]())

async function deadLetterOf(route: string): Promise<string> {
  const { items } = await shop.node.get<{ items: { id: string }[] }>(
    `/v1/dead-letters?consumer=${route}&state=open`,
  )
  return items[0]!.id
}

test('[CN5][CN6] a replay shows what changed and what it costs, and starts in PROD only with a reason', async () => {
  await tellStock(shop.node, 'moved', 'bad-cost')
  await workOf(shop.node, 'book_stock', 'dead')
  const id = await deadLetterOf('book_stock')
  await shop.node.post(`/v1/dead-letters/${id}/edit`, {
    data: { id: 'moved-bad-cost', type: 'moved', number: 'good-cost', sku: 'sku-bad-cost' },
    reason: 'the number was wrong',
  })
  await using made = await signedIn(browser, shop.node, `/dead-letters/${id}`)
  const { page } = made
  await page.getByText('is how far it came').waitFor()
  await page.getByRole('button', { name: 'Replay', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/book_stock: one call to 127\.0\.0\.1:\d+ takes .* of its 30 per minute\./).waitFor()
  await dialog.getByRole('button', { name: 'What changed' }).click()
  const payload = dialog.getByRole('region', { name: 'Difference' }).filter({ hasText: 'number' })
  await payload.getByText('- "bad-cost"').waitFor()
  await payload.getByText('+ "good-cost"').waitFor()

  await dialog.getByRole('button', { name: 'Replay 1' }).click()
  await dialog.getByText('A reason is required.').waitFor()
  await dialog.getByLabel('Reason').fill('mended')
  await dialog.getByLabel('Rate').fill('none')
  await dialog.getByText('A whole number, 1 or more.').waitFor()
  await dialog.getByLabel('Rate').fill('5')
  await dialog.getByRole('button', { name: 'Replay 1' }).click()
  await dialog.getByRole('heading', { name: 'Replayed' }).waitFor()
  const { items } = await shop.node.get<{ items: { perSecond: number; reason: string }[] }>('/v1/replays')
  expect(items[0]).toMatchObject({ perSecond: 5, reason: 'mended' })
  await page.goto(`${shop.node.url}/replays`)
  await page.getByRole('list', { name: 'Replays' }).getByRole('listitem').first().waitFor()
  expect(made.complaints).toEqual([])
})

test('[CN7] a second effect needs an explicit confirmation and a reason, and shows as a generation of its key', async () => {
  const refused = await shop.order('bad-twice')
  await shop.reached(refused, 'invoice', 'dead')
  const id = await deadLetterOf('invoice')
  shop.heal()
  await shop.reached(await shop.order('bad-twice', { id: 'sent by hand' }), 'invoice', 'done')
  const effects = () => shop.invoices.filter((reference) => reference.startsWith('INVOICE:bad-twice')).length
  expect(effects()).toBe(1)

  await using made = await signedIn(browser, shop.node, `/dead-letters/${id}`)
  const { page } = made
  await page.getByRole('button', { name: 'Replay', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('One has its effect already and would be skipped.').waitFor()
  await dialog.getByRole('button', { name: 'Repeat the effect …' }).click()
  await dialog.getByText('This repeats an effect.').waitFor()
  await dialog.getByRole('checkbox', { name: /Yes, repeat effects/ }).check()
  const go = dialog.getByRole('button', { name: 'Replay 1 and repeat effects' })
  await go.click()
  await dialog.getByText('A reason is required.').waitFor()
  await dialog.getByLabel('Reason').fill('the first invoice was shredded')
  await go.click()
  await dialog.getByRole('heading', { name: 'Replayed' }).waitFor()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await page.getByRole('heading').getByText('resolved').waitFor()
  expect(effects()).toBe(2)

  await goTo(page, '/ledger?key=INVOICE:bad-twice')
  await page.getByText('generation 2, on purpose').waitFor()
  await page.getByText('first effect').waitFor()
  expect(made.complaints).toEqual([])
})
