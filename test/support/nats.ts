// A real NATS server with JetStream for a test file: on a free port of the loopback, in its own folder. It can be
// stopped, killed, restarted on its port, and lose its data.
//
// Nothing is left behind: `close` stops the server and removes its folder; if this process dies first, a watchdog that
// holds the other end of a pipe does both; and what even that left is cleaned up by the next start, which ends a server
// only by the pid that is recorded in a folder whose creator is dead.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanUp, startWatchdog } from './left-behind.ts'
import { requireTool } from './needs.ts'

const PREFIX = 'millrace-nats-'
const START_MS_MAX = 120_000

export interface NatsServer {
  readonly port: number
  readonly url: string
  /** Where it stores its streams. */
  readonly folder: string
  /** As an administrator stops it. */
  stop(): Promise<void>
  /** As the machine dies: SIGKILL. */
  kill(): Promise<void>
  /** Again on the same port, with its data; `isEmpty`: without it; `config` instead of what it was started with. */
  start(options?: { isEmpty?: boolean; config?: string }): Promise<void>
  close(): Promise<void>
}

/** `config` is added to the server's configuration file: accounts and permissions, for example. */
export async function startNats(options: { config?: string } = {}): Promise<NatsServer> {
  cleanUp(PREFIX, (left) => {
    const pid = readServer(left)
    if (pid !== null) process.kill(pid, 'SIGKILL')
  })
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`))
  const watchdog = startWatchdog('millrace-nats-watchdog', folder, WATCHDOG)
  let running: ChildProcess | null = null
  let port = -1

  const start = async (again: { isEmpty?: boolean; config?: string } = {}) => {
    if (again.isEmpty) rmSync(join(folder, 'data'), { recursive: true, force: true })
    writeFileSync(join(folder, 'server.conf'), configText(folder, port, again.config ?? options.config ?? ''))
    const begun = await startServer(folder)
    running = begun.server
    port = begun.port
  }
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    const server = running
    running = null
    if (server === null || server.exitCode !== null || server.signalCode !== null) return
    const isOver = once(server, 'exit')
    server.kill(signal)
    await isOver
  }
  const close = async () => {
    await end('SIGKILL')
    if (watchdog.exitCode !== null) return
    watchdog.stdin?.end()
    await once(watchdog, 'exit')
  }

  try {
    await start()
  } catch (error) {
    watchdog.stdin?.end()
    throw error
  }
  return {
    port,
    url: `nats://127.0.0.1:${port}`,
    folder: join(folder, 'data'),
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    start,
    close,
  }
}

function configText(folder: string, port: number, more: string): string {
  return [
    `listen: "127.0.0.1:${port}"`,
    `pid_file: "${join(folder, 'pid')}"`,
    `jetstream { store_dir: "${join(folder, 'data')}", max_mem: 64MB, max_file: 1GB }`,
    more,
    '',
  ].join('\n')
}

/** Resolves when it accepts connections. */
async function startServer(folder: string): Promise<{ server: ChildProcess; port: number }> {
  const binary = requireTool('nats-server')
  const server = spawn(binary, ['-c', join(folder, 'server.conf')], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  const isReady = new Promise<number>((resolve, reject) => {
    const fail = (why: string) =>
      reject(new Error(`NATS for the tests cannot start: ${why}. It said: ${said}`))
    const timer = setTimeout(() => fail(`it is not ready after ${START_MS_MAX} ms`), START_MS_MAX)
    server.once('error', (error) => fail(String(error)))
    server.once('exit', (code, signal) => fail(`it ended with ${signal ?? code}`))
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4_000)
      const port = /client connections on [^\s]+:(\d+)/.exec(said)?.[1]
      if (port === undefined || !said.includes('Server is ready')) return
      clearTimeout(timer)
      resolve(Number(port))
    })
  })
  try {
    await isReady
  } catch (error) {
    server.kill('SIGKILL')
    throw error
  }
  // The child must not keep this process alive; the pipe is read on, or the server would block on it.
  server.unref()
  return { server, port: await isReady }
}

/** Ends the server and removes the folder. */
const WATCHDOG = `
  pid=$(head -n 1 "$1/pid" 2> /dev/null)
  [ -n "$pid" ] && tr '\\0' ' ' < "/proc/$pid/cmdline" 2> /dev/null | grep -qF "$1/" && kill -KILL "$pid" 2> /dev/null
  rm -rf "$1" || { sleep 0.5; rm -rf "$1"; }`

/** The pid that the folder names, if that process was started for this folder: pids are reused. */
function readServer(folder: string): number | null {
  try {
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'))
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return Number.isInteger(pid) && pid > 1 && command.includes(join(folder, 'server.conf')) ? pid : null
  } catch {
    return null
  }
}
