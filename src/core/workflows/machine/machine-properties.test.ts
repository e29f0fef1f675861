// Random nets, random inputs: properties that always hold.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { InstanceId, WorkId } from '../../foundation/ids/index.ts'
import type { Instance } from '../instance/index.ts'
import { created, deepFreeze, makeEnv } from './case.fixture.ts'
import {
  compileWorkflow,
  decodeHistory,
  decodeInstance,
  encodeHistory,
  encodeInstance,
  explainTransitions,
  type InstanceInput,
  type PastEntry,
  planMigration,
  rebuildInstance,
  stepInstance,
  type Workflow,
} from './index.ts'
import { randomNet } from './nets.fixture.ts'
import { tokensIn } from './token-moves.ts'

const work = 'wrk_x' as WorkId

/** Numbers that represent choices: properties shrink them. */
function chooser(numbers: readonly number[]) {
  let at = 0
  return (bound: number) => (numbers[at++] ?? 0) % bound
}

/** Mostly a possible input, sometimes nonsense. */
function inputFor(pick: (bound: number) => number, workflow: Workflow, instance: Instance): InstanceInput {
  const { firings, stays, admission } = instance
  const firing =
    firings.length === 0 || pick(10) === 0 ? pick(5) : (firings[pick(firings.length)]?.number ?? 0)
  const transitions = [...workflow.transitions.keys(), 'nobody']
  const transition = transitions[pick(transitions.length)] as string
  const places = [...workflow.places.keys()]
  const place = () => places[pick(places.length)] as string
  const who = { actor: 'me', reason: 'because' }
  switch (pick(20)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      return { type: 'ended', firing, result: { n: pick(3) }, key: null, work }
    case 6:
    case 7:
      return { type: 'failed', firing, class: 'validation', reason: 'rejected', error: 'no', work }
    case 8:
      return { type: 'parked', firing, error: 'who knows', work }
    case 9:
      return { type: 'resumed', firing }
    case 10:
      return { type: 'calledOff', firing, work }
    case 11:
      return { type: 'timer', stay: stays[pick(stays.length + 1)]?.number ?? pick(4) }
    case 12:
      return { type: 'admitted', to: admission.waitsFor ?? 'lock', work }
    case 13:
      return { type: 'fire', transition, actor: 'me', input: null, comment: null }
    case 14:
      return {
        type: 'update',
        assignments: [{ path: 'data.n', value: pick(8) }],
        fire: pick(2) === 0 ? null : transition,
        trigger: '0',
      }
    case 15:
      return { type: 'move', from: { [place()]: 1 }, to: { [place()]: 1 + pick(2) }, ...who }
    case 16: {
      const path = ['data.n', 'data.x.y', 'metadata.m', 'correlation.k', 'nonsense', "data['__proto__']"][
        pick(6)
      ] as string
      return { type: 'edit', changes: [pick(3) === 0 ? { path } : { path, value: pick(9) }], ...who }
    }
    case 17:
      return pick(4) === 0 ? { type: 'cancel', ...who } : { type: 'lockExpired' }
    case 18:
      return pick(2) === 0
        ? { type: 'started', firing, child: 'ins_c' as InstanceId, key: null }
        : { type: 'childEnded', firing, state: pick(2) === 0 ? 'completed' : 'failed', data: {} }
    default:
      return {
        type: 'migrate',
        to: compileWorkflow({ ...workflow.document, description: `${pick(3)}` }),
        ...who,
      }
  }
}

function checkMarking(
  workflow: Workflow,
  before: Instance | null,
  after: Instance,
  past: readonly PastEntry[],
): void {
  for (const [place, document] of workflow.places) {
    const had = before === null ? 0 : tokensIn(before.marking, place)
    const has = tokensIn(after.marking, place)
    const took = past.flatMap((entry) => entry.took ?? []).filter((one) => one === place).length
    const put = past.flatMap((entry) => entry.put ?? []).filter((one) => one === place).length
    expect(has).toBe(had - took + put)
    if (document.type === 'final') expect(took).toBe(0)
    const held = after.firings.flatMap((firing) => firing.held).filter((one) => one === place).length
    expect(held).toBeLessThanOrEqual(has)
    if (document.timeout === undefined) continue
    expect(after.stays.filter((stay) => stay.place === place).length).toBeLessThanOrEqual(has)
  }
}

