// A whole node as users run it: the built package, HTTP, engine, SQLite with synchronous=FULL unless the settings say otherwise, ledger
// and log lines on.
// Plain JavaScript, so that nothing but the package itself is measured. The last argument names another checkout whose build runs.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { serve } from './serve.mjs'

const OWN = fileURLToPath(new URL('..', import.meta.url))
const [folder, flows, secret, adminKey, settings = '{}', checkout = OWN] = process.argv.slice(2)
/** What users run; checkouts from before there was a bundle have the modules alone. */
const built = (bundled, module) => {
  const file = join(checkout, 'dist', bundled)
  return import(pathToFileURL(existsSync(file) ? file : join(checkout, 'dist', module)).href)
}
const { startApp } = await built('bundle/app.js', 'app.js')
const { resolveConfig } = await built('bundle/config.js', 'config/index.js')
const resolved = resolveConfig({
  MILLRACE_ENV: 'DEV',
  MILLRACE_PORT: '0',
  MILLRACE_DATA: folder,
  MILLRACE_FLOWS: flows,
  MILLRACE_ADMIN_KEY: adminKey,
  ...JSON.parse(settings),
})
if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
let counter = 0
const app = await startApp({
  config: resolved.config,
  env: { BENCH_SECRET: secret },
  functions: {
    count: () => {
      counter += 1
      return counter
    },
  },
})

const SAMPLES_MAX = 5_000

/** From accept to durable completion, of the latest jobs; of the steps for workflows that have some. */
async function completionMs() {
  const samples = []
  let cursor = null
  while (samples.length < SAMPLES_MAX) {
    const page = await app.store.forTenant('default').workList({ state: 'done', cursor, limit: 200 })
    for (const { kind, processedAt, createdAt } of page.items)
      samples.push({ kind, ms: (processedAt ?? createdAt) - createdAt })
    cursor = page.nextCursor
    if (cursor === null) break
  }
  const steps = samples.filter(({ kind }) => kind === 'step')
  return (steps.length > 0 ? steps : samples).map(({ ms }) => ms)
}

serve({
  url: app.url,
  done: async () => {
    const { done, skipped } = await app.store.system('health').workCounts()
    return done + skipped
  },
  completionMs,
  close: async () => {
    await app.close()
  },
})
