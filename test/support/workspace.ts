// A folder for one test and the processes that work in it. Nothing is left behind: disposing ends the processes and
// removes the folder; if the test's own process dies first, a watchdog at the other end of a pipe does both.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Workspace extends AsyncDisposable {
  readonly folder: string
  /** For MILLRACE_DATA; not created yet. */
  readonly data: string
  readonly database: string
  /** A new folder with the file in it, for MILLRACE_FLOWS. */
  writeFlows(yaml: string, name?: string): Promise<string>
  /** Ends with the workspace at the latest. */
  adopt(child: ChildProcess): void
}

const WATCHDOG = `
  pids=
  while read -r sign pid; do
    rest=
    for known in $pids; do [ "$known" = "$pid" ] || rest="$rest $known"; done
    if [ "$sign" = + ]; then pids="$rest $pid"; else pids=$rest; fi
  done
  for pid in $pids; do kill -KILL "$pid" 2> /dev/null; done
  rm -rf "$1"`

export function makeWorkspace(): Workspace {
  const folder = mkdtempSync(join(tmpdir(), `millrace-e2e-${process.pid}-`))
  const data = join(folder, 'data')
  // In its own session, so that Ctrl-C does not reach it.
  const watchdog = spawn('sh', ['-c', WATCHDOG, 'millrace-e2e-watchdog', folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watchdog.unref()
  const alive = new Set<ChildProcess>()
  let flows = 0
  return {
    folder,
    data,
    database: join(data, 'millrace.db'),
    async writeFlows(yaml, name = 'flows.yaml') {
      flows += 1
      const path = join(folder, `flows-${flows}`)
      await mkdir(path)
      await writeFile(join(path, name), yaml)
      return path
    },
    adopt(child) {
      alive.add(child)
      watchdog.stdin.write(`+ ${child.pid}\n`)
      child.once('exit', () => {
        alive.delete(child)
        watchdog.stdin.write(`- ${child.pid}\n`)
      })
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(
        [...alive].map(async (child) => {
          const exited = once(child, 'exit')
          child.kill('SIGKILL')
          await exited
        }),
      )
      const exited = once(watchdog, 'exit')
      // Without it a script that has nothing else to do would end before, and with an error.
      watchdog.ref()
      watchdog.stdin.end()
      await exited
    },
  }
}
