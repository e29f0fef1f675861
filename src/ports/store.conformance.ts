// What every store must do (docs/spec/store.md). An adapter's test is a harness and one call of `storeConformance`.

import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeMemoryStore } from '../adapters/store-memory/index.ts'
import { commitRules } from './store-conformance/commits.conformance.ts'
import { deliveryRules } from './store-conformance/deliveries.conformance.ts'
import { factRules } from './store-conformance/facts.conformance.ts'
import { guardRules } from './store-conformance/guards.conformance.ts'
import { instanceRules } from './store-conformance/instances.conformance.ts'
import { type Kit, type MakeStoreHarness, openKit, START } from './store-conformance/kit.conformance.ts'
import { laneRules } from './store-conformance/lanes.conformance.ts'
import { claimRules, leaseRules } from './store-conformance/leases.conformance.ts'
import { lookupRules } from './store-conformance/lookups.conformance.ts'
import { makeBook } from './store-conformance/operation-choices.conformance.ts'
import {
  nextOperation,
  noteResult,
  perform,
  type Subject,
} from './store-conformance/operations.conformance.ts'
import { outboxRules } from './store-conformance/outbox.conformance.ts'
import { outcomeRules } from './store-conformance/outcomes.conformance.ts'
import { readRules } from './store-conformance/reads.conformance.ts'
import { retentionRules } from './store-conformance/retention.conformance.ts'
import { runRules } from './store-conformance/runs.conformance.ts'
import { laterRules } from './store-conformance/stored-events.conformance.ts'
import { writeRules } from './store-conformance/writes.conformance.ts'

export type {
  MakeStoreHarness,
  StoreCapabilities,
  StoreHarness,
} from './store-conformance/kit.conformance.ts'

export interface StoreConformanceOptions {
  /** How many random sequences are compared with the store in memory; each needs its own harness. */
  readonly propertyRuns?: number
}

export function storeConformance(
  name: string,
  makeHarness: MakeStoreHarness,
  options: StoreConformanceOptions = {},
): void {
  describe(`store: ${name}`, () => {
    describe('rules', () => {
      let open: Kit | null = null
      const kit = (): Kit => {
        if (open === null) throw new Error('no store is open')
        return open
      }
      beforeEach(async () => {
        open = await openKit(makeHarness)
      })
      afterEach(async () => {
        await open?.harness.close()
        open = null
      })
      commitRules(kit)
      guardRules(kit)
      writeRules(kit)
      leaseRules(kit)
      claimRules(kit)
      readRules(kit)
      lookupRules(kit)
      laterRules(kit)
      retentionRules(kit)
      laneRules(kit)
      outcomeRules(kit)
      instanceRules(kit)
      deliveryRules(kit)
      runRules(kit)
      outboxRules(kit)
      factRules(kit)
    })

    test('[ST70] random operations have the same results as in memory', async () => {
      const chances = fc.array(fc.nat(), { minLength: 400, maxLength: 2_000, size: 'max' })
      const compare = async (numbers: readonly number[]) => {
        const harness = await makeHarness()
        try {
          await harness.setNow(START)
          await compareWithMemory(harness, numbers)
        } finally {
          await harness.close()
        }
      }
      await fc.assert(fc.asyncProperty(chances, compare), {
        seed: 20_260_114,
        numRuns: options.propertyRuns ?? 25,
        interruptAfterTimeLimit: 30_000,
      })
    }, 120_000)
  })
}

async function compareWithMemory(subject: Subject, numbers: readonly number[]): Promise<void> {
  const book = makeBook()
  const memory: Subject = {
    store: makeMemoryStore({ now: () => now, defer: (callback) => queueMicrotask(callback) }),
    advance: (ms) => {
      now += ms
    },
  }
  let now = START
  let used = 0
  const pick = (below: number) => (numbers[used++] ?? 0) % below
  while (used < numbers.length) {
    const operation = await nextOperation(book, pick, memory.store)
    const expected = await perform(memory, operation)
    const result = await perform(subject, operation)
    expect({ operation, result }).toEqual({ operation, result: expected })
    noteResult(book, operation, expected)
  }
  const dump = await subject.store.system('verification').dump()
  expect(dump).toEqual(await memory.store.system('verification').dump())
}
