// The interface of a function that expressions may call.

import type { Frame, Operand } from '../evaluation/index.ts'

/** The location of a call, for its errors: the function's name and the paths of its arguments. */
export interface CallSite {
  readonly name: string
  readonly paths: readonly Operand[]
}

export interface FunctionEntry {
  readonly least: number
  readonly most: number
  /** Also called with missing arguments; otherwise a missing argument makes the result missing. */
  readonly seesMissing?: boolean
  readonly onlyGlobal?: boolean
  run(frame: Frame, site: CallSite, args: readonly unknown[]): unknown
}

export type FunctionTable = Readonly<Record<string, FunctionEntry>>
