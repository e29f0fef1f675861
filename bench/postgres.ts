// PostgreSQL, with fsync, on this machine: from HTTP to done beside pg-boss on the same server; two nodes beside one if
// the node is the limit and not the database; the cost of a claim with more and more jobs waiting; and the same load and
// claims while another session holds a transaction open, on tables with the dead rows that it left.

import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { openPostgresStore } from '../src/adapters/store-postgres/index.ts'
import type { NodeId, TenantId } from '../src/core/foundation/ids/index.ts'
import { type PostgresServer, startPostgres } from '../test/support/postgres.ts'
import { effectFlows, keptFlows } from './flows.ts'
import { ADMIN_KEY, SECRET, SMALL, wrkScript } from './sample.ts'
import { type Measurement, measure, type Server, startServer } from './scenario.ts'
import { runWrk } from './wrk.ts'

export const POSTGRES = 'postgres'

const ASKED = { boss: 3, nodes: 1.5, flat: 1.5, held: 0.9 }
/** A slow vendor, and nodes with few slots: neither the processor nor the database is the limit. */
const VENDOR_MS = 50
const SLOTS = 16
const NODE_SECONDS = 6
const CLAIM_ITEMS = 32
const CLAIMS = 20
const SIZES = [1_000, 100_000, 1_000_000]
const QUICK_SIZES = [1_000, 100_000]
/** Ten minutes at 2,000 jobs per second, none of which vacuum could clean up behind. */
const DEAD = 1_200_000
const QUICK_DEAD = 100_000
/** All nodes of a run encrypt with it. */
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')

export interface PostgresMeasurement {
  readonly node: Measurement
  readonly boss: Measurement
  /** A node's events per event of pg-boss; the median of the rounds, like the rest. */
  readonly overBoss: number
  readonly oneNodePerSecond: number
  readonly twoNodesPerSecond: number
  readonly overOneNode: number
  readonly claims: readonly { readonly waiting: number; readonly ms: number }[]
  /** The cost of a claim with the most jobs waiting, relative to the fewest. */
  readonly claimGrowth: number
  readonly held: HeldMeasurement
}

/** With a transaction of another session open, and this many dead rows behind it. */
interface HeldMeasurement {
  readonly dead: number
  readonly node: Measurement
  /** Its events per event of a node without, right before it. */
  readonly overFree: number
  /** A claim among them, without them, and the first one of a node. */
  readonly claimMs: number
  readonly freeClaimMs: number
  readonly firstClaimMs: number
}

export async function measurePostgres(rounds: number, isQuick: boolean): Promise<PostgresMeasurement> {
  const root = fileURLToPath(new URL('../.cache/bench', import.meta.url))
  await mkdir(root, { recursive: true })
  const scratch = await mkdtemp(join(root, 'postgres-'))
  const postgres = await startPostgres({ isDurable: true })
  try {
    const script = join(scratch, 'small.lua')
    await writeFile(script, wrkScript(SMALL))
    const ends: Pick<PostgresMeasurement, 'node' | 'boss' | 'overBoss'>[] = []
    const scaled: Pick<PostgresMeasurement, 'oneNodePerSecond' | 'twoNodesPerSecond' | 'overOneNode'>[] = []
    for (let round = 0; round < rounds; round += 1) {
      const load = { script, warmUpSeconds: 3, seconds: isQuick ? 6 : 10, seed: 7_000 + 10 * round }
      const boss = await measureBoss(postgres, load)
      const node = await measureNode(postgres, join(scratch, `node-${round}`), load)
      ends.push({ node, boss, overBoss: node.perSecond / boss.perSecond })
      const place = (count: number) => join(scratch, `nodes-${round}-${count}`)
      const oneNodePerSecond = await callsPerSecond(postgres, place(1), script, 1)
      const twoNodesPerSecond = await callsPerSecond(postgres, place(2), script, 2)
      scaled.push({ oneNodePerSecond, twoNodesPerSecond, overOneNode: twoNodesPerSecond / oneNodePerSecond })
    }
    const claims: { waiting: number; ms: number }[] = []
    for (const waiting of isQuick ? QUICK_SIZES : SIZES)
      claims.push({ waiting, ms: (await claimMs(postgres, waiting)).ms })
    const load = { script, warmUpSeconds: 3, seconds: isQuick ? 6 : 60, seed: 7_900 }
    const held = await measureHeld(postgres, scratch, load, isQuick ? QUICK_DEAD : DEAD)
    return {
      ...middle(ends, ({ overBoss }) => overBoss),
      ...middle(scaled, ({ overOneNode }) => overOneNode),
      claims,
      claimGrowth: (claims.at(-1)?.ms ?? 0) / (claims[0]?.ms ?? 1),
      held,
    }
  } finally {
    await postgres.close()
    await rm(scratch, { recursive: true, force: true })
  }
}

