// Runs a thread's entry from TypeScript source: bundles it with everything it imports into one file, and loads that.
// A thread that registers a TypeScript loader instead takes 0.4 to 1 s of CPU to start, and the tests start hundreds.
// The bundle stays in `.cache/threads` until one of its sources changes.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = resolve(import.meta.dirname, '..', '..')
/** Inside the checkout, so that the bundle finds the packages. */
const folder = join(root, '.cache', 'threads')

/** Size and time of the last change: they tell a changed source from an unchanged one. */
function stampOf(path) {
  const { size, mtimeMs } = statSync(join(root, path))
  return `${size} ${mtimeMs}`
}

function isCurrent(listPath) {
  try {
    const stamps = Object.entries(JSON.parse(readFileSync(listPath, 'utf8')))
    return stamps.every(([path, stamp]) => stampOf(path) === stamp)
  } catch {
    return false
  }
}

/** Another thread or process may read or write the same file: each writes its own, and renames it. */
function replaceFile(path, content) {
  const own = `${path}.${process.pid}-${Math.random()}`
  writeFileSync(own, content)
  renameSync(own, path)
}

async function bundle(entry, bundlePath, listPath) {
  const startedAt = Date.now()
  const { build } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    write: false,
    metafile: true,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
  })
  mkdirSync(folder, { recursive: true })
  replaceFile(bundlePath, outputFiles[0].contents)
  const stamps = Object.keys(metafile.inputs).map((path) => [path, stampOf(path)])
  // A source that changed meanwhile may be in the bundle as it was before: the next thread bundles again.
  if (stamps.some(([path]) => statSync(join(root, path)).mtimeMs >= startedAt)) return
  replaceFile(listPath, JSON.stringify(Object.fromEntries(stamps)))
}

/** `entry` is the URL of the thread's source. */
export async function runSourceThread(entry) {
  const path = fileURLToPath(entry)
  const name = `${basename(path, '.ts')}-${createHash('sha256').update(path).digest('hex').slice(0, 8)}`
  const bundlePath = join(folder, `${name}.mjs`)
  const listPath = join(folder, `${name}.json`)
  if (!isCurrent(listPath)) await bundle(path, bundlePath, listPath)
  await import(pathToFileURL(bundlePath).href)
}
