// Refines the defects of the plain search by the search with open firings: defects that the machine never reaches are dropped,
// and those that only happen while an action runs are added.

import { type Defect, listed, makeBreak } from './defect.ts'
import type { Graph } from './explore.ts'
import { type HeldSearch, markingText } from './explore-with-open-firings.ts'

/** What really happens, instead of what atomic firings would allow. */
export function correctSightings({ sightings }: Graph, { fired, timedOut, stayed }: HeldSearch): void {
  sightings.hasFired.set(fired)
  sightings.canTimeOut.set(timedOut)
  sightings.hasStayed.set(stayed)
}

export function compareHeld(
  graph: Graph,
  defects: readonly Defect[],
  { atRest, stops }: HeldSearch,
): readonly Defect[] {
  const { net } = graph
  const endOf = ({ trace }: Pick<Defect, 'trace'>) => markingText(trace.at(-1)?.marking ?? {})
  const still = defects.filter(({ name }) => name === 'deadlock' || name === 'leftBehind')
  const known = new Set(still.map(endOf))
  const confirmed = defects.filter((one) => !still.includes(one) || atRest.has(endOf(one)))
  const hasTrap = defects.some(({ name }) => name === 'noWayToEnd' || name === 'automaticLoop')
  const added = stops.flatMap(({ way, trace }): readonly Defect[] => {
    const marking = trace.at(-1)?.marking ?? {}
    const isEnd = (place: string) => net.isEnd[net.places.indexOf(place)] === true
    const stuck = Object.keys(marking).filter((place) => !isEnd(place))
    const ended = Object.keys(marking).filter(isEnd)
    const place = stuck[0] ?? Object.keys(marking)[0] ?? ''
    if (way === 'trapped') {
      if (hasTrap) return []
      const message = `no end can be reached from ${listed(Object.keys(marking))}, as it can come about while actions are under way`
      return [makeBreak({ name: 'noWayToEnd', message, place, trace })]
    }
    if (known.has(markingText(marking))) return []
    const why =
      'it can come about while an action is under way, or when a time-out has come in vain, and nothing can move on from there'
    return [
      ended.length > 0
        ? makeBreak({
            name: 'leftBehind',
            message: `a token stays behind in ${listed(stuck)} when ${listed(ended)} is reached: ${why}`,
            place,
            trace,
          })
        : makeBreak({
            name: 'deadlock',
            message: `deadlock in ${listed(stuck)}, which is no end: ${why}`,
            place,
            trace,
          }),
    ]
  })
  return [...confirmed, ...added]
}
