// A folder of definitions, from disk to what can be put in force: one step for the start, the watch and the commands.

import { type CompileDeps, compileDefinitions, type Definition } from './compile.ts'
import type { Finding } from './finding.ts'
import { readFolder } from './folder.ts'
import type { DefinitionFile } from './source-text.ts'

export interface LoadedFolder {
  /** Those without an error of their own. */
  readonly definitions: readonly Definition[]
  /** An error among them means that nothing of the folder may be applied. */
  readonly findings: readonly Finding[]
  /** What was read, to print findings with their lines. */
  readonly files: readonly DefinitionFile[]
}

/** Throws AppError when the folder exceeds a bound, and what the system says when it cannot be read. */
export async function loadFolder(folder: string, deps: CompileDeps): Promise<LoadedFolder> {
  const files = await readFolder(folder)
  const { definitions, findings } = compileDefinitions(files, deps)
  return { definitions, findings, files }
}

export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some(({ severity }) => severity === 'error')
}
