// One measurement: a new server process, a warm-up, a window.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { countGroups } from './groups.ts'
import { readCounters, type Used, usedBetween } from './process-counters.ts'
import { percentile } from './statistics.ts'
import { runWrk } from './wrk.ts'

type Question = 'done' | 'rssBytes' | 'completionMs' | 'cpuMs' | 'counts'

export interface Measurement {
  readonly perSecond: number
  /** Of the HTTP response, at full load; null if there are no requests. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** From accept to durable completion, at full load; null if nothing is completed. */
  readonly completionP50Ms: number | null
  readonly completionP99Ms: number | null
  readonly rssMb: number
  /** CPU of the server's threads per event. */
  readonly cpuUsPerEvent: number
  /** The main thread's share; null if the kernel does not report it. */
  readonly mainCpuUsPerEvent: number | null
  /** Written to the disk by the server; null if the kernel does not report it. */
  readonly bytesPerEvent: number | null
  /** Transactions of the SQLite store, each of which is flushed once; null without one. */
  readonly flushesPerEvent: number | null
  readonly errors: number
}

/** Per event; from a run that measures nothing else, because counting costs time. */
export interface Calls {
  readonly promises: number
  readonly statements: number
}

export interface ScenarioOptions {
  readonly entry:
    | 'serve-bare.mjs'
    | 'serve-node.mjs'
    | 'serve-pg-boss.mjs'
    | 'serve-bullmq.mjs'
    | 'serve-graphile.mjs'
  readonly args: readonly string[]
  /** Another checkout than this. */
  readonly checkout?: string
  /** Of the SQLite store; its transactions are counted. */
  readonly dataFile?: string
  /** Other processes of the system under test, such as its database. */
  readonly helpers?: () => readonly number[]
  /** Before the first request. */
  prepare?(url: string): Promise<void>
  readonly script: string
  readonly connections?: number
  readonly warmUpSeconds: number
  readonly seconds: number
  readonly seed: number
  /** Count durable completions, of this many jobs each, instead of responses. */
  readonly itemsPerEvent: number | null
}

export async function measure(options: ScenarioOptions): Promise<Measurement> {
  const server = await startServer(options.entry, options.args)
  const { itemsPerEvent, script, connections, dataFile } = options
  const countDone = async () => (await server.ask<number>('done')) / (itemsPerEvent ?? 1)
  const flushes = () => (dataFile === undefined ? null : countGroups(dataFile))
  try {
    await options.prepare?.(server.url)
    await runWrk(script, server.url, options.warmUpSeconds, options.seed, connections)
    const doneBefore = itemsPerEvent === null ? 0 : await countDone()
    const flushesBefore = flushes()
    const used = await meter(server, options.helpers)
    const startedAt = performance.now()
    const load = await runWrk(script, server.url, options.seconds, options.seed + 1, connections)
    const seconds = (performance.now() - startedAt) / 1_000
    const use = await used()
    const flushesAfter = flushes()
    const done = itemsPerEvent === null ? load.requests : (await countDone()) - doneBefore
    const completion =
      itemsPerEvent === null ? [] : (await server.ask<number[]>('completionMs')).sort((a, b) => a - b)
    return {
      perSecond: itemsPerEvent === null ? load.perSecond : done / seconds,
      p50Ms: load.p50Ms,
      p99Ms: load.p99Ms,
      completionP50Ms: percentile(completion, 0.5),
      completionP99Ms: percentile(completion, 0.99),
      rssMb: (await server.ask<number>('rssBytes')) / 1_048_576,
      ...perEvent(use, done),
      flushesPerEvent:
        flushesBefore === null || flushesAfter === null
          ? null
          : (flushesAfter - flushesBefore) / Math.max(1, done),
      errors: load.errors,
    }
  } finally {
    await server.stop()
  }
}

