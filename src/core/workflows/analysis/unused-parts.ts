// Unused parts of a workflow: places without tokens, transitions and time-outs that never fire, choices without a matching
// branch. What never happens has no trace; the reason is reported instead.

import type { TransitionDocument } from '../../definitions/documents/index.ts'
import { areExhaustive, conditionText } from './conditions.ts'
import { type Defect, listed, makeRemark } from './defect.ts'
import type { Graph } from './explore.ts'
import { traceTo, type Ways } from './marking-paths.ts'
import type { Net, NetStep } from './net.ts'

/** `marked`: by place, 1 where a token is seen, if more precise information than the graph exists. */
export function findParts(graph: Graph, ways: Ways, marked?: Uint8Array): readonly Defect[] {
  const isMarked = marked === undefined ? markedPlaces(graph) : Array.from(marked, (isSeen) => isSeen === 1)
  return [
    ...findUnreachable(graph.net, isMarked),
    ...findDead(graph, ways, isMarked),
    ...findTimeouts(graph, isMarked),
    ...graph.net.document.transitions.flatMap(findChooseNothing),
  ]
}

/** By place. If the search was incomplete: everything possible, so that only certain findings are reported. */
function markedPlaces({ net, count, bytes, stride, isComplete }: Graph): readonly boolean[] {
  if (!isComplete) return mightBeMarked(net)
  const width = stride / 4
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, count * width)
  const all = new Int32Array(width)
  for (let at = 0; at < words.length; at += width) {
    for (let word = 0; word < width; word += 1)
      all[word] = (all[word] as number) | (words[at + word] as number)
  }
  const marked = new Uint8Array(all.buffer)
  return net.places.map((_, place) => marked[place] !== 0)
}

/** Ignores token counts, and assumes that nothing takes a token. */
function mightBeMarked(net: Net): readonly boolean[] {
  const marked: boolean[] = Array.from({ length: net.size }, (_, place) => place === net.start)
  for (let isNew = true; isNew; ) {
    isNew = false
    for (const step of net.steps) {
      if (!mightFire(step, marked)) continue
      for (const place of step.outcomes.flatMap(({ adds }) => adds)) {
        if (marked[place] !== true) isNew = true
        marked[place] = true
      }
    }
    for (const { place, to } of net.rollBacks) {
      if (marked[place] !== true || marked[to] === true) continue
      marked[to] = true
      isNew = true
    }
  }
  return marked
}

function mightFire({ from, any, isImpossible }: NetStep, marked: readonly boolean[]): boolean {
  if (isImpossible || !from.every((place) => marked[place] === true)) return false
  return any.length === 0 || any.some((place) => marked[place] === true)
}

function findUnreachable(net: Net, isMarked: readonly boolean[]): readonly Defect[] {
  return net.places.flatMap((place, index) => {
    if (isMarked[index] === true) return []
    const givers = net.steps.filter(({ outcomes }) => outcomes.some(({ adds }) => adds.includes(index)))
    const ended = net.rollBacks.some(({ to }) => to === index)
    const why =
      givers.length === 0 && !ended
        ? 'no transition puts one there'
        : givers.length === 0
          ? 'the roll-back that ends there never begins'
          : `${listed(
              givers.map(({ name }) => name),
              'or',
            )} would, but never can`
    const message = `\`${place}\` is unreachable: it never gets a token, because ${why}`
    return [makeRemark({ name: 'unreachablePlace', message, place })]
  })
}

