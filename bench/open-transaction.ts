// npm run bench -- --only openTransaction [--minutes n] [--rate n]: a node on PostgreSQL at a steady rate while another session holds a
// transaction with a snapshot open. Vacuum runs, but may remove nothing that changed since. Reports over time what is done per second,
// how long responses take, what an event costs node and server, and how many dead rows there are.

import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { Pool } from 'undici'
import { type PostgresServer, startPostgres } from '../test/support/postgres.ts'
import { keptFlows } from './flows.ts'
import { processFamily } from './process-counters.ts'
import { ADMIN_KEY, SECRET, SMALL } from './sample.ts'
import { meter, perEvent, type Server, startServer } from './scenario.ts'
import { percentile } from './statistics.ts'

export const OPEN_TRANSACTION = 'openTransaction'
/** Of what was done per second without the transaction. */
const ASKED = 0.9
const CONNECTIONS = 64
const TICK_MS = 5
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')

interface OpenTransactionOptions {
  readonly perSecond: number
  readonly minutes: number
  /** The length of a window. As many as two of them come before the transaction. */
  readonly windowSeconds: number
  say(text: string): void
}

interface Window {
  readonly isHeld: boolean
  readonly perSecond: number
  readonly responseP50Ms: number | null
  readonly responseP99Ms: number | null
  /** Of the node and the server. */
  readonly cpuUsPerEvent: number
  /** Of the table of jobs, as the server counts them. */
  readonly deadRows: number
  /** How many transactions began since the oldest snapshot of a session. */
  readonly snapshotAge: number
  readonly refused: number
}

export interface OpenTransactionMeasurement {
  readonly asked: number
  readonly minutes: number
  readonly windows: readonly Window[]
  /** The lowest rate of a window with the transaction over the rate without. */
  readonly lowest: number
  /** The last window's cost over the cost without. */
  readonly cpuGrowth: number
}

export async function measureOpenTransaction(
  scratch: string,
  options: OpenTransactionOptions,
): Promise<OpenTransactionMeasurement> {
  const postgres = await startPostgres({ isDurable: true })
  try {
    const { url } = await postgres.makeDatabase({ empty: true })
    // The server of the tests runs without; production has it.
    await postgres.query(url, 'ALTER SYSTEM SET autovacuum = on')
    await postgres.query(url, 'SELECT pg_reload_conf()')
    const folder = join(scratch, 'open-transaction')
    await mkdir(folder, { recursive: true })
    const settings = { MILLRACE_MASTER_KEY: MASTER_KEY, MILLRACE_STORE: url }
    const args = [folder, keptFlows('end-to-end'), SECRET, ADMIN_KEY, JSON.stringify(settings)]
    const server = await startServer('serve-node.mjs', args)
    try {
      return await measureWindows(postgres, url, server, options)
    } finally {
      await server.stop()
    }
  } finally {
    await postgres.close()
  }
}

