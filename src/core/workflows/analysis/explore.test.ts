// Compares the search with a naive one, over random small nets: markings as objects, sets of texts, no numbers.

import { describe, expect, test } from 'vitest'
import type { TransitionDocument, WorkflowDocument } from '../../definitions/documents/index.ts'
import { explore } from './explore.ts'
import { analyse } from './index.ts'
import { markingOf } from './marking-paths.ts'
import { makeNet } from './net.ts'
import { CALL, sketch } from './nets.fixture.ts'
import { END } from './successors.ts'

const LIMIT = 400
const PLACES = ['a', 'b', 'c', 'd', 'e', 'end!']

/** The same numbers for the same seed. */
function makeRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function randomNet(seed: number): WorkflowDocument {
  const random = makeRandom(seed)
  const some = (most: number, least: number, of: readonly string[]) => {
    const left = [...of]
    const count = least + random(most - least + 1)
    return Array.from({ length: count }, () => left.splice(random(left.length), 1)[0])
  }
  const names = PLACES.map((place) => place.replace('!', ''))
  const inner = names.slice(0, -1)
  const count = 3 + random(5)
  const transitions = Array.from({ length: count }, (_, index) => [
    `t${index}`,
    {
      ...(random(5) === 0 ? { fromAny: some(2, 2, inner).join(' ') } : { from: some(2, 1, inner).join(' ') }),
      to: some(2, random(8) === 0 ? 0 : 1, names).join(' '),
      on: random(2) === 0 ? 'auto' : 'manual',
      when: random(4) === 0 ? 'data.x' : null,
      ...(random(2) === 0 && { do: CALL }),
      ...(random(6) === 0 && { do: CALL, onFailure: { to: names[random(names.length)] as string } }),
    } as const,
  ])
  return sketch(PLACES.join(' '), Object.fromEntries(transitions))
}

type Tokens = Readonly<Record<string, number>>
const textOf = (tokens: Tokens) =>
  PLACES.map((place) => place.replace('!', ''))
    .flatMap((place) => ((tokens[place] ?? 0) > 0 ? [`${place}${tokens[place]}`] : []))
    .join()

function add(tokens: Tokens, places: readonly string[], by: number): Tokens {
  const result = { ...tokens }
  for (const place of places) result[place] = (result[place] ?? 0) + by
  return result
}

function inputsOf({ from, fromAny }: TransitionDocument, tokens: Tokens): readonly string[] | null {
  const any = fromAny?.find((place) => (tokens[place] ?? 0) > 0)
  if (fromAny !== undefined && any === undefined) return null
  if (!from.every((place) => (tokens[place] ?? 0) > 0)) return null
  return any === undefined ? from : [...from, any]
}

function plainNext({ transitions }: WorkflowDocument, tokens: Tokens): readonly Tokens[] {
  const isOver = Object.entries(tokens).every(([place, count]) => count === 0 || place === 'end')
  if (isOver && (tokens.end ?? 0) > 0) return []
  const found: Tokens[] = []
  const fire = (one: TransitionDocument, inputs: readonly string[]) => {
    found.push(add(add(tokens, inputs, -1), one.to, 1))
    if (typeof one.onFailure === 'object') found.push(add(add(tokens, inputs, -1), [one.onFailure.to], 1))
  }
  let free = tokens
  const begun: (() => void)[] = []
  for (const one of transitions.filter(({ on }) => on === 'auto')) {
    let inputs = inputsOf(one, free)
    if (inputs === null) continue
    const taken = inputs
    if (one.do === undefined) {
      fire(one, taken)
      if (one.when === null) return found
      continue
    }
    begun.push(() => fire(one, taken))
    while (one.when === null && inputs !== null) {
      free = add(free, inputs, -1)
      inputs = inputsOf(one, free)
    }
  }
  for (const each of begun) each()
  for (const one of transitions.filter(({ on }) => on === 'manual')) {
    const inputs = inputsOf(one, tokens)
    if (inputs !== null) fire(one, inputs)
  }
  return found
}

/** null: more than the limit. */
function plainSearch(document: WorkflowDocument) {
  const all = new Map<string, Tokens>([['a1', { a: 1 }]])
  const dead: string[] = []
  const ended: string[] = []
  for (const [text, tokens] of all) {
    const next = plainNext(document, tokens)
    if (next.length === 0) (/^end\d+$/.test(text) ? ended : dead).push(text)
    for (const one of next) all.set(textOf(one), all.get(textOf(one)) ?? one)
    if (all.size > LIMIT) return null
  }
  return { all: [...all.keys()].sort(), dead: dead.sort(), ended: ended.sort() }
}

describe('random nets', () => {
  const seeds = Array.from({ length: 300 }, (_, index) => index + 1)

  test('[AN17] the search finds the same markings, deadlocks and ends as a naive one', () => {
    const seen = { bounded: 0, unbounded: 0, dead: 0, ended: 0 }
    for (const seed of seeds) {
      const document = randomNet(seed)
      const plain = plainSearch(document)
      const graph = explore(makeNet(document), { a: 1 }, { markings: LIMIT })
      if (plain === null) {
        expect(graph.isComplete, `seed ${seed}`).toBe(false)
        seen.unbounded += 1
        continue
      }
      const texts = Array.from({ length: graph.count }, (_, at) => textOf(markingOf(graph, at)))
      const still = texts.filter((_, at) => graph.starts[at] === graph.starts[at + 1])
      const isEnd = texts.filter((_, at) => ((graph.flags[at] as number) & END) !== 0)
      expect([...texts].sort(), `seed ${seed}`).toEqual(plain.all)
      expect(isEnd.sort(), `seed ${seed}`).toEqual(plain.ended)
      expect(still.filter((text) => !isEnd.includes(text)).sort(), `seed ${seed}`).toEqual(plain.dead)
      expect(graph.isComplete, `seed ${seed}`).toBe(true)
      seen.bounded += 1
      seen.dead += plain.dead.length
      seen.ended += plain.ended.length
    }
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(10)
  })

  test('[AN17] each step of a trace is possible in the naive net', () => {
    let steps = 0
    for (const seed of seeds) {
      const document = randomNet(seed)
      for (const { trace } of analyse(document, { markings: LIMIT }).defects) {
        for (const [at, { marking }] of trace.entries()) {
          const before = trace[at - 1]?.marking
          if (before === undefined) expect(marking).toEqual({ a: 1 })
          else expect(plainNext(document, before).map(textOf), `seed ${seed}`).toContain(textOf(marking))
          steps += 1
        }
      }
    }
    expect(steps).toBeGreaterThan(200)
  })
})
