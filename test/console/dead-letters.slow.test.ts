// Dead letters in a real browser: grouped by cause, replayed after a preview, edited, discarded; and what is shown when
// another user was faster.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { shareBrowser, signedIn } from '../support/browser.ts'
import { eventually } from '../support/node-process.ts'
import { openShop, type Shop } from '../support/shop.ts'

let browser: Browser
let shop: Shop
beforeAll(async () => {
  ;[browser, shop] = await Promise.all([shareBrowser(), openShop()])
})
afterAll(() => shop?.[Symbol.asyncDispose]())

/** A dead letter of a refused order; returns its id. */
async function deadLetterOf(number: string, extra: object = {}): Promise<string> {
  const eventId = await shop.order(number, extra)
  await shop.reached(eventId, 'invoice', 'dead')
  const { story } = await shop.node.get<{ story: { deadLetter: { id: string } | null }[] }>(
    `/v1/events/${eventId}`,
  )
  return story.find(({ deadLetter }) => deadLetter !== null)!.deadLetter!.id
}

test('no dead letters is said; a dead letter appears in its group', async () => {
  await using made = await signedIn(browser, shop.node, '/dead-letters')
  const { page } = made
  await page.getByText('No open dead letters').waitFor()
  const id = await deadLetterOf('bad-1')
  const group = page.locator('.group').filter({ hasText: 'answered 422' })
  await group.waitFor()
  await group.getByText('validation').waitFor()
  await group.locator('.group__toggle').click()
  await group.getByText('The other side refused the data.').waitFor()
  await group.locator(`a[href="/dead-letters/${id}"]`).click()
  await page.getByText('HTTP 422').waitFor()
  await page.getByRole('button', { name: 'Mark ready' }).click()
  await page.getByText('Marked as ready to replay').waitFor()
  await page.getByRole('heading').getByText('ready to replay').waitFor()
  expect(made.complaints).toEqual([])
})

