import { describe, expect, test } from 'vitest'
import { makeMemoryHarness } from '../src/adapters/store-memory/harness.fixture.ts'
import { makeLonePostgresHarness } from '../src/adapters/store-postgres/harness.fixture.ts'
import { makeInlineHarness, makeThreadedHarness } from '../src/adapters/store-sqlite/harness.fixture.ts'
import { LEDGER_STATES } from '../src/core/effects/ledger/index.ts'
import type { Pruned } from '../src/core/store/retention/index.ts'
import type { MakeStoreHarness } from '../src/ports/store.conformance.ts'
import type { CommitResult } from '../src/ports/store.ts'
import { runStream, type StreamRun } from './support/store-stream.ts'

const SEED = 20_260_120
const LENGTH = 2_200

/** A store joins by one line. */
const stores: readonly (readonly [name: string, makeHarness: MakeStoreHarness])[] = [
  ['memory', makeMemoryHarness],
  ['postgres', makeLonePostgresHarness],
  ['sqlite on one thread', makeInlineHarness],
  ['sqlite', makeThreadedHarness],
]

async function run(makeHarness: MakeStoreHarness): Promise<StreamRun> {
  const harness = await makeHarness()
  try {
    return await runStream(harness, SEED, LENGTH)
  } finally {
    await harness.close()
  }
}

const expected = run(makeMemoryHarness)

describe('one stream of operations', () => {
  test.each(stores)('[ST71] gives the same on %s', async (_, makeHarness) => {
    const { steps, dump } = await run(makeHarness)
    const wanted = await expected
    // The first difference says the most; the whole comparison afterwards is for what a loop could miss.
    for (const [index, step] of steps.entries())
      expect({ index, ...step }).toEqual({ index, ...wanted.steps[index] })
    expect(steps).toHaveLength(LENGTH)
    expect(dump).toEqual(wanted.dump)
  })

  test('contains every kind of operation, and every guard both holds and is refused', async () => {
    const { steps, dump } = await expected
    const seen = new Map<string, number>()
    const count = (name: string, times = 1) => seen.set(name, (seen.get(name) ?? 0) + times)
    for (const { operation, result } of steps) {
      count(operation.op)
      if (operation.op === 'claim' && (result as { items: unknown[] }).items.length > 0) count('claimed')
      if (operation.op === 'renew') count(result === 'fenced' ? 'fenced' : 'renewed')
      if (operation.op === 'relay') count('relayed', (result as { rows: unknown[] }).rows.length)
      if (operation.op === 'reclaim' && (result as unknown[]).length > 0) count('reclaimed')
      if (operation.op === 'prune') {
        const { next: _next, ...gone } = result as Pruned
        for (const [name, rows] of Object.entries(gone)) count(`pruned ${name}`, rows)
      }
      if (operation.op !== 'commits') continue
      for (const [index, commit] of operation.commits.entries()) {
        const one = (result as (CommitResult | 'rejected')[])[index]
        if (one === undefined || one === 'rejected') count('rejected')
        else if (one.ok) {
          if (one.leased.length > 0) count('leased at birth')
          for (const guard of commit.guards) count(`${guard.g} held`)
          for (const write of commit.writes) count(write.w)
        } else {
          count(`${commit.guards[one.guard]?.g} refused`)
          count(one.found === null ? 'found nothing' : `found ${one.found.f}`)
        }
      }
    }
    const guards = ['lease', 'work', 'dedup', 'unreserved', 'ledger', 'version']
    const names = [
      ...['commits', 'claim', 'join', 'renew', 'reclaim', 'prune', 'advance', 'read'],
      ...['pruned events', 'pruned work', 'pruned attempts', 'pruned dedup'],
      ...['claimed', 'fenced', 'renewed', 'reclaimed', 'rejected', 'leased at birth'],
      ...guards.flatMap((guard) => [`${guard} held`, `${guard} refused`]),
      ...['found nothing', 'found work', 'found event', 'found ledger', 'found version'],
      ...[
        'event.append',
        'event.repeat',
        'event.match',
        'work.add',
        'work.settle',
        'work.again',
        'attempt.append',
        'ledger.reserve',
      ],
      ...['ledger.settle', 'ledger.done', 'ledger.observe', 'deadLetter.put', 'record.put', 'record.delete'],
      ...['instance.put', 'history.append', 'correlation.put', 'correlation.delete', 'orphan.put', 'run.put'],
      ...['outbox.add', 'relay', 'relayed'],
    ]
    const few = names.filter((name) => (seen.get(name) ?? 0) < 5)
    expect(few.map((name) => `${name}: ${seen.get(name) ?? 0}`)).toEqual([])

    for (const name of ['deadLetters', 'instances', 'history', 'orphans', 'runs']) {
      expect(seen.get(`pruned ${name}`)).toBeGreaterThan(0)
    }
    const states = new Set(dump.work.map((row) => row.state))
    for (const state of ['cancelled', 'dead', 'done', 'merged', 'parked', 'ready', 'skipped'] as const) {
      expect(states).toContain(state)
    }
    expect(new Set(dump.ledger.map((row) => row.state))).toEqual(new Set(LEDGER_STATES))
    expect(dump.work.some((row) => row.alone)).toBe(true)
    expect(dump.events.some((row) => row.duplicates > 1)).toBe(true)
    expect(dump.events.some((row) => row.raw !== null)).toBe(true)
    expect(dump.work.some((row) => row.epoch > 2)).toBe(true)
    expect(dump.ledger.some((row) => row.evidence.length > 1)).toBe(true)
    expect(dump.records.length).toBeGreaterThan(5)
    expect(dump.outbox.length).toBeGreaterThan(5)
  })
})
