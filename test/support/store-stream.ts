// One long stream of operations, generated from a seed: its results and its final state must be the same on every
// store.

import type { StoreHarness } from '../../src/ports/store.conformance.ts'
import type { StoreDump } from '../../src/ports/store.ts'
import { START } from '../../src/ports/store-conformance/kit.conformance.ts'
import { makeBook, type Pick } from '../../src/ports/store-conformance/operation-choices.conformance.ts'
import {
  nextOperation,
  noteResult,
  type Operation,
  perform,
} from '../../src/ports/store-conformance/operations.conformance.ts'

export interface StreamStep {
  readonly operation: Operation
  readonly result: unknown
}

export interface StreamRun {
  readonly steps: readonly StreamStep[]
  readonly dump: StoreDump
}

/** Mulberry32: 32 bits of state are plenty for some ten thousand choices. */
function makePick(seed: number): Pick {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

export async function runStream(harness: StoreHarness, seed: number, length: number): Promise<StreamRun> {
  await harness.setNow(START)
  const { store } = harness
  const subject = { store, advance: (ms: number) => harness.advance(ms) }
  const book = makeBook()
  const pick = makePick(seed)
  const steps: StreamStep[] = []
  while (steps.length < length) {
    const operation = await nextOperation(book, pick, store)
    const result = await perform(subject, operation)
    noteResult(book, operation, result)
    steps.push({ operation, result })
  }
  return { steps, dump: await store.system('verification').dump() }
}