test('discarding asks for a reason, and keeps the dead letter', async () => {
  const id = await deadLetterOf('bad-discard')
  await using made = await signedIn(browser, shop.node, `/dead-letters/${id}`)
  const { page } = made
  await page.getByRole('button', { name: 'Discard', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Discard' }).click()
  await dialog.getByText('A reason is required.').waitFor()
  await dialog.getByLabel('Reason').fill('a test order')
  await dialog.getByRole('button', { name: 'Discard' }).click()
  await page.getByText('The dead letter is discarded').waitFor()
  await page.getByRole('heading').getByText('discarded').waitFor()
  await page.getByRole('button', { name: 'Replay' }).waitFor({ state: 'detached' })
})

test('another user was faster: it is reported, and the page shows the current state', async () => {
  const id = await deadLetterOf('bad-race')
  await using made = await signedIn(browser, shop.node, `/dead-letters/${id}`)
  const { page } = made
  // Nothing updates this page in time: the stream is cut.
  await page.route('**/v1/stream', (route) => route.abort())
  await page.reload()
  await page.getByRole('button', { name: 'Discard', exact: true }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill('mine')
  await shop.node.post(`/v1/dead-letters/${id}/discard`, { reason: 'theirs' })
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
  await page.getByText('Somebody else was faster').waitFor()
  await page.getByRole('heading').getByText('discarded').waitFor()
  expect(await page.getByRole('dialog').count()).toBe(0)
})

test('an edited payload is checked, stored digit for digit, and replayed', async () => {
  const id = await deadLetterOf('bad-edit', { account: 1 })
  await using made = await signedIn(browser, shop.node, `/dead-letters/${id}`)
  const { page } = made
  await page.getByRole('button', { name: 'Edit payload' }).click()
  const dialog = page.getByRole('dialog')
  const text = dialog.getByLabel('Payload')
  const before = await text.inputValue()
  await text.fill(before.replace('"total": 42', '"total": '))
  await dialog.getByText(/^Line \d+, column \d+: expected a value/).waitFor()
  expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
  await text.fill(
    before.replace('"account": 1', '"account": 9007199254740993').replace('"bad-edit"', '"mended-edit"'),
  )
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('A reason is required.').waitFor()
  await dialog.getByLabel('Reason').fill('the account was wrong')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The payload is changed').waitFor()
  await page.getByText('9007199254740993').waitFor()

  await page.getByRole('button', { name: 'Replay', exact: true }).click()
  await dialog
    .getByText(/would (call|differ)/)
    .first()
    .waitFor()
  expect(shop.invoices).not.toContain('INVOICE:bad-edit')
  await dialog.getByRole('button', { name: 'Replay 1' }).click()
  await dialog.getByRole('heading', { name: 'Replayed' }).waitFor()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await page.getByRole('heading').getByText('resolved').waitFor()
  // The key is the dead letter's own: an edited payload does not make it another effect.
  expect(shop.invoices.filter((reference) => reference.endsWith('-edit'))).toEqual(['INVOICE:bad-edit'])
  // [DL14] The copy says who changed it and where; nothing says that the shop sent it.
  const { eventId } = await shop.node.get<{ eventId: string }>(`/v1/dead-letters/${id}`)
  await page.goto(`${shop.node.url}/events/${eventId}`)
  await page.getByText('Edited copy', { exact: true }).waitFor()
  await page.getByText('Changed', { exact: true }).waitFor()
  await page.getByText(/the account was wrong/).waitFor()
  await page.getByText('did not send this payload').waitFor()
  const lead = page.locator('.event__facts')
  expect(await lead.textContent()).toMatch(/edited copy, made .* by .* from an event of/)
  expect(await lead.textContent()).not.toContain('received')
  // [DL15] A resolved dead letter offers no action, on its own page and on its event's.
  await page.getByRole('link', { name: 'show it', exact: true }).waitFor()
  await page.goto(`${shop.node.url}/dead-letters/${id}`)
  await page.getByText('Resolved by a replay').waitFor()
  for (const name of ['Replay', 'Edit payload', 'Mark ready', 'Discard'])
    expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0)
  if (process.env.SHOT !== undefined) await page.screenshot({ path: process.env.SHOT })
  expect(made.complaints).toEqual([])
})

test('after three failed replays another one needs force and a reason', async () => {
  const id = await deadLetterOf('bad-force')
  const replays = async () => shop.node.get<{ replays: number; state: string }>(`/v1/dead-letters/${id}`)
  const isBackAfter = (count: number) =>
    eventually(`replay ${count} came back`, async () => {
      const letter = await replays()
      return letter.replays === count && letter.state === 'open'
    })
  for (let count = 1; count <= 3; count += 1) {
    await shop.node.post(`/v1/dead-letters/${id}/replay`, {})
    await isBackAfter(count)
  }
  await using made = await signedIn(browser, shop.node, `/dead-letters/${id}`)
  const { page } = made
  await page.getByText('3 replays of it failed.').waitFor()
  await page.getByRole('button', { name: 'Replay with force' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Replay with force' }).click()
  await dialog.getByText('A reason is required.').waitFor()
  await dialog.getByLabel('Reason').fill('billing says that it is mended')
  await dialog.getByRole('button', { name: 'Replay with force' }).click()
  await page.getByText('The replay has started').waitFor()
  await isBackAfter(4)
  await page.getByText('4 replays of it failed.').waitFor()
  await shop.node.post(`/v1/dead-letters/${id}/discard`, { reason: 'not for the tests that follow' })
})

test('a bulk replay is cancelled while it runs: the rest stays where it was', async () => {
  const count = 120
  await Promise.all(Array.from({ length: count }, (_, index) => shop.order(`bad-many-${index}`)))
  await eventually('all of them were given up', async () => {
    const { items } = await shop.node.get<{ items: { count: number }[] }>(
      '/v1/dead-letters/groups?state=open',
    )
    return items.reduce((sum, group) => sum + group.count, 0) >= count
  })
  await using made = await signedIn(browser, shop.node, '/dead-letters')
  const { page } = made
  const group = page.locator('.group').filter({ hasText: 'answered 422' })
  await group.getByRole('button', { name: 'Replay group' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Rate').fill('2')
  await dialog.getByRole('button', { name: /^Replay \d+$/ }).click()
  await dialog.getByRole('button', { name: 'Cancel the rest' }).click()
  await dialog.getByRole('heading', { name: 'Replay cancelled' }).waitFor()
  const { items } = await shop.node.get<{ items: { state: string; total: number; replayed: number }[] }>(
    '/v1/replays',
  )
  const replay = items.find(({ state }) => state === 'cancelled')!
  expect(replay.total).toBeGreaterThanOrEqual(count)
  expect(replay.replayed).toBeLessThan(replay.total)
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await group.waitFor()
  expect(made.complaints).toEqual([])
})

test('a group is replayed after a preview', async () => {
  await deadLetterOf('bad-group-1')
  await deadLetterOf('bad-group-2')
  shop.heal()
  await using made = await signedIn(browser, shop.node, '/dead-letters')
  const { page } = made
  const group = page.locator('.group').filter({ hasText: 'answered 422' })
  await group.getByRole('button', { name: 'Replay group' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('would call').first().waitFor()
  await dialog.getByText(/Calls go to 127\.0\.0\.1:\d+/).waitFor()
  expect(shop.invoices).not.toContain('INVOICE:bad-group-1')
  await dialog.getByRole('button', { name: /^Replay \d+$/ }).click()
  await dialog.getByRole('heading', { name: 'Replayed' }).waitFor()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await page.getByText('No open dead letters').waitFor()
  await page.getByRole('tab', { name: 'Resolved' }).click()
  await page.locator('.group').first().waitFor()
  expect(shop.invoices.filter((reference) => reference === 'INVOICE:bad-group-1')).toHaveLength(1)
})