export function renderPostgres(measured: PostgresMeasurement): string {
  const {
    node,
    boss,
    overBoss,
    oneNodePerSecond,
    twoNodesPerSecond,
    overOneNode,
    claims,
    claimGrowth,
    held,
  } = measured
  const rate = (value: number) => `${Math.round(value).toLocaleString('en')}/s`
  const verdict = (isReached: boolean) => (isReached ? 'as asked' : 'MISSED')
  const times = (value: number, asked: number) =>
    `${value.toFixed(2)} times (asked: ${asked}, ${verdict(value >= asked)})`
  return [
    `postgres: HTTP to done ${rate(node.perSecond)} at ${Math.round(node.cpuUsPerEvent)} µs CPU of the node; pg-boss ${rate(boss.perSecond)} at ${Math.round(boss.cpuUsPerEvent)} µs: ${times(overBoss, ASKED.boss)}`,
    `postgres: calls of one node with ${SLOTS} slots ${rate(oneNodePerSecond)}, of two ${rate(twoNodesPerSecond)}: ${times(overOneNode, ASKED.nodes)}`,
    `postgres: a claim of ${CLAIM_ITEMS} ${claims.map(({ waiting, ms }) => `${ms.toFixed(2)} ms with ${waiting.toLocaleString('en')} waiting`).join(', ')}: ${claimGrowth.toFixed(2)} times (asked: at most ${ASKED.flat}, ${verdict(claimGrowth <= ASKED.flat)})`,
    `postgres: with a transaction open and ${held.dead.toLocaleString('en')} dead rows behind it, HTTP to done ${rate(held.node.perSecond)} at ${Math.round(held.node.cpuUsPerEvent)} µs CPU of the node: ${times(held.overFree, ASKED.held)}; a claim of ${CLAIM_ITEMS} ${held.claimMs.toFixed(2)} ms, without ${held.freeClaimMs.toFixed(2)} ms, the first one ${held.firstClaimMs.toFixed(0)} ms`,
    '',
  ].join('\n')
}

type WrkLoad = Pick<Parameters<typeof measure>[0], 'script' | 'warmUpSeconds' | 'seconds' | 'seed'>

async function measureBoss(postgres: PostgresServer, load: WrkLoad): Promise<Measurement> {
  const database = await postgres.makeDatabase({ empty: true })
  try {
    return await measure({ ...load, entry: 'serve-pg-boss.mjs', args: [database.url], itemsPerEvent: 1 })
  } finally {
    await database.drop()
  }
}

async function measureNode(
  postgres: PostgresServer,
  folder: string,
  load: WrkLoad,
  dead = 0,
): Promise<Measurement> {
  const database = await postgres.makeDatabase()
  const release = dead === 0 ? null : await holdSnapshot(postgres, database.url, dead)
  try {
    const args = await nodeArgs(folder, keptFlows('end-to-end'), { MILLRACE_STORE: database.url })
    return await measure({ ...load, entry: 'serve-node.mjs', args, itemsPerEvent: 1 })
  } finally {
    await release?.()
    await database.drop()
  }
}

async function nodeArgs(
  folder: string,
  flows: string,
  settings: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true })
  return [folder, flows, SECRET, ADMIN_KEY, JSON.stringify({ MILLRACE_MASTER_KEY: MASTER_KEY, ...settings })]
}

