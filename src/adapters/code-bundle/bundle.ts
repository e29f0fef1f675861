// Bundles the files of a folder, one bundle each. A bundle's text, and so its hash, is the same on every machine, in
// every folder and for every version of Node: it contains no path, no setting of a surrounding project counts, and
// `millrace` stays an import that is bound to the running process on load.

import { createHash } from 'node:crypto'
import { sep } from 'node:path'
import type { BuildResult, Message, OutputFile, Plugin } from 'esbuild'
import type { CodeProblem } from '../../core/effects/function/index.ts'

export interface Bundle {
  readonly file: string
  readonly hash: string
  readonly text: string
  /** Maps each part of the text to its source; sources are relative to the folder. Not part of the hash. */
  readonly map: string
  /** The files in it, relative to the folder. */
  readonly inputs: readonly string[]
}

export interface Built {
  readonly bundles: readonly Bundle[]
  readonly problems: readonly CodeProblem[]
}

const BUNDLE_BYTES_MAX = 5 * 1024 * 1024

const SDK_MODULE = 'millrace'
const OUT = '.millrace'
/** CommonJS packages reach Node's own modules by `require`, which an ES module does not have. */
const REQUIRE =
  'import{createRequire as $millraceRequire}from"node:module";const require=$millraceRequire(import.meta.url);'

/**
 * `folder` is a real path; `paths` are relative to it. Files that do not use `millrace` give no bundle. If any file has
 * a problem there are no bundles at all.
 */
export async function bundleFiles(folder: string, paths: readonly string[]): Promise<Built> {
  // A separate program of some ten megabytes: loaded only if there is something to bundle.
  const { build } = await import('esbuild')
  try {
    const result = await build({
      absWorkingDir: folder,
      entryPoints: paths.map((path, index) => ({ in: `./${path}`, out: String(index) })),
      // Never written; a unique name, so that no input can be mistaken for an output.
      outdir: `${folder}/${OUT}`,
      write: false,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      charset: 'utf8',
      legalComments: 'none',
      logLevel: 'silent',
      metafile: true,
      sourcemap: 'external',
      sourcesContent: false,
      tsconfigRaw: {},
      plugins: [openSdk],
    })
    const found = paths.flatMap((path, index) => bundleOf(path, String(index), result) ?? [])
    const problems = found.filter(({ text }) => Buffer.byteLength(text) > BUNDLE_BYTES_MAX).map(tooLarge)
    return { bundles: problems.length > 0 ? [] : found, problems }
  } catch (error) {
    const { errors } = error as { errors?: readonly Message[] }
    if (!Array.isArray(errors)) throw error
    return { bundles: [], problems: (errors as readonly Message[]).map((one) => problemOf(one, paths)) }
  }
}

type Result = BuildResult<{ metafile: true }> & { readonly outputFiles?: readonly OutputFile[] }

function bundleOf(file: string, name: string, result: Result): Bundle | null {
  const output = result.metafile.outputs[`${OUT}/${name}.js`]
  if (output?.imports.some(({ path }) => path === SDK_MODULE) !== true) return null
  const read = (ending: string) =>
    result.outputFiles?.find(({ path }) => path.split(sep).at(-1) === `${name}${ending}`)?.text ?? ''
  const built = withoutPlaces(read('.js'), Object.keys(output.inputs))
  const isShifted = built.includes('Dynamic require of "')
  const text = isShifted ? `${REQUIRE}\n${built}` : built
  const map = JSON.parse(read('.js.map')) as { sources: string[]; mappings: string }
  map.sources = map.sources.map((source) => source.replace(/^\.\.\//, ''))
  // One extra line at the top: an empty one in the map.
  if (isShifted) map.mappings = `;${map.mappings}`
  const hash = createHash('sha256').update(text).digest('hex')
  return { file, hash, text, map: JSON.stringify(map), inputs: Object.keys(output.inputs) }
}

/**
 * Names modules by what they are, not by their path: `../../node_modules/x/index.js` differs between machines. The
 * names have lines of their own, so that no line moves and the map still fits.
 */
function withoutPlaces(text: string, inputs: readonly string[]): string {
  const names = new Map(inputs.filter(isElsewhere).map((path) => [path, nameOf(path)]))
  if (names.size === 0) return text
  return text
    .split('\n')
    .map((line) => {
      const path = /^\/\/ (.+)$/.exec(line)?.[1] ?? /^ {2}"(.+)"\(.*\) \{$/.exec(line)?.[1]
      const name = path === undefined ? undefined : names.get(path)
      return path === undefined || name === undefined ? line : line.replace(path, () => name)
    })
    .join('\n')
}

function isElsewhere(path: string): boolean {
  return path.startsWith('..') || path.includes('node_modules/')
}

function nameOf(path: string): string {
  const inPackage = path.lastIndexOf('node_modules/')
  return inPackage >= 0 ? path.slice(inPackage) : path.slice(path.lastIndexOf('/') + 1)
}

/** `millrace` stays an import, resolved by the process that loads the bundle. */
const openSdk: Plugin = {
  name: 'millrace',
  setup(build) {
    build.onResolve({ filter: /^millrace$/ }, () => ({ path: SDK_MODULE, external: true }))
    build.onResolve({ filter: /^millrace\// }, ({ path }) => ({
      errors: [{ text: `\`${path}\` is not for definitions: import from \`millrace\`` }],
    }))
  },
}

function tooLarge({ file, text }: Bundle): CodeProblem {
  const size = (Buffer.byteLength(text) / 1024 / 1024).toFixed(1)
  const message = `with all that it imports this has ${size} MiB; at most ${BUNDLE_BYTES_MAX / 1024 / 1024} are allowed`
  return { kind: 'size', message, file, line: 1, column: 1 }
}

function problemOf({ text, location }: Message, paths: readonly string[]): CodeProblem {
  const place = {
    file: location?.file ?? paths[0] ?? '',
    line: location?.line ?? 1,
    column: columnOf(location),
  }
  const missing = /^Could not resolve "(.+)"$/.exec(text)?.[1]
  if (missing !== undefined) return { kind: 'build', ...unresolved(missing), ...place }
  return { kind: 'build', message: text, ...place }
}

/** esbuild counts bytes from 0, editors UTF-16 units from 1. */
function columnOf(location: Message['location']): number {
  if (location === null) return 1
  return Buffer.from(location.lineText).subarray(0, location.column).toString().length + 1
}

function unresolved(name: string): { readonly message: string; readonly suggestion?: string } {
  if (/^[./]/.test(name)) return { message: `there is no file \`${name}\`` }
  const packageName = /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name
  return {
    message: `there is no package \`${packageName}\`: install it in the folder of the definitions, or above it`,
    suggestion: `npm install ${packageName}`,
  }
}
