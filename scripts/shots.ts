// Creates docs/console/*.png: every screen of the console in light and dark, from a node with the demo's own events.
// `npm run shots`; needs Chromium, as the tests do. `npm run shots -- subscriptions delivery` creates only those, and
// leaves the others.

import { mkdir, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { startBilling } from '../test/support/billing.ts'
import { launchBrowser, signedIn, visit } from '../test/support/browser.ts'
import { type Endpoint, startEndpoint } from '../test/support/endpoint.ts'
import { buildDist, eventually, type NodeProcess, startNode } from '../test/support/node-process.ts'
import { gatherBatch, holdLane, openCircuit, stockFlows } from '../test/support/stock.ts'
import type { VendorApi } from '../test/support/vendor-api/index.ts'
import { applyCases, openClaim, orphan, setUp } from '../test/support/workflow-cases.ts'
import { makeWorkspace } from '../test/support/workspace.ts'
import { fillAccounts, startDepot } from './lib/accounts.ts'
import { fillHooks } from './lib/subscriptions.ts'

const folder = resolve(import.meta.dirname, '../docs/console')
/** Waves, so that the charts have a shape; the last one still runs while the pictures are taken. */
const WAVES: readonly { readonly count: number; readonly perSecond: number }[] = [
  { count: 50, perSecond: 2 },
  { count: 150, perSecond: 6 },
  { count: 40, perSecond: 2 },
  { count: 200, perSecond: 8 },
  { count: 60, perSecond: 3 },
]
const LAST_WAVE = { count: 500, perSecond: 4 }
const LAST_WAVE_EVENTS_MIN = 60
/** A second version of the definitions, as a user would apply it in the console. */
const SECOND_VERSION = `kind: Source
name: billing
description: Payments, told by the billing system.
verify: { scheme: none }
subject: "billing.events.{{ payload.type }}"
event: { id: payload.id, objectType: invoice, objectId: payload.invoice }
---
kind: Route
name: announce_payment
description: Says in our own words that an invoice is paid.
on: [billing.events.invoice.paid]
do: { emit: billing.invoice.paid, data: { invoice: "{{ payload.invoice }}" } }
`
const VALUES = `kind: Vars
name: limits
values: { crm: https://crm.dev.example, contacts_per_minute: 25, regions: [eu, us] }
environments:
  QA: { contacts_per_minute: 50 }
  PROD: { crm: https://crm.example, contacts_per_minute: 600 }
---
kind: Source
name: signup
verify: { scheme: none }
subject: signup.events.customer.created
event: { id: payload.id }
---
kind: Route
name: create_contact
on: signup.events.customer.created
key: "'CRM:CONTACT:' + payload.id"
rateLimit: { perMinute: "{{ vars.contacts_per_minute }}" }
do: { http: { method: POST, url: "{{ vars.crm }}/contacts", keyTtl: 24h } }
`
/** Charts and lists settle within it. */
const CALM_MS = 1_200

/** What shows only in a state that the demo does not reach: lanes, circuits, batches, an edited dead letter. */
interface Stock {
  readonly letter: string
  readonly waiting: string
  readonly batch: string
  readonly cases: Cases
}

/** Instances of workflows: one that waits for a user, one whose step failed, one that was rolled back. */
interface Cases {
  readonly review: string
  readonly failed: string
  readonly takenBack: string
}

interface Row {
  readonly id: string
  readonly eventId: string
}

/** Enough of everything: done, retried, parked, dead, unmatched. */
async function fill(node: NodeProcess, billing: string): Promise<Stock> {
  for (const wave of WAVES) {
    await node.post('/v1/demo', wave)
    await eventually('the wave has ended', async () => {
      // A request records the queue's age.
      await node.get('/v1/overview')
      const demo = await node.get<{ isSending: boolean; sent: number }>('/v1/demo')
      return !demo.isSending && demo.sent > 0
    })
  }
  await node.post('/v1/definitions/apply', {
    files: [
      { path: 'billing.yaml', text: SECOND_VERSION },
      { path: 'stock.yaml', text: stockFlows(billing) },
    ],
    reason: 'Payments and the warehouse come in from today on',
  })
  const cases = await fillCases(node, billing)
  const stock = { ...(await fillStock(node)), cases }
  await node.post('/v1/demo', LAST_WAVE)
  await eventually('the last wave runs', async () => {
    await node.get('/v1/overview')
    const demo = await node.get<{ sent: number }>('/v1/demo')
    return demo.sent >= LAST_WAVE_EVENTS_MIN
  })
  // Requests that a source refuses: no signature, a wrong one, no JSON, no such source.
  const wrong = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }
  for (const [source, headers, body] of [
    ['github', {}, '{}'],
    ['github', wrong, '{}'],
    ['github', wrong, '{}'],
    ['billing', {}, 'not json'],
    ['nowhere', {}, '{}'],
  ] as const) {
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }
    await fetch(`${node.url}/in/default/${source}`, init)
  }
  await node.post('/v1/keys', { name: 'deploy pipeline', role: 'admin', expiresIn: '365d' })
  await node.post('/v1/keys', { name: 'status page', role: 'viewer' })
  await node.post('/v1/secrets', { name: 'GITHUB_WEBHOOK_SECRET', value: 'dev-secret' })
  return stock
}

