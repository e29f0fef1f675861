// Loads bundles as modules of this process. Each is written to a file named by its hash, so that a debugger and stack
// traces can show it, and imported once. The file is only a copy: it is compared with the bundle before it is imported.

import { readFileSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CodePlace } from '../../core/effects/function/index.ts'
import { findPlace } from './source-positions.ts'

export interface Loadable {
  readonly hash: string
  readonly text: string
  readonly map: string
}

export type ModuleExports = Readonly<Record<string, unknown>>

export interface Modules {
  /** Throws what the code throws while it is loaded. */
  load(bundle: Loadable): Promise<ModuleExports>
  /** The position in the user's files where an error of a loaded bundle comes from. */
  placeOf(hash: string, error: unknown): CodePlace | null
}

const LOAD_MS_MAX = 10_000
/** Maps are as large as what they map; the maps of other bundles are in their copies. */
const MAPS_MAX = 50
const MAP_MARK = '//# sourceMappingURL=data:application/json;base64,'

export function makeModules(options: {
  /** What `millrace` resolves to for a bundle. */
  readonly sdk: Readonly<Record<string, unknown>>
  /** Where the copies are written; called when the first is needed. */
  copies(): Promise<string>
  /** The folder of the source files: for stack traces. */
  folder(): string | null
}): Modules {
  const loaded = new Map<string, Promise<ModuleExports>>()
  const maps = new Map<string, string>()
  const files = new Map<string, string>()
  let bound: Promise<void> | null = null
  const failures = new Map<string, number>()

  /** The least recently used one is dropped. */
  const remember = (hash: string, map: string) => {
    maps.delete(hash)
    if (maps.size >= MAPS_MAX) maps.delete(maps.keys().next().value as string)
    maps.set(hash, map)
  }

  const mapOf = (hash: string): string | null => {
    const map = maps.get(hash) ?? mapOfCopy(files.get(hash))
    if (map !== null) remember(hash, map)
    return map
  }

  const load = async (bundle: Loadable): Promise<ModuleExports> => {
    const map = withPlaces(bundle.map, options.folder())
    remember(bundle.hash, map)
    const copies = await options.copies()
    bound ??= bindSdk(copies, options.sdk)
    await bound
    const file = join(copies, `${bundle.hash}.mjs`)
    await ensureCopy(file, `${bundle.text}\n${MAP_MARK}${encode(map)}\n`)
    files.set(bundle.hash, file)
    process.setSourceMapsEnabled(true)
    const { href } = pathToFileURL(file)
    // Node remembers a module that failed; another name allows another attempt.
    const trial = failures.get(bundle.hash) ?? 0
    const imported = import(trial === 0 ? href : `${href}?${trial}`) as Promise<ModuleExports>
    return within(LOAD_MS_MAX, imported)
  }

  return {
    load(bundle) {
      const known = loaded.get(bundle.hash)
      if (known !== undefined) return known
      const loading = load(bundle)
      loaded.set(bundle.hash, loading)
      loading.catch(() => {
        loaded.delete(bundle.hash)
        failures.set(bundle.hash, (failures.get(bundle.hash) ?? 0) + 1)
      })
      return loading
    },
    placeOf(hash, error) {
      const map = mapOf(hash)
      return map === null ? null : findPlace(error, hash, map, options.folder())
    },
  }
}

const SDK = Symbol.for('millrace.sdk')

/** A package beside the copies that exports what this process has: so a bundle loads unchanged. */
async function bindSdk(copies: string, sdk: Readonly<Record<string, unknown>>): Promise<void> {
  Object.assign(globalThis, { [SDK]: sdk })
  const folder = join(copies, 'node_modules', 'millrace')
  const names = Object.keys(sdk).sort()
  const lines = names.map((name) => `export const ${name} = sdk.${name}`)
  // Copies inside a package of that name, as in a checkout, would otherwise resolve to that package.
  await ensureCopy(join(copies, 'package.json'), '{"private":true,"type":"module"}\n')
  const text = ["const sdk = globalThis[Symbol.for('millrace.sdk')]", ...lines, ''].join('\n')
  await ensureCopy(join(folder, 'index.mjs'), text)
  await ensureCopy(
    join(folder, 'package.json'),
    '{"name":"millrace","type":"module","exports":"./index.mjs"}\n',
  )
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64')
}

function mapOfCopy(file: string | undefined): string | null {
  if (file === undefined) return null
  try {
    const text = readFileSync(file, 'utf8')
    const at = text.lastIndexOf(MAP_MARK)
    return at < 0 ? null : Buffer.from(text.slice(at + MAP_MARK.length), 'base64').toString()
  } catch {
    // Without it an error is reported without its line.
    return null
  }
}

/** Sources as file URLs, so that traces name files the user can open. */
function withPlaces(map: string, folder: string | null): string {
  if (folder === null) return map
  const parsed = JSON.parse(map) as { sources: readonly string[] }
  const sources = parsed.sources.map((source) =>
    source.includes(':') ? source : pathToFileURL(join(folder, source)).href,
  )
  return JSON.stringify({ ...parsed, sources })
}

let writes = 0

async function ensureCopy(file: string, text: string): Promise<void> {
  if ((await readFile(file, 'utf8').catch(() => null)) === text) return
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 })
  // Written as a whole or not at all: another process may be reading it.
  writes += 1
  const part = `${file}.${process.pid}.${writes}`
  await writeFile(part, text, { mode: 0o600 })
  await rename(part, file)
}

async function within<Value>(limitMs: number, work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const message = `it was not loaded within ${limitMs / 1_000} s: do not wait at the top of a file`
    timer = setTimeout(() => reject(new Error(message)), limitMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
