// A node as users run it: the built package in its own process, on a free port, with its own data folder.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Workspace } from './workspace.ts'

export const project = resolve(import.meta.dirname, '../..')
export const SECRET = 'the-secret-of-the-tests'

/** Ends a wait that leads nowhere; a busy machine is many times slower than an idle one. */
const START_MS_MAX = 120_000
const STEP_MS = 20

export interface NodeOptions {
  readonly workspace: Workspace
  /** For MILLRACE_FLOWS; omitted: the demo. */
  readonly flows?: string
  readonly env?: Readonly<Record<string, string>>
  /** What Node runs; omitted: the built command line. */
  readonly args?: readonly string[]
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface NodeProcess {
  readonly url: string
  readonly pid: number
  readonly adminKey: string
  /** From the start of the process to the first response of /healthz. */
  readonly healthyInMs: number
  stdout(): string
  /** Settles when a line of stdout matches, now or later. */
  said(pattern: RegExp): Promise<RegExpExecArray>
  kill(signal: NodeJS.Signals): void
  readonly exited: Promise<Exit>
  /** GET with the admin key; throws unless the response is 2xx. */
  get<Answer>(path: string): Promise<Answer>
  post<Answer>(path: string, body: object): Promise<Answer>
}

let built: Promise<void> | null = null

/** Builds dist if it is not up to date, once per process; the build reports its errors itself. */
export function buildDist(): Promise<void> {
  built ??= build()
  return built
}

async function build(): Promise<void> {
  const script = join(project, 'scripts', 'bootstrap.mjs')
  try {
    await promisify(execFile)(process.execPath, [script, 'build'], { cwd: project })
  } catch (error) {
    const { stderr } = error as { stderr?: string }
    throw new Error(`these tests run the built package, and the build failed:\n${stderr ?? String(error)}`)
  }
}

interface Launched {
  readonly child: ChildProcess
  readonly output: { stdout: string; stderr: string }
  readonly exited: Promise<Exit>
}

function launch(options: NodeOptions): Launched {
  const { workspace } = options
  const args = options.args ?? [join(project, 'dist', 'bundle', 'main.js'), 'start']
  const child = spawn(process.execPath, args, {
    cwd: workspace.folder,
    // Nothing of the developer's own settings.
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      GITHUB_WEBHOOK_SECRET: SECRET,
      MILLRACE_PORT: '0',
      MILLRACE_DATA: workspace.data,
      ...(options.flows !== undefined && { MILLRACE_FLOWS: options.flows }),
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  workspace.adopt(child)
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  // `close` and not `exit`: by then all its output has been read.
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal, ...output }))
  return { child, output, exited }
}

/** For a node that is expected to refuse: waits for its exit. */
export async function runToExit(options: NodeOptions): Promise<Exit> {
  const { child, exited } = launch(options)
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS_MAX)
  const exit = await exited
  clearTimeout(timer)
  return exit
}

/** Settles when the node says that it is ready. */
export async function startNode(options: NodeOptions): Promise<NodeProcess> {
  const startedAt = performance.now()
  const { child, output, exited } = launch(options)
  const said = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((done, failed) => {
      const look = () => {
        const match = pattern.exec(output.stdout)
        if (match === null) return
        child.stdout?.off('data', look)
        done(match)
      }
      child.stdout?.on('data', look)
      look()
      void exited.then((exit) => failed(new Error(`it ended before it said ${pattern}: ${describe(exit)}`)))
    })
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS_MAX)
  const banner = await said(/Millrace is up at (http:\/\/\S+)/)
  const url = banner[1] as string
  await answers(`${url}/healthz`)
  const healthyInMs = performance.now() - startedAt
  await answers(`${url}/readyz`)
  clearTimeout(timer)
  const adminKey =
    options.env?.MILLRACE_ADMIN_KEY ??
    (await readFile(join(options.workspace.data, 'admin.key'), 'utf8')).trim()

  const ask = async <Answer>(path: string, init: RequestInit): Promise<Answer> => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
    const response = await fetch(url + path, { ...init, headers })
    if (response.ok) return (await response.json()) as Answer
    throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  }
  return {
    url,
    pid: child.pid as number,
    adminKey,
    healthyInMs,
    stdout: () => output.stdout,
    said,
    kill: (signal) => child.kill(signal),
    exited,
    get: (path) => ask(path, {}),
    post: (path, body) => ask(path, { method: 'POST', body: JSON.stringify(body) }),
  }
}

async function answers(url: string): Promise<void> {
  await eventually(`200 from ${url}`, async () => (await fetch(url)).status === 200)
}

/** Ends a wait that leads nowhere, and a busy machine may take this long for anything: no test is judged by its speed. */
const WAIT_MS_MAX = 150_000

/** Asks again and again until it holds. If it never does, the error says what was found instead. */
export async function eventually(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  found: () => unknown = () => null,
): Promise<void> {
  const endsAt = performance.now() + WAIT_MS_MAX
  while (!(await isSo())) {
    if (performance.now() > endsAt) {
      const instead = await found()
      const said = instead === null ? '' : `; found ${JSON.stringify(instead)}`
      throw new Error(`not within ${WAIT_MS_MAX} ms: ${what}${said}`)
    }
    await wait(STEP_MS)
  }
}

function describe({ code, signal, stdout, stderr }: Exit): string {
  return `code ${code}, signal ${signal}\n${stdout.slice(-2_000)}\n${stderr.slice(-2_000)}`
}