/** WF1 itself: the tokens that an entry took and put are those of its transition. */
function checkEntry(workflow: Workflow, { type, name = '', part, took, put }: PastEntry): void {
  if ((type !== 'fired' && type !== 'ended') || part !== undefined) return
  const document = workflow.transitions.get(name)?.document
  if (document === undefined) throw new Error(`no transition ${name}`)
  const { from, fromAny, to, choose } = document
  const rest = [...(took ?? [])]
  for (const place of from) {
    expect(rest).toContain(place)
    rest.splice(rest.indexOf(place), 1)
  }
  expect(rest).toHaveLength(fromAny === undefined ? 0 : 1)
  for (const place of rest) expect(fromAny).toContain(place)
  expect(choose === undefined ? [to] : choose.map((branch) => branch.to)).toContainEqual(put)
}

const numbers = (length: number) =>
  fc.array(fc.noBias(fc.nat(1_000)), { minLength: length, maxLength: length, size: 'max' })

test('[WF1] [WF2] [WF3] [WF20] [WF21] random nets keep their invariants under random inputs', {
  timeout: 60_000,
}, () => {
  const seen = {
    accepted: 0,
    ended: 0,
    rolledBack: 0,
    undone: 0,
    interrupted: 0,
    late: 0,
    entered: 0,
    joined: 0,
    timedOut: 0,
    children: 0,
  }
  fc.assert(
    fc.property(numbers(100), numbers(250), (net, choices) => {
      let workflow = compileWorkflow(randomNet(chooser(net)))
      const pick = chooser(choices)
      const env = makeEnv()
      let instance: Instance | null = null
      const past: PastEntry[] = []
      for (let round = 0; round < 25; round += 1) {
        const input: InstanceInput =
          instance === null
            ? created({ assignments: [{ path: 'data.n', value: pick(4) }] })
            : inputFor(pick, workflow, instance)
        const before: Instance | null = deepFreeze(instance)
        const stepped = stepInstance(
          workflow,
          before,
          input.type === 'migrate' ? input : deepFreeze(input),
          env,
        )
        if (!stepped.ok) {
          expect(stepped.refused.message).not.toBe('')
          if (instance === null) return
          continue
        }
        seen.accepted += 1
        if (input.type === 'childEnded') seen.children += 1
        if (input.type === 'migrate') workflow = input.to
        instance = stepped.instance
        const first = past.length + 1
        const rows = encodeHistory(instance, stepped.history)
        const entries = rows.map((row, index) => ({
          ...decodeHistory(row),
          sequence: row.sequence,
          at: first + index,
        }))
        expect(rows.map(({ sequence }) => sequence)).toEqual(entries.map((_, index) => first + index))
        past.push(...entries)
        // An endless loop repeats the same entries.
        if (past.length > 400) return
        for (const entry of entries) checkEntry(workflow, entry)
        checkMarking(workflow, before, instance, entries)
        expect(instance.revision).toBe((before?.revision ?? 0) + 1)
        expect(decodeInstance(encodeInstance(instance))).toEqual(instance)
        const { marking, data, metadata, state, version, correlations } = instance
        const until = { sequence: past.length }
        const rebuilt = rebuildInstance(past, until)
        expect([rebuilt?.marking, rebuilt?.data, rebuilt?.metadata]).toEqual([marking, data, metadata])
        expect([rebuilt?.state, rebuilt?.version, rebuilt?.correlations]).toEqual([
          state,
          version,
          correlations,
        ])
        expect(explainTransitions(workflow, instance, env, 'me')).toHaveLength(workflow.transitions.size)
        if (state !== 'active') seen.ended += 1
        for (const { type, part, took = [], error } of entries) {
          if (type === 'rolling_back') seen.rolledBack += 1
          if (type === 'undone') seen.undone += 1
          if (type === 'interrupted') seen.interrupted += 1
          if (type === 'late') seen.late += 1
          if (type === 'ended' && part === 'enter') seen.entered += 1
          if ((type === 'fired' || type === 'ended') && took.length > 1) seen.joined += 1
          if (type === 'timed_out' && error === undefined) seen.timedOut += 1
        }
      }
      if (instance === null) return
      const next = compileWorkflow({ ...workflow.document, version: '2.0.0' })
      expect(planMigration(workflow, next, instance).ok).toBe(false)
    }),
    { numRuns: 300 },
  )
  // The nets covered all of it.
  expect(seen.accepted).toBeGreaterThan(1_000)
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0)
})
