// The graph of reachable markings, breadth first, so that the path to each is as short as possible. Bounded: markings that were
// not examined are reported as open. A marking that strictly covers one on its own path, in a cycle that can repeat forever, is
// noted as unbounded and not expanded (Karp and Miller's idea, without their infinity).

import { type Markings, makeMarkings, makeNumbers, TOKENS_MAX } from './markings.ts'
import type { Net } from './net.ts'
import { type Label, makeSuccessors, OVERFLOW, type Sightings, type Successors } from './successors.ts'

export interface Graph {
  readonly net: Net
  readonly count: number
  readonly bytes: Uint8Array
  readonly stride: number
  /** Of each marking: its predecessor on the path, and by which label. -1: the start. */
  readonly parents: Int32Array
  readonly parentLabels: Int32Array
  /** The arcs of marking n are those from `starts[n]` up to `starts[n + 1]`. */
  readonly starts: Int32Array
  readonly targets: Int32Array
  readonly arcLabels: Int32Array
  readonly labels: readonly Label[]
  readonly flags: Uint8Array
  /** Those from here on were reached, but not examined. */
  readonly looked: number
  /** Not expanded, because their cycle can repeat forever. */
  readonly unbounded: readonly { readonly marking: number; readonly earlier: number }[]
  readonly isComplete: boolean
  readonly sightings: Sightings
}

export interface Limits {
  readonly markings: number
}

export const MARKINGS_MAX = 200_000
/** Of all markings together. */
const BYTES_MAX = 128 * 1_024 * 1_024
/** How many steps are examined, in all markings together: some seconds at worst. */
const LOOKS_MAX = 40_000_000
/** A place that grew to this many is assumed to grow on. */
const TRUSTED_TOKENS = 30

/** `isEnough` ends the search at a marking by its flags. */
export function explore(
  net: Net,
  start: Readonly<Record<string, number>>,
  limits: Limits,
  isEnough: (flags: number) => boolean = () => false,
): Graph {
  const markings = makeMarkings(net.size)
  const { next, stride } = markings
  const successors = makeSuccessors(net, next)
  const [parents, parentLabels] = [makeNumbers(), makeNumbers()]
  const [starts, targets, arcLabels, flags] = [makeNumbers(), makeNumbers(), makeNumbers(), makeNumbers()]
  const unbounded: { marking: number; earlier: number }[] = []
  const pruned = new Set<number>()
  for (const [index, name] of net.places.entries()) next[index] = Math.min(start[name] ?? 0, TOKENS_MAX)
  markings.intern()
  parents.push(-1)
  parentLabels.push(-1)
  const countMax = Math.min(limits.markings, Math.floor(BYTES_MAX / stride))
  const lookMax = Math.floor(LOOKS_MAX / Math.max(1, net.steps.length))

  let isOverflown = false
  let looked = 0
  const emit = (label: number): void => {
    const before = markings.count()
    const target = markings.intern()
    targets.push(target)
    arcLabels.push(label)
    if (target !== before) return
    parents.push(looked)
    parentLabels.push(label)
  }
  while (looked < markings.count() && markings.count() <= countMax && looked < lookMax) {
    starts.push(targets.length())
    if (pruned.has(looked)) {
      flags.push(0)
      looked += 1
      continue
    }
    const first = markings.count()
    const found = successors.expand(markings.bytes(), looked * stride, looked, emit)
    flags.push(found)
    if ((found & OVERFLOW) !== 0) isOverflown = true
    for (let made = first; made < markings.count(); made += 1) {
      if (!markings.hasTwo(made)) continue
      const earlier = findRound(net, markings, made, parents.all(), parentLabels.all(), successors)
      if (earlier === null) continue
      unbounded.push({ marking: made, earlier })
      pruned.add(made)
    }
    looked += 1
    if (isEnough(found)) break
  }
  starts.push(targets.length())
  return {
    net,
    count: markings.count(),
    bytes: markings.bytes(),
    stride,
    parents: parents.all(),
    parentLabels: parentLabels.all(),
    starts: starts.all(),
    targets: targets.all(),
    arcLabels: arcLabels.all(),
    labels: successors.labels,
    flags: Uint8Array.from(flags.all()),
    looked,
    unbounded,
    isComplete: looked === markings.count() && unbounded.length === 0 && !isOverflown,
    sightings: successors.sightings,
  }
}

/**
 * A marking on the path to this one that this one strictly covers, if the steps between them can repeat. Searched only where a
 * place has two tokens: growth shows there.
 */
function findRound(
  net: Net,
  markings: Markings,
  made: number,
  parents: Int32Array,
  parentLabels: Int32Array,
  successors: Successors,
): number | null {
  const { stride, next } = markings
  const bytes = markings.bytes()
  const base = made * stride
  const after = bytes.slice(base, base + stride)
  for (let earlier = parents[made] as number; earlier >= 0; earlier = parents[earlier] as number) {
    if (!covers(bytes, base, earlier * stride, net.size)) continue
    const round: number[] = []
    for (let at = made; at !== earlier; at = parents[at] as number) round.unshift(parentLabels[at] as number)
    const before = bytes.slice(earlier * stride, (earlier + 1) * stride)
    if (goesOn(net, before, after, round, next, successors)) return earlier
  }
  return null
}

function covers(bytes: Uint8Array, base: number, earlier: number, size: number): boolean {
  let isMore = false
  for (let place = 0; place < size; place += 1) {
    const grown = (bytes[base + place] as number) - (bytes[earlier + place] as number)
    if (grown < 0) return false
    if (grown > 0) isMore = true
  }
  return isMore
}

/**
 * Whether the cycle can repeat forever. More tokens may let an earlier step go first, or be dropped by a rollback, so it is
 * repeated until every growing place has more tokens than there are steps that could hold them: from then on the enabled steps
 * do not change any more.
 */
function goesOn(
  net: Net,
  before: Uint8Array,
  after: Uint8Array,
  round: readonly number[],
  next: Uint8Array,
  { labels, expand }: Successors,
): boolean {
  const growth = after.map((tokens, place) => tokens - (before[place] as number))
  const enough = Math.min(net.automatic.length, TRUSTED_TOKENS)
  let marking = after
  while (marking.some((tokens, place) => growth[place] !== 0 && tokens <= enough)) {
    const expected = marking.map((tokens, place) => tokens + (growth[place] as number))
    for (const label of round) {
      const wanted = labels[label] as Label
      const found: Uint8Array[] = []
      expand(marking, 0, -1, (one) => {
        const { step, outcome, rollBack } = labels[one] as Label
        const isWanted = step === wanted.step && outcome === wanted.outcome && rollBack === wanted.rollBack
        if (isWanted) found.push(next.slice())
      })
      if (found[0] === undefined) return false
      marking = found[0]
    }
    if (marking.some((tokens, place) => tokens !== expected[place])) return false
  }
  return true
}
