// A reader who does what a document says, in order: writes its files, types its commands, and compares the output.
//
// The reader's folder looks like a clone: package.json, scripts, examples and packages are links to this one, so that
// `npm start` and `npx millrace` are the real ones while `data` and the definitions are separate. Ports are free ones;
// the output shows the document's.
//
// In expected output `…` stands for anything, runs of spaces count as one, and further lines may come between. In a
// command `evt_…` is the id that the last output started with. Read commands are repeated until they show what is
// expected: jobs take their time.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Block, root } from './docs.ts'
import { eventually } from './node-process.ts'
import type { Workspace } from './workspace.ts'

const READS = /^npx millrace (events|work|ledger|dead-letters|definitions|versions|explain|replays)\b/

interface Step {
  /** null: nothing is typed, only waited for. */
  readonly command: string | null
  readonly expected: readonly string[]
  readonly line: number
}

interface Terminal {
  readonly child: ChildProcess
  readonly closed: Promise<unknown>
  output: string
  /** What was compared already. */
  seen: number
}

export interface DocSession {
  follow(block: Block): Promise<void>
  /** Ends running commands as Ctrl-C does. */
  close(): Promise<void>
}

export function makeDocSession(workspace: Workspace): DocSession {
  const folder = workspace.folder
  for (const name of ['package.json', '.npmrc', 'scripts', 'examples', 'node_modules']) {
    symlinkSync(join(root, name), join(folder, name))
  }
  const env: Record<string, string | undefined> = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    NO_COLOR: '1',
    MILLRACE_PORT: '0',
    PORT: '0',
  }
  const terminals = new Map<string, Terminal>()
  /** Addresses as the document shows them, and as they are. */
  const addresses = new Map<string, string>()
  let lastAnswer = ''

  const toReal = (text: string) =>
    [...addresses].reduce((done, [shown, real]) => done.replaceAll(shown, real), text)
  const toShown = (text: string) =>
    [...addresses].reduce((done, [shown, real]) => done.replaceAll(real, shown), text)

  function launch(command: string): Terminal {
    // Its own process group, as a terminal creates one: Ctrl-C reaches the shell, npm and the node.
    const child = spawn('sh', ['-c', toReal(command)], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    workspace.adopt(child)
    const terminal: Terminal = { child, closed: once(child, 'close'), output: '', seen: 0 }
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        terminal.output += text
      })
    }
    return terminal
  }

  /** The first missing line of the document; null if all are there. */
  const missing = (output: string, expected: readonly string[]): string | null =>
    findMissing(toShown(output), expected)

  async function run(step: Step): Promise<void> {
    const command = withIds(String(step.command), lastAnswer)
    let output = ''
    let left: string | null = null
    const attempt = async () => {
      const assignment = /^export (\w+)=(\S+)$/.exec(command)
      if (assignment !== null) env[String(assignment[1])] = toReal(String(assignment[2]))
      const terminal = launch(command)
      await terminal.closed
      output = terminal.output
      left = missing(output, step.expected)
      return left === null
    }
    if (READS.test(command)) {
      await eventually(`line ${step.line}: ${command}`, attempt, () => ({ without: left, output }))
    } else if (!(await attempt())) {
      throw new Error(`line ${step.line}: ${command}\nwithout: ${left}\n${output}`)
    }
    lastAnswer = /\b[a-z]{3}_[0-9a-f][\w-]+/.test(output) ? output : lastAnswer
  }

  async function keepRunning(name: string, step: Step): Promise<void> {
    let terminal = terminals.get(name)
    if (step.command === '^C') {
      if (terminal !== undefined) await interrupt(terminal)
      return
    }
    if (step.command !== null) {
      // The document says that it ended by itself.
      await terminal?.closed
      terminal = launch(step.command)
      terminals.set(name, terminal)
    }
    if (terminal === undefined) throw new Error(`line ${step.line}: nothing runs in the terminal ${name}`)
    const here = terminal
    const shown = step.expected.map((line) => / is up at (http:\S+:\d+)/.exec(line)?.[1]).find(Boolean)
    const look = () => {
      const real = / is up at (http:\S+:\d+)/.exec(here.output)?.[1]
      if (shown !== undefined && real !== undefined) addresses.set(shown, real)
      return missing(here.output.slice(here.seen), step.expected) === null
    }
    const found = () => here.output
    await eventually(`line ${step.line} in ${name}: ${step.expected.join(' | ')}`, look, found)
    here.seen = here.output.length
    const node = name === 'node' ? / is up at (http:\S+:\d+)/.exec(here.output)?.[1] : undefined
    if (node !== undefined) env.MILLRACE_URL = node
  }

  return {
    async follow(block) {
      if (block.language === 'yaml' || block.language === 'ts') {
        const path = join(folder, block.rest)
        mkdirSync(dirname(path), { recursive: true })
        writeFileSync(path, toReal(block.text))
        return
      }
      for (const step of parseSteps(block)) {
        if (block.rest === '') await run(step)
        else await keepRunning(block.rest, step)
      }
    },
    async close() {
      for (const terminal of [...terminals.values()].reverse()) await interrupt(terminal)
    },
  }
}

async function interrupt({ child, closed }: Terminal): Promise<void> {
  try {
    process.kill(-(child.pid as number), 'SIGINT')
  } catch {
    // It has ended already.
  }
  await closed
}

function parseSteps(block: Block): readonly Step[] {
  const steps: { command: string | null; expected: string[]; line: number }[] = []
  for (const [index, text] of block.text.trimEnd().split('\n').entries()) {
    const line = block.line + index + 1
    const last = steps.at(-1)
    if (text === '^C') steps.push({ command: '^C', expected: [], line })
    else if (text.startsWith('$ ')) steps.push({ command: text.slice(2), expected: [], line })
    else if (last?.command?.endsWith('\\') && last.expected.length === 0) last.command += `\n${text}`
    else if (last === undefined) steps.push({ command: null, expected: [text], line })
    else last.expected.push(text)
  }
  return steps
}

function findMissing(output: string, expected: readonly string[]): string | null {
  const lines = output.split('\n').map(tidy)
  let at = 0
  for (const line of expected.map(tidy).filter((one) => one !== '' && one !== '…')) {
    const pattern = new RegExp(`^${line.split('…').map(escapeText).join('.*')}$`)
    const found = lines.findIndex((one, index) => index >= at && pattern.test(one))
    if (found < 0) return line
    at = found + 1
  }
  return null
}

const tidy = (line: string) => line.replaceAll(/\s+/g, ' ').trim()

function withIds(command: string, answer: string): string {
  return command.replaceAll(/\b([a-z]{3}_)…/g, (whole, prefix: string) => {
    return new RegExp(`${prefix}[\\w-]+`).exec(answer)?.[0] ?? whole
  })
}

const escapeText = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
