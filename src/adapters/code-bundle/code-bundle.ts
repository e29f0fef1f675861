// Functions from the files of a definitions folder. They are trusted code of the folder's owner and run in this
// process.
//
// Reading a folder bundles and loads its files and changes nothing else. A bundle is stored before it is deployed, so
// that any later process can run the code that older jobs are pinned to.

import { existsSync, rmSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type CodeExport,
  type CodeFile,
  type CodeFolder,
  type CodeProblem,
  EMPTY_CODE_FOLDER,
  type FunctionOutcome,
  failedFunction,
  isOpenTo,
  outcomeOfError,
} from '../../core/effects/function/index.ts'
import { parseDuration } from '../../core/expression/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { type Code, CodeRefusedError } from '../../ports/code.ts'
import { type Bundle, bundleFiles } from './bundle.ts'
import { callFunction, type UserFunction } from './call.ts'
import { type Loadable, type ModuleExports, makeModules } from './modules.ts'
import { exportsOf, loadProblem, unknownExport, withoutHandedOn } from './read.ts'
import {
  isSignedShelf,
  listBundles,
  readBundle,
  renewSignatures,
  type Shelf,
  type ShownBundle,
  saveBundle,
  showBundle,
  signBundle,
  signFormer,
} from './stored-bundles.ts'

export interface BundleCode extends Code {
  /** Bundles and loads the files. It deploys and stores nothing. */
  read(folder: string, files: readonly CodeFile[]): Promise<CodeFolder>
  /** From now on bundles are stored there; those already there can be run, unless they are refused. */
  open(shelf: Shelf, options?: OpenOptions): Promise<Opened>
  /** Signs again what a former master key signed, and returns how many. */
  renew(): Promise<number>
  /** Stored bundles that must not be run, and why. */
  refused(): ReadonlyMap<string, string>
  /** Whether a job or a deployment asked for a bundle since the start and was refused. */
  wasAskedFor(hash: string): boolean
  /** null: the store does not have it. */
  show(hash: string): Promise<ShownBundle | null>
  /** Signs a bundle that an operator vouches for. Returns why not; null: it is signed. */
  sign(hash: string): Promise<string | null>
  /** Stores the functions of a folder that was read, and lets `find` return them. */
  keep(folder: CodeFolder): Promise<void>
  /** Another node may have stored bundles: if one of these is unknown, reads what the store has by now. */
  learn(hashes: readonly string[]): Promise<void>
  /** The timeout that a function of the folder declares; null: it declares none, or is not open to the tenant. */
  timeoutMs(name: string, tenant: TenantId): number | null
  /** The events that the folder's functions declare to emit, of those open to the tenant. */
  emits(tenant: TenantId): readonly { readonly name: string; readonly subjects: readonly string[] }[]
}

export interface OpenOptions {
  /** Hashes that stored definitions name: of these, unsigned ones of a former version are signed, once. */
  pinned(): Promise<ReadonlySet<string>>
}

export interface Opened {
  /** From a former version, and signed now. */
  readonly signed: readonly string[]
  /** How many were signed again, with another master key. */
  readonly renewed: number
}

export interface BundleCodeOptions {
  /** What `millrace` resolves to inside a bundle. */
  readonly sdk: Readonly<Record<string, unknown>>
  /** Where bundles are written to be imported; null: a temporary folder. */
  readonly copies: string | null
  /** Functions that are part of the process; one of the folder takes precedence. */
  readonly builtIn?: Code
}

