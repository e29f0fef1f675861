// The findings of the analysis as data, and the text of a path to one for users.

import type { Marking } from '../instance/index.ts'
import { conditionsOf, type TraceStep } from './marking-paths.ts'

/** The rules AN1 to AN12 of docs/spec/analysis.md. */
export type DefectName =
  | 'unreachablePlace'
  | 'deadTransition'
  | 'deadlock'
  | 'mayStop'
  | 'leftBehind'
  | 'noWayToEnd'
  | 'unbounded'
  | 'noWayBack'
  | 'notUndone'
  | 'automaticLoop'
  | 'deadTimeout'
  | 'chooseNothing'

export interface Defect {
  readonly name: DefectName
  /** Error: it is proved, and would break an instance. */
  readonly severity: 'error' | 'warning'
  /** False: it depends on `conditions`, which were not evaluated. */
  readonly isProved: boolean
  readonly message: string
  /** What it concerns; neither of both: the workflow. */
  readonly place?: string
  readonly transition?: string
  readonly conditions: readonly string[]
  /** The path to it, from the start; empty if it is about something that never happens. */
  readonly trace: readonly TraceStep[]
  /** After this step of the trace, the rest repeats. */
  readonly repeatsAfter?: number
}

export interface Draft {
  readonly name: DefectName
  readonly message: string
  readonly place?: string
  readonly transition?: string
  readonly trace?: readonly TraceStep[]
  readonly conditions?: readonly string[]
  readonly repeatsAfter?: number
}

/** It breaks an instance: proved or possible, depending on the conditions on the path and those given. */
export function makeBreak(draft: Draft): Defect {
  const { trace = [] } = draft
  const conditions = [...new Set([...conditionsOf(trace), ...(draft.conditions ?? [])])]
  const isProved = conditions.length === 0
  const certainty = isProved ? 'Proved' : `Possible, if ${conditions.map(quoted).join(' and ')}`
  const message = `${draft.message}. ${certainty}`
  return { ...draft, message, severity: isProved ? 'error' : 'warning', isProved, conditions, trace }
}

/** Something is unused or missing; instances continue anyway. */
export function makeRemark(draft: Draft): Defect {
  return { severity: 'warning', isProved: true, conditions: [], trace: [], ...draft }
}

const NAMED_MAX = 4

function quoted(name: string): string {
  return `\`${name}\``
}

export function listed(names: readonly string[], join = 'and'): string {
  const shown = names.slice(0, NAMED_MAX).map(quoted)
  if (names.length > NAMED_MAX) shown.push(`${names.length - NAMED_MAX} more`)
  return shown.length < 2
    ? (shown[0] ?? 'nothing')
    : `${shown.slice(0, -1).join(', ')} ${join} ${shown.at(-1)}`
}

/** `a, 2 b`; places in the order of the workflow. */
function showMarking(marking: Marking): string {
  const shown = Object.entries(marking).map(([place, tokens]) =>
    tokens === 1 ? place : `${tokens} × ${place}`,
  )
  return shown.length === 0 ? '(no token)' : shown.join(', ')
}

/** A line per step: its number, what happens, what is marked after it. */
export function showTrace(trace: readonly TraceStep[], repeatsAfter?: number): readonly string[] {
  const happenings = trace.map(showHappening)
  const width = Math.max(0, ...happenings.map(({ length }) => length))
  const lines = trace.map(({ marking, conditions = [] }, at) => {
    const condition = conditions.length === 0 ? '' : `   if ${conditions.join(' and ')}`
    const number = String(at).padStart(String(trace.length - 1).length)
    return `${number}  ${(happenings[at] ?? '').padEnd(width)}  → ${showMarking(marking)}${condition}`
  })
  if (repeatsAfter === undefined) return lines
  const last = trace.length - 1
  const which = repeatsAfter + 1 === last ? `step ${last}` : `steps ${repeatsAfter + 1} to ${last}`
  return [...lines, `and ${which} again and again`]
}

function showHappening({ fire, way }: TraceStep): string {
  switch (way) {
    case 'start':
      return 'start'
    case 'done':
      return fire ?? ''
    case 'failed':
      return `${fire} fails`
    case 'enterFailed':
      return `onEnter of ${fire} fails`
    case 'undone':
      return 'the done steps are undone'
  }
}
