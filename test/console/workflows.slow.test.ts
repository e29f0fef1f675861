// Workflows in a real browser: their nets, instances with their path and their history, operator actions, and orphans.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { axeFindings, goTo, shareBrowser, signedIn } from '../support/browser.ts'
import { openShop, type Shop } from '../support/shop.ts'
import { applyCases, type CaseInstance, openClaim, orphan, setUp } from '../support/workflow-cases.ts'

let browser: Browser
let shop: Shop
let large: CaseInstance
let failed: CaseInstance

beforeAll(async () => {
  ;[browser, shop] = await Promise.all([shareBrowser(), openShop()])
  await applyCases(shop.node, shop.billing)
  large = await openClaim(shop.node, 'c-1', 400)
  failed = await openClaim(shop.node, 'bad-2', 400)
})
afterAll(() => shop?.[Symbol.asyncDispose]())

test('[CN10] [CN11] a workflow is drawn with its tokens, shown as a list too, and a place filters its instances', async () => {
  await using made = await signedIn(browser, shop.node, '/workflows')
  const { page } = made
  const row = page.getByRole('list', { name: 'Workflows' }).getByRole('link', { name: /^claims/ })
  await row.getByText('2 active').waitFor({ state: 'attached' })
  await row.click()
  await page.getByText('No deadlocks found (conditions not evaluated)').waitFor()
  const review = page.getByRole('button', { name: /^Place review, waits for a user, 1 token, after 14 d/ })
  await review.waitFor()
  await page.getByRole('img', { name: /^Transition approve, by hand/ }).waitFor()
  expect(await page.locator('.net__arc').count()).toBe(17)
  const instances = page.getByRole('list', { name: 'Instances' }).getByRole('link')
  await expect.poll(() => instances.count()).toBe(2)
  // By keyboard, as everything in the drawing.
  await review.focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => instances.count()).toBe(1)
  expect(await instances.getAttribute('href')).toBe(`/instances/${large.id}`)
  expect(await axeFindings(page)).toEqual([])

  await page.getByRole('button', { name: 'List', exact: true }).click()
  await page.getByText('one of priced, review, approved → turned_down').waitFor()
  await page.getByRole('tab', { name: 'Triggers' }).click()
  await page
    .getByText('An event of desk.events.withdrawn reaches the instance with its key and fires withdraw.')
    .waitFor()
  expect(made.complaints).toEqual([])
})

test('[CN11] a user starts a workflow with the input that its schema requires', async () => {
  await using made = await signedIn(browser, shop.node, '/workflows/claims')
  const { page } = made
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Claim').fill('c-by-hand')
  await dialog.getByLabel('Amount').fill('9007199254740993')
  await dialog.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('heading', { name: /^claims/ }).waitFor()
  // Digit for digit, as typed.
  await page.getByText('9007199254740993').first().waitFor()
  await page.getByRole('img', { name: /^Place review, .*1 token/ }).waitFor()
  expect(made.complaints).toEqual([])
})

