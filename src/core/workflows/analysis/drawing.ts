// A workflow as a diagram needs it: places, transitions and the arcs between them.

import type { FireMode, PlaceType, WorkflowDocument } from '../../definitions/documents/index.ts'
import { conditionText } from './conditions.ts'
import { failureWay, isEndPlace, modeOf } from './net.ts'

export interface NetDrawing {
  readonly places: readonly {
    readonly name: string
    readonly type: PlaceType
    readonly isStart: boolean
    readonly isEnd: boolean
    /** Milliseconds and a transition. */
    readonly timeout: { readonly afterMs: number; readonly fire: string } | null
    /** Type of the action; null: none. */
    readonly onEnter: string | null
  }[]
  readonly transitions: readonly {
    readonly name: string
    readonly on: FireMode
    readonly isAutomatic: boolean
    readonly when: string | null
    readonly action: string | null
    readonly undo: string | null
  }[]
  readonly arcs: readonly NetArc[]
}

export interface NetArc {
  readonly place: string
  /** null: of a completed rollback, from `place` to `to`. */
  readonly transition: string | null
  /** `in` and `any` lead to the transition, the others from it. */
  readonly type: 'in' | 'any' | 'out' | 'choose' | 'failure' | 'undone'
  /** Of a branch of `choose`. */
  readonly when?: string
  readonly to?: string
}

export function netOf(document: WorkflowDocument): NetDrawing {
  const arcs: NetArc[] = document.transitions.flatMap((transition) => {
    const { name, from, fromAny = [], to, choose = [] } = transition
    const failure = transition.do === undefined ? undefined : failureWay(document, transition)
    return [
      ...from.map((place): NetArc => ({ place, transition: name, type: 'in' })),
      ...fromAny.map((place): NetArc => ({ place, transition: name, type: 'any' })),
      ...to.map((place): NetArc => ({ place, transition: name, type: 'out' })),
      ...choose.flatMap((branch) =>
        branch.to.map((place): NetArc => {
          const when = conditionText(branch.when)
          return { place, transition: name, type: 'choose', ...(when !== null && { when }) }
        }),
      ),
      ...(failure === undefined
        ? []
        : [{ place: failure.through ?? failure.to, transition: name, type: 'failure' as const }]),
    ]
  })
  const ways = [document.onFailure, ...document.transitions.map((one) => failureWay(document, one))]
  const undone = new Map<string, NetArc>()
  for (const way of ways) {
    if (way?.undo === undefined || way.through === undefined) continue
    const arc: NetArc = { place: way.through, transition: null, type: 'undone', to: way.to }
    undone.set(`${way.through}/${way.to}`, arc)
  }
  return {
    places: document.places.map((place) => ({
      name: place.name,
      type: place.type,
      isStart: place.name === document.start,
      isEnd: isEndPlace(document, place),
      timeout: place.timeout ?? null,
      onEnter: place.onEnter?.type ?? null,
    })),
    transitions: document.transitions.map((transition) => ({
      name: transition.name,
      on: transition.on,
      isAutomatic: modeOf(document, transition).fire === 'auto',
      when: conditionText(transition.when),
      action: transition.do?.type ?? null,
      undo: transition.undo?.type ?? null,
    })),
    arcs: [...arcs, ...undone.values()],
  }
}
