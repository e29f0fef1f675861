// The code of a definitions folder, bundled and loaded but not yet checked: what an adapter for code passes to src/definitions.

export interface CodeFile {
  /** Relative to the folder, with `/`. */
  readonly path: string
  readonly text: string
}

/** A position in a file; both numbers from 1. */
export interface CodePlace {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** Why a file could not be bundled (`build`) or loaded (`load`), or that it is too large (`size`). */
export interface CodeProblem extends CodePlace {
  readonly kind: 'build' | 'load' | 'size'
  readonly message: string
  readonly suggestion?: string
}

/** An export that has a `kind`, or an element of an exported list that has one. */
export interface CodeExport {
  readonly file: string
  /** `default`, or its name. */
  readonly exported: string
  readonly value: Readonly<Record<string, unknown>>
  /** The hash of the bundle built from the file. */
  readonly codeHash: string
}

export interface CodeFolder {
  readonly files: readonly CodeFile[]
  readonly exports: readonly CodeExport[]
  readonly problems: readonly CodeProblem[]
}

export const EMPTY_CODE_FOLDER: CodeFolder = { files: [], exports: [], problems: [] }
