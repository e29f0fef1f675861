// The overview in a real browser: numbers, charts, what needs a decision; and the demo that fills it.

import type { Browser } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { shareBrowser, signedIn } from '../support/browser.ts'
import { buildDist, startNode } from '../support/node-process.ts'
import { openShop } from '../support/shop.ts'
import { makeWorkspace } from '../support/workspace.ts'

let browser: Browser
beforeAll(async () => {
  browser = await shareBrowser()
})

test('a quiet node is all clear; what needs a decision appears by itself', async () => {
  await using shop = await openShop()
  await using made = await signedIn(browser, shop.node, '/')
  const { page } = made
  await page.getByText('All clear.').waitFor()
  // Without the demo's definitions nothing offers it.
  expect(await page.getByRole('button', { name: 'Send demo events' }).count()).toBe(0)
  await shop.reached(await shop.order('bad-1'), 'invoice', 'dead')
  await shop.reached(await shop.order('lost-1'), 'invoice', 'parked')
  await page.getByRole('link', { name: /invoice: answered 422/ }).waitFor()
  await page.getByRole('link', { name: /Calls whose outcome is unknown/ }).waitFor()
  await page.getByRole('link', { name: /Dead letters 1 open/ }).waitFor()
  expect(await page.locator('.chart canvas').count()).toBe(3)
  await page.getByRole('img', { name: /Throughput per minute/ }).hover()
  await page.getByRole('button', { name: '1 h' }).click()
  await page.getByRole('link', { name: /Parked 1/ }).click()
  await page.getByRole('heading', { name: 'Unknown outcomes' }).waitFor()
  expect(made.complaints).toEqual([])
})

test('the demo sends a bounded stream, shows its progress, and stops on demand', async () => {
  await buildDist()
  await using workspace = makeWorkspace()
  const node = await startNode({ workspace })
  await using made = await signedIn(browser, node, '/')
  const { page } = made
  await page.getByRole('button', { name: 'Send demo events' }).click()
  await page.getByRole('progressbar', { name: 'Demo events sent' }).waitFor()
  await page.getByRole('link', { name: 'Events', exact: true }).first().click()
  await page.locator('[data-row]').first().waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByRole('button', { name: 'Send demo events' }).waitFor()
})