/** Calls that the vendor answers per second while there is more work than all nodes can do. */
async function callsPerSecond(
  postgres: PostgresServer,
  folder: string,
  script: string,
  count: number,
): Promise<number> {
  const database = await postgres.makeDatabase()
  let calls = 0
  const vendor = createServer((request, response) => {
    request.resume()
    setTimeout(() => {
      calls += 1
      response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":"1"}')
    }, VENDOR_MS)
  }).listen(0, '127.0.0.1')
  const nodes: Server[] = []
  const start = async (name: string, settings: Readonly<Record<string, string>>) => {
    const args = await nodeArgs(join(folder, name), flows, {
      MILLRACE_STORE: database.url,
      MILLRACE_NODE: name,
      ...settings,
    })
    const node = await startServer('serve-node.mjs', args)
    nodes.push(node)
    return node
  }
  await once(vendor, 'listening')
  const url = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`
  const flows = await effectFlows(join(folder, 'flows'), url)
  try {
    // A node that runs no jobs fills the queue before those that are measured start.
    const ingest = await start('ingest', { MILLRACE_ROLES: 'ingest' })
    const wanted = (2 * NODE_SECONDS * count * SLOTS * 1_000) / VENDOR_MS
    for (let seed = 1, accepted = 0; accepted < wanted; seed += 1)
      accepted += (await runWrk(script, ingest.url, 2, seed)).requests
    await ingest.stop()
    for (let index = 0; index < count; index += 1)
      await start(`node-${index}`, { MILLRACE_CONCURRENCY: String(SLOTS) })
    const before = calls
    const startedAt = performance.now()
    await pause(NODE_SECONDS * 1_000)
    const perSecond = ((calls - before) * 1_000) / (performance.now() - startedAt)
    const [left] = await postgres.query(
      database.url,
      `SELECT count(*)::int AS count FROM millrace.work WHERE state = 'ready'`,
    )
    if (left?.count === 0) throw new Error('the nodes had worked off everything before the end of the window')
    return perSecond
  } finally {
    for (const node of nodes) await node.stop()
    vendor.closeAllConnections()
    vendor.close()
    await database.drop()
  }
}

const TENANT = 'default' as TenantId
const CONSUMER = 'route:count'

/** The same load without and with a transaction open, and claims among dead rows. */
async function measureHeld(
  postgres: PostgresServer,
  scratch: string,
  load: WrkLoad,
  dead: number,
): Promise<HeldMeasurement> {
  const free = await measureNode(postgres, join(scratch, 'free'), load)
  const node = await measureNode(postgres, join(scratch, 'held'), load, dead)
  const freeClaims = await claimMs(postgres, 1_000)
  const claims = await claimMs(postgres, 1_000, dead)
  return {
    dead,
    node,
    overFree: node.perSecond / free.perSecond,
    claimMs: claims.ms,
    freeClaimMs: freeClaims.ms,
    firstClaimMs: claims.firstMs,
  }
}

/** Opens a transaction, then leaves this many jobs that were ready, and are done, behind it. Returns how to end it. */
async function holdSnapshot(
  postgres: PostgresServer,
  url: string,
  dead: number,
): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await client.query('SELECT count(*) FROM millrace.work')
  await fill(postgres, url, dead, `millrace.now_ms() - 600000 + n * 600000 / ${dead}`)
  await postgres.query(url, "UPDATE millrace.work SET state = 'done', processed_at = 0 WHERE state = 'ready'")
  return () => client.end()
}

/** Claims while this many jobs of one consumer are due, behind dead ones if asked. */
async function claimMs(
  postgres: PostgresServer,
  waiting: number,
  dead = 0,
): Promise<{ readonly ms: number; readonly firstMs: number }> {
  const database = await postgres.makeDatabase()
  const store = await openPostgresStore({ connection: database.url })
  const release = dead === 0 ? null : await holdSnapshot(postgres, database.url, dead)
  try {
    await fill(postgres, database.url, waiting, 'millrace.now_ms()', dead)
    const { owner } = await store.join('bench' as NodeId, 600_000)
    const slots = [{ tenant: TENANT, consumer: CONSUMER, max: CLAIM_ITEMS }]
    const took: number[] = []
    for (let index = 0; index < CLAIMS; index += 1) {
      const startedAt = performance.now()
      const { items } = await store.claim({ owner, slots, max: CLAIM_ITEMS, maxIsolated: 1, codeHashes: [] })
      took.push(performance.now() - startedAt)
      if (items.length !== CLAIM_ITEMS) throw new Error(`a claim got ${items.length} of ${CLAIM_ITEMS} items`)
    }
    return { ms: middle(took, (ms) => ms), firstMs: took[0] ?? 0 }
  } finally {
    await release?.()
    await store[Symbol.asyncDispose]()
    await database.drop()
  }
}

/** Ready jobs, due at the instant that the SQL says for number `n`, and numbered behind `after`. */
async function fill(
  postgres: PostgresServer,
  url: string,
  count: number,
  dueAt = 'n % 1000',
  after = 0,
): Promise<void> {
  const event = 'evt_01a1e176-76a9-7000-8c09-5f077d7d06a9'
  await postgres.query(
    url,
    `INSERT INTO millrace.event (tenant, id, source, subject, correlation_id, dedup_key, payload_hash, headers, data, matched, received_at, occurred_at, trace_id)
     VALUES ($1, $2, 'github', 'github.events.issues.opened', 'c', 'k', 'h', '{}', $3, 1, 0, 0, 't')
     ON CONFLICT DO NOTHING`,
    [TENANT, event, SMALL.body],
  )
  await postgres.query(
    url,
    `INSERT INTO millrace.work (tenant, id, kind, consumer, definition, event_id, epoch, created_at, state, due_at, alone, attempts, waits, losses, expires_at, generation)
     SELECT $1, 'wrk_01a1e176-76a9-7' || lpad(to_hex(n), 15, '0'), 'route', $2, 'd', $3, 0, 0, 'ready', ${dueAt}, false, 0, 0, 0, 9999999999999, 1
     FROM generate_series($4::bigint + 1, $4::bigint + $5::bigint) AS n`,
    [TENANT, CONSUMER, event, after, count],
  )
}

function middle<One>(all: readonly One[], by: (one: One) => number): One {
  return [...all].sort((a, b) => by(a) - by(b))[Math.floor(all.length / 2)] as One
}
