// Rolling back: every token and firing is dropped, completed steps are undone one by one, newest first, and then one token goes
// where the definition says.
//
// Invariants: WF8 an undo begins only when nothing else of the instance is under way: an interrupted firing may still take
// effect, and is then undone too. WF9 only completed steps that are not undone yet are undone, newest first.

import type { RollBack } from '../instance/index.ts'
import { beginUndo, interrupt } from './firing.ts'
import { announce, type Draft } from './instance-draft.ts'
import { addTokens, dropStays, putTokens } from './token-moves.ts'

export function beginRollBack(
  draft: Draft,
  { through, to }: Pick<RollBack, 'through' | 'to'>,
  why: { readonly name: string; readonly error: string },
): void {
  const { now, workflow } = draft
  now.rollBack = { through, to, left: [] }
  for (const firing of now.firings) {
    if (firing.type !== 'undo' && firing.state !== 'interrupted') interrupt(draft, firing)
  }
  const took: string[] = []
  for (const [place, tokens] of Object.entries(now.marking)) {
    if (workflow.places.get(place)?.type === 'final') continue
    for (let count = 0; count < tokens; count += 1) took.push(place)
    addTokens(draft, place, -tokens)
  }
  dropStays(
    draft,
    now.stays.filter(({ place }) => workflow.places.get(place)?.type !== 'final').map(({ number }) => number),
  )
  const undoing = new Set(now.firings.flatMap(({ of }) => (of === undefined ? [] : [of])))
  const left = now.done
    .filter(
      ({ number, type, name, undone, others }) =>
        type === 'fire' &&
        !undone &&
        others === undefined &&
        !undoing.has(number) &&
        workflow.transitions.get(name)?.canUndo === true,
    )
    .map(({ number }) => number)
    .reverse()
  now.rollBack = { through, to, left }
  draft.history.push({ type: 'rolling_back', ...why, took, put: through === null ? [] : [through] })
  if (through === null) return
  // Neither its timer nor its entry action begins: the token only shows what is going on.
  addTokens(draft, through, 1)
  announce(draft, `entered.${through}`, { place: through })
}

/** The next undo, or the end of it. */
export function stepRollBack(draft: Draft) {
  const { now } = draft
  while (now.rollBack !== null && now.firings.length === 0) {
    const { through, to, left } = now.rollBack
    const [next] = left
    if (next !== undefined) {
      const step = now.done.find(({ number }) => number === next)
      if (step !== undefined) return beginUndo(draft, step)
      now.rollBack = { ...now.rollBack, left: left.slice(1) }
      continue
    }
    now.rollBack = null
    if (through !== null) addTokens(draft, through, -1)
    draft.history.push({ type: 'rolling_back', took: through === null ? [] : [through], put: [to] })
    putTokens(draft, [to])
  }
}
