// Stores with existing data: created once by the store itself and kept in the cache; each run gets a copy.
//
// `settled`: 300,000 events, each with its done job and ledger entry; others with their number in the name. `waiting`: 1,000,000 due jobs of the route.
// `dead`: 100,000 dead letters of it. Keys are random in all of them. `cases` and `fewCases`: 1,000,000 and 1,000
// active instances of a workflow, each with its event and its key, counted from one. `deliveries`: 250,000 of one
// subscription, each of its own event. `allEndpoints` and `healthyEndpoints`: 250 events, each to be sent to a thousand
// endpoints, or only to those that do not hang.

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openSqliteStore } from '../src/adapters/store-sqlite/index.ts'
import { DEFAULT_TENANT, type NodeId } from '../src/core/foundation/ids/index.ts'
import { keptFlows } from './flows.ts'
import { type Past, WRITERS } from './preload-rows.ts'
import { ADMIN_KEY, SECRET } from './sample.ts'
import { startServer } from './scenario.ts'

export type { Past }

export const PAST: Readonly<Record<Past, number>> = {
  settled: 300_000,
  settled100k: 100_000,
  settledMillion: 1_000_000,
  waiting: 1_000_000,
  dead: 100_000,
  cases: 1_000_000,
  fewCases: 1_000,
  deliveries: 250_000,
  healthyEndpoints: 250,
  allEndpoints: 250,
}
const IN_FLIGHT = 2_000

export function dataFile(folder: string): string {
  return join(folder, 'millrace.db')
}

export async function copyPast(past: Past, to: string, progress: (text: string) => void): Promise<void> {
  const cached = await cachedFile(past, progress)
  await mkdir(dirname(to), { recursive: true })
  await copyFile(cached, to)
  // On disk before anything is measured: flushes of the node would wait for the copy's pages too.
  const copy = await open(to)
  await copy.sync()
  await copy.close()
}

async function cachedFile(past: Past, progress: (text: string) => void): Promise<string> {
  const hash = createHash('sha256')
  for (const file of [
    '../src/adapters/store-sqlite/migrations.ts',
    './preload.ts',
    './preload-rows.ts',
    `./flows/${flowsOf(past).file}`,
  ])
    hash.update(await readFile(new URL(file, import.meta.url)))
  const version = hash.digest('hex').slice(0, 12)
  const file = fileURLToPath(new URL(`../.cache/bench/${past}-${version}.db`, import.meta.url))
  if (existsSync(file)) return file
  const making = `${file}.making-${process.pid}`
  await mkdir(making, { recursive: true })
  try {
    const definition = await applyFlows(making, past)
    await fill(dataFile(making), past, definition, progress)
    await rename(dataFile(making), file)
  } finally {
    await rm(making, { recursive: true, force: true })
  }
  return file
}

const OF_ROUTE = { flows: 'end-to-end', kind: 'Route', file: 'end-to-end/route.yaml' } as const
const OF_CASES = { flows: 'correlation', kind: 'Workflow', file: 'correlation/workflow.yaml' } as const
/** The subscription deployed when a delivery is sent says where: the definition it was created from does not matter. */
const OF_SOURCE = { flows: 'ingest', kind: 'Source', file: 'ingest/source.yaml' } as const

function flowsOf(past: Past) {
  if (past === 'cases' || past === 'fewCases') return OF_CASES
  return past === 'deliveries' || past === 'healthyEndpoints' || past === 'allEndpoints'
    ? OF_SOURCE
    : OF_ROUTE
}

/**
 * A node starts on the folder once, so that the store has the definition that the jobs refer to; returns its hash. The node's claim to the file
 * is removed: on a copy of it another node would start paused.
 */
async function applyFlows(folder: string, past: Past): Promise<string> {
  const { flows, kind } = flowsOf(past)
  const server = await startServer('serve-node.mjs', [folder, keptFlows(flows), SECRET, ADMIN_KEY])
  await server.stop()
  await using store = await openSqliteStore({ file: dataFile(folder) })
  const { items } = await store
    .forTenant(DEFAULT_TENANT)
    .records({ kind: 'definition', cursor: null, limit: 10 })
  const found = items.find(({ body }) => (JSON.parse(body) as { kind: string }).kind === kind)
  if (found === undefined) throw new Error(`the ${kind} of the flows is not in the store`)
  await store.commit({
    tenant: DEFAULT_TENANT,
    guards: [],
    writes: [{ w: 'record.delete', kind: 'setting', key: 'home' }],
  })
  return found.key
}

async function fill(
  file: string,
  past: Past,
  definition: string,
  progress: (text: string) => void,
): Promise<void> {
  await using store = await openSqliteStore({ file, groupMax: IN_FLIGHT })
  const { owner } = await store.join('preload' as NodeId, 600_000)
  const total = PAST[past]
  const write = WRITERS[past]
  for (let count = 0; count < total; count += IN_FLIGHT) {
    if (count % 50_000 === 0) progress(`filling a store: ${count} of ${total} ${past}`)
    const length = Math.min(IN_FLIGHT, total - count)
    await Promise.all(
      Array.from({ length }, (_, index) => write({ store, owner, definition, number: count + index + 1 })),
    )
  }
}
