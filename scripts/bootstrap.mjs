// Makes a fresh checkout runnable, then runs the target: Node version, packages, dist, target. Silent and quick if
// there is nothing to do. Plain Node without dependencies: it runs before `npm install`. Progress goes to stderr, so
// that the target's stdout stays clean.
//
// `start` and `cli` are imported into this process instead of spawned: no second process, so signals, exit codes and
// kill -9 hit the server itself. `sim` and `bench` are spawned, because their workers inherit `--import tsx`.
// package.json says `exec node`, because npm signals the shell and not the shell's child: without `exec` the shell
// would die of a SIGTERM and leave the server behind.
import { createHash } from 'node:crypto'
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { removeOldBundles, writeBundle } from './lib/bundle.mjs'
import { isAlive, npmCommand, run, stopSignal } from './lib/run.mjs'
import { filesOfRunningBuilds, noteRunningBuild } from './lib/running-builds.mjs'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const nodeMin = [20, 19]
const assetEndings = ['.sql', '.yaml', '.yml', '.html', '.css', '.svg', '.json']

const at = (...parts) => join(root, ...parts)
const say = (text) => process.stderr.write(`millrace: ${text}\n`)
const seconds = (startedAt) => `${((Date.now() - startedAt) / 1000).toFixed(1)} s`

function fail(text) {
  say(text)
  process.exit(1)
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1])) return
  fail(
    `needs Node ${nodeMin.join('.')} or newer, this is ${process.versions.node}; install a newer Node and run it again.`,
  )
}

function readOr(path, otherwise) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return otherwise
  }
}

// Packages -----------------------------------------------------------------------------------------------------

const installStamp = at('node_modules', '.millrace-lock')