function findDead(graph: Graph, ways: Ways, isMarked: readonly boolean[]): readonly Defect[] {
  const { net, sightings, isComplete } = graph
  return net.steps.flatMap((step) => {
    if (step.kind === 'enter') return []
    const transition = step.name
    const tell = (why: string, seen = -1): readonly Defect[] => {
      const message = `\`${transition}\` can never fire: ${why}`
      const trace = seen < 0 ? [] : traceTo(graph, ways, seen)
      return [makeRemark({ name: 'deadTransition', message, transition, trace })]
    }
    if (step.isImpossible) return tell(whyImpossible(net, transition))
    const lacking = step.from.filter((place) => isMarked[place] !== true)
    const isWithoutAny = step.any.length > 0 && step.any.every((place) => isMarked[place] !== true)
    if (lacking.length > 0 || isWithoutAny) {
      const places = (lacking.length > 0 ? lacking : step.any).map((place) => net.places[place] ?? '')
      return tell(`there is never a token in ${listed(places)}`)
    }
    if (!isComplete || sightings.hasFired[step.index] === 1) return describeUnfired(net, transition)
    const seen = sightings.tokensAt[step.index] as number
    if (seen < 0) {
      const places = [...step.from, ...step.any].map((place) => net.places[place] ?? '')
      // A place that has tokens is not what it lacks: another place is.
      if (places.length === 1) return tell(`nothing fires it while there is a token in ${listed(places)}`)
      return tell(`${listed(places)} never have the tokens that it needs at the same time`)
    }
    const blocker = net.steps[sightings.blockedBy[step.index] as number]
    if (blocker === undefined) {
      const places = [...step.from, ...step.any].map((place) => net.places[place] ?? '')
      return tell(`the tokens of ${listed(places)} are never free at the same time: actions hold them`)
    }
    const place = blocker.kind === step.kind ? 'is written before it and' : 'is automatic and'
    return tell(`\`${blocker.name}\` ${place} always takes the token first`, seen)
  })
}

function whyImpossible({ document }: Net, name: string): string {
  const transition = document.transitions.find((one) => one.name === name)
  if (transition === undefined) return 'there is none'
  const inputs = [...transition.from, ...(transition.fromAny ?? [])]
  if (inputs.length === 0) return 'it takes from no place'
  const final = document.places.filter((place) => place.type === 'final' && inputs.includes(place.name))
  if (final.length > 0) return `${listed(final.map((place) => place.name))} is final, and a token stays there`
  return 'it waits for a timer, and no `timeout` of a place has `fire` with its name'
}

/** It is enabled by its tokens, but nothing of the workflow ever fires it. */
function describeUnfired({ document }: Net, name: string): readonly Defect[] {
  const transition = document.transitions.find((one) => one.name === name)
  if (transition?.on !== 'event' || document.triggers.some(({ fire }) => fire === name)) return []
  if (document.places.some(({ timeout }) => timeout?.fire === name)) return []
  const message = `\`${name}\` waits for an event, and no trigger has \`fire: ${name}\`: nothing fires it but a call of the API`
  return [makeRemark({ name: 'deadTransition', message, transition: name })]
}

function findTimeouts(graph: Graph, isMarked: readonly boolean[]): readonly Defect[] {
  const { net, sightings, isComplete } = graph
  return net.document.places.flatMap(({ name: place, timeout }, index) => {
    const step = net.steps.find((one) => one.kind !== 'enter' && one.name === timeout?.fire)
    if (timeout === undefined || step === undefined) return []
    const tell = (why: string): readonly Defect[] => {
      const message = `the time-out of \`${place}\` can never fire \`${timeout.fire}\`: ${why}`
      return [makeRemark({ name: 'deadTimeout', message, place })]
    }
    if (![...step.from, ...step.any].includes(index)) return tell(`that takes no token from \`${place}\``)
    if (isMarked[index] !== true) return tell('no token ever comes there')
    if (step.isImpossible) return tell(whyImpossible(net, step.name))
    if (!isComplete) return []
    if (sightings.hasStayed[index] !== 1) return tell(`${takersOf(net, index)} at once`)
    if (sightings.canTimeOut[index] === 1) return []
    const others = step.from.filter((one) => one !== index).map((one) => net.places[one] ?? '')
    return tell(`it also needs a token in ${listed(others)}, and none is there while one is in \`${place}\``)
  })
}

/** The step that takes the token as soon as it arrives. */
function takersOf({ automatic, holds }: Net, place: number): string {
  const takers = automatic.filter(
    ({ from, any, hasAction }) => !hasAction && [...from, ...any].includes(place) && holds[place] !== true,
  )
  return `${listed(
    takers.map(({ name }) => name),
    'or',
  )} takes the token away`
}

function findChooseNothing({ name, choose = [] }: TransitionDocument): readonly Defect[] {
  const conditions = choose.map(({ when }) => conditionText(when))
  if (choose.length === 0 || conditions.includes(null)) return []
  if (areExhaustive(conditions.flatMap((one) => one ?? []))) return []
  const message = `\`choose\` of \`${name}\` has no branch for the rest: where none of its conditions holds, the step fails after it was done. End it with a branch without \`when\``
  return [makeRemark({ name: 'chooseNothing', message, transition: name })]
}
