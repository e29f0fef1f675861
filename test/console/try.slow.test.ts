// Trying routes and expressions on real events, in a real browser; no other system is called.

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

test('without an event it says what to do; with one it shows match, key, request and ledger', async () => {
  await using made = await signedIn(browser, shop.node, '/try')
  const { page } = made
  await page.getByText('There is no event to try with').waitFor()
  const id = await shop.order('1001')
  await shop.reached(id, 'invoice', 'done')
  const called = shop.invoices.length
  await page.goto(`${shop.node.url}/events/${id}`)
  await page.getByRole('link', { name: 'Try a route on it' }).click()
  await page.getByRole('combobox', { name: 'Route' }).selectOption('invoice')
  const result = page.locator('.try__result')
  await result.getByText('matches', { exact: true }).waitFor()
  await result.getByText('payload.order.total > 0').first().waitFor()
  await result.getByText('INVOICE:1001').first().waitFor()
  await result.getByText(/POST http:\/\/127\.0\.0\.1:\d+\/invoices/).waitFor()
  await result.getByText('would skip').waitFor()
  await page.getByRole('combobox', { name: 'Route' }).selectOption('welcome')
  await result.getByText('is not one it listens to').waitFor()
  expect(shop.invoices.length).toBe(called)
  expect(made.complaints).toEqual([])
})

test('a route that is not applied is tried from its YAML', async () => {
  const id = await shop.order('1002')
  await using made = await signedIn(browser, shop.node, `/try?event=${id}`)
  const { page } = made
  await page.getByRole('tab', { name: 'From YAML' }).click()
  await page
    .getByLabel('Route as YAML')
    .fill(
      'kind: Route\nname: draft\non: [shop.events.>]\nwhere: payload.order.total > 100\ndo: { emit: shop.big }\n',
    )
  await page.getByRole('button', { name: 'Try it' }).click()
  await page.locator('.try__result').getByText('does not match', { exact: true }).waitFor()
})

test('an expression is evaluated over the selected event while the user types', async () => {
  const id = await shop.order('1003')
  await using made = await signedIn(browser, shop.node, `/try?event=${id}`)
  const { page } = made
  const result = page.locator('.expression__result')
  await page.getByLabel('Expression', { exact: true }).fill('payload.order.number')
  await result.getByText('"1003"').waitFor()
  await page.getByLabel('Expression', { exact: true }).fill('payload.order.number +')
  await result.locator('.expression__error').waitFor()
  await page.getByLabel('Read as').selectOption('condition')
  await page.getByLabel('Expression', { exact: true }).fill('payload.order.total > 40')
  await result.getByText('true', { exact: true }).waitFor()
})
