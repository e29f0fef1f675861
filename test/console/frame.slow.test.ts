// What surrounds every screen: palette, keys, themes, phone; and axe on each screen in both themes.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { axeFindings, launchBrowser, signedIn, visit } from '../support/browser.ts'
import { openShop, type Shop } from '../support/shop.ts'

let browser: Browser
let shop: Shop
const ids = { event: '', work: '', letter: '' }
beforeAll(async () => {
  ;[browser, shop] = await Promise.all([launchBrowser(), openShop()])
  ids.event = await shop.order('1001')
  ids.work = await shop.reached(await shop.order('lost-1'), 'invoice', 'parked')
  const refused = await shop.order('bad-1')
  await shop.reached(refused, 'invoice', 'dead')
  const { items } = await shop.node.get<{ items: { id: string }[] }>('/v1/dead-letters')
  ids.letter = items[0]!.id
})
afterAll(async () => {
  await browser?.close()
  await shop?.[Symbol.asyncDispose]()
})

test('the palette goes to places, opens by id, and acts', async () => {
  await using made = await signedIn(browser, shop.node, '/')
  const { page } = made
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Command' }).fill('dead')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Dead letters' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Command' }).fill(ids.event)
  await page.getByRole('option', { name: /Open event/ }).click()
  await page.getByRole('heading', { name: 'shop.events.order.paid' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Command' }).fill('dark theme')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('dark')
  await page.reload()
  expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
  await page.keyboard.press('Control+k')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(made.complaints).toEqual([])
})

test('keys go, move and help', async () => {
  await using made = await signedIn(browser, shop.node, '/')
  const { page } = made
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('e')
  await page.getByRole('heading', { name: 'Events' }).waitFor()
  await page.locator('[data-row]').nth(1).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  expect(
    await page
      .locator('[data-row]')
      .first()
      .evaluate((row) => row.matches(':focus')),
  ).toBe(true)
  await page.keyboard.press('/')
  await page.keyboard.type('g d')
  expect(page.url()).toContain('/events')
  await page.getByLabel('Search events').blur()
  await page.keyboard.press('?')
  await page.getByRole('dialog').getByText('Command palette').waitFor()
})

test('on a phone the navigation is a bar and a drawer, and no screen is wider than the glass', async () => {
  await using made = await signedIn(browser, shop.node, '/', { size: { width: 390, height: 844 } })
  const { page } = made
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('link', { name: 'Unknown outcomes' }).click()
  await page.getByRole('heading', { name: 'Unknown outcomes' }).waitFor()
  await page.getByRole('navigation', { name: 'Quick' }).getByRole('link', { name: 'Events' }).click()
  await page.getByRole('heading', { name: 'Events' }).waitFor()
  for (const path of screens()) {
    await page.goto(shop.node.url + path)
    await page.locator('h1').waitFor()
    await page.waitForLoadState('load')
    expect([path, await page.evaluate<number>('document.documentElement.scrollWidth')]).toEqual([path, 390])
  }
})

const screens = (): readonly string[] => [
  '/',
  '/events',
  `/events/${ids.event}`,
  '/work?state=done',
  `/work/${ids.work}`,
  '/unknown',
  '/dead-letters',
  `/dead-letters/${ids.letter}`,
  '/sources',
  '/routes',
  '/routes/invoice',
  '/definitions/edit',
  '/definitions/versions',
  '/try',
  '/settings',
  '/settings?tab=keys',
  '/settings?tab=secrets',
  '/settings?tab=tenants',
  '/nowhere',
]

describe.each(['light', 'dark'] as const)('axe finds nothing serious in %s', (theme) => {
  test('on any screen', async () => {
    await using made = await signedIn(browser, shop.node, '/', { theme })
    const { page } = made
    const findings: string[] = []
    for (const path of screens()) {
      await page.goto(shop.node.url + path)
      await page.locator('h1').waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
      findings.push(...(await axeFindings(page)).map((finding) => `${path} ${finding}`))
    }
    await page.goto(`${shop.node.url}/dead-letters`)
    await page.getByRole('button', { name: 'Replay group' }).click()
    await page.getByRole('dialog').getByText('would call').first().waitFor()
    findings.push(...(await axeFindings(page)))
    await page.goto(`${shop.node.url}/events`)
    await page.locator('[data-row]').first().waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command' }).waitFor()
    findings.push(...(await axeFindings(page)))
    expect(findings).toEqual([])
  })

  test('on the way in', async () => {
    await using made = await visit(browser, { theme })
    await made.page.goto(`${shop.node.url}/sign-in`)
    await made.page.getByLabel('Key').waitFor()
    expect(await axeFindings(made.page)).toEqual([])
  })
})
