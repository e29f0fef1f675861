// core/expression/function-entry.ts — the shape of a function that expressions may call.

import type { Frame } from './frame.ts'
import type { Operand } from './values.ts'

/** Where a call stands, for its errors: the function's name and the paths of its arguments. */
export interface CallSite {
  readonly name: string
  readonly paths: readonly Operand[]
}

export interface FunctionEntry {
  readonly least: number
  readonly most: number
  /** Called also with missing arguments; otherwise one of them makes the result missing. */
  readonly seesMissing?: boolean
  readonly onlyGlobal?: boolean
  run(frame: Frame, site: CallSite, args: readonly unknown[]): unknown
}

export type FunctionTable = Readonly<Record<string, FunctionEntry>>
