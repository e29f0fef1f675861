// npm run bench -- --peers: end to end over HTTP beside other queues, each in turn and round after round, with its
// database's CPU time counted. Their packages are installed into a temporary folder, not into this package.

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type PostgresServer, startPostgres } from '../test/support/postgres.ts'
import { END_TO_END } from './plans.ts'
import { startRedis } from './redis.ts'
import { median, type Runner, spread } from './run-plan.ts'
import { SMALL, wrkScript } from './sample.ts'
import { type Measurement, measure, type ScenarioOptions } from './scenario.ts'

const PACKAGES = { bullmq: '6.7.0', 'graphile-worker': '0.17.3', ioredis: '5.8.2' }
const FOLDER = join(tmpdir(), 'millrace-bench-peers')

export interface Peer {
  readonly name: string
  /** Whether it flushes before it responds. */
  readonly isDurable: boolean
  readonly perSecond: number
  readonly spread: readonly [number, number]
  /** Including its database's. */
  readonly cpuUsPerEvent: number
  /** Per round: the node's events per second over the peer's. */
  readonly nodeTimes: number
}

export interface PeersMeasurement {
  readonly node: {
    readonly perSecond: number
    readonly spread: readonly [number, number]
    readonly cpuUsPerEvent: number
  }
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
    const contenders = [
      {
        name: 'bullmqAlways',
        isDurable: true,
        run: (load: Load) => runBull(modules, scratch, 'always', load),
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
    const nodes: Measurement[] = []
    const seen = new Map<string, { measurement: Measurement; times: number }[]>()
    for (let round = 0; round < rounds; round += 1) {
      for (const { name, run } of contenders) {
        say(`${name} (${round + 1} of ${rounds}) …`)
        const measurement = await run(loadOf(round))
        const node = await runner.run(END_TO_END, round)
        nodes.push(node)
        seen.set(name, [
          ...(seen.get(name) ?? []),
          { measurement, times: node.perSecond / measurement.perSecond },
        ])
      }
    }
    return {
      node: {
        perSecond: median(nodes, ({ perSecond }) => perSecond).perSecond,
        spread: spread(nodes, ({ perSecond }) => perSecond),
        cpuUsPerEvent: median(nodes, ({ cpuUsPerEvent }) => cpuUsPerEvent).cpuUsPerEvent,
      },
      peers: contenders.map(({ name, isDurable }) => {
        const all = seen.get(name) ?? []
        const rate = ({ measurement }: { measurement: Measurement }) => measurement.perSecond
        return {
          name,
          isDurable,
          perSecond: rate(median(all, rate)),
          spread: spread(all, rate),
          cpuUsPerEvent: median(all, ({ measurement }) => measurement.cpuUsPerEvent).measurement
            .cpuUsPerEvent,
          nodeTimes: median(all, ({ times }) => times).times,
        }
      }),
    }
  } finally {
    await postgres.close()
  }
}

export function renderPeers({ node, peers }: PeersMeasurement): string {
  const rate = (perSecond: number, [smallest, largest]: readonly [number, number]) =>
    `${Math.round(perSecond)}/s (${Math.round(smallest)} to ${Math.round(largest)})`
  return [
    `peers: a node on SQLite ${rate(node.perSecond, node.spread)} at ${Math.round(node.cpuUsPerEvent)} µs CPU`,
    ...peers.map(
      (peer) =>
        `peers: ${peer.name} ${rate(peer.perSecond, peer.spread)} at ${Math.round(peer.cpuUsPerEvent)} µs CPU with its database${peer.isDurable ? '' : ', not durable'}: the node does ${peer.nodeTimes.toFixed(2)} times as many`,
    ),
    '',
  ].join('\n')
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
): Promise<Measurement> {
  const folder = await mkdtemp(join(scratch, 'redis-'))
  const redis = await startRedis(folder, appendFsync)
  try {
    return await measure({
      ...load,
      entry: 'serve-bullmq.mjs',
      args: [modules, redis.socket],
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
      helpers: () => familyOf(postmaster),
    })
  } finally {
    await database.drop()
  }
}

/** A process and its children. A connection that ended took its count with it. */
function familyOf(pid: number): readonly number[] {
  const found = [pid]
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]
      if (Number(parent) === pid) found.push(Number(name))
    } catch {
      // It ended meanwhile.
    }
  }
  return found
}
