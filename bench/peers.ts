// npm run bench -- --peers: end to end over HTTP beside other queues, each in turn and round after round, with its
// database's CPU time counted. Their packages are installed into a temporary folder, not into this package.

import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type PostgresServer, startPostgres } from '../test/support/postgres.ts'
import { EFFECT, END_TO_END, type Plan } from './plans.ts'
import { processFamily } from './process-counters.ts'
import { startRedis } from './redis.ts'
import type { Runner } from './run-plan.ts'
import { SMALL, wrkScript } from './sample.ts'
import { type Measurement, measure, type ScenarioOptions, startServer } from './scenario.ts'
import { type Spread, spreadOf } from './statistics.ts'

const PACKAGES = { bullmq: '6.7.0', 'graphile-worker': '0.17.3', ioredis: '5.8.2' }
const FOLDER = join(tmpdir(), 'millrace-bench-peers')

export interface Peer {
  readonly name: string
  /** Whether it flushes before it responds. */
  readonly isDurable: boolean
  readonly perSecond: Spread
  /** Including its database's. */
  readonly cpuUs: Spread
  /** What the node did beside it. */
  readonly plan: string
  /** Per round: the node's events per second over the peer's. */
  readonly nodeTimes: Spread
}

export interface PeersMeasurement {
  readonly nodes: readonly {
    readonly plan: string
    readonly perSecond: Spread
    readonly cpuUs: Spread
  }[]
  readonly peers: readonly Peer[]
}

export interface PeersOptions {
  readonly runner: Runner
  readonly scratch: string
  readonly rounds: number
  readonly seconds: number
  readonly warmUpSeconds: number
  say(text: string): void
}

export async function measurePeers(options: PeersOptions): Promise<PeersMeasurement> {
  const { runner, scratch, rounds, say } = options
  const modules = await installPeers(say)
  const script = join(scratch, 'peers.lua')
  await writeFile(script, wrkScript(SMALL))
  const { warmUpSeconds, seconds } = options
  const loadOf = (round: number) => ({
    script,
    warmUpSeconds,
    seconds,
    seed: 9_000 + 10 * round,
    itemsPerEvent: 1,
  })
  const postgres = await startPostgres({ isDurable: true })
  try {
    const contenders: readonly Contender[] = [
      {
        name: 'bullmqAlways',
        isDurable: true,
        run: (load: Load) => runBull(modules, scratch, 'always', load),
      },
      {
        name: 'bullmqAlwaysEffect',
        isDurable: true,
        plan: EFFECT,
        run: (load: Load) => withVendor((url) => runBull(modules, scratch, 'always', load, url)),
      },
      {
        name: 'bullmqEverysec',
        isDurable: false,
        run: (load: Load) => runBull(modules, scratch, 'everysec', load),
      },
      {
        name: 'pgBoss',
        isDurable: true,
        run: (load: Load) => runOnPostgres(postgres, 'serve-pg-boss.mjs', [], load),
      },
      {
        name: 'graphileWorker',
        isDurable: true,
        run: (load: Load) => runOnPostgres(postgres, 'serve-graphile.mjs', [modules], load),
      },
    ]
    const nodes = new Map<Plan, Measurement[]>()
    const seen = new Map<string, { measurement: Measurement; times: number }[]>()
    for (let round = 0; round < rounds; round += 1) {
      for (const { name, run, plan = END_TO_END } of contenders) {
        say(`${name} (${round + 1} of ${rounds}) …`)
        const measurement = await run(loadOf(round))
        const node = await runner.run(plan, round)
        nodes.set(plan, [...(nodes.get(plan) ?? []), node])
        seen.set(name, [
          ...(seen.get(name) ?? []),
          { measurement, times: node.perSecond / measurement.perSecond },
        ])
      }
    }
    const rates = (all: readonly Measurement[]) => ({
      perSecond: spreadOf(
        all.map(({ perSecond }) => perSecond),
        0,
      ),
      cpuUs: spreadOf(
        all.map(({ cpuUsPerEvent }) => cpuUsPerEvent),
        0,
      ),
    })
    return {
      nodes: [...nodes].map(([{ name }, all]) => ({ plan: name, ...rates(all) })),
      peers: contenders.map(({ name, isDurable, plan = END_TO_END }) => {
        const all = seen.get(name) ?? []
        return {
          name,
          isDurable,
          plan: plan.name,
          ...rates(all.map(({ measurement }) => measurement)),
          nodeTimes: spreadOf(
            all.map(({ times }) => times),
            2,
          ),
        }
      }),
    }
  } finally {
    await postgres.close()
  }
}

