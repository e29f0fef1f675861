// A real Chromium for tests of the console, with its own profile. Everything is closed by disposing.

import { AxeBuilder } from '@axe-core/playwright'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { requireTool } from './needs.ts'
import type { NodeProcess } from './node-process.ts'

const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A wait that takes longer than this is a failure that names what was waited for. */
const WAIT_MS_MAX = 120_000

export interface Visit extends AsyncDisposable {
  readonly page: Page
  readonly context: BrowserContext
  /** What the page complained about: uncaught errors, and messages of the console's rules. */
  readonly complaints: readonly string[]
}

export interface VisitOptions {
  readonly size?: { readonly width: number; readonly height: number }
  readonly theme?: 'light' | 'dark'
}

export async function launchBrowser(): Promise<Browser & AsyncDisposable> {
  const executablePath = process.env.CHROMIUM ?? requireTool('chromium')
  return chromium.launch({ executablePath, args: ARGS })
}

let shared: Promise<Browser> | null = null

/** One for all tests of a process, each with its own profiles; it ends with the process. */
export function shareBrowser(): Promise<Browser> {
  shared ??= launchBrowser()
  return shared
}

/** Goes to another screen as a link does, without reloading the page. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.locator('h1').evaluate((heading) => heading.setAttribute('data-left', ''))
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`)
  await page.locator('h1:not([data-left])').waitFor()
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
}

/** A fresh profile: no session, no storage. */
export async function visit(browser: Browser, options: VisitOptions = {}): Promise<Visit> {
  const context = await browser.newContext({
    viewport: options.size ?? { width: 1440, height: 900 },
    colorScheme: options.theme ?? 'light',
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(WAIT_MS_MAX)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (/Content Security Policy|React|Warning/.test(message.text())) complaints.push(message.text())
  })
  return { page, context, complaints, [Symbol.asyncDispose]: () => context.close() }
}

/** A visit that is signed in by the admin key, at `path`. */
export async function signedIn(
  browser: Browser,
  node: Pick<NodeProcess, 'url' | 'adminKey'>,
  path = '/',
  options: VisitOptions = {},
): Promise<Visit> {
  const made = await visit(browser, options)
  const answer = await made.context.request.post(`${node.url}/v1/session`, { data: { key: node.adminKey } })
  if (!answer.ok()) throw new Error(`signing in was answered with ${answer.status()}: ${await answer.text()}`)
  await made.page.goto(node.url + path)
  return made
}

/** Serious and critical findings of axe in light and in dark, each in one line. Only colours differ between the two. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  await showAs(page, 'dark')
  const dark = await findingsOf(makeAxe(page).withRules('color-contrast'))
  await showAs(page, 'light')
  const light = await findingsOf(makeAxe(page))
  return [...light.map((finding) => `light: ${finding}`), ...dark.map((finding) => `dark: ${finding}`)]
}

/** What fades in, or changes its colour, has no final colour until it is there. */
async function showAs(page: Page, colorScheme: 'dark' | 'light'): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await page.evaluate('for (const one of document.getAnimations()) one.finish()')
}

/** Without frames there is nothing to merge in a separate page, which costs most of the time. */
const makeAxe = (page: Page) =>
  new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ['violations'] })

async function findingsOf(axe: AxeBuilder): Promise<readonly string[]> {
  const { violations } = await axe.analyze()
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`),
    )
}
