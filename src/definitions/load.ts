// Loads a folder of definitions from disk, ready to be deployed: one step for the start, the watch and the commands.

import { type CodeFolder, EMPTY_CODE_FOLDER } from '../core/effects/function/index.ts'
import { type ReadCode, readCode } from './code.ts'
import { type Compiled, compileDefinitions, type Definition } from './compile.ts'
import type { CompileDeps } from './compile-deps.ts'
import { compareFindings, type Finding } from './finding.ts'
import { readCodeFiles, readFolder } from './folder.ts'
import type { DefinitionFile } from './source-text.ts'

export interface LoadDeps extends CompileDeps {
  /** Bundles and loads the code of the folder; without it, code is skipped. */
  readonly readCode?: (folder: string, files: readonly DefinitionFile[]) => Promise<CodeFolder>
}

export interface LoadedFolder {
  /** Those without an error of their own. */
  readonly definitions: readonly Definition[]
  /** Deployed definitions besides the folder into which other values of `vars` are filled now. */
  readonly refilled: readonly Definition[]
  /** An error among them means that nothing of the folder may be applied. */
  readonly findings: readonly Finding[]
  /** What is proved about each workflow. */
  readonly proofs: Compiled['proofs']
  /** What was read, to print findings with their lines. */
  readonly files: readonly DefinitionFile[]
  /** Its functions; they must be stored before the definitions that name them are applied. */
  readonly code: CodeFolder
  /** Functions of the folder, by name. */
  readonly functions: ReadCode['functions']
  /** Errors about formulas of keys that differ from the deployed ones: nothing may be applied then. */
  changedKeys: Compiled['changedKeys']
  /** Errors about credentials in clear text that are not deployed yet: if they are refused, nothing may be applied. */
  freshLiterals: Compiled['freshLiterals']
  /** Errors about names of subscriptions that the API has: nothing may be applied then either. */
  heldNames: Compiled['heldNames']
  /** Subscriptions whose address is not the deployed one: the node judges these before they are applied. */
  endpoints: Compiled['endpoints']
}

/** Throws AppError if the folder exceeds a bound, and the system's error if it cannot be read. */
export async function loadFolder(folder: string, deps: LoadDeps): Promise<LoadedFolder> {
  const files = await readFolder(folder)
  const codeFiles = deps.readCode === undefined ? [] : await readCodeFiles(folder)
  const code = (await deps.readCode?.(folder, codeFiles)) ?? EMPTY_CODE_FOLDER
  const read = readCode(code)
  const known = (name: string) => read.functions.get(name)
  // Functions of a file that could not be loaded are not missing: one mistake is reported once.
  const otherwise = code.problems.length > 0 ? '' : null
  const functions = (name: string) => known(name)?.codeHash ?? deps.functions(name) ?? otherwise
  const timeouts = (name: string) => known(name)?.timeoutMs ?? deps.timeouts?.(name) ?? null
  const emits = [...(deps.emits ?? []), ...[...read.functions.values()].flatMap((one) => one.emits)]
  const { definitions, refilled, findings, proofs, changedKeys, freshLiterals, heldNames, endpoints } =
    compileDefinitions(files, { ...deps, functions, timeouts, emits }, read.documents)
  return {
    definitions,
    refilled,
    findings: [...findings, ...read.findings].sort(compareFindings),
    proofs,
    files: [...files, ...codeFiles],
    code,
    functions: read.functions,
    changedKeys,
    freshLiterals,
    heldNames,
    endpoints,
  }
}
