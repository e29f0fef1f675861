// The live list of events and one event's page, in a real browser against the real node.

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

test('an empty list says what to do; an event appears by itself and shows its outcome', async () => {
  await using made = await signedIn(browser, shop.node, '/events')
  const { page } = made
  await page.getByText('No events yet').waitFor()
  await page.getByText('npx millrace send github').waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  const id = await shop.order('1001')
  const row = page.locator(`a[href="/events/${id}"]`)
  await row.waitFor()
  await row.getByText('invoice · done').waitFor()
  await row.getByText('announce · done').waitFor()
  expect(made.complaints).toEqual([])
})

test('search and filters work, and are stored in the address', async () => {
  const wanted = await shop.order('find-me', { note: 'a needle in the payload' })
  const stray = await shop.send('{"id":"stray-1","type":"order.lost","order":{"number":"stray"}}')
  await using made = await signedIn(browser, shop.node, '/events')
  const { page } = made
  await page.locator(`a[href="/events/${stray}"]`).waitFor()
  await page.getByLabel('Search events').fill('needle')
  await page.locator(`a[href="/events/${stray}"]`).waitFor({ state: 'detached' })
  await page.locator(`a[href="/events/${wanted}"]`).waitFor()
  expect(page.url()).toContain('q=needle')

  await page.getByLabel('Search events').fill('no such thing')
  await page.getByText('Nothing fits').waitFor()
  await page.getByRole('button', { name: 'Clear the filters' }).click()
  await page.getByLabel('Unmatched only').check()
  await page.locator(`a[href="/events/${wanted}"]`).waitFor({ state: 'detached' })
  await page.locator(`a[href="/events/${stray}"]`).getByText('unmatched').waitFor()
  await page.reload()
  await page.locator(`a[href="/events/${stray}"]`).waitFor()
  expect(await page.getByLabel('Unmatched only').isChecked()).toBe(true)
})

test('an event’s page shows its whole timeline, and keeps every digit of its payload', async () => {
  const id = await shop.send(
    '{"id":"big-1","type":"order.paid","order":{"number":"big-1","total":9007199254740993},"deep":{"a":{"b":1.10}}}',
  )
  await shop.reached(id, 'invoice', 'done')
  await using made = await signedIn(browser, shop.node, `/events/${id}`)
  const { page } = made
  await page.getByRole('heading', { name: 'shop.events.order.paid' }).waitFor()
  await page.getByText('Accepted', { exact: true }).waitFor()
  await page.getByText('Matched 2 routes').waitFor()
  await page.getByText('HTTP 201').waitFor()
  await page.getByText('INVOICE:big-1').first().waitFor()
  await page.getByText('9007199254740993').waitFor()
  await page.getByRole('button', { name: '"a"' }).click()
  await page.getByText('1.10').waitFor()

  await page.getByRole('tab', { name: 'Headers' }).click()
  await page.getByText('content-type').waitFor()
  await page.getByRole('tab', { name: 'Envelope' }).click()
  await page.getByText(/^sha256:[0-9a-f]{64}$/).waitFor()
  await page.getByRole('tab', { name: 'Explain' }).click()
  const explained = page.locator('.explain > li')
  await explained.filter({ hasText: 'invoice' }).getByText('payload.order.total > 0').first().waitFor()
  await explained.filter({ hasText: 'welcome' }).getByText('other subject').waitFor()

  await page.getByRole('link', { name: 'shop.order.announced' }).click()
  await page.getByRole('heading', { name: 'shop.order.announced' }).waitFor()
  await page.getByRole('link', { name: 'another event' }).click()
  await page.getByRole('heading', { name: 'shop.events.order.paid' }).waitFor()
  expect(made.complaints).toEqual([])
})

test('an event that does not exist is reported, with a way on', async () => {
  await using made = await signedIn(browser, shop.node, '/events/evt_01a1e186-f7bc-7001-8a3e-6c4cc5ceb105')
  await made.page.getByRole('alert').getByText('there is no event with this id').waitFor()
})

test('nothing moves while a user reads further down; a click brings what is new', async () => {
  await Promise.all(Array.from({ length: 70 }, (_, index) => shop.order(`fill-${index}`)))
  await using made = await signedIn(browser, shop.node, '/events')
  const { page } = made
  await page.locator('[data-row]').nth(40).waitFor()
  const before = await page.locator('[data-row]').count()
  await page.getByRole('button', { name: 'Load more' }).click()
  await expect.poll(() => page.locator('[data-row]').count()).toBeGreaterThan(before)

  await page.mouse.wheel(0, 900)
  await expect.poll(() => page.evaluate<number>('window.scrollY')).toBeGreaterThan(300)
  const first = await page.locator('[data-row]').first().getAttribute('href')
  const id = await shop.order('while-reading')
  const pill = page.getByRole('button', { name: /Paused while you scroll: \d+ new/ })
  await pill.waitFor()
  expect(await page.locator('[data-row]').first().getAttribute('href')).toBe(first)
  await pill.click()
  await page.locator(`a[href="/events/${id}"]`).waitFor()
})

test('a burst of many events leaves the page responsive', async () => {
  await using made = await signedIn(browser, shop.node, '/events')
  const { page } = made
  await page.locator('[data-row]').first().waitFor()
  // The longest time that the page could not have responded to a key or a click.
  await page.evaluate(`
    window.longest = 0
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration)
    }).observe({ type: 'longtask' })
  `)
  let sent = 0
  const sender = async () => {
    while (sent < 1_500) {
      sent += 1
      await shop.send(`{"id":"burst-${sent}","type":"customer.created"}`)
    }
  }
  await Promise.all(Array.from({ length: 24 }, sender))
  await page.locator('[data-row]').filter({ hasText: 'shop.customer.welcomed' }).first().waitFor()
  expect(await page.locator('[data-row]').count()).toBeLessThanOrEqual(600)
  // A busy machine makes it many times longer; rendering every event at once would take minutes.
  expect(await page.evaluate<number>('window.longest')).toBeLessThan(5_000)
  await page.getByRole('link', { name: 'Routes' }).click()
  await page.getByRole('heading', { name: 'Routes' }).waitFor()
})
