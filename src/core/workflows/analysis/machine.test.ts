// Compares the search with the machine itself: what an instance reaches under random inputs is what the analysis predicted.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { WorkflowDocument } from '../../definitions/documents/index.ts'
import type { WorkId } from '../../foundation/ids/index.ts'
import type { Instance } from '../instance/index.ts'
import { created, makeEnv } from '../machine/case.fixture.ts'
import { compileWorkflow, type InstanceInput, stepInstance, type Workflow } from '../machine/index.ts'
import { randomNet } from '../machine/nets.fixture.ts'
import { explore } from './explore.ts'
import { markingText, searchHeld } from './explore-with-open-firings.ts'
import { analyse } from './index.ts'
import { markingOf } from './marking-paths.ts'
import { makeNet } from './net.ts'
import { CALL, sketch } from './nets.fixture.ts'

const work = 'wrk_x' as WorkId
const STATES_MAX = 3_000

function makeRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Everything that can happen without an operator moving tokens or editing data. */
function inputFor(
  pick: (bound: number) => number,
  workflow: Workflow,
  { firings, stays, admission }: Instance,
): InstanceInput {
  if (admission.waitsFor !== null) return { type: 'admitted', to: admission.waitsFor, work }
  const names = [...workflow.transitions.keys()]
  const transition = names[pick(names.length)] as string
  const firing = firings[pick(firings.length)]?.number
  const stay = stays[pick(stays.length)]?.number
  const kind = pick(10)
  if (firing !== undefined && kind < 3) return { type: 'ended', firing, result: null, key: null, work }
  if (firing !== undefined && kind === 3)
    return { type: 'failed', firing, class: 'validation', reason: 'rejected', error: 'no', work }
  if (firing !== undefined && kind === 4) return { type: 'calledOff', firing, work }
  if (stay !== undefined && kind < 7) return { type: 'timer', stay }
  if (kind === 7) return { type: 'update', assignments: [], fire: null, trigger: '0' }
  const document = workflow.transitions.get(transition)
  if (document?.isAwaited === true && kind === 8)
    return { type: 'update', assignments: [], fire: transition, trigger: '0' }
  return { type: 'fire', transition, actor: 'me', input: null, comment: null }
}

/** Without anything that conditions decide. */
function withoutConditions(document: WorkflowDocument): WorkflowDocument {
  return {
    ...document,
    transitions: document.transitions.map(({ choose, ...one }) => ({
      ...one,
      when: null,
      to: choose?.[0]?.to ?? one.to,
    })),
  }
}

/** Without states that always lead out. */
function withoutLeave(document: WorkflowDocument): WorkflowDocument {
  return { ...document, transitions: document.transitions.filter(({ name }) => name !== 'leave') }
}

test('[AN19] [AN20] everything the machine reaches was found, what never happens does not, and a workflow proved sound is never stuck', {
  timeout: 60_000,
}, () => {
  const seen = { atRest: 0, proved: 0, dead: 0, unreachable: 0, stuck: 0, interrupted: 0 }
  fc.assert(
    fc.property(fc.noShrink(fc.nat()), fc.boolean(), fc.boolean(), (seed, isBare, isOpen) => {
      const pick = makeRandom(seed)
      const drawn = isOpen ? randomNet(pick) : withoutLeave(randomNet(pick))
      const document = isBare ? withoutConditions(drawn) : drawn
      const found = searchHeld(makeNet(document), STATES_MAX)
      const { verdict, defects } = analyse(document, { markings: STATES_MAX })
      const never = (name: string) =>
        defects.filter((one) => one.name === name && !one.message.includes('waits for an event'))
      const dead = new Set(never('deadTransition').map(({ transition }) => transition))
      const unreachable = new Set(never('unreachablePlace').map(({ place }) => place))
      seen.dead += dead.size
      seen.unreachable += unreachable.size
      if (verdict === 'proved') seen.proved += 1
      const workflow = compileWorkflow(document)
      for (let walk = 0; walk < 6; walk += 1) {
        let instance: Instance | null = null
        for (let round = 0; round < 25 && instance?.state !== 'cancelled'; round += 1) {
          const input: InstanceInput =
            instance === null
              ? created({ assignments: [{ path: 'data.n', value: pick(4) }] })
              : inputFor(pick, workflow, instance)
          const stepped = stepInstance(workflow, instance, input, makeEnv())
          if (!stepped.ok) {
            if (instance === null) break
            continue
          }
          instance = stepped.instance
          const { marking, attention, firings, rollBack, state } = instance
          for (const { type, name, part } of stepped.history) {
            if (type === 'interrupted') seen.interrupted += 1
            if ((type === 'fired' || type === 'began') && part === undefined) expect(dead).not.toContain(name)
          }
          for (const place of Object.keys(marking)) expect(unreachable).not.toContain(place)
          if (attention === 'stuck') seen.stuck += 1
          if (verdict === 'proved') expect(attention).not.toBe('stuck')
          if (firings.length > 0 || rollBack !== null || instance.admission.waitsFor !== null) continue
          if (!found.isComplete || (attention === 'stuck' && !isBare)) continue
          seen.atRest += 1
          expect([...found.atRest]).toContain(markingText(marking))
          if (state !== 'active') break
        }
      }
    }),
    { numRuns: 150 },
  )
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0)
})