async function fillCases(node: NodeProcess, billing: string): Promise<Cases> {
  await applyCases(node, billing)
  for (const claim of ['c-4709', 'c-4710']) await openClaim(node, claim, 40)
  const review = await openClaim(node, 'c-4711', 400)
  const failed = await openClaim(node, 'bad-4712', 90)
  const takenBack = await setUp(node, 'bad-people')
  await setUp(node, 'everybody')
  await orphan(node, 'c-4799')
  await applyCases(node, billing, 2)
  await openClaim(node, 'c-4713', 900)
  return { review: review.id, failed: failed.id, takenBack: takenBack.id }
}

async function fillStock(node: NodeProcess): Promise<Omit<Stock, 'cases'>> {
  const { last } = await holdLane(node, 'art-4711')
  await openCircuit(node)
  const { batch } = await gatherBatch(node)
  const letter = await firstOf(node, '/v1/dead-letters?state=open&consumer=book_stock')
  await node.post(`/v1/dead-letters/${letter.id}/edit`, {
    data: { id: 'moved-bad-art-4711', type: 'moved', number: 'art-4711-1', sku: 'art-4711' },
    reason: 'The number was wrong',
  })
  return { letter: letter.id, waiting: last.id, batch: batch.id }
}

async function firstOf(node: NodeProcess, path: string): Promise<Row> {
  const { items } = await node.get<{ items: Row[] }>(path)
  const [row] = items
  if (row === undefined) throw new Error(`the demo brought nothing for ${path}; raise WAVES`)
  return row
}

type Screens = readonly (readonly [name: string, path: string])[]

async function screensOf(node: NodeProcess, stock: Stock): Promise<Screens> {
  const letter = await firstOf(node, '/v1/dead-letters?state=open')
  const parked = await firstOf(node, '/v1/work?state=parked')
  const done = await firstOf(node, '/v1/work?state=done&consumer=issue_to_ticket')
  const { key } = await node.get<{ key: string }>(`/v1/work/${done.id}`)
  return [
    ['overview', '/'],
    ['events', '/events'],
    ['event', `/events/${done.eventId}`],
    ['event-dead', `/events/${letter.eventId}`],
    ['work', '/work?state=done'],
    ['work-item', `/work/${parked.id}`],
    ['work-waiting', `/work/${stock.waiting}`],
    ['work-batch', `/work/${stock.batch}`],
    ['failures', '/failures'],
    ['ledger', '/ledger'],
    ['ledger-key', `/ledger?key=${encodeURIComponent(key)}`],
    ['escalations', '/escalations'],
    ['unknown-outcomes', '/unknown'],
    ['dead-letters', '/dead-letters'],
    ['dead-letter', `/dead-letters/${letter.id}`],
    ['sources', '/sources'],
    ['source', '/sources/github'],
    ['rejections', '/rejections'],
    ['catalog', '/catalog?source=github'],
    ['subject', '/catalog/github.events.issues.opened'],
    ['send', '/catalog/github.events.issues.opened'],
    ['routes', '/routes'],
    ['route', '/routes/issue_to_ticket'],
    ['route-lanes', '/routes/book_stock'],
    ['route-paused', '/routes/mirror_stock'],
    ['replay-diff', `/dead-letters/${stock.letter}`],
    ['workflows', '/workflows'],
    ['workflow', '/workflows/claims'],
    ['workflow-versions', '/workflows/claims?tab=versions'],
    ['start', '/workflows/claims?start=true'],
    ['instance', `/instances/${stock.cases.review}`],
    ['instance-past', `/instances/${stock.cases.review}?at=3`],
    ['instance-failed', `/instances/${stock.cases.failed}?tab=why`],
    ['instance-rolled-back', `/instances/${stock.cases.takenBack}?tab=steps`],
    ['fire', `/instances/${stock.cases.review}`],
    ['orphans', '/orphans'],
    ['apply', '/definitions/edit'],
    ['versions', '/definitions/versions'],
    ['try', `/try?route=issue_to_ticket&event=${done.eventId}`],
    ['settings-keys', '/settings?tab=keys'],
  ]
}

