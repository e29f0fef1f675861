// Bundles the command, the node and its threads into `dist/bundle`, where users run them from.
//
// A node is 1,300 modules. Loading them one by one took half of the CPU time of a start, and their sources filled a fifth of the
// heap. In `dist/bundle` every file is beside every other, at the depth of `dist/cli`: a path from `import.meta.url` leads to the same
// file from there as from where tsc puts the module.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** They share what they have in common. */
const COMMANDS = { main: 'src/cli/main.ts', app: 'src/app.ts', config: 'src/config/index.ts' }

/**
 * By the names that `new URL('./name.js', import.meta.url)` asks for. Each is a bundle of its own: threads share no memory, and in a shared
 * file a thread would load what only others use (the store's: an engine of regular expressions).
 */
const THREADS = [
  { worker: 'src/adapters/store-sqlite/worker.ts' },
  { 'check-worker': 'src/app/check-worker.ts' },
]

/** They load their own files: a native module, a program; `pg-native` is optional and not installed. */
const EXTERNAL = ['@photostructure/sqlite', 'esbuild', 'pg-native']

/** Of undici only what the adapters use; a test compares it with what they import. The whole package is 1 MB of source, loaded by its index. */
const UNDICI = `
const Dispatcher = require('undici/lib/dispatcher/dispatcher.js')
Object.assign(Dispatcher.prototype, require('undici/lib/api/index.js'))
exports.Agent = require('undici/lib/dispatcher/agent.js')
exports.buildConnector = require('undici/lib/core/connect.js')
`

const partsOfUndici = {
  name: 'parts-of-undici',
  setup(build) {
    build.onResolve({ filter: /^undici$/ }, () => ({ path: 'undici', namespace: 'parts' }))
    build.onLoad({ filter: /.*/, namespace: 'parts' }, () => ({
      contents: UNDICI,
      loader: 'js',
      resolveDir: build.initialOptions.absWorkingDir,
    }))
  },
}

/** Importing a module of ours does nothing by itself, so one that nothing uses is left out: a thread of the store shrinks to two fifths. */
const withoutSideEffects = {
  name: 'without-side-effects',
  setup(build) {
    build.onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, async ({ path, pluginData, ...from }) => {
      if (pluginData === withoutSideEffects) return undefined
      const { importer, resolveDir, kind, namespace } = from
      const resolved = await build.resolve(path, {
        importer,
        resolveDir,
        kind,
        namespace,
        pluginData: withoutSideEffects,
      })
      return { ...resolved, sideEffects: false }
    })
  },
}

/** Packages in CommonJS ask for Node's own modules by `require`. */
const REQUIRE =
  "import{createRequire as $millraceRequire}from'node:module';const require=$millraceRequire(import.meta.url);"

/**
 * Writes the bundle and returns its files. Names of functions stay, and lines are short, so that a stack trace is readable; with
 * `node --enable-source-maps` it names the source. Comments go, because one character beyond Latin-1 in them doubles the memory of the
 * whole file.
 */
export async function writeBundle(root) {
  const { build } = await import('esbuild')
  const written = []
  const inputs = []
  for (const entryPoints of [COMMANDS, ...THREADS]) {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints,
      outdir: 'dist/bundle',
      chunkNames: '[name]-[hash]',
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      external: EXTERNAL,
      plugins: [partsOfUndici, withoutSideEffects],
      banner: { js: REQUIRE },
      minifySyntax: true,
      minifyWhitespace: true,
      lineLimit: 160,
      charset: 'ascii',
      legalComments: 'linked',
      sourcemap: 'linked',
      sourcesContent: false,
      metafile: true,
      logLevel: 'warning',
    })
    inputs.push(...Object.keys(metafile.inputs))
    written.push(...Object.keys(metafile.outputs).map((path) => path.slice('dist/'.length)))
  }
  const maps = written.filter((path) => path.endsWith('.js.map'))
  inputs.push(...maps.flatMap((map) => sourcesOf(root, map)))
  writeFileSync(join(root, 'dist', LICENSES), licensesOf(root, inputs))
  written.push(LICENSES)
  return written
}

/** Most licences ask that their text goes with every copy, and the bundle is a copy. */
const LICENSES = 'bundle/LICENSES.txt'
const LICENSE_FILE = /^(?:licen[cs]e|copying|notice)/i

/** Name, version and licence of every package that these files are of. */
function licensesOf(root, files) {
  const folders = files.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0])
  const installed = folders
    .filter((folder) => folder !== undefined)
    .map((folder) => installedAt(root, folder))
  return [...new Set(installed)]
    .sort()
    .map((folder) => licenseOf(root, folder))
    .join(`\n${'-'.repeat(80)}\n\n`)
}

/** A package may come bundled with others (glob does): its map names them below itself, and they are installed further up. */
function installedAt(root, folder) {
  if (existsSync(join(root, folder, 'package.json'))) return folder
  const above = folder.replace(/node_modules\/(?:@[^/]+\/)?[^/]+\/(node_modules\/(?:@[^/]+\/)?[^/]+)$/, '$1')
  if (above === folder) throw new Error(`${folder} is bundled but not installed, so its licence is not known`)
  return installedAt(root, above)
}

function sourcesOf(root, map) {
  const { sources } = JSON.parse(readFileSync(join(root, 'dist', map), 'utf8'))
  return sources.map((path) => path.replace(/^(?:\.\.\/)+/, ''))
}

function licenseOf(root, folder) {
  const read = (file) => readFileSync(join(root, folder, file), 'utf8').trim()
  const { name, version, license, author } = JSON.parse(read('package.json'))
  const files = readdirSync(join(root, folder))
  const texts = files.filter((file) => LICENSE_FILE.test(file)).map(read)
  if (texts.length === 0) {
    // Some packages have it in their readme alone.
    const readme = files.find((file) => /^readme/i.test(file))
    const section = readme === undefined ? null : /^#+ *licen[cs]e[\s\S]*/im.exec(read(readme))
    if (section === null) throw new Error(`${name} ${version} comes without the text of its licence`)
    texts.push(`By ${author?.name ?? author}`, section[0].replace(/^#.*\s+/, ''))
  }
  return `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`
}

/** Removes every file of the bundle but these. */
export function removeOldBundles(root, kept) {
  const folder = join(root, 'dist', 'bundle')
  if (!existsSync(folder)) return
  const known = new Set(kept)
  for (const name of readdirSync(folder))
    if (!known.has(`bundle/${name}`)) rmSync(join(folder, name), { force: true })
}