describe('while an action is under way', () => {
  test('[AN19] an automatic transition written earlier cannot take a token that an action holds', () => {
    const document = sketch('a p q r x end!', {
      fork: { from: 'a', to: 'p q' },
      both: { from: 'p r', to: 'end' },
      early: { from: 'x q', to: 'end' },
      call: { from: 'p', to: 'x', do: CALL },
      ask: { from: 'q', to: 'r', do: CALL },
    })
    const { verdict, defects } = analyse(document)
    expect(verdict).toBe('unsound')
    const [found] = defects.filter(({ name }) => name === 'deadlock')
    expect(found?.message).toMatch(/^deadlock in `r` and `x`, which is no end: .+ under way.+ Proved$/)
    expect(found?.trace.map(({ fire, marking }) => [fire, markingText(marking)])).toEqual([
      [null, 'a=1'],
      ['fork', 'p=1,q=1'],
      ['call', 'q=1,x=1'],
      ['ask', 'r=1,x=1'],
    ])
    expect(
      defects.filter(({ name }) => name === 'deadTransition').map(({ transition }) => transition),
    ).toEqual(['both', 'early'])
  })

  test('[AN19] a deadlock that a held token prevents is not reported', () => {
    // `both` would need the token that `call` always holds.
    const document = sketch('a p q r end! bad', {
      fork: { from: 'a', to: 'p q' },
      call: { from: 'p', to: 'end', do: CALL },
      ask: { from: 'q', to: 'r', do: CALL },
      both: { from: 'p r', to: 'bad', when: 'data.x' },
      last: { from: 'r', to: 'end' },
    })
    const { defects } = analyse(document)
    expect(defects.filter(({ name }) => name === 'deadlock')).toEqual([])
  })

  test('[AN19] an external input takes a free token before a held one', () => {
    const document = sketch('a p q end!', {
      fork: { from: 'a', to: 'p q' },
      call: { from: 'p', to: 'end', do: CALL },
      cancel: { fromAny: 'p q', to: 'end', on: 'manual' },
    })
    expect([...searchHeld(makeNet(document), 100).atRest].sort()).toEqual(['end=1,q=1', 'end=2'])
    expect(analyse(document).verdict).toBe('proved')
  })

  test('[AN20] a time-out fires once: without effect where another token is missing', () => {
    const wait = { from: 'p r', to: 'end', on: 'timer' } as const
    const document = sketch(
      'a p q r end!',
      { fork: { from: 'a', to: 'p q' }, go: { from: 'q', to: 'r', on: 'manual' }, wait },
      { more: { p: { timeout: { afterMs: 1_000, fire: 'wait' } } } },
    )
    const { verdict, defects } = analyse(document)
    expect(verdict).toBe('unsound')
    expect(defects.map(({ name, place }) => [name, place])).toEqual([['deadlock', 'p']])
    expect(defects[0]?.message).toContain('a time-out has come in vain')
  })

  test('[AN19] a rollback leaves tokens in final places where they are', () => {
    const document = sketch(
      'a p q end! back broken?',
      {
        fork: { from: 'a', to: 'p q' },
        one: { from: 'p', to: 'end' },
        two: { from: 'q', to: 'end', do: CALL },
      },
      { onFailure: { undo: 'done-steps', through: 'back', to: 'broken' } },
    )
    const graph = explore(makeNet(document), { a: 1 }, { markings: 100 })
    const all = Array.from({ length: graph.count }, (_, at) => markingText(markingOf(graph, at)))
    expect(all).toContain('back=1,end=1')
    expect(all).toContain('broken=1,end=1')
    expect(all).not.toContain('broken=1')
    expect([...searchHeld(makeNet(document), 100).atRest].sort()).toEqual(['broken=1,end=1', 'end=2'])
  })
})