/** Outbound webhooks need nothing of the demo. */
async function webhookScreens(node: NodeProcess, endpoint: Endpoint): Promise<Screens> {
  const { retrying } = await fillHooks(node, endpoint)
  return [
    ['subscriptions', '/subscriptions'],
    ['subscription', '/subscriptions/crm'],
    ['subscription-failing', '/subscriptions/partner-eu'],
    ['subscription-disabled', '/subscriptions/former-erp'],
    ['subscription-secret', '/subscriptions/mailing?tab=secret'],
    ['subscription-new', '/subscriptions?new=true'],
    ['subscription-test', '/subscriptions/crm'],
    ['subscription-rotate', '/subscriptions/crm?tab=secret'],
    ['recover', '/subscriptions/accounting'],
    ['deliveries', '/deliveries'],
    ['delivery', `/deliveries/${retrying}`],
  ]
}

async function connectionScreens(node: NodeProcess, depot: VendorApi): Promise<Screens> {
  const { run } = await fillAccounts(node, depot)
  return [
    ['connections', '/connections'],
    ['connection', '/connections/depot-north'],
    ['connection-pending', '/connections/depot-east'],
    ['connection-circuit', '/connections/depot-south'],
    ['connection-new', '/connections?new=true'],
    ['connection-new-credential', '/connections?new=true&provider=depot'],
    ['connection-test', '/connections/depot-north'],
    ['credentials', '/credentials'],
    ['credential', '/credentials/depot-north'],
    ['credential-waiting', '/credentials/depot-south'],
    ['runs', '/runs'],
    ['run', `/runs/${run}`],
    ['providers', '/providers'],
    ['provider', '/providers/depot'],
  ]
}

async function valueScreens(node: NodeProcess): Promise<Screens> {
  await node.post('/v1/definitions/apply', {
    files: [{ path: 'values.yaml', text: VALUES }],
    reason: 'The CRM moves',
  })
  return [['values', '/vars']]
}

/** What only shows after a click. */
const PRESSES: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  'dead-letters': (page) => page.locator('.group__toggle').first().click(),
  'replay-diff': async (page) => {
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    await page.getByRole('button', { name: 'What changed' }).click()
  },
  'workflow-versions': (page) => page.getByRole('button', { name: 'Look what would change' }).click(),
  fire: (page) => page.getByRole('button', { name: 'Fire', exact: true }).click(),
  send: (page) => page.getByRole('button', { name: 'Send a test event' }).click(),
  apply: (page) => page.getByRole('button', { name: 'Check and plan' }).click(),
  'connection-circuit': (page) => page.getByRole('button', { name: 'Circuit' }).click(),
  'connection-test': (page) => page.getByRole('button', { name: 'Test', exact: true }).click(),
  'subscription-new': async (page) => {
    await page.getByLabel('Endpoint').fill('https://hooks.customer.example/millrace')
    await page.getByLabel('Subjects', { exact: true }).last().fill('shop.order.*')
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByText('Condition, body, headers, pace, owner').click()
  },
  'subscription-test': (page) => page.getByRole('button', { name: 'Send a test' }).click(),
  'subscription-rotate': async (page) => {
    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
  },
  recover: async (page) => {
    await page.getByRole('button', { name: 'Recover' }).click()
    await page.getByLabel('Received since').fill('2020-01-01T00:00')
    await page.getByRole('button', { name: 'Show what would happen' }).click()
  },
  try: (page) => page.getByRole('textbox', { name: 'Expression' }).fill('payload.issue.title'),
}

