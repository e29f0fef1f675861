// N8 from the history of one instance alone: each firing takes exactly its inputs and puts exactly its outputs, no token leaves a
// final place or comes from nowhere, and what is undone was done, newest first, each once.

import type { TransitionDocument, WorkflowDocument } from '../src/core/definitions/documents/index.ts'
import type { HistoryEntry } from '../src/core/workflows/instance/index.ts'

export interface HistoryWalk {
  /** One entry more; what is wrong with it. */
  next(entry: HistoryEntry): readonly string[]
  readonly marking: ReadonlyMap<string, number>
  /** Steps that came late, can be undone, and of which no undo has begun. */
  lateLeft(): readonly string[]
  /** Undos that have begun and are not over. */
  undoing(): number
  /** Numbers of the firings that ended well, also late. */
  readonly ended: ReadonlySet<number>
}

interface Done {
  readonly name: string
  readonly isLate: boolean
  undo: 'none' | 'begun' | 'done'
}

const MOVERS: ReadonlySet<string> = new Set(['fired', 'ended', 'created', 'failed', 'rolling_back', 'moved'])

export function walkHistory(document: WorkflowDocument): HistoryWalk {
  const marking = new Map<string, number>()
  const transitions = new Map(document.transitions.map((one) => [one.name, one]))
  const types = new Map(document.places.map(({ name, type }) => [name, type]))
  const done: Done[] = []
  const ended = new Set<number>()
  let rollsBack = false
  let isOver = false

  const move = ({ type, name, took = [], put = [] }: HistoryEntry): readonly string[] => {
    const wrong: string[] = []
    const add = (place: string, count: number) => {
      const tokens = (marking.get(place) ?? 0) + count
      if (tokens < 0) wrong.push(`${type} ${name ?? ''} takes a token out of ${place}, where none is`)
      if (tokens > 0) marking.set(place, tokens)
      else marking.delete(place)
    }
    for (const place of took) {
      if (types.get(place) === 'final') wrong.push(`a token leaves the final place ${place}`)
      add(place, -1)
    }
    for (const place of put) {
      if (!types.has(place)) wrong.push(`a token goes to ${place}, which is no place`)
      add(place, 1)
    }
    return wrong
  }

  const checkFiring = (entry: HistoryEntry): readonly string[] => {
    const { type, name = '', part, took = [], put = [], predecessor } = entry
    const isEmpty = took.length + put.length === 0
    if (part !== undefined || !MOVERS.has(type))
      return isEmpty ? [] : [`${part ?? type} ${name} moves tokens`]
    if (type === 'created' && predecessor !== undefined) return []
    if (type === 'created') return put.join() === document.start ? [] : ['it does not begin at its start']
    if (type !== 'fired' && type !== 'ended') return []
    const transition = transitions.get(name)
    if (transition === undefined) return [`there is no transition ${name}`]
    return [
      ...(isInputs(transition, took) ? [] : [`${name} takes ${took.join() || 'nothing'}`]),
      ...(outputsOf(transition).includes(put.join()) ? [] : [`${name} puts ${put.join() || 'nothing'}`]),
    ]
  }

  const canUndo = (name: string) => transitions.get(name)?.undo !== undefined

  const beginUndo = (name: string): readonly string[] => {
    const open = done.filter(({ undo }) => undo === 'none')
    const step = open.findLast((one) => one.name === name)
    if (step === undefined) return [`${name} is undone, and was not done, or is undone already`]
    step.undo = 'begun'
    return rollsBack && open.at(-1) !== step ? [`${name} is undone before ${open.at(-1)?.name}`] : []
  }

  const follow = ({ type, name = '', part, firing, error, successor }: HistoryEntry): readonly string[] => {
    if (type === 'cancelled' || successor !== undefined) isOver = true
    if (part === 'enter') return []
    if (type === 'began' && part === 'undo') return beginUndo(name)
    if (type === 'undone') {
      const step = done.findLast((one) => one.name === name && one.undo === 'begun')
      if (step === undefined) return [`${name} is undone without having begun`]
      step.undo = 'done'
      return []
    }
    if (part !== undefined) return []
    if ((type === 'ended' || type === 'late') && firing !== undefined) {
      if (ended.has(firing)) return [`firing ${firing} ends twice`]
      ended.add(firing)
    }
    const isDone = type === 'ended' || type === 'late' || (type === 'fired' && firing !== undefined)
    if (isDone && canUndo(name) && !isOver) done.push({ name, isLate: type === 'late', undo: 'none' })
    if (type !== 'rolling_back') return []
    rollsBack = error !== undefined
    const left = rollsBack ? [] : done.filter(({ undo }) => undo !== 'done')
    return left.map((one) => `it is rolled back, and ${one.name} is not undone`)
  }

  return {
    next: (entry) => [...checkFiring(entry), ...move(entry), ...follow(entry)],
    marking,
    lateLeft: () =>
      rollsBack || isOver
        ? []
        : done.filter(({ isLate, undo }) => isLate && undo === 'none').map(({ name }) => name),
    undoing: () => (isOver ? 0 : done.filter(({ undo }) => undo === 'begun').length),
    ended,
  }
}

export function isInputs({ from, fromAny }: TransitionDocument, took: readonly string[]): boolean {
  const rest = [...took]
  for (const place of from) {
    const at = rest.indexOf(place)
    if (at === -1) return false
    rest.splice(at, 1)
  }
  if (fromAny === undefined) return rest.length === 0
  return rest.length === 1 && fromAny.includes(rest[0] as string)
}

function outputsOf({ to, choose }: TransitionDocument): readonly string[] {
  return choose === undefined ? [to.join()] : choose.map((branch) => branch.to.join())
}