async function measureWindows(
  postgres: PostgresServer,
  url: string,
  server: Server,
  options: OpenTransactionOptions,
): Promise<OpenTransactionMeasurement> {
  const { perSecond, minutes, windowSeconds, say } = options
  const [file] = await postgres.query(url, "SELECT pg_read_file('postmaster.pid') AS text")
  const postmaster = Number.parseInt(String(file?.text), 10)
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  const sender = makeSender(server.url)
  const windows: Window[] = []
  const measureOne = async (isHeld: boolean) => {
    const doneBefore = await server.ask<number>('done')
    const used = await meter(server, () => processFamily(postmaster))
    const startedAt = performance.now()
    const { took, refused } = await sender.send(perSecond, windowSeconds)
    const seconds = (performance.now() - startedAt) / 1_000
    const use = await used()
    const done = (await server.ask<number>('done')) - doneBefore
    const [row] = await postgres.query(
      url,
      `SELECT n_dead_tup::int AS dead, (SELECT max(age(backend_xmin))::int FROM pg_stat_activity) AS age
       FROM pg_stat_user_tables WHERE schemaname = 'millrace' AND relname = 'work'`,
    )
    const one = {
      isHeld,
      perSecond: done / seconds,
      responseP50Ms: percentile(took, 0.5),
      responseP99Ms: percentile(took, 0.99),
      cpuUsPerEvent: perEvent(use, done).cpuUsPerEvent,
      deadRows: Number(row?.dead ?? 0),
      snapshotAge: Number(row?.age ?? 0),
      refused,
    }
    windows.push(one)
    say(renderWindow(one))
  }
  try {
    // Compiles what is called often; not reported.
    await sender.send(perSecond, Math.min(windowSeconds, 5))
    await measureOne(false)
    await measureOne(false)
    await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await holder.query('SELECT count(*) FROM millrace.work')
    const until = performance.now() + minutes * 60_000
    do await measureOne(true)
    while (performance.now() < until)
    await holder.query('COMMIT')
  } finally {
    await holder.end()
    await sender.close()
  }
  const free = windows.filter(({ isHeld }) => !isHeld)
  const held = windows.filter(({ isHeld }) => isHeld)
  const average = (all: readonly Window[], of: (one: Window) => number) =>
    all.reduce((sum, one) => sum + of(one), 0) / all.length
  const last = held.at(-1) as Window
  return {
    asked: perSecond,
    minutes,
    windows,
    lowest: Math.min(...held.map((one) => one.perSecond)) / average(free, (one) => one.perSecond),
    cpuGrowth: last.cpuUsPerEvent / average(free, (one) => one.cpuUsPerEvent),
  }
}

/** Sends each event when it is due, whether or not those before it were answered. */
function makeSender(url: string) {
  const pool = new Pool(url, { connections: CONNECTIONS })
  const post = async () => {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/in/default/github',
      headers: {
        'content-type': 'application/json',
        'x-github-event': SMALL.event,
        'x-github-delivery': randomUUID(),
      },
      body: SMALL.body,
    })
    await body.dump()
    return statusCode < 300
  }
  return {
    /** Returns sorted how long the accepted ones took, from when they were due. */
    async send(perSecond: number, seconds: number): Promise<{ took: number[]; refused: number }> {
      const took: number[] = []
      const underWay: Promise<void>[] = []
      let refused = 0
      const startedAt = performance.now()
      for (let sent = 0; sent < perSecond * seconds; ) {
        const due = Math.min(perSecond * seconds, ((performance.now() - startedAt) * perSecond) / 1_000)
        for (; sent < due; sent += 1) {
          const dueAt = startedAt + (sent * 1_000) / perSecond
          underWay.push(
            post().then((isAccepted) => {
              if (isAccepted) took.push(performance.now() - dueAt)
              else refused += 1
            }),
          )
        }
        await pause(TICK_MS)
      }
      await Promise.all(underWay)
      return { took: took.sort((a, b) => a - b), refused }
    },
    close: () => pool.close(),
  }
}

function renderWindow(one: Window): string {
  const ms = (value: number | null) => (value === null ? '–' : `${value.toFixed(1)} ms`)
  return (
    `openTransaction: ${one.isHeld ? 'held' : 'free'} ${Math.round(one.perSecond).toLocaleString('en')}/s, responses p50 ${ms(one.responseP50Ms)}, ` +
    `p99 ${ms(one.responseP99Ms)}, ${Math.round(one.cpuUsPerEvent)} µs CPU of node and server, ` +
    `${one.deadRows.toLocaleString('en')} dead rows${one.refused > 0 ? `, ${one.refused} refused` : ''}`
  )
}

export function renderOpenTransaction(measured: OpenTransactionMeasurement): string {
  const { asked, minutes, windows, lowest, cpuGrowth } = measured
  return [
    ...windows.map(renderWindow),
    `openTransaction: ${asked.toLocaleString('en')}/s for ${minutes} minutes with a transaction open: at the lowest ${lowest.toFixed(2)} of the rate without (asked: ${ASKED}, ${lowest >= ASKED ? 'as asked' : 'MISSED'}); at the end ${cpuGrowth.toFixed(2)} of the CPU per event`,
    '',
  ].join('\n')
}
