// The frame of every screen: palette, keys, themes, phone; and axe on each screen in both themes.

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { axeFindings, goTo, shareBrowser, signedIn, visit } from '../support/browser.ts'
import { openShop, type Shop } from '../support/shop.ts'

const DESK = { width: 1440, height: 900 }
const PHONE = { width: 390, height: 844 }

let browser: Browser
let shop: Shop
const ids = { event: '', work: '', letter: '', key: 'INVOICE:1001' }
beforeAll(async () => {
  ;[browser, shop] = await Promise.all([shareBrowser(), openShop()])
  ids.event = await shop.order('1001')
  ids.work = await shop.reached(await shop.order('lost-1'), 'invoice', 'parked')
  const refused = await shop.order('bad-1')
  await shop.reached(refused, 'invoice', 'dead')
  const { items } = await shop.node.get<{ items: { id: string }[] }>('/v1/dead-letters')
  ids.letter = items[0]!.id
})
afterAll(() => shop?.[Symbol.asyncDispose]())

test('the palette navigates, opens by id, and acts', async () => {
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
  await page.getByRole('combobox', { name: 'Command' }).fill(ids.key)
  await page.getByRole('option', { name: 'Open effect' }).click()
  await page.waitForURL((url) => url.searchParams.get('key') === ids.key)
  await page.getByRole('button', { name: 'Show all' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Command' }).fill('pause route')
  if (process.env.SHOT !== undefined) await page.screenshot({ path: process.env.SHOT })
  await page.getByRole('option', { name: 'Pause route invoice' }).click()
  await page.getByRole('dialog').getByRole('heading', { name: 'Pause invoice' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.waitForURL((url) => url.search === '')
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

test('keys navigate, move and show help', async () => {
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

test('on a phone the navigation is a bar and a drawer', async () => {
  await using made = await signedIn(browser, shop.node, '/', { size: PHONE })
  const { page } = made
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('link', { name: 'Unknown outcomes' }).click()
  await page.getByRole('heading', { name: 'Unknown outcomes' }).waitFor()
  await page.getByRole('navigation', { name: 'Quick' }).getByRole('link', { name: 'Events' }).click()
  await page.getByRole('heading', { name: 'Events' }).waitFor()
})

const screens = (): readonly string[] => [
  '/',
  '/events',
  `/events/${ids.event}`,
  '/work?state=done',
  `/work/${ids.work}`,
  '/failures?state=escalated',
  '/ledger',
  '/escalations',
  '/ledger?key=INVOICE:1001',
  '/unknown',
  '/dead-letters',
  `/dead-letters/${ids.letter}`,
  '/sources',
  '/sources/shop',
  '/rejections',
  '/catalog',
  '/catalog/shop.events.order.paid',
  '/routes',
  '/routes/invoice',
  '/connections',
  '/credentials',
  '/runs',
  '/providers',
  '/providers/github',
  '/definitions/edit',
  '/definitions/versions',
  '/vars',
  '/try',
  '/settings',
  '/settings?tab=keys',
  '/settings?tab=secrets',
  '/settings?tab=tenants',
  '/nothing-here',
]

/** A tab of the settings keeps its heading, so its page is loaded. */
async function visitScreen(page: Page, path: string): Promise<void> {
  if (!path.includes('tab=')) return goTo(page, path)
  await page.goto(shop.node.url + path)
  await page.locator('h1').waitFor()
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
}

test('every screen fits a phone, and axe finds nothing serious on it in light and dark', async () => {
  const all = screens()
  const half = Math.ceil(all.length / 2)
  // Two at a time: each page has its own process.
  const findings = await Promise.all([lookAt(all.slice(0, half)), lookAt(all.slice(half))])
  expect(findings.flat()).toEqual([])
})

async function lookAt(paths: readonly string[]): Promise<readonly string[]> {
  await using made = await signedIn(browser, shop.node, '/nowhere')
  const { page } = made
  const findings: string[] = []
  for (const path of paths) {
    await page.setViewportSize(DESK)
    await visitScreen(page, path)
    findings.push(...(await axeFindings(page)).map((finding) => `${path} ${finding}`))
    await page.setViewportSize(PHONE)
    await expect
      .poll(() => page.evaluate<number>('document.documentElement.scrollWidth'), { message: path })
      .toBe(PHONE.width)
  }
  return findings
}

test('axe finds nothing serious in overlays: a group, a replay, the palette', async () => {
  await using made = await signedIn(browser, shop.node, '/dead-letters')
  const { page } = made
  const findings: string[] = []
  const look = async (what: string) =>
    findings.push(...(await axeFindings(page)).map((finding) => `${what} ${finding}`))
  await page.locator('.group__toggle').click()
  await page.getByRole('list', { name: 'Letters of this group' }).getByRole('link').waitFor()
  await look('an open group')
  await page.getByRole('button', { name: 'Replay group' }).click()
  await page.getByRole('dialog').getByText('would call').first().waitFor()
  await look('the replay dialog')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Command' }).waitFor()
  await look('the palette')
  expect(findings).toEqual([])
})

test('axe finds nothing serious on the sign-in page', async () => {
  await using made = await visit(browser)
  await made.page.goto(`${shop.node.url}/sign-in`)
  await made.page.getByLabel('Key').waitFor()
  expect(await axeFindings(made.page)).toEqual([])
})

test('a viewer sees everything and is offered nothing that it may not do', async () => {
  const { key } = await shop.node.post<{ key: string }>('/v1/keys', { name: 'a viewer', role: 'viewer' })
  await using made = await signedIn(browser, { ...shop.node, adminKey: key }, '/nowhere')
  const { page } = made
  const forbidden =
    /^(Replay|Discard|Edit|Mark ready|Cancel|Probe|Retry|Acknowledge|Let|It happened|It did not|Pause|Disable|Apply YAML|New|Set|Send)/
  for (const path of screens().filter((one) => !one.includes('tab='))) {
    await visitScreen(page, path)
    const main = page.getByRole('main')
    expect([path, await main.getByRole('button', { name: forbidden }).allTextContents()]).toEqual([path, []])
    expect([path, await main.getByRole('link', { name: forbidden }).allTextContents()]).toEqual([path, []])
  }
  await page.goto(`${shop.node.url}/definitions/edit`)
  await page.getByText('Applying needs the role admin; yours is viewer.').waitFor()
  await page.getByRole('button', { name: 'Check and plan' }).click()
  await page.getByText('What would change').waitFor()
  expect(await page.getByRole('button', { name: 'Apply', exact: true }).isDisabled()).toBe(true)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Command' }).fill('appl')
  expect(await page.getByRole('option', { name: 'Apply definitions' }).count()).toBe(0)
  expect(made.complaints).toEqual([])
})
