// One measurement: a fresh server process, a warm-up, a window.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { runWrk } from './wrk.ts'

type Question = 'done' | 'rssBytes' | 'completionMs' | 'cpuMs'

export interface Measurement {
  readonly perSecond: number
  /** Of the HTTP answer, at full load; null where nobody asks. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** From accept to durable completion, at full load; null where nothing is completed. */
  readonly completionP50Ms: number | null
  readonly completionP99Ms: number | null
  readonly rssMb: number
  /** CPU of the server's threads per event. */
  readonly cpuUsPerEvent: number
  readonly errors: number
}

export interface ScenarioOptions {
  readonly entry: 'serve-bare.mjs' | 'serve-node.mjs' | 'serve-pg-boss.mjs'
  readonly args: readonly string[]
  readonly script: string
  readonly warmUpSeconds: number
  readonly seconds: number
  readonly seed: number
  /** Count durable completions, of so many items each, instead of answers. */
  readonly itemsPerEvent: number | null
}

export async function measure(options: ScenarioOptions): Promise<Measurement> {
  const server = await startServer(options.entry, options.args)
  const { itemsPerEvent } = options
  const countDone = async () => (await server.ask<number>('done')) / (itemsPerEvent ?? 1)
  try {
    await runWrk(options.script, server.url, options.warmUpSeconds, options.seed)
    const doneBefore = itemsPerEvent === null ? 0 : await countDone()
    const cpuBefore = await server.ask<number>('cpuMs')
    const startedAt = performance.now()
    const load = await runWrk(options.script, server.url, options.seconds, options.seed + 1)
    const seconds = (performance.now() - startedAt) / 1_000
    const cpuMs = (await server.ask<number>('cpuMs')) - cpuBefore
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
      cpuUsPerEvent: (cpuMs * 1_000) / Math.max(1, done),
      errors: load.errors,
    }
  } finally {
    await server.stop()
  }
}

function percentile(sorted: readonly number[], share: number): number | null {
  return sorted.length === 0 ? null : (sorted[Math.floor((sorted.length - 1) * share)] ?? null)
}

export interface Server {
  readonly url: string
  ask<Value>(question: Question): Promise<Value>
  stop(): Promise<void>
}

export async function startServer(entry: string, args: readonly string[]): Promise<Server> {
  const child = fork(fileURLToPath(new URL(entry, import.meta.url)), args, {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const url = await answerTo<string>(child, 'url')
  return {
    url,
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
