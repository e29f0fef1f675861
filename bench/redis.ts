// A separate Redis for one run: on a socket in a folder, with its append-only file flushed as configured.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

export interface Redis {
  readonly socket: string
  readonly pid: number
  stop(): Promise<void>
}

const START_MS_MAX = 10_000
const LOOK_MS = 20

export async function startRedis(folder: string, appendFsync: 'always' | 'everysec'): Promise<Redis> {
  const socket = join(folder, 'redis.sock')
  const flags = ['--port', '0', '--unixsocket', socket, '--dir', folder, '--save', '', '--daemonize', 'no']
  const child = spawn('redis-server', [...flags, '--appendonly', 'yes', '--appendfsync', appendFsync], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const failed = once(child, 'error').then(([error]) => {
    throw new Error(`redis-server does not start: ${(error as Error).message}; install it to measure BullMQ`)
  })
  failed.catch(() => {})
  const endsAt = performance.now() + START_MS_MAX
  while (!existsSync(socket)) {
    if (child.exitCode !== null || performance.now() > endsAt) {
      await stop(child)
      throw new Error('redis-server did not open its socket')
    }
    await Promise.race([pause(LOOK_MS), failed])
  }
  return { socket, pid: child.pid as number, stop: () => stop(child) }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