const PHONE = [
  'overview',
  'events',
  'event',
  'source',
  'escalations',
  'route-lanes',
  'workflow',
  'instance',
  'orphans',
  'subscriptions',
  'subscription-failing',
  'delivery',
  'connections',
  'connection',
  'run',
]

/** Their interesting part extends below the window's edge. */
const WHOLE = ['overview', 'try']

async function shoot(page: Page, name: string, theme: string): Promise<void> {
  await page.waitForTimeout(CALM_MS)
  if ((await page.locator('.net').count()) > 0) await page.locator('.net__flow--ready').waitFor()
  await page.screenshot({
    path: join(folder, `${name}-${theme}.png`),
    fullPage: WHOLE.includes(name),
  })
  console.log(`docs/console/${name}-${theme}.png`)
}

/** Named on the command line; none: all. */
const named = process.argv.slice(2)
const isWanted = (name: string): boolean => named.length === 0 || named.includes(name)

/** What shows outside every screen, or only after several clicks. */
async function shootOthers(page: Page, url: string, theme: string): Promise<void> {
  await page.goto(`${url}/dead-letters`)
  await page.getByRole('button', { name: 'Replay group' }).first().click()
  await shoot(page, 'replay', theme)
  await page.goto(`${url}/events`)
  await page.getByRole('button', { name: 'Replay …' }).click()
  await shoot(page, 'replay-events', theme)
  await page.goto(`${url}/events`)
  await page.locator('[data-row]').first().waitFor()
  await page.keyboard.press('Control+k')
  await shoot(page, 'palette', theme)
}

async function main(): Promise<void> {
  await buildDist()
  await mkdir(folder, { recursive: true })
  await using workspace = makeWorkspace()
  await using billing = await startBilling()
  await using endpoint = await startEndpoint()
  const node = await startNode({ workspace })
  await using depot = await startDepot()
  const apart = [
    ...(await webhookScreens(node, endpoint)),
    ...(await connectionScreens(node, depot)),
    ...(await valueScreens(node)),
  ]
  const own = apart.filter(([name]) => isWanted(name))
  const isPart = named.length > 0 && named.every((name) => own.some(([one]) => one === name))
  const others = isPart ? [] : await screensOf(node, await fill(node, billing.url))
  const screens = [...others.filter(([name]) => isWanted(name)), ...own]
  if (named.length === 0)
    for (const file of await readdir(folder)) if (file.endsWith('.png')) await rm(join(folder, file))
  const browser = await launchBrowser()
  try {
    for (const theme of ['light', 'dark'] as const) {
      if (isWanted('sign-in')) {
        await using outside = await visit(browser, { theme })
        await outside.page.goto(`${node.url}/sign-in`)
        await shoot(outside.page, 'sign-in', theme)
      }
      await using desk = await signedIn(browser, node, '/', { theme })
      for (const [name, path] of screens) {
        await desk.page.goto(node.url + path)
        await desk.page.locator('h1').waitFor()
        await PRESSES[name]?.(desk.page)
        await shoot(desk.page, name, theme)
      }
      if (named.length === 0) await shootOthers(desk.page, node.url, theme)
      await using phone = await signedIn(browser, node, '/', { theme, size: { width: 390, height: 844 } })
      for (const [name, path] of screens.filter(([name]) => PHONE.includes(name))) {
        await phone.page.goto(node.url + path)
        await phone.page.locator('h1').waitFor()
        await shoot(phone.page, `phone-${name}`, theme)
      }
    }
  } finally {
    await browser.close()
  }
}

await main()
