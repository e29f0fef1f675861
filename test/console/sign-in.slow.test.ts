// Signing in to the console: by the link that the node prints, by a key, and out again.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { shareBrowser, signedIn, visit } from '../support/browser.ts'
import { openShop, type Shop } from '../support/shop.ts'

let browser: Browser
let shop: Shop
beforeAll(async () => {
  ;[browser, shop] = await Promise.all([shareBrowser(), openShop()])
})
afterAll(() => shop?.[Symbol.asyncDispose]())

test('a link signs in once, and disappears from the address at once', async () => {
  const { url } = await shop.node.post<{ url: string }>('/v1/session/links', {})
  await using first = await visit(browser)
  await first.page.goto(url)
  await first.page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(first.page.url()).toBe(`${shop.node.url}/`)
  const cookies = await first.context.cookies()
  expect(cookies).toMatchObject([{ name: 'millrace_session', httpOnly: true, sameSite: 'Strict' }])
  expect(first.complaints).toEqual([])

  await using second = await visit(browser)
  await second.page.goto(url)
  await second.page.getByText('The link did not work').waitFor()
  expect(second.page.url()).not.toContain('link=')
})

test('the node prints a link that works', async () => {
  const [link] = await shop.node.said(/http:\/\/\S+\/sign-in#link=\S+/)
  await using first = await visit(browser)
  await first.page.goto(link)
  await first.page.getByRole('heading', { name: 'Overview' }).waitFor()
})

test('a wrong key is refused at its field; the right one continues to the requested page', async () => {
  await using made = await visit(browser)
  const { page } = made
  await page.goto(`${shop.node.url}/dead-letters`)
  await page.getByRole('heading', { name: 'Sign in to Millrace' }).waitFor()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Paste a key first.').waitFor()
  await page.getByLabel('Key').fill('mrk_default_0_nobody')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('.field__error').waitFor()
  await expect.poll(() => page.getByLabel('Key').getAttribute('aria-invalid')).toBe('true')
  await page.getByLabel('Key').fill(shop.node.adminKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Dead letters' }).waitFor()
  expect(await page.title()).toBe('Dead letters · Millrace')
})

test('signing out ends the session', async () => {
  await using made = await signedIn(browser, shop.node, '/settings')
  const { page } = made
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to Millrace' }).waitFor()
  await page.goto(`${shop.node.url}/events`)
  await page.getByRole('heading', { name: 'Sign in to Millrace' }).waitFor()
})