export function makeBundleCode(options: BundleCodeOptions): BundleCode {
  const { builtIn } = options
  /** Bundles that were read and may be stored: kept as long as the caller holds the folder, and no longer. */
  const read = new WeakMap<CodeFolder, ReadonlyMap<string, Bundle>>()
  const functions = new Map<string, ReadonlyMap<string, UserFunction>>()
  const stored = new Set<string>()
  const refused = new Map<string, string>()
  const askedFor = new Set<string>()
  let current: ReadonlyMap<string, string> = new Map()
  let listed: readonly string[] | null = null
  let shelf: Shelf | null = null
  let folder: string | null = null
  let copies: Promise<string> | null = null
  const modules = makeModules({
    sdk: options.sdk,
    copies: () => (copies ??= options.copies === null ? makeTemporary() : Promise.resolve(options.copies)),
    folder: () => folder,
  })

  const load = async (bundle: Loadable): Promise<ModuleExports> => {
    const module = await modules.load(bundle)
    if (!functions.has(bundle.hash)) functions.set(bundle.hash, functionsOf(module))
    return module
  }

  const loadOne = async (bundle: Bundle, files: readonly CodeFile[]): Promise<ReadBundle> => {
    try {
      const module = await load(bundle)
      return { exports: exportsOf(bundle, module), problems: [] }
    } catch (error) {
      const place = modules.placeOf(bundle.hash, error) ?? { file: bundle.file, line: 1, column: 1 }
      return { exports: [], problems: [unknownExport(error, bundle, files) ?? loadProblem(error, place)] }
    }
  }

  const readChecked = async (from: Shelf, hash: string): Promise<Loadable | null> => {
    try {
      const bundle = await readBundle(from, hash)
      refused.delete(hash)
      return bundle
    } catch (error) {
      if (error instanceof CodeRefusedError) {
        refused.set(hash, error.message)
        askedFor.add(hash)
      }
      throw error
    }
  }

  const list = async (from: Shelf) => {
    refused.clear()
    for (const { hash, refused: why } of await listBundles(from)) {
      // Its jobs are claimed all the same: each then reports what is wrong, and waits.
      stored.add(hash)
      if (why !== null) refused.set(hash, new CodeRefusedError(hash, why).message)
    }
    listed = null
  }

  /** Once per store and machine: emptying one does not reset the other. */
  const signOnce = async (from: Shelf, { pinned }: OpenOptions): Promise<readonly string[]> => {
    const mark = options.copies === null ? null : join(options.copies, SIGNED_MARK)
    const isKnownHere = mark !== null && existsSync(mark)
    const signed = isKnownHere || (await isSignedShelf(from)) ? [] : await signFormer(from, pinned)
    if (mark !== null && !isKnownHere) {
      await mkdir(dirname(mark), { recursive: true, mode: 0o700 })
      await writeFile(mark, '', { mode: 0o600 })
    }
    return signed
  }

  /** Whether the store can return what this node has read itself. */
  const isIntact = async (from: Shelf, hash: string): Promise<boolean> => {
    if (!stored.has(hash)) return false
    // Without signatures only the hash could tell.
    if (from.signatures === undefined) return true
    try {
      return (await readChecked(from, hash)) !== null
    } catch (error) {
      if (error instanceof CodeRefusedError) return false
      throw error
    }
  }

  /** The functions of a bundle that this process has not loaded yet; null if it exists nowhere. */
  const obtain = async (hash: string): Promise<ReadonlyMap<string, UserFunction> | null> => {
    const bundle = shelf === null ? null : await readChecked(shelf, hash)
    if (bundle === null) return null
    await load(bundle)
    return functions.get(hash) ?? null
  }

  const runOf = (
    hash: string,
    ...[name, input, context]: Parameters<Code['run']> extends [string, ...infer Rest] ? Rest : never
  ) => {
    const found = functions.get(hash)?.get(name)
    if (found === undefined) return failedFunction('threw', `no function ${name} in bundle ${hash}`)
    return callFunction(found, input, context, (error) => withPlace(outcomeOfError(error), hash, error))
  }

  const withPlace = (outcome: FunctionOutcome, hash: string, error: unknown): FunctionOutcome => {
    // A function that decides what happens next needs no position.
    if (outcome.kind !== 'failed' || outcome.how !== 'threw') return outcome
    const place = modules.placeOf(hash, error)
    return place === null ? outcome : { ...outcome, at: `${place.file}:${place.line}:${place.column}` }
  }

  const has = (hash: string) => stored.has(hash) || builtIn?.has(hash) === true
  const currentOf = (name: string) => functions.get(current.get(name) ?? '')?.get(name)

  return {
    async read(from, files) {
      if (files.length === 0) return EMPTY_CODE_FOLDER
      folder = await realpath(from)
      const { bundles, problems } = await bundleFiles(
        folder,
        files.map(({ path }) => path),
      )
      const loaded: CodeExport[] = []
      const found: CodeProblem[] = [...problems]
      // One after the other, in the order of their names: side effects of loading have a fixed order.
      for (const bundle of bundles) {
        const one = await loadOne(bundle, files)
        loaded.push(...one.exports)
        found.push(...one.problems)
      }
      const answer = { files, exports: withoutHandedOn(loaded, bundles), problems: found }
      read.set(answer, new Map(bundles.map((bundle) => [bundle.hash, bundle])))
      return answer
    },
    async open(opened, asked) {
      shelf = opened
      const isSigning = opened.signatures !== undefined && asked !== undefined
      const signed = isSigning ? await signOnce(opened, asked) : []
      const renewed = await renewSignatures(opened)
      await list(opened)
      return { signed, renewed }
    },
    renew: async () => (shelf === null ? 0 : renewSignatures(shelf)),
    refused: () => refused,
    wasAskedFor: (hash) => askedFor.has(hash),
    async show(hash) {
      const shown = shelf === null ? null : await showBundle(shelf, hash)
      // Another node may have signed it.
      if (shown?.refused === null) refused.delete(hash)
      return shown
    },
    async sign(hash) {
      if (shelf === null) return 'the node is starting'
      const why = await signBundle(shelf, hash)
      if (why === null) refused.delete(hash)
      return why
    },
    async keep(loaded) {
      const defined = loaded.exports.filter(({ value }) => isFunction(value))
      for (const hash of new Set(defined.map(({ codeHash }) => codeHash))) {
        if (shelf === null ? stored.has(hash) : await isIntact(shelf, hash)) continue
        const bundle = read.get(loaded)?.get(hash)
        if (bundle === undefined) throw new Error(`bundle ${hash} was not read here`)
        if (shelf !== null) await saveBundle(shelf, bundle)
        refused.delete(hash)
        stored.add(hash)
      }
      read.delete(loaded)
      current = new Map(defined.map(({ value, codeHash }) => [String(value.name), codeHash]))
      listed = null
    },
    async learn(hashes) {
      if (shelf === null || hashes.every(has)) return
      // All of them: jobs may be pinned even to code that was deployed only for a moment.
      await list(shelf)
    },
    has,
    async prepare(hash) {
      if (functions.has(hash) || builtIn?.has(hash) === true) return true
      try {
        if ((await obtain(hash)) === null) return false
      } catch {
        return false
      }
      stored.add(hash)
      listed = null
      return true
    },
    hashes: () => (listed ??= [...stored, ...(builtIn?.hashes() ?? [])]),
    find(name, tenant) {
      const hash = current.get(name)
      if (hash === undefined) return builtIn?.find(name, tenant) ?? null
      return isOpenTo(currentOf(name)?.tenants, tenant) ? hash : null
    },
    isOpen(codeHash, name, tenant) {
      // Closing a function also closes it for queued and replayed jobs, whatever its old code declares.
      const now = currentOf(name)
      if (now !== undefined) return isOpenTo(now.tenants, tenant)
      if (builtIn?.has(codeHash) === true) return builtIn.isOpen(codeHash, name, tenant)
      const opens = () => isOpenTo(functions.get(codeHash)?.get(name)?.tenants, tenant)
      return functions.has(codeHash) || isOpenTo(undefined, tenant) ? opens() : obtain(codeHash).then(opens)
    },
    timeoutMs(name, tenant) {
      const found = currentOf(name)
      const timeout = isOpenTo(found?.tenants, tenant) ? found?.timeout : null
      return typeof timeout === 'string' ? parseDuration(timeout) : null
    },
    emits: (tenant) =>
      [...current.keys()].flatMap((name) => {
        const { tenants, emits } = currentOf(name) ?? {}
        return Array.isArray(emits) && isOpenTo(tenants, tenant)
          ? [{ name, subjects: emits.map(String) }]
          : []
      }),
    run(codeHash, name, input, context) {
      if (functions.has(codeHash)) return runOf(codeHash, name, input, context)
      if (builtIn?.has(codeHash) === true) return builtIn.run(codeHash, name, input, context)
      return obtain(codeHash).then(
        () => runOf(codeHash, name, input, context),
        (error) => {
          // Nothing was run: the job waits, whatever its attempts are.
          if (error instanceof CodeRefusedError) throw new CodeRefusedError(codeHash, error.why, name)
          return outcomeOfError(error)
        },
      )
    },
  }
}

/** Says that this machine has already checked the unsigned bundles of a former version. */
const SIGNED_MARK = '.signed'

interface ReadBundle {
  readonly exports: readonly CodeExport[]
  readonly problems: readonly CodeProblem[]
}

async function makeTemporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-code-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function functionsOf(module: ModuleExports): ReadonlyMap<string, UserFunction> {
  const values = Object.values(module).flatMap((value) => (Array.isArray(value) ? value : [value]))
  return new Map(values.filter(isFunction).map((one) => [one.name, one]))
}

function isFunction(value: unknown): value is UserFunction {
  if (typeof value !== 'object' || value === null) return false
  const { kind, name, run } = value as Readonly<Record<string, unknown>>
  return kind === 'Function' && typeof name === 'string' && typeof run === 'function'
}
