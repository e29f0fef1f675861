// Installs what the tests need and npm does not bring: programs from Debian, a second Node version. Best effort: what
// cannot be installed is named here, and the suite that needs it fails with the same advice (test/support/needs.ts).
// Nothing is skipped. `test-needs.json` is the one list of what is needed.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { npmCommand, run } from './lib/run.mjs'

const root = resolve(import.meta.dirname, '..')
const needs = JSON.parse(readFileSync(join(root, 'scripts', 'test-needs.json'), 'utf8'))

// Debian puts servers where only root's PATH looks for programs.
const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
const isOnPath = (name) => folders.some((folder) => existsSync(join(folder, name)))

async function succeeds(command, args) {
  return (await run(command, args)).code === 0
}

/** The command prefix that gives `apt-get` root rights, or null if there is none. */
async function rootPrefix() {
  if (process.getuid?.() === 0) return []
  return (await succeeds('sudo', ['-n', 'true'])) ? ['sudo', '-n'] : null
}

async function getTool(name, { debian }) {
  if (isOnPath(name) || existsSync(process.env[name.toUpperCase()] ?? '')) return null
  const advice = `${name} is missing; install it (Debian, Ubuntu: \`apt-get install ${debian}\`).`
  if (!isOnPath('apt-get')) return advice
  const prefix = await rootPrefix()
  if (prefix === null) return advice
  console.log(`getting ${name} from the distribution …`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', debian]]) {
    const [command, ...rest] = [...prefix, 'apt-get', '-qq', ...args]
    const { code, output } = await run(command, rest, { env })
    if (code !== 0) return `${advice} apt-get ${args[0]} said: ${output.trim().split('\n').at(-1)}`
  }
  return isOnPath(name) ? null : advice
}

async function getNode22({ version, folder, packages }) {
  if (process.env.MILLRACE_TEST_NODE22 !== undefined) return null
  const name = packages[`${process.platform}-${process.arch}`]
  const advice = 'Node 22 is missing; install one and name it in MILLRACE_TEST_NODE22.'
  if (name === undefined) return advice
  const home = join(root, folder)
  const binary = join(home, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (existsSync(binary) && readFileSync(join(home, 'version'), 'utf8') === version) return null
  console.log(`getting Node ${version} from npm, for the tests that compare Node versions …`)
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'package.json'), '{ "private": true }\n')
  const [command, first] = npmCommand()
  const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts']
  const args = [...first, 'install', `--prefix=${home}`, ...flags, `${name}@${version}`]
  const { code, output } = await run(command, args, { cwd: home, shell: process.platform === 'win32' })
  if (code !== 0) return `${advice} npm said: ${output.trim().split('\n').at(-1)}`
  writeFileSync(join(home, 'version'), version)
  return null
}

/** Resolves with one sentence for each thing that could not be installed. */
export async function getTestNeeds() {
  const missing = []
  for (const [name, how] of Object.entries(needs.tools)) missing.push(await getTool(name, how))
  missing.push(await getNode22(needs.node22))
  return missing.filter((sentence) => sentence !== null)
}
