// The driver: wrk in its own process, 64 connections by default, one thread (the machine's other core is the server's).

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export const CONNECTIONS = 64

export interface Load {
  readonly requests: number
  readonly seconds: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Responses that were not 2xx, and connections that broke. */
  readonly errors: number
}

const run = promisify(execFile)

export async function runWrk(
  script: string,
  url: string,
  seconds: number,
  seed: number,
  connections = CONNECTIONS,
): Promise<Load> {
  const args = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--latency',
    '-s',
    script,
    url,
    '--',
    String(seed),
  ]
  const { stdout } = await run('wrk', args)
  const [, requests, took, unit] = match(stdout, /(\d+) requests in ([\d.]+)(ms|s|m)/)
  const [, perSecond] = match(stdout, /Requests\/sec:\s+([\d.]+)/)
  const bad = /Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? '0'
  const sockets =
    /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(stdout)?.slice(1) ?? []
  return {
    requests: Number(requests),
    seconds: Number(took) * (unit === 'm' ? 60 : unit === 'ms' ? 0.001 : 1),
    perSecond: Number(perSecond),
    p50Ms: latency(stdout, 50),
    p99Ms: latency(stdout, 99),
    errors: Number(bad) + sockets.reduce((sum, count) => sum + Number(count), 0),
  }
}

function latency(text: string, percentile: number): number {
  const [, value, unit] = match(text, new RegExp(`^\\s+${percentile}%\\s+([\\d.]+)(us|ms|s)`, 'm'))
  return Number(value) * (unit === 'us' ? 0.001 : unit === 's' ? 1_000 : 1)
}

function match(text: string, pattern: RegExp): RegExpExecArray {
  const found = pattern.exec(text)
  if (found === null) throw new Error(`wrk printed something unexpected:\n${text}`)
  return found
}
