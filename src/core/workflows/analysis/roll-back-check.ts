// Whether completed steps can be undone: by the document alone, without the search.

import {
  actionFactsOf,
  type OnFailureDocument,
  type TransitionDocument,
  type WorkflowDocument,
} from '../../definitions/documents/index.ts'
import { type Defect, listed, makeRemark } from './defect.ts'
import { failureWay, modeOf, placeOf } from './net.ts'

export function findRollBack(document: WorkflowDocument): readonly Defect[] {
  return [...findWays(document), ...findUnusedUndo(document), ...findNotUndone(document)]
}

/** The paths that undo something, each once, with the transition that has it; none: the workflow. */
function waysOf(document: WorkflowDocument): readonly { way: OnFailureDocument; transition?: string }[] {
  const own = document.transitions.flatMap(({ name, onFailure }) =>
    onFailure === undefined || onFailure === 'none' ? [] : [{ way: onFailure, transition: name }],
  )
  const shared = document.onFailure === undefined ? [] : [{ way: document.onFailure }]
  return [...shared, ...own].filter(({ way }) => way.undo !== undefined)
}

function findWays(document: WorkflowDocument): readonly Defect[] {
  return waysOf(document).flatMap(({ way: { through }, transition }) => {
    const at = transition === undefined ? {} : { transition }
    if (through === undefined) {
      const message =
        '`onFailure` undoes steps without a place to be in meanwhile: name one with `through`, so that an instance that rolls back can be seen'
      return [makeRemark({ name: 'noWayBack', message, ...at })]
    }
    const place = placeOf(document, through)
    if (place?.type === 'final') {
      const message = `\`${through}\` is final, and an instance is there while it rolls back: a place for that is not an end`
      return [makeRemark({ name: 'noWayBack', message, place: through })]
    }
    const leaving = document.transitions.filter(
      (one) =>
        modeOf(document, one).fire === 'auto' &&
        (one.from.includes(through) || one.fromAny?.includes(through) === true),
    )
    if (leaving.length === 0) return []
    const message = `\`${through}\` is where an instance rolls back, and ${listed(leaving.map(({ name }) => name))} would take its token by itself: when all steps are undone it goes on without that`
    return [makeRemark({ name: 'noWayBack', message, place: through })]
  })
}

function undoes(document: WorkflowDocument, transition: TransitionDocument): boolean {
  return transition.do !== undefined && failureWay(document, transition)?.undo !== undefined
}

function findUnusedUndo(document: WorkflowDocument): readonly Defect[] {
  const { transitions, places, onFailure } = document
  if (transitions.some((one) => undoes(document, one))) return []
  if (onFailure?.undo !== undefined && places.some(({ onEnter }) => onEnter !== undefined)) return []
  return transitions.flatMap(({ name, undo }) => {
    if (undo === undefined) return []
    const message = `there is no way back to \`undo\` of \`${name}\`: no \`onFailure\` of a step has \`undo: done-steps\`, so that it runs only for a step that is interrupted`
    return [makeRemark({ name: 'noWayBack', message, transition: name })]
  })
}

/** What a later rollback leaves in place at the other side. */
function findNotUndone(document: WorkflowDocument): readonly Defect[] {
  const failing = document.transitions.filter((one) => undoes(document, one))
  if (failing.length === 0) return []
  return document.transitions.flatMap((transition) => {
    const { do: action, undo } = transition
    // Of functions the document does not say whether they have effects.
    if (action === undefined || undo !== undefined || actionFactsOf(action).hasEffect?.(action) !== true)
      return []
    const behind = placesBehind(document, transition)
    const later = failing.filter(
      (one) => one !== transition && [...one.from, ...(one.fromAny ?? [])].some((place) => behind.has(place)),
    )
    if (later.length === 0) return []
    const names = later.map(({ name }) => name)
    const message = `\`${transition.name}\` has an effect and no \`undo\`: if ${listed(names, 'or')} fails afterwards, the roll-back leaves it as it is`
    return [makeRemark({ name: 'notUndone', message, transition: transition.name })]
  })
}

function placesBehind({ transitions }: WorkflowDocument, first: TransitionDocument): ReadonlySet<string> {
  const behind = new Set(outputsOf(first))
  for (const place of behind) {
    for (const one of transitions) {
      if (!one.from.includes(place) && one.fromAny?.includes(place) !== true) continue
      for (const output of outputsOf(one)) behind.add(output)
    }
  }
  return behind
}

function outputsOf({ to, choose = [] }: TransitionDocument): readonly string[] {
  return [...to, ...choose.flatMap((branch) => branch.to)]
}