test('[CN12] [CN13] an instance shows its path and its data at every step; it is edited, fired and followed live', async () => {
  await using made = await signedIn(browser, shop.node, `/instances/${large.id}`)
  const { page } = made
  await page
    .getByRole('button', { name: /^Transition price, by itself, calls an address, firing 1/ })
    .waitFor()
  await page.getByRole('button', { name: /^Transition look_at, .*firing 2/ }).waitFor()
  expect(await page.locator('.net__arc--taken').count()).toBe(4)
  expect(await axeFindings(page)).toEqual([])

  // As after its first step: the token at the start, and the data that it started with.
  await page.getByRole('button', { name: '1 Began' }).click()
  await page.getByText('As it was after step 1: Began.').waitFor()
  await page.getByRole('img', { name: /^Place opened, .*1 token/ }).waitFor()
  await page.getByRole('heading', { name: 'What changed in this step' }).waitFor()
  await page.getByText('data.amount', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Back to now' }).click()

  await page.getByRole('tab', { name: 'What can fire' }).click()
  const rules = page
    .getByRole('list', { name: 'Transitions' })
    .getByRole('listitem')
    .filter({ hasText: 'pay' })
  await rules.getByText('approved has 0 of 1 token').first().waitFor()

  await page.getByRole('button', { name: 'Edit data' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Data' }).fill('{"claim":"c-1","amount":12345678901234567890}')
  await dialog.getByRole('button', { name: 'Show the difference' }).click()
  await dialog.getByText('− 400').waitFor()
  await dialog.getByRole('button', { name: 'Change it' }).click()
  await dialog.getByText('A reason is required.').waitFor()
  await dialog.getByLabel('Reason').fill('it was typed wrong')
  await dialog.getByRole('button', { name: 'Change it' }).click()
  await page.getByText('"it was typed wrong"').waitFor()
  await page.getByRole('tab', { name: 'Data' }).click()
  await page.getByText('12345678901234567890').first().waitFor()

  await page.getByRole('button', { name: 'Fire', exact: true }).click()
  await dialog.getByLabel('Note').fill('all is there')
  await dialog.getByLabel('Comment').fill('looked at it twice')
  await dialog.getByRole('button', { name: 'Fire approve' }).click()
  // Later steps appear without a reload.
  await page.getByRole('img', { name: /^Place paid, .*1 token/ }).waitFor()
  await page.getByRole('heading', { name: /completed/ }).waitFor()
  await page.getByText('"looked at it twice"').waitFor()
  expect(made.complaints).toEqual([])
})

test('[CN12] [CN13] a failed step is marked, links to its dead letter, and is retried where it failed; a roll-back is shown', async () => {
  await using made = await signedIn(browser, shop.node, '/')
  const { page } = made
  await page.getByRole('link', { name: /Instances that need somebody/ }).click()
  await page
    .getByRole('list', { name: 'Workflows' })
    .getByRole('link', { name: /^claims/ })
    .click()
  await page.getByRole('link', { name: 'Look at them' }).click()
  await page
    .getByRole('list', { name: 'Instances' })
    .getByRole('link', { name: /a step failed/ })
    .click()
  await page.getByText('A retry continues at that step.').waitFor()
  await page.getByRole('button', { name: /^Transition price, .*failed/ }).waitFor()
  await page.getByRole('tab', { name: 'Work' }).click()
  await page.getByRole('link', { name: /fire\/1\/price/ }).click()
  await page.getByRole('link', { name: failed.id }).waitFor()
  await page.goBack()
  const back = await setUp(shop.node, 'bad-people')
  shop.heal()
  await page.getByRole('button', { name: 'Retry', exact: true }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill('the address is there now')
  await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('img', { name: /^Place review, .*1 token/ }).waitFor()

  await goTo(page, `/instances/${back.id}`)
  await page.getByRole('button', { name: /make_project is undone/ }).waitFor()
  await page.getByText('All is taken back: the instance failed').waitFor()
  await page.getByRole('img', { name: /^Place taken_back, error, 1 token/ }).waitFor()
  expect(made.complaints).toEqual([])
})

test('[CN14] an orphan is assigned to an instance or discarded, with a reason; the navigation counts the open ones', async () => {
  const { id } = await openClaim(shop.node, 'c-7', 700)
  await orphan(shop.node, 'nobody-1')
  await orphan(shop.node, 'nobody-2')
  await using made = await signedIn(browser, shop.node, '/orphans')
  const { page } = made
  const items = page.getByRole('list', { name: 'Orphans' }).getByRole('listitem')
  await expect.poll(() => items.count()).toBe(2)
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Orphans 2' }).waitFor()
  expect(await axeFindings(page)).toEqual([])
  const dialog = page.getByRole('dialog')
  await items.filter({ hasText: 'nobody-1' }).getByRole('button', { name: 'Correlate' }).click()
  await dialog.getByRole('radio', { name: new RegExp(id) }).click()
  await dialog.getByLabel('Reason').fill('it is about this one')
  await dialog.getByRole('button', { name: 'Correlate' }).click()
  await expect.poll(() => items.count()).toBe(1)
  await items.getByRole('button', { name: 'Discard' }).click()
  await dialog.getByLabel('Reason').fill('sent by mistake')
  await dialog.getByRole('button', { name: 'Discard' }).click()
  await page.getByText('Every event found its instance').waitFor()
  await goTo(page, `/instances/${id}`)
  await page.getByRole('img', { name: /^Place turned_down, error, 1 token/ }).waitFor()
  expect(made.complaints).toEqual([])
})

test('[CN15] a migration is previewed before it is done', async () => {
  const { id } = await openClaim(shop.node, 'c-9', 900)
  await applyCases(shop.node, shop.billing, 2)
  await using made = await signedIn(browser, shop.node, '/workflows/claims?tab=versions')
  const { page } = made
  await page.getByRole('button', { name: 'Look what would change' }).click()
  const change = page
    .getByRole('list', { name: 'What would change' })
    .getByRole('listitem')
    .filter({ hasText: id })
  await change.getByText('can go').waitFor()
  await change.getByText('data.archive').waitFor()
  await goTo(page, `/instances/${id}`)
  await page.getByRole('button', { name: 'Migrate', exact: true }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill('the archive is new')
  await page.getByRole('dialog').getByRole('button', { name: 'Migrate it' }).click()
  await page.getByText('Went to version 2.0.0').waitFor()
  await page.getByRole('img', { name: /^Place closed, end/ }).waitFor()
  expect(made.complaints).toEqual([])
})
