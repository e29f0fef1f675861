// A whole node as users run it: HTTP, engine, SQLite with synchronous=FULL, ledger and log lines on.

import { startApp } from '../src/app.ts'
import { resolveConfig } from '../src/config/index.ts'
import { DEFAULT_TENANT } from '../src/core/ids/index.ts'
import { SECRET } from './sample.ts'
import { serve } from './serve.ts'

const [folder, flows] = process.argv.slice(2) as [string, string]
const resolved = resolveConfig({
  MILLRACE_ENV: 'DEV',
  MILLRACE_PORT: '0',
  MILLRACE_DATA: folder,
  MILLRACE_FLOWS: flows,
  MILLRACE_ADMIN_KEY: 'bench-admin-key',
})
if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
let counter = 0
const app = await startApp({
  config: resolved.config,
  env: { BENCH_SECRET: SECRET },
  functions: {
    count: () => {
      counter += 1
      return counter
    },
  },
})

const SAMPLES_MAX = 5_000

/** From accept to durable completion, of the latest items. */
async function completionMs(): Promise<number[]> {
  const samples: number[] = []
  let cursor: string | null = null
  while (samples.length < SAMPLES_MAX) {
    const page = await app.store.forTenant(DEFAULT_TENANT).workList({ state: 'done', cursor, limit: 200 })
    for (const { processedAt, createdAt } of page.items) samples.push((processedAt ?? createdAt) - createdAt)
    cursor = page.nextCursor
    if (cursor === null) break
  }
  return samples
}

serve({
  url: app.url,
  done: async () => (await app.store.system('health').workCounts()).done,
  completionMs,
  close: async () => {
    await app.close()
  },
})