/** A separate run in which promises and statements are counted. */
export async function countCalls(options: ScenarioOptions): Promise<Calls> {
  const counter = fileURLToPath(new URL('count-calls.cjs', import.meta.url))
  const { checkout } = options
  const server = await startServer(options.entry, options.args, {
    execArgv: ['--require', counter],
    ...(checkout !== undefined && { env: { ...process.env, BENCH_CHECKOUT: checkout } }),
  })
  const { itemsPerEvent } = options
  const countDone = async () => (await server.ask<number>('done')) / (itemsPerEvent ?? 1)
  try {
    await runWrk(options.script, server.url, options.warmUpSeconds, options.seed, options.connections)
    const doneBefore = await countDone()
    const before = await server.ask<number[]>('counts')
    const { requests } = await runWrk(
      options.script,
      server.url,
      options.seconds,
      options.seed + 1,
      options.connections,
    )
    const after = await server.ask<number[]>('counts')
    const done = Math.max(1, itemsPerEvent === null ? requests : (await countDone()) - doneBefore)
    const [promises = 0, statements = 0] = after.map((count, index) => count - (before[index] ?? 0))
    return { promises: promises / done, statements: statements / done }
  } finally {
    await server.stop()
  }
}

type Metered = Used | { readonly cpuUs: number; readonly mainUs: null; readonly bytes: null }

/** Starts counting what a server and its helpers use. Returns how to end it. */
export async function meter(
  server: Server,
  helpers: () => readonly number[] = () => [],
): Promise<() => Promise<Metered>> {
  const before = readCounters(server.pid)
  if (before === null) {
    const cpuBefore = await server.ask<number>('cpuMs')
    return async () => ({
      cpuUs: ((await server.ask<number>('cpuMs')) - cpuBefore) * 1_000,
      mainUs: null,
      bytes: null,
    })
  }
  const helpersBefore = new Map(helpers().map((pid) => [pid, readCounters(pid)]))
  return async () => {
    const after = readCounters(server.pid)
    if (after === null) throw new Error('the server under test ended while it was measured')
    const use = usedBetween(server.pid, before, after)
    let { cpuUs, bytes } = use
    for (const pid of helpers()) {
      const now = readCounters(pid)
      const then = helpersBefore.get(pid) ?? { threads: new Map(), bytesWritten: 0 }
      if (now === null) continue
      const beside = usedBetween(pid, then, now)
      cpuUs += beside.cpuUs
      bytes += beside.bytes
    }
    return { ...use, cpuUs, bytes }
  }
}

export function perEvent(
  { cpuUs, mainUs, bytes }: Metered,
  events: number,
): Pick<Measurement, 'cpuUsPerEvent' | 'mainCpuUsPerEvent' | 'bytesPerEvent'> {
  const of = Math.max(1, events)
  return {
    cpuUsPerEvent: cpuUs / of,
    mainCpuUsPerEvent: mainUs === null ? null : mainUs / of,
    bytesPerEvent: bytes === null ? null : bytes / of,
  }
}

export interface Server {
  readonly url: string
  readonly pid: number
  ask<Value>(question: Question): Promise<Value>
  stop(): Promise<void>
}

export async function startServer(
  entry: string,
  args: readonly string[],
  options: { execArgv?: string[]; env?: NodeJS.ProcessEnv } = {},
): Promise<Server> {
  const child = fork(fileURLToPath(new URL(entry, import.meta.url)), args, {
    execArgv: [],
    ...options,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const url = await answerTo<string>(child, 'url')
  return {
    url,
    pid: child.pid as number,
    ask(question) {
      const answer = answerTo<never>(child, question)
      child.send(question)
      return answer
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.send('close')
      await exited
    },
  }
}

function answerTo<Value>(child: ChildProcess, question: string): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: { question: string; value: Value }) => {
      if (message.question !== question) return
      settle()
      resolve(message.value)
    }
    const onExit = (code: number | null) => {
      settle()
      reject(new Error(`the server under test ended with code ${code} before it answered ‘${question}’`))
    }
    const settle = () => child.off('message', onMessage).off('exit', onExit)
    child.on('message', onMessage).on('exit', onExit)
  })
}
