// What a process used so far, as the kernel counts it: CPU time of each thread (schedstat, in nanoseconds and not in
// ticks) and bytes written to the disk. Read from outside, so the process under test does nothing for it. Linux only:
// elsewhere nothing is known.

import { readdirSync, readFileSync } from 'node:fs'

export interface ProcessCounters {
  /** CPU time in µs by thread id. */
  readonly threads: ReadonlyMap<number, number>
  readonly bytesWritten: number
}

export interface Used {
  /** Of all threads. */
  readonly cpuUs: number
  /** Of the process's main thread. */
  readonly mainUs: number
  readonly bytes: number
}

/** null: the kernel does not report it. */
export function readCounters(pid: number): ProcessCounters | null {
  try {
    const threads = new Map<number, number>()
    for (const id of readdirSync(`/proc/${pid}/task`)) {
      const [nanoseconds] = readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')
      threads.set(Number(id), Number(nanoseconds) / 1_000)
    }
    const io = readFileSync(`/proc/${pid}/io`, 'utf8')
    return { threads, bytesWritten: Number(/^write_bytes: (\d+)$/m.exec(io)?.[1] ?? 0) }
  } catch {
    return null
  }
}

/** Between two readings of the same process. A thread that started in between counts from its start. */
export function usedBetween(pid: number, before: ProcessCounters, after: ProcessCounters): Used {
  let cpuUs = 0
  for (const [id, at] of after.threads) cpuUs += at - (before.threads.get(id) ?? 0)
  return {
    cpuUs,
    mainUs: (after.threads.get(pid) ?? 0) - (before.threads.get(pid) ?? 0),
    bytes: after.bytesWritten - before.bytesWritten,
  }
}

/** A process and its children. A connection that ended took its count with it. */
export function processFamily(pid: number): readonly number[] {
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
