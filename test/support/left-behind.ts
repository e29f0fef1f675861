// Cleans up servers that tests start if the process that started them dies: a watchdog ends them at once, and the next
// start removes what even that left. Their folders are temporary and name the process that created them.

import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Runs the script, with the folder as its first argument, when the pipe from here ends. It runs in its own session, so
 * that Ctrl-C does not reach it.
 */
export function startWatchdog(name: string, folder: string, script: string): ChildProcess {
  const options = { detached: true, stdio: ['pipe', 'ignore', 'ignore'] as ['pipe', 'ignore', 'ignore'] }
  const watchdog = spawn('sh', ['-c', `cat > /dev/null\n${script}`, name, folder], options)
  watchdog.unref()
  return watchdog
}

/** Folders `{prefix}{pid}-…` of dead processes; `endServer` ends the server, if it still runs there. */
export function cleanUp(prefix: string, endServer: (folder: string) => void): void {
  for (const name of readdirSync(tmpdir())) {
    const maker = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1]
    if (maker === undefined || isAlive(Number(maker))) continue
    const folder = join(tmpdir(), name)
    endServer(folder)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
