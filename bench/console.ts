// node --import tsx bench/console.ts [--json] [--rounds 5] [--seconds 10]: the console's speed in a real Chromium.
// First page: from the navigation to the first row and to the numbers, on a node with 300,000 events. Burst: the load
// of the page's main thread while 2,000 events a second come in.

import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { Pool } from 'undici'
import { launchBrowser, signedIn } from '../test/support/browser.ts'
import { copyPast, dataFile } from './preload.ts'
import { ADMIN_KEY, SECRET, sampleBody } from './sample.ts'
import { startServer } from './scenario.ts'

const EVENTS_PER_SECOND = 2_000
const TICK_MS = 10
const PALETTE_EVERY_MS = 1_000

/** What must be visible before a page counts as usable. */
const PAGES = {
  overview: { path: '/', usable: '.big__value' },
  events: { path: '/events', usable: '[data-row]' },
} as const

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '10' },
  },
})

interface Burst {
  readonly eventsPerSecond: number
  readonly longTaskMsMax: number
  readonly longTasks: number
  readonly frameGapMsMax: number
  readonly framesPerSecond: number
  /** CPU time of the page's main thread, per second: a slow or shared machine does not change it. */
  readonly busyMsPerSecond: number
  readonly scriptMsPerSecond: number
  readonly paletteMs: readonly number[]
}

const say = (text: string) => process.stderr.write(`${text}\n`)
const sorted = (all: readonly number[]) => [...all].sort((a, b) => a - b)
const median = (all: readonly number[]) => Math.round(sorted(all)[Math.floor(all.length / 2)] ?? 0)
const largest = (all: readonly number[]) => Math.round(Math.max(...all))

/** From the navigation's start until the element is painted, as the page's own clock has it. */
async function usableAfterMs(page: Page, url: string, selector: string): Promise<number> {
  await page.goto(url, { waitUntil: 'commit' })
  return page.evaluate<number>(`new Promise((done) => {
    const look = () => document.querySelector(${JSON.stringify(selector)}) === null
      ? requestAnimationFrame(look)
      : requestAnimationFrame(() => done(performance.now()))
    look()
  })`)
}

async function measureFirstPage(browser: Browser, url: string, rounds: number) {
  const node = { url, adminKey: ADMIN_KEY }
  const times: Record<string, number[]> = {}
  const note = (name: string, ms: number) => {
    times[name] ??= []
    times[name].push(ms)
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, { path, usable }] of Object.entries(PAGES)) {
      // A new context has an empty cache: the first page load is the cold one.
      await using made = await signedIn(browser, node, '/openapi.json')
      note(`${name} cold`, await usableAfterMs(made.page, url + path, usable))
      note(`${name} warm`, await usableAfterMs(made.page, url + path, usable))
    }
  }
  return Object.entries(times).map(([name, all]) => ({
    name,
    medianMs: median(all),
    largestMs: largest(all),
    runs: all.length,
  }))
}

/** Sends at a steady rate, whatever the response times; returns the rate that was reached. */
async function send(url: string, seconds: number): Promise<number> {
  const pool = new Pool(url, { connections: 32 })
  const body = sampleBody()
  const startedAt = performance.now()
  let sent = 0
  let answered = 0
  const open = new Set<Promise<void>>()
  const sendOne = async () => {
    const headers = {
      'content-type': 'application/json',
      'x-github-event': 'issues',
      'x-github-delivery': randomUUID(),
    }
    const answer = await pool.request({ method: 'POST', path: '/in/default/github', body, headers })
    await answer.body.dump()
    if (answer.statusCode === 202) answered += 1
  }
  for (;;) {
    const passedMs = performance.now() - startedAt
    if (passedMs >= seconds * 1_000) break
    for (; sent < (passedMs * EVENTS_PER_SECOND) / 1_000; sent += 1) {
      const one = sendOne().finally(() => open.delete(one))
      open.add(one)
    }
    await wait(TICK_MS)
  }
  await Promise.all(open)
  const tookSeconds = (performance.now() - startedAt) / 1_000
  await pool.close()
  return answered / tookSeconds
}

const WATCH = `
  window.watched = { longTasks: [], gaps: [], palette: [] }
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.watched.longTasks.push(duration)
  }).observe({ type: 'longtask' })
  let before = performance.now()
  const frame = (now) => {
    window.watched.gaps.push(now - before)
    before = now
    requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
  window.addEventListener('keydown', (event) => {
    if (event.key !== 'k' || !event.ctrlKey) return
    const look = () => document.querySelector('[role=combobox]') === null
      ? requestAnimationFrame(look)
      : requestAnimationFrame(() => window.watched.palette.push(performance.now() - event.timeStamp))
    look()
  }, true)
`

async function measureBurst(browser: Browser, url: string, seconds: number): Promise<Burst> {
  await using made = await signedIn(browser, { url, adminKey: ADMIN_KEY }, PAGES.events.path)
  const { page } = made
  await page.locator(PAGES.events.usable).first().waitFor()
  const cdp = await made.context.newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  const readCpuMs = async () => {
    const { metrics } = await cdp.send('Performance.getMetrics')
    const of = (name: string) => (metrics.find((metric) => metric.name === name)?.value ?? 0) * 1_000
    return { busy: of('TaskDuration'), script: of('ScriptDuration') }
  }
  const before = await readCpuMs()
  await page.evaluate(WATCH)
  let isSending = true
  const press = async () => {
    while (isSending) {
      await wait(PALETTE_EVERY_MS)
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Command' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('combobox', { name: 'Command' }).waitFor({ state: 'detached' })
    }
  }
  const sending = send(url, seconds).finally(() => {
    isSending = false
  })
  const [eventsPerSecond] = await Promise.all([sending, press()])
  const after = await readCpuMs()
  const watched = await page.evaluate<{ longTasks: number[]; gaps: number[]; palette: number[] }>(
    'window.watched',
  )
  const totalMs = watched.gaps.reduce((sum, gap) => sum + gap, 0)
  return {
    eventsPerSecond: Math.round(eventsPerSecond),
    longTaskMsMax: largest([0, ...watched.longTasks]),
    longTasks: watched.longTasks.length,
    frameGapMsMax: largest(watched.gaps),
    framesPerSecond: Math.round((watched.gaps.length * 1_000) / totalMs),
    busyMsPerSecond: Math.round(((after.busy - before.busy) * 1_000) / totalMs),
    scriptMsPerSecond: Math.round(((after.script - before.script) * 1_000) / totalMs),
    paletteMs: sorted(watched.palette).map(Math.round),
  }
}

const root = fileURLToPath(new URL('../.cache/bench', import.meta.url))
await mkdir(root, { recursive: true })
const folder = await mkdtemp(join(root, 'console-'))
try {
  await copyPast('settled', dataFile(folder), say)
  const flows = fileURLToPath(new URL('flows/end-to-end', import.meta.url))
  const server = await startServer('serve-node.mjs', [folder, flows, SECRET, ADMIN_KEY])
  const browser = await launchBrowser()
  try {
    say('first page …')
    const firstPage = await measureFirstPage(browser, server.url, Number(values.rounds))
    if (!values.json) console.table(firstPage)
    say('burst …')
    const burst = await measureBurst(browser, server.url, Number(values.seconds))
    if (values.json) console.log(JSON.stringify({ firstPage, burst }, null, 2))
    else console.table({ ...burst, paletteMs: burst.paletteMs.join(' ') })
  } finally {
    await browser.close()
    await server.stop()
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
