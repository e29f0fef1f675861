// Sources in a real browser against the real node: the switch that stores or refuses, rejections, the catalog, test
// events, and replays of events.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { axeFindings, shareBrowser, signedIn } from '../support/browser.ts'
import { openShop, type Shop } from '../support/shop.ts'

let browser: Browser
let shop: Shop
beforeAll(async () => {
  ;[browser, shop] = await Promise.all([shareBrowser(), openShop()])
})
afterAll(() => shop?.[Symbol.asyncDispose]())

const deliver = async (body: string, source = 'shop') =>
  (
    await fetch(`${shop.node.url}/in/default/${source}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
  ).status

test('[CO1] [CO2] [CO3] a source shows its address; paused it stores, resumed it continues, disabled it refuses', async () => {
  await using made = await signedIn(browser, shop.node, '/sources')
  const { page } = made
  await page.getByRole('link', { name: /shop.*Orders of the shop/ }).click()
  await page.getByText(`${shop.node.url}/in/default/shop`).waitFor()
  await page.getByText('Senders are not verified: anyone who knows the address can send.').waitFor()
  const confirm = async (name: string) => {
    await page.getByRole('button', { name }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason (optional)').fill('a test')
    await dialog.getByRole('button', { name }).click()
  }
  await confirm('Pause')
  await page.getByText('Paused: events are stored.').waitFor()
  await page.getByText('Nothing waits yet.').waitFor()
  const kept = await shop.order('kept-1')
  await page.getByText('1 event waits until it is resumed.').waitFor()
  expect(await axeFindings(page)).toEqual([])
  await page.locator(`a[href="/events/${kept}"]`).click()
  await page.getByText('Stored by its source').waitFor()
  expect(shop.invoices).not.toContain('INVOICE:kept-1')
  await page.goto(`${shop.node.url}/sources/shop`)
  await confirm('Resume')
  await page.getByRole('heading').getByText('active').waitFor()
  await shop.reached(kept, 'invoice', 'done')
  expect(shop.invoices.filter((reference) => reference === 'INVOICE:kept-1')).toHaveLength(1)

  await confirm('Disable')
  await page.getByText('Disabled: events are refused.').waitFor()
  expect(await deliver('{"id":"refused-1","type":"order.paid"}')).toBe(410)
  await page
    .getByRole('list', { name: 'Turned away by reason' })
    .getByText('The source is disabled')
    .waitFor()
  await confirm('Resume')
  await page.getByRole('heading').getByText('active').waitFor()
  expect(made.complaints).toEqual([])
})

test('[CO4] rejections are counted and listed, with what to do about them', async () => {
  expect(await deliver('not json')).toBe(400)
  expect(await deliver('{}', 'nowhere')).toBe(404)
  await using made = await signedIn(browser, shop.node, '/sources')
  const { page } = made
  await page.getByRole('main').getByRole('link', { name: 'Rejections' }).click()
  const reasons = page.getByRole('list', { name: 'Reasons' })
  const rows = page.getByRole('list', { name: 'Rejections' }).getByRole('listitem')
  await reasons.getByText('Compare the address at the sender with that of the source.').waitFor()
  await rows.filter({ hasText: 'nowhere' }).getByText('404').waitFor()
  await reasons.getByRole('button', { name: /Not JSON/ }).click()
  await rows.filter({ hasText: 'nowhere' }).waitFor({ state: 'detached' })
  await rows.filter({ hasText: '127.0.0.1' }).getByText('Not JSON').waitFor()
  expect(page.url()).toContain('reason=not_json')
  await page.getByLabel('Source').selectOption('shop')
  await reasons.getByText('The source is disabled').waitFor()
  expect(made.complaints).toEqual([])
})

test('[CO5] the catalog finds a subject, shows which routes match it, and sends its example as a test event', async () => {
  await using made = await signedIn(browser, shop.node, '/catalog')
  const { page } = made
  await page.getByLabel('Search subjects').fill('was paid')
  const subjects = page.getByRole('list', { name: 'Subjects' })
  await subjects.getByText('shop.events.customer.created').waitFor({ state: 'detached' })
  await subjects.getByRole('link', { name: /shop\.events\.order\.paid/ }).click()
  await page.getByRole('main').getByRole('link', { name: 'invoice' }).waitFor()
  await page.getByText('JSON Schema').waitFor()
  await page.getByRole('button', { name: 'Send a test event' }).click()
  const dialog = page.getByRole('dialog')
  const data = dialog.getByLabel('Data')
  await expect.poll(() => data.inputValue()).toContain('"number": "example-1"')
  await data.fill('{"order":')
  await dialog.getByText(/^Line 1, column \d+/).waitFor()
  await data.fill('{"order":{"number":"by-hand-1","total":9007199254740993}}')
  await dialog.getByRole('button', { name: 'Send' }).click()
  await page.getByText('The event is accepted').waitFor()
  await page.getByRole('heading', { name: 'shop.events.order.paid' }).waitFor()
  await page.getByText('9007199254740993').waitFor()
  await page.getByText('INVOICE:by-hand-1').first().waitFor()

  await page.goto(`${shop.node.url}/catalog/shop.events.customer.created`)
  await page.getByRole('link', { name: 'Write a route' }).click()
  await expect
    .poll(() => page.getByLabel('Definitions as YAML').inputValue())
    .toContain('on: ["shop.events.customer.created"]')
  expect(made.complaints).toEqual([])
})

test('[CO6] [CO7] an event shows that it was repeated, shows its raw body, and is replayed after a preview', async () => {
  const id = await shop.order('again-1')
  await shop.reached(id, 'invoice', 'done')
  expect(await shop.order('again-1')).toBe(id)
  // Repetitions are counted a moment later; a page that is opened before is not updated.
  const duplicates = async () => (await shop.node.get<{ duplicates: number }>(`/v1/events/${id}`)).duplicates
  await expect.poll(duplicates).toBe(1)
  await using made = await signedIn(browser, shop.node, `/events/${id}`)
  const { page } = made
  await page.getByText(/received again once, last/).waitFor()
  await page.getByRole('tab', { name: 'Raw body' }).click()
  await page
    .getByRole('region', { name: 'Raw body' })
    .getByText('{"id":"e-again-1","type":"order.paid","order":{"number":"again-1","total":42}}')
    .waitFor()
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Replay this event' }).click()
  await dialog.getByText('would skip').first().waitFor()
  await dialog.getByRole('button', { name: 'Replay 1' }).click()
  await dialog.getByRole('heading', { name: 'Replayed' }).waitFor()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  expect(shop.invoices.filter((reference) => reference === 'INVOICE:again-1')).toHaveLength(1)

  await page.goto(`${shop.node.url}/events`)
  await page.getByRole('button', { name: 'Replay …' }).click()
  await dialog.getByLabel('Received from').fill('')
  await dialog.getByText('Choose at least one: source, subject or time.').waitFor()
  await dialog.getByLabel('Source').selectOption('shop')
  await dialog.getByLabel('Subject').fill('shop.events.order.paid')
  await dialog.getByRole('button', { name: 'Show what would happen' }).click()
  await dialog.getByRole('button', { name: /^Replay [1-9]\d*$/ }).waitFor()
  expect(await axeFindings(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Back' }).click()
  expect(made.complaints).toEqual([])
})

test('[CO6] sensitive data is hidden from a viewer, who sees why', async () => {
  const yaml = `kind: Source
name: people
verify: { scheme: none }
subject: people.events.joined
sensitive: [payload.email]
`
  await shop.node.post('/v1/definitions/apply', { files: [{ path: 'people.yaml', text: yaml }] })
  expect(await deliver('{"id":"p-1","email":"somebody@example.com"}', 'people')).toBe(202)
  const { items } = await shop.node.get<{ items: { id: string }[] }>('/v1/events?source=people')
  const { key } = await shop.node.post<{ key: string }>('/v1/keys', { name: 'looks', role: 'viewer' })
  await using made = await signedIn(browser, { ...shop.node, adminKey: key }, `/events/${items[0]!.id}`)
  const { page } = made
  await page.getByText('Some values are hidden.').waitFor()
  await page.getByTitle('The source says that this is sensitive: operators and admins see it.').waitFor()
  expect(await page.content()).not.toContain('somebody@example.com')
  await page.getByRole('tab', { name: 'Raw body' }).click()
  await page.getByText('Operators and admins only').waitFor()
  expect(await page.getByRole('button', { name: 'Replay this event' }).count()).toBe(0)
})
