// Extracts the definitions of loaded modules: what has a `kind`, by itself or in a list. A definition that a file only
// re-exports counts once, as the other file's.

import {
  type CodeExport,
  type CodeFile,
  type CodePlace,
  type CodeProblem,
  outcomeOfError,
} from '../../core/effects/function/index.ts'
import type { Bundle } from './bundle.ts'
import type { ModuleExports } from './modules.ts'

export function exportsOf(bundle: Bundle, module: ModuleExports): readonly CodeExport[] {
  const found: CodeExport[] = []
  const seen = new Set<unknown>()
  // A module lists its exports by name, so the order is always the same.
  for (const [exported, value] of Object.entries(module)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (!isDefinition(one) || seen.has(one)) continue
      seen.add(one)
      found.push({ file: bundle.file, exported, value: one, codeHash: bundle.hash })
    }
  }
  return found
}

function isDefinition(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && typeof (value as { kind?: unknown }).kind === 'string'
}

/** Without definitions of another file that this one merely re-exports. */
export function withoutHandedOn(
  exports: readonly CodeExport[],
  bundles: readonly Bundle[],
): readonly CodeExport[] {
  const inputs = new Map(bundles.map(({ file, inputs }) => [file, inputs]))
  const imports = (file: string, other: string) => inputs.get(file)?.includes(other) === true
  return exports.filter(
    (one) =>
      !exports.some(
        (other) =>
          other.file !== one.file &&
          other.value.kind === one.value.kind &&
          other.value.name === one.value.name &&
          imports(one.file, other.file) &&
          !imports(other.file, one.file),
      ),
  )
}

export function loadProblem(error: unknown, place: CodePlace): CodeProblem {
  const { message } = outcomeOfError(error) as { readonly message: string }
  return { kind: 'load', message: `loading this failed: ${message}`, ...place }
}

/** A name that `millrace` does not export: found only when the bundle is linked, so its position is searched for. */
export function unknownExport(
  error: unknown,
  bundle: Bundle,
  files: readonly CodeFile[],
): CodeProblem | null {
  if (!(error instanceof SyntaxError)) return null
  const name = /'millrace' does not provide an export named '(.+)'/.exec(error.message)?.[1]
  if (name === undefined) return null
  const message = `\`millrace\` has no \`${name}\``
  for (const { path, text } of files.filter(({ path }) => bundle.inputs.includes(path))) {
    const at = text.search(new RegExp(`(?<=import[^;]*[\\s{,])${name}\\b`))
    if (at < 0) continue
    const before = text.slice(0, at).split('\n')
    return {
      kind: 'build',
      message,
      file: path,
      line: before.length,
      column: String(before.at(-1)).length + 1,
    }
  }
  return { kind: 'build', message, file: bundle.file, line: 1, column: 1 }
}
