// Runs other programs for the scripts: signals reach every child, a child's exit becomes a code.
// Not its job: deciding what to run. Plain Node without dependencies, because it runs before `npm install`.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const running = new Set()
let received = null

/** The signal that asked us to stop, or null. Check it before starting the next program. */
export const stopSignal = () => received

function forward(signal) {
  received = signal
  for (const child of running) child.kill(signal)
}

function track(child) {
  if (running.size === 0) for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forward)
  running.add(child)
}

function release(child) {
  running.delete(child)
  if (running.size === 0) for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, forward)
}

/**
 * Runs a program and resolves with its exit code (128 + n after signal n) and its output. `stdio: 'inherit'` gives it
 * our terminal instead, and the output is empty.
 */
export function run(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
    const chunks = []
    child.stdout?.on('data', (chunk) => chunks.push(chunk))
    child.stderr?.on('data', (chunk) => chunks.push(chunk))
    track(child)
    const finish = (code, extra = '') => {
      release(child)
      resolve({ code, output: Buffer.concat(chunks).toString('utf8') + extra })
    }
    child.once('error', (error) => finish(127, `${command}: ${error.message}\n`))
    child.once('close', (code, signal) =>
      finish(signal === null ? code : 128 + (constants.signals[signal] ?? 0)),
    )
  })
}

/** How to call npm: the one that started us if there is one, so that another npm on the PATH is not used. */
export function npmCommand() {
  const execPath = process.env.npm_execpath
  if (execPath?.endsWith('npm-cli.js')) return [process.execPath, [execPath]]
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm', []]
}

export function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