function installHash() {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`)
  for (const name of ['package-lock.json', 'package.json']) hash.update(readOr(at(name), '')).update('\0')
  return hash.digest('hex')
}

const packagesAreCurrent = () => readOr(installStamp, '') === installHash()

async function installPackages() {
  const startedAt = Date.now()
  say('installing packages (once per change of package-lock.json, about a minute) …')
  const [command, first] = npmCommand()
  // Development packages too, whatever NODE_ENV says: the compiler is one of them. `--no-save` keeps another npm
  // version from rewriting the lockfile.
  const args = [
    ...first,
    'install',
    '--include=dev',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]
  const { code } = await run(command, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (stopSignal() !== null) fail('stopped')
  if (code !== 0) {
    fail(
      '`npm install` failed, see above; without network access to an npm registry the first run cannot succeed.',
    )
  }
  writeFileSync(installStamp, installHash())
  say(`packages installed in ${seconds(startedAt)}`)
}

/** npm links the commands of installed packages, not that of the checkout itself. Windows has `npm run millrace`. */
function linkCommand() {
  const link = at('node_modules', '.bin', 'millrace')
  if (process.platform === 'win32' || existsSync(link)) return
  try {
    rmSync(link, { force: true })
    symlinkSync(join('..', '..', 'scripts', 'millrace.mjs'), link)
  } catch {
    // Another process was faster, or the folder is not writable: nothing else needs it.
  }
}

// dist ---------------------------------------------------------------------------------------------------------

const buildStamp = at('dist', '.millrace-build.json')

function listFiles(folder) {
  const found = []
  for (const entry of readdirSync(at(folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) found.push(...listFiles(path))
    else found.push(path)
  }
  return found.sort()
}

function hashOf(paths) {
  const hash = createHash('sha256')
  for (const path of paths) {
    hash
      .update(`${path}\0`)
      .update(readOr(at(path), ''))
      .update('\0')
  }
  return hash.digest('hex')
}

const isTestOnly = (path) => /\.(test|conformance|fixture)\.ts$/.test(path)

function sourceState() {
  const files = existsSync(at('src')) ? listFiles('src').filter((path) => !isTestOnly(path)) : []
  const how = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json', 'scripts/lib/bundle.mjs']
  return { hash: hashOf([...files, ...how]), files }
}

const readBuildStamp = () => JSON.parse(readOr(buildStamp, '{"hash":"","files":[]}'))
const distIsCurrent = () => readBuildStamp().hash === sourceState().hash

const outputPath = (path) => at('dist', path.slice('src/'.length))

/** Outputs of deleted sources are removed one by one: a running server may still load others from dist. */
function removeOutputsOf(path) {
  const base = outputPath(path).replace(/\.ts$/, '')
  const outputs = path.endsWith('.ts') ? ['.js', '.js.map', '.d.ts'].map((ending) => base + ending) : [base]
  for (const output of outputs) rmSync(output, { force: true })
}

/** `isCheck`: the target shows type errors itself, so one of them must not keep it from running. */
async function buildDist(isCheck) {
  const startedAt = Date.now()
  const before = readBuildStamp()
  const state = sourceState()
  say('building dist …')
  const { code } = await run(
    process.execPath,
    [at('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json', '--pretty'],
    { cwd: root, stdio: isCheck ? 'ignore' : ['ignore', 2, 2] },
  )
  if (stopSignal() !== null) fail('stopped')
  const hasErrors = code !== 0
  if (hasErrors && !isCheck) fail('the TypeScript build failed, see above.')
  const current = new Set(state.files)
  for (const path of before.files) if (!current.has(path)) removeOutputsOf(path)
  for (const path of state.files) {
    if (!assetEndings.some((ending) => path.endsWith(ending))) continue
    mkdirSync(dirname(outputPath(path)), { recursive: true })
    copyFileSync(at(path), outputPath(path))
  }
  let bundled = null
  try {
    bundled = await writeBundle(root)
  } catch (error) {
    const text = `the bundle cannot be built: ${error instanceof Error ? error.message : error}`
    if (!isCheck) fail(text)
    say(text)
  }
  // A running server may still load a part of its build. Of one that was not started here, only the build before this one stays.
  removeOldBundles(root, [...(bundled ?? []), ...(before.bundled ?? []), ...filesOfRunningBuilds(root)])
  if (hasErrors || bundled === null) {
    say('dist is built in spite of type errors; `npm run check:types` shows them')
    return
  }
  mkdirSync(at('dist'), { recursive: true })
  writeFileSync(buildStamp, JSON.stringify({ ...state, bundled }))
  say(`dist built in ${seconds(startedAt)}`)
}

// The console ---------------------------------------------------------------------------------------------------

const consoleStamp = at('dist', '.millrace-console')

function consoleHash() {
  const folders = ['console', 'src/sdk/client'].filter((folder) => existsSync(at(folder)))
  const files = folders.flatMap(listFiles).filter((path) => !isTestOnly(path))
  return hashOf([...files, 'package-lock.json'])
}

const consoleIsCurrent = () => !existsSync(at('console')) || readOr(consoleStamp, '') === consoleHash()

/** Does not check types: the checks do. */
async function buildConsole(isCheck) {
  const startedAt = Date.now()
  const hash = consoleHash()
  say('building the console …')
  const { code, output } = await run(
    process.execPath,
    [at('node_modules', 'vite', 'bin', 'vite.js'), 'build', 'console', '--logLevel', 'warn'],
    // Tests run with another NODE_ENV, which would use the slow build of React.
    { cwd: root, env: { ...process.env, NODE_ENV: 'production' } },
  )
  if (stopSignal() !== null) fail('stopped')
  if (code !== 0) {
    process.stderr.write(output)
    if (!isCheck) fail('the build of the console failed, see above.')
    return
  }
  writeFileSync(consoleStamp, hash)
  say(`console built in ${seconds(startedAt)}`)
}

// One at a time ------------------------------------------------------------------------------------------------

/** A process that died between creating the lock and writing its id left it empty. */
function isOlderThan(path, ageMs) {
  const state = statSync(path, { throwIfNoEntry: false })
  return state !== undefined && Date.now() - state.mtimeMs > ageMs
}

/** Two processes must not install or build at once; the lock of a dead process is taken over. */
async function withLock(work) {
  const path = at('.cache', 'bootstrap.lock')
  mkdirSync(dirname(path), { recursive: true })
  let told = false
  for (;;) {
    try {
      const handle = openSync(path, 'wx')
      writeSync(handle, String(process.pid))
      closeSync(handle)
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    const holder = Number(readOr(path, ''))
    if (holder > 0 ? holder === process.pid || !isAlive(holder) : isOlderThan(path, 5000)) {
      rmSync(path, { force: true })
      continue
    }
    if (!told) say(`waiting for process ${holder}, which is installing or building (its lock: ${path}) …`)
    told = true
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  }
  const release = () => rmSync(path, { force: true })
  process.once('exit', release)
  await work()
  process.off('exit', release)
  release()
}

async function prepare(isCheck) {
  if (!packagesAreCurrent() || !distIsCurrent() || !consoleIsCurrent()) {
    await withLock(async () => {
      if (!packagesAreCurrent()) await installPackages()
      if (!distIsCurrent()) await buildDist(isCheck)
      if (!consoleIsCurrent()) await buildConsole(isCheck)
    })
  }
  linkCommand()
}

// Targets ------------------------------------------------------------------------------------------------------

/** When npm itself is killed no signal reaches this process: stop cleanly rather than stay behind unseen. */
function stopWhenNpmIsGone() {
  if (process.env.npm_lifecycle_event === undefined || process.platform === 'win32') return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    say('npm is gone, stopping')
    process.kill(process.pid, 'SIGTERM')
  }, 500)
  timer.unref()
}

async function runCli(args) {
  stopWhenNpmIsGone()
  noteRunningBuild(root, readBuildStamp().bundled ?? [])
  const main = at('dist', 'bundle', 'main.js')
  process.argv = [process.argv[0], main, ...args]
  await import(pathToFileURL(main).href)
}

async function runNode(...args) {
  const { code } = await run(process.execPath, args, { cwd: root, stdio: 'inherit' })
  process.exitCode = code
}

const targets = {
  build: () => {
    // A package to be published holds one build alone.
    if (process.env.npm_lifecycle_event === 'prepack') removeOldBundles(root, readBuildStamp().bundled)
  },
  start: (args) => runCli(['start', ...args]),
  cli: (args) => runCli(args),
  sim: (args) => runNode('--import', 'tsx', 'sim/main.ts', ...args),
  bench: (args) => runNode('--import', 'tsx', 'bench/main.ts', ...args),
  shots: (args) => runNode('--import', 'tsx', 'scripts/shots.ts', ...args),
  verify: (args) => runNode('scripts/verify.mjs', ...args),
  'test:deep': (args) => runNode('scripts/deep.mjs', ...args),
  'test:fast': (args) => runNode('scripts/verify.mjs', '--fast', ...args),
}

const [name = 'build', ...args] = process.argv.slice(2)
checkNode()
const target = targets[name]
if (target === undefined) fail(`unknown target "${name}"; known are ${Object.keys(targets).join(', ')}.`)
await prepare(name === 'verify' || name === 'test:fast')
await target(args)
