// Reads the definitions folder of a node, or of a command that checks one without a node.

import { type BundleCode, makeBundleCode } from '../adapters/code-bundle/index.ts'
import type { Config } from '../config/index.ts'
import type { VarSettings } from '../core/definitions/documents/index.ts'
import { EMPTY_CODE_FOLDER } from '../core/effects/function/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import type { StreamList } from '../core/ingest/bus-message/index.ts'
import { type EnvNames, isEnvReadable } from '../core/secrets/index.ts'
import {
  type DefinitionFile,
  type Finding,
  hasErrors,
  type LoadDeps,
  type LoadedFolder,
  RULES,
  streamsOf,
} from '../definitions/index.ts'
import type { Code } from '../ports/code.ts'
import * as sdk from '../sdk/index.ts'
import { type Env, hasVariable, isDemo } from './demo-in-dev.ts'
import { outboundPolicyOf } from './outbound.ts'
import { demoFolder } from './package-files.ts'
import { followSetting } from './setting-error.ts'

/** Definitions that cannot be deployed; nothing was started. */
export class DefinitionsError extends Error {
  override readonly name = 'DefinitionsError'
  readonly folder: string
  readonly findings: readonly Finding[]
  readonly files: readonly DefinitionFile[]
  constructor(folder: string, findings: readonly Finding[], files: readonly DefinitionFile[]) {
    super(`the definitions in ${folder} have ${findings.length} findings`)
    this.folder = folder
    this.findings = findings
    this.files = files
  }
}

const NOTHING_LOADED: LoadedFolder = {
  definitions: [],
  refilled: [],
  findings: [],
  proofs: [],
  files: [],
  code: EMPTY_CODE_FOLDER,
  functions: new Map(),
  changedKeys: () => [],
  freshLiterals: () => [],
  heldNames: () => [],
  endpoints: () => [],
}

/** Deployed documents that define or read `vars`. */
export type DeployedVars = Pick<LoadDeps, 'varsBeside' | 'filledBeside'>

export type LoadedDefinitions = LoadedFolder & { readonly folder: string | null; readonly loadedAt: number }

export async function loadDefinitions(
  config: Config,
  env: Env,
  builtIn: Code,
  code: BundleCode,
  /** What is deployed besides the folder; omitted: not known yet. */
  beside: DeployedVars = {},
): Promise<LoadedDefinitions> {
  const folder = config.flowsFolder ?? (isDemo(config) ? demoFolder() : null)
  const loadedAt = Date.now()
  const deps: LoadDeps = {
    ...beside,
    varSettings: config.vars,
    functions: (name) => builtIn.find(name, DEFAULT_TENANT),
    readCode: (path, files) => code.read(path, files),
    variables: hasVariable(env, config.environment),
    outbound: outboundPolicyOf(config, DEFAULT_TENANT),
    isProduction: config.environment === 'PROD',
    environment: config.environment,
    busPrefix: config.nats?.prefix,
    streams: streamsOf(DEFAULT_TENANT, config.nats?.streams),
    isEnvReadable: (name) => isEnvReadable(name, config.secretEnv),
  }
  const knowsVars = (beside.varsBeside ?? []).length > 0 || Object.keys(config.vars).length > 0
  if (folder === null && !knowsVars) return { folder, loadedAt, ...NOTHING_LOADED }
  // Zod and the language load when there is something to read.
  const { compileDefinitions, loadFolder } = await import('../definitions/language.ts')
  if (folder === null) {
    const { refilled, findings } = compileDefinitions([], deps)
    return { folder, loadedAt, ...NOTHING_LOADED, refilled, findings }
  }
  const loaded = await followSetting('MILLRACE_FLOWS', folder, () => loadFolder(folder, deps))
  return { folder, loadedAt, ...loaded }
}

export function refuseErrors({
  folder,
  findings,
  files,
}: Pick<LoadedDefinitions, 'folder' | 'findings' | 'files'>): void {
  if (hasErrors(findings)) throw new DefinitionsError(folder ?? '', findings, files)
}

/** Before the store is open: what deployed definitions know of `vars` is not known yet. */
export function refuseOwnErrors(loaded: LoadedDefinitions): void {
  refuseErrors({ ...loaded, findings: loaded.findings.filter(({ rule }) => rule !== RULES.unknownVar) })
}

/** For commands that check a folder without a node: its code is bundled and loaded, and nothing is stored. */
export function makeCheckDeps(
  environment: Config['environment'],
  busPrefix: string | undefined,
  env: Env,
  /** As a node with this environment has them. `streams` omitted: not known. */
  allowed: {
    readonly secretEnv: EnvNames
    readonly streams: StreamList | undefined
    readonly vars: VarSettings
  },
): LoadDeps {
  const code = makeBundleCode({ sdk, copies: null })
  return {
    functions: () => null,
    readCode: (path, files) => code.read(path, files),
    environment,
    busPrefix,
    streams: streamsOf(DEFAULT_TENANT, allowed.streams),
    isEnvReadable: (name) => isEnvReadable(name, allowed.secretEnv),
    variables: hasVariable(env, environment),
    refusesLiterals: environment === 'PROD',
    varSettings: allowed.vars,
  }
}
