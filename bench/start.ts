// How long a node takes to start on a store that exists, what it holds in memory while it has nothing to do, and how long a command takes.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { keptFlows } from './flows.ts'
import { readCounters } from './process-counters.ts'
import { type Spread, spreadOf, spreadOfKnown } from './statistics.ts'

export const START = 'start'
const MAIN = fileURLToPath(new URL('../dist/bundle/main.js', import.meta.url))
export const START_ASKED = { startMs: 1_000, idleMb: 120, commandMs: 300 }

export interface StartMeasurement {
  /** From the start of the process until it says where it listens. */
  readonly startMs: Spread
  readonly startCpuMs: Spread | null
  readonly idleSeconds: number
  /** Resident memory, with the pages of the Node program; null if the kernel does not report it. */
  readonly idleMb: number | null
  /** `millrace events` against the running node. */
  readonly commandMs: Spread
}

export async function measureStart(
  scratch: string,
  rounds: number,
  idleSeconds: number,
): Promise<StartMeasurement> {
  const folder = join(scratch, 'start')
  await mkdir(folder, { recursive: true })
  // The first start makes the store.
  await (await startNode(folder)).stop()
  const starts: { ms: number; cpuMs: number | null }[] = []
  for (let round = 0; round < rounds; round += 1) {
    const node = await startNode(folder)
    starts.push(node)
    await node.stop()
  }
  const node = await startNode(folder)
  try {
    const commands: number[] = []
    for (let round = 0; round < rounds; round += 1) commands.push(await runCommand(node.url, folder))
    await pause(idleSeconds * 1_000)
    return {
      startMs: spreadOf(
        starts.map(({ ms }) => ms),
        0,
      ),
      startCpuMs: spreadOfKnown(
        starts.map(({ cpuMs }) => cpuMs),
        0,
      ),
      idleSeconds,
      idleMb: residentMb(node.pid),
      commandMs: spreadOf(commands, 0),
    }
  } finally {
    await node.stop()
  }
}

export function renderStart({
  startMs,
  startCpuMs,
  idleSeconds,
  idleMb,
  commandMs,
}: StartMeasurement): string {
  const range = ({ median, smallest, largest }: Spread) => `${median} ms (${smallest} to ${largest})`
  const cpu = startCpuMs === null ? '' : `, CPU ${range(startCpuMs)}`
  const memory = idleMb === null ? 'unknown' : `${idleMb} MB`
  return [
    `start: on an existing store ${range(startMs)}${cpu} (asked: at most ${START_ASKED.startMs} ms)`,
    `start: memory after ${idleSeconds} s without work ${memory} (asked: at most ${START_ASKED.idleMb} MB)`,
    `start: a command takes ${range(commandMs)} (asked: under ${START_ASKED.commandMs} ms)`,
    '',
  ].join('\n')
}

async function startNode(folder: string) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [MAIN, 'start'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      MILLRACE_ENV: 'DEV',
      MILLRACE_PORT: '0',
      MILLRACE_DATA: join(folder, 'data'),
      MILLRACE_FLOWS: keptFlows('ingest'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (text) => {
      said += text
      const found = /is up at (http:\S+)/.exec(said)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', (code) => reject(new Error(`the node ended with code ${code} while it started`)))
  })
  const pid = child.pid as number
  const counters = readCounters(pid)
  const cpuUs = counters === null ? null : [...counters.threads.values()].reduce((sum, one) => sum + one, 0)
  return {
    url,
    pid,
    ms: performance.now() - startedAt,
    cpuMs: cpuUs === null ? null : cpuUs / 1_000,
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

async function runCommand(url: string, folder: string): Promise<number> {
  const startedAt = performance.now()
  await promisify(execFile)(process.execPath, [MAIN, 'events', '--json'], {
    env: { PATH: process.env.PATH, MILLRACE_URL: url, MILLRACE_DATA: join(folder, 'data') },
  })
  return performance.now() - startedAt
}

function residentMb(pid: number): number | null {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kilobytes === undefined ? null : Math.round(Number(kilobytes) / 1_024)
  } catch {
    return null
  }
}