export function renderPeers({ nodes, peers }: PeersMeasurement): string {
  const range = ({ median, smallest, largest }: Spread, unit = '') =>
    `${median}${unit} (${smallest} to ${largest})`
  return [
    ...nodes.map(
      ({ plan, perSecond, cpuUs }) =>
        `peers: a node on SQLite, ${plan}: ${range(perSecond, '/s')} at ${cpuUs.median} µs CPU`,
    ),
    ...peers.map(
      (peer) =>
        `peers: ${peer.name} ${range(peer.perSecond, '/s')} at ${peer.cpuUs.median} µs CPU with its database${peer.isDurable ? '' : ', not durable'}: the node (${peer.plan}) does ${range(peer.nodeTimes)} times as many`,
    ),
    '',
  ].join('\n')
}

interface Contender {
  readonly name: string
  readonly isDurable: boolean
  /** What the node does beside it; default: end to end. */
  readonly plan?: Plan
  run(load: Load): Promise<Measurement>
}

async function withVendor<Result>(use: (url: string) => Promise<Result>): Promise<Result> {
  const vendor = await startServer('serve-vendor.mjs', [])
  try {
    return await use(vendor.url)
  } finally {
    await vendor.stop()
  }
}

type Load = Pick<ScenarioOptions, 'script' | 'warmUpSeconds' | 'seconds' | 'seed' | 'itemsPerEvent'>

/** A file in the folder of the packages, from which they are resolved. */
async function installPeers(say: (text: string) => void): Promise<string> {
  const manifest = join(FOLDER, 'package.json')
  const text = `${JSON.stringify({ private: true, dependencies: PACKAGES }, null, 2)}\n`
  const isInstalled =
    existsSync(manifest) &&
    readFileSync(manifest, 'utf8') === text &&
    Object.keys(PACKAGES).every((name) => existsSync(join(FOLDER, 'node_modules', name)))
  if (!isInstalled) {
    say(`installing ${Object.keys(PACKAGES).join(' and ')} into ${FOLDER} …`)
    await mkdir(FOLDER, { recursive: true })
    await writeFile(manifest, text)
    await promisify(execFile)('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: FOLDER,
    })
  }
  return manifest
}

async function runBull(
  modules: string,
  scratch: string,
  appendFsync: 'always' | 'everysec',
  load: Load,
  vendor?: string,
): Promise<Measurement> {
  const folder = await mkdtemp(join(scratch, 'redis-'))
  const redis = await startRedis(folder, appendFsync)
  try {
    return await measure({
      ...load,
      entry: 'serve-bullmq.mjs',
      args: [modules, redis.socket, ...(vendor === undefined ? [] : [vendor])],
      helpers: () => [redis.pid],
    })
  } finally {
    await redis.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function runOnPostgres(
  postgres: PostgresServer,
  entry: 'serve-pg-boss.mjs' | 'serve-graphile.mjs',
  args: readonly string[],
  load: Load,
): Promise<Measurement> {
  const database = await postgres.makeDatabase({ empty: true })
  try {
    const [row] = await postgres.query(database.url, "SELECT pg_read_file('postmaster.pid') AS text")
    const postmaster = Number.parseInt(String(row?.text), 10)
    return await measure({
      ...load,
      entry,
      args: [...args, database.url],
      helpers: () => processFamily(postmaster),
    })
  } finally {
    await database.drop()
  }
}
