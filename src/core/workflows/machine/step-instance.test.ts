import { describe, expect, test } from 'vitest'
import type { InstanceId, WorkId } from '../../foundation/ids/index.ts'
import { created, makeCase, makeEnv } from './case.fixture.ts'
import { compileWorkflow, type InstanceEffect, stepInstance } from './index.ts'
import { EMIT, type Sketch, sketchWorkflow } from './nets.fixture.ts'

const work = 'wrk_x' as WorkId
const make = (sketch: Sketch) => compileWorkflow(sketchWorkflow(sketch))
const steps = (effects: readonly InstanceEffect[]) =>
  effects.flatMap((effect) => (effect.type === 'work' ? [effect.step] : []))
const ofType = (effects: readonly InstanceEffect[], type: InstanceEffect['type']) =>
  effects.filter((effect) => effect.type === type)

const FINAL = { done: { type: 'final' as const } }

describe('firing', () => {
  test('[WF1] [WF5] a transition without an action fires immediately, and the instance completes', () => {
    const one = makeCase(
      make({
        places: { a: {}, b: {}, ...FINAL },
        transitions: { x: { from: ['a'], to: ['b'] }, y: { from: ['b'], to: ['done'] } },
      }),
    )
    expect(one.now()).toMatchObject({ state: 'completed', marking: { done: 1 }, revision: 1, firings: [] })
    expect(one.history().map(({ type, name, took, put, state }) => [type, name, took, put, state])).toEqual([
      ['created', undefined, undefined, ['a'], 'active'],
      ['fired', 'x', ['a'], ['b'], undefined],
      ['fired', 'y', ['b'], ['done'], 'completed'],
    ])
  })

  test('[WF4] an action holds its token where it is until it ends', () => {
    const one = makeCase(
      make({
        places: { a: {}, ...FINAL },
        transitions: { x: { from: ['a'], to: ['done'], do: EMIT, out: { 'data.r': 'result.v' } } },
      }),
    )
    expect(one.now()).toMatchObject({ state: 'active', marking: { a: 1 }, attention: null })
    expect(one.now().firings).toMatchObject([{ number: 1, name: 'x', held: ['a'], state: 'running' }])
    expect(steps(one.effects())).toEqual(['fire/1/x'])
    one.end(1, { v: 9_007_199_254_740_993n })
    expect(one.now()).toMatchObject({
      state: 'completed',
      marking: { done: 1 },
      data: { r: 9_007_199_254_740_993n },
    })
    expect(one.now().done).toMatchObject([{ name: 'x', key: 'key-1', undone: false }])
    expect(one.attempt({ type: 'ended', firing: 1, result: null, key: null, work })).toMatchObject({
      code: 'not_active',
    })
  })

  test('[WF1] a join waits for all, a fork gives to each, and any-of takes the first that has one', () => {
    const one = makeCase(
      make({
        places: { a: {}, l: {}, r: {}, z: {}, ...FINAL },
        transitions: {
          fork: { from: ['a'], to: ['l', 'r'] },
          slow: { from: ['l'], to: ['z'], do: EMIT },
          join: { from: ['z', 'r'], to: ['done'] },
          any: { fromAny: ['z', 'l'], to: ['z'], on: 'event' },
        },
      }),
    )
    expect(one.now().marking).toEqual({ l: 1, r: 1 })
    one.end(1)
    expect(one.now()).toMatchObject({ state: 'completed', marking: { done: 1 } })
    expect(one.history().at(-1)).toMatchObject({ name: 'join', took: ['z', 'r'], put: ['done'] })
  })

  test('several enabled transitions are evaluated in the order written, by their conditions', () => {
    const workflow = make({
      places: { a: {}, b: { type: 'final' }, c: { type: 'final' } },
      transitions: {
        first: { from: ['a'], to: ['b'], when: 'data.n > 1' },
        second: { from: ['a'], to: ['c'] },
      },
    })
    const at = (n: number) =>
      makeCase(workflow, created({ assignments: [{ path: 'data.n', value: n }] })).now().marking
    expect([at(2), at(1)]).toEqual([{ b: 1 }, { c: 1 }])
  })

  test('`choose` follows the result; no matching branch is a failed mapping, and changes nothing', () => {
    const one = makeCase(
      make({
        places: { a: {}, b: {}, ...FINAL },
        transitions: {
          x: {
            from: ['a'],
            do: EMIT,
            choose: [
              { when: 'result.ok', to: ['done'] },
              { when: 'result.b', to: ['b'] },
            ],
          },
        },
      }),
    )
    expect(one.attempt({ type: 'ended', firing: 1, result: {}, key: null, work })).toMatchObject({
      code: 'mapping',
    })
    expect(one.now().firings).toHaveLength(1)
    one.end(1, { ok: true })
    expect(one.now().state).toBe('completed')
  })

  test('[WF11] endless automatic transitions are refused', () => {
    const workflow = make({
      places: { a: {}, b: {} },
      transitions: { x: { from: ['a'], to: ['b'] }, y: { from: ['b'], to: ['a'] } },
    })
    expect(stepInstance(workflow, null, created(), makeEnv())).toMatchObject({
      ok: false,
      refused: { code: 'loop' },
    })
  })

  test('[WF12] an undecidable condition refuses a new instance; an existing one waits for an operator, and no rival takes its token', () => {
    const workflow = make({
      places: { a: {}, b: {}, c: { type: 'final' } },
      transitions: {
        x: { from: ['a'], to: ['b'], do: EMIT },
        y: { from: ['b'], to: ['c'], when: 'data.list + 1 > 1' },
        z: { from: ['b'], to: ['c'] },
      },
    })
    const direct = make({ ...sketch(workflow), start: 'b' })
    const bad = created({ assignments: [{ path: 'data.list', value: [1] }] })
    expect(stepInstance(direct, null, bad, makeEnv())).toMatchObject({
      ok: false,
      refused: { code: 'mapping' },
    })
    const one = makeCase(workflow, bad)
    one.end(1)
    expect(one.now()).toMatchObject({ attention: 'stuck', marking: { b: 1 } })
    expect(ofType(one.effects(), 'escalate')).toHaveLength(1)
    one.step({ type: 'edit', changes: [{ path: 'data.list', value: 5 }], actor: 'me', reason: 'mend' })
    expect(one.now().state).toBe('completed')
  })
})

function sketch({ document }: { readonly document: ReturnType<typeof sketchWorkflow> }): Sketch {
  const { places, transitions, triggers, ...rest } = document
  return {
    ...rest,
    places: Object.fromEntries(places.map(({ name, ...place }) => [name, place])),
    transitions: Object.fromEntries(transitions.map(({ name, ...one }) => [name, one])),
    triggers,
  }
}

describe('assignments', () => {
  const workflow = make({
    places: { a: { type: 'review' } },
    transitions: { go: { from: ['a'], to: ['a'], on: 'manual' } },
  })
  const apply = (...assignments: { path: string; value: never }[]) =>
    stepInstance(workflow, null, created({ assignments }), makeEnv())
  const value = (any: unknown) => any as never

  test('[WF13] create maps on the path; null is null; own names only', () => {
    const stepped = apply(
      { path: 'data.x.y', value: value(1) },
      { path: "data['__proto__'].polluted", value: value(true) },
      { path: 'data.constructor.name', value: value('n') },
      { path: 'metadata.n', value: value(null) },
      { path: 'correlation.mr', value: value(7) },
    )
    if (!stepped.ok) throw new Error(stepped.refused.message)
    const { data, metadata, correlations } = stepped.instance
    expect(JSON.stringify(data)).toBe(
      '{"x":{"y":1},"__proto__":{"polluted":true},"constructor":{"name":"n"}}',
    )
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(metadata).toEqual({ n: null })
    expect(correlations).toEqual([{ name: 'mr', value: '7' }])
    expect(ofType(stepped.effects, 'correlate')).toEqual([{ type: 'correlate', name: 'mr', value: '7' }])
  })

  test.each([
    [
      'something in the way',
      [
        { path: 'data.x', value: value(1) },
        { path: 'data.x.y', value: value(1) },
      ],
    ],
    ['too much', [{ path: 'data.x', value: value('x'.repeat(300_000)) }]],
    ['a key that is null', [{ path: 'correlation.mr', value: value(null) }]],
    ['another root', [{ path: 'payload.x', value: value(1) }]],
    ['no map', [{ path: 'data', value: value(1) }]],
  ])('[WF13] %s is refused as a mapping', (_, assignments) => {
    expect(apply(...assignments)).toMatchObject({ ok: false, refused: { code: 'mapping' } })
  })

  test('[WF13] a replaced key is free again; a value that violates the schema of the data is refused', () => {
    const one = makeCase(workflow, created({ keys: [{ name: 'mr', value: '1' }] }))
    one.step({
      type: 'update',
      assignments: [{ path: 'correlation.mr', value: 2 }],
      fire: null,
      trigger: '0',
    })
    expect(one.now().correlations).toEqual([{ name: 'mr', value: '2' }])
    expect(one.effects().map(({ type }) => type)).toEqual(['uncorrelate', 'correlate'])
    const typed = make({
      ...sketch(workflow),
      data: { type: 'object', properties: { n: { type: 'number' } } },
    })
    const bad = created({ assignments: [{ path: 'data.n', value: 'x' }] })
    expect(stepInstance(typed, null, bad, makeEnv())).toMatchObject({
      ok: false,
      refused: { code: 'mapping' },
    })
  })
})

describe('interrupting', () => {
  const workflow = make({
    places: { a: { timeout: { afterMs: 5_000, fire: 'give_up' } }, b: {}, ...FINAL, bad: { type: 'error' } },
    transitions: {
      work: { from: ['a'], to: ['b'], do: EMIT, undo: EMIT },
      close: { fromAny: ['a', 'b'], to: ['done'], on: 'event' },
      give_up: { from: ['a'], to: ['bad'], on: 'timer' },
    },
  })

  test('[WF14] an event takes the token of a firing, which is cancelled; its late success is undone', () => {
    const one = makeCase(workflow)
    expect(one.effects().filter(({ type }) => type === 'work')).toMatchObject([
      { step: 'stay/1/a', delayMs: 5_000 },
      { step: 'fire/1/work' },
    ])
    one.step({ type: 'update', assignments: [], fire: 'close', trigger: '1' })
    expect(one.now()).toMatchObject({
      state: 'active',
      marking: { done: 1 },
      stays: [],
      firings: [{ state: 'interrupted', held: [] }],
    })
    expect(one.effects().map(({ type }) => type)).toContain('callOff')
    expect(ofType(one.effects(), 'drop')).toHaveLength(1)
    one.end(1, { id: 5 })
    expect(one.now()).toMatchObject({ state: 'active', firings: [{ type: 'undo', of: 1, number: 2 }] })
    expect(one.history().map(({ type }) => type)).toEqual([
      'created',
      'began',
      'updated',
      'interrupted',
      'fired',
      'late',
      'began',
    ])
    one.end(2)
    expect(one.now()).toMatchObject({ state: 'completed', done: [{ number: 1, undone: true }] })
  })

  test('[HD6] cancelling asks for the job of a firing that was interrupted before, too', () => {
    const one = makeCase(workflow)
    one.step({ type: 'update', assignments: [], fire: 'close', trigger: '1' })
    one.step({ type: 'cancel', actor: 'ann', reason: 'because' })
    expect(ofType(one.effects(), 'callOff')).toEqual([{ type: 'callOff', firing: 1 }])
    expect(one.now()).toMatchObject({ state: 'cancelled', firings: [{ state: 'interrupted' }] })
  })

  test('[WF14] a firing that was cancelled or failed after its interruption leaves nothing to undo', () => {
    for (const end of ['calledOff', 'failed'] as const) {
      const one = makeCase(workflow)
      one.step({ type: 'update', assignments: [], fire: 'close', trigger: '1' })
      if (end === 'failed') one.fail(1)
      else one.step({ type: 'calledOff', firing: 1, work })
      expect(one.now()).toMatchObject({ state: 'completed', firings: [], done: [] })
    }
  })

  test('[WF15] when the time of a stay is over its transition fires, whichever firing holds the token', () => {
    const one = makeCase(workflow)
    one.step({ type: 'timer', stay: 1 })
    expect(one.now()).toMatchObject({ marking: { bad: 1 }, stays: [], firings: [{ state: 'interrupted' }] })
    expect(one.attempt({ type: 'timer', stay: 1 })).toMatchObject({ code: 'gone' })
    one.step({ type: 'calledOff', firing: 1, work })
    expect(one.now().state).toBe('failed')
  })

  test('an update whose transition cannot fire is stored, and reports it', () => {
    const one = makeCase(
      make({
        places: { a: { type: 'waiting' }, b: {} },
        transitions: {
          go: { from: ['b'], to: ['a'], on: 'event' },
          on: { from: ['a'], to: ['b'], on: 'manual' },
        },
      }),
    )
    one.step({ type: 'update', assignments: [{ path: 'data.x', value: 1 }], fire: 'go', trigger: '0' })
    expect(one.now().data).toEqual({ x: 1 })
    expect(one.history().at(-1)).toMatchObject({
      type: 'noted',
      name: 'go',
      error: 'its tokens are not there',
    })
  })
})

describe('failures', () => {
  const saga = (extra: Partial<Sketch> = {}) =>
    make({
      places: { a: {}, b: {}, c: {}, ...FINAL, back: {}, bad: { type: 'error' } },
      transitions: {
        one: { from: ['a'], to: ['b'], do: EMIT, undo: EMIT },
        two: { from: ['b'], to: ['c'], do: EMIT, undo: EMIT },
        three: { from: ['c'], to: ['done'], do: EMIT, undo: EMIT },
      },
      onFailure: { undo: 'done-steps', through: 'back', to: 'bad' },
      ...extra,
    })

  test('[WF9] completed steps are undone, newest first, under the visible place', () => {
    const one = makeCase(saga())
    one.end(1, { id: 1 })
    one.end(2, { id: 2 })
    one.fail(3)
    expect(one.now()).toMatchObject({
      marking: { back: 1 },
      rollBack: { left: [2, 1] },
      failure: { name: 'three' },
    })
    expect(one.now().firings).toMatchObject([{ type: 'undo', name: 'two', of: 2 }])
    one.end(4)
    expect(one.now().firings).toMatchObject([{ type: 'undo', name: 'one', of: 1 }])
    one.end(5)
    expect(one.now()).toMatchObject({
      state: 'failed',
      marking: { bad: 1 },
      rollBack: null,
      done: [{ undone: true }, { undone: true }],
    })
  })

  test('[WF9] a dead undo stops the rollback until it is resumed', () => {
    const one = makeCase(saga())
    one.end(1)
    one.fail(2)
    one.fail(3)
    expect(one.now()).toMatchObject({
      attention: 'undo_failed',
      firings: [{ type: 'undo', state: 'failed' }],
    })
    one.step({ type: 'resumed', firing: 3 })
    expect(one.now().attention).toBeNull()
    one.end(3)
    expect(one.now().state).toBe('failed')
  })

  test('[WF8] an undo waits for interrupted firings, and undoes their late success too', () => {
    const one = makeCase(
      make({
        places: { s: {}, a: {}, b: {}, a2: {}, b2: {}, back: {}, bad: { type: 'error' } },
        transitions: {
          fork: { from: ['s'], to: ['a', 'b'] },
          left: { from: ['a'], to: ['a2'], do: EMIT, undo: EMIT },
          right: { from: ['b'], to: ['b2'], do: EMIT, undo: EMIT },
        },
        onFailure: { undo: 'done-steps', through: 'back', to: 'bad' },
      }),
    )
    one.fail(1)
    expect(one.now()).toMatchObject({
      firings: [{ number: 2, state: 'interrupted' }],
      rollBack: { left: [] },
    })
    one.end(2, { made: 1 })
    expect(one.now().firings).toMatchObject([{ type: 'undo', of: 2 }])
    one.end(3)
    expect(one.now()).toMatchObject({ state: 'failed', marking: { bad: 1 } })
  })

  test('[WF16] without `onFailure` the firing stays, and continues when its dead letter is replayed', () => {
    const { onFailure: _, ...rest } = sketch(saga())
    const one = makeCase(make(rest))
    one.fail(1)
    expect(one.now()).toMatchObject({
      attention: 'step_failed',
      marking: { a: 1 },
      firings: [{ number: 1, state: 'failed' }],
    })
    one.step({ type: 'resumed', firing: 1 })
    expect(one.now()).toMatchObject({ attention: null, firings: [{ state: 'running' }] })
    one.end(1)
    expect(one.now().marking).toEqual({ b: 1 })
    one.step({ type: 'calledOff', firing: 2, work })
    expect(one.now()).toMatchObject({ attention: 'step_failed', firings: [{ state: 'failed' }] })
  })

  test('[WF16] without `undo` the inputs are consumed and `to` gets one token', () => {
    const one = makeCase(saga({ onFailure: { to: 'bad' } }))
    one.fail(1)
    expect(one.now()).toMatchObject({ state: 'failed', marking: { bad: 1 } })
    expect(one.history().at(-1)).toMatchObject({ type: 'failed', took: ['a'], put: ['bad'], state: 'failed' })
  })

  test('a step with an unknown outcome is shown, and blocks cancelling', () => {
    const one = makeCase(saga())
    one.step({ type: 'parked', firing: 1, error: 'who knows', work })
    expect(one.now()).toMatchObject({ attention: 'step_parked', firings: [{ state: 'parked' }] })
    expect(one.attempt({ type: 'cancel', actor: 'me', reason: 'r' })).toMatchObject({ code: 'in_doubt' })
    one.end(1)
    expect(one.now()).toMatchObject({ attention: null, marking: { b: 1 } })
  })
})

describe('places', () => {
  test('[WF17] an entry action holds the token in its place, and returns it', () => {
    const one = makeCase(
      make({ places: { a: { onEnter: EMIT }, ...FINAL }, transitions: { x: { from: ['a'], to: ['done'] } } }),
    )
    expect(one.now()).toMatchObject({
      marking: { a: 1 },
      firings: [{ type: 'enter', name: 'a', held: ['a'] }],
    })
    one.end(1)
    expect(one.now()).toMatchObject({ state: 'completed', marking: { done: 1 } })
  })

  test('[WF7] an error place that nothing leaves ends the instance as failed; its keys, lock and parent are notified', () => {
    const workflow = make({
      places: { a: { type: 'review' }, bad: { type: 'error' } },
      transitions: { no: { from: ['a'], to: ['bad'], on: 'manual' } },
      lock: { by: 'data.o', ttlMs: 9, whenHeld: 'wait' },
    })
    const parent = { instance: 'ins_p' as InstanceId, firing: 3, waits: true }
    const one = makeCase(
      workflow,
      created({ assignments: [{ path: 'data.o', value: 4 }], keys: [{ name: 'k', value: 'v' }], parent }),
    )
    expect(one.now().admission).toMatchObject({ waitsFor: 'lock' })
    expect(one.effects()).toContainEqual({
      type: 'work',
      id: 'wrk_1',
      kind: 'admit',
      step: 'lock',
      part: null,
      delayMs: 0,
      lane: { key: 'lock/case/4', width: 1 },
    })
    expect(
      one.attempt({ type: 'fire', transition: 'no', actor: 'me', input: null, comment: null }),
    ).toMatchObject({ code: 'cannot_fire' })
    one.step({ type: 'admitted', to: 'lock', work: 'wrk_1' as WorkId })
    one.step({ type: 'lockExpired' })
    expect(one.now().attention).toBe('lock_expired')
    one.step({ type: 'fire', transition: 'no', actor: 'me', input: { why: 1 }, comment: 'so' })
    expect(one.now()).toMatchObject({ state: 'failed', attention: null })
    expect(one.effects().map(({ type }) => type)).toEqual([
      'announce',
      'announce',
      'leave',
      'uncorrelate',
      'tellParent',
      'announce',
    ])
    expect(one.history().at(-1)).toMatchObject({
      type: 'fired',
      actor: 'me',
      comment: 'so',
      input: { why: 1 },
      state: 'failed',
    })
  })

  test('[WF18] an instance that nothing can move is stuck, once; one that waits for a user is not', () => {
    const dead = makeCase(
      make({ places: { a: {} }, transitions: { x: { from: ['a'], to: ['a'], when: 'data.never' } } }),
    )
    expect(dead.now().attention).toBe('stuck')
    expect(ofType(dead.effects(), 'escalate')).toHaveLength(1)
    dead.step({ type: 'edit', changes: [{ path: 'data.x', value: 1 }], actor: 'me', reason: 'r' })
    expect(ofType(dead.effects(), 'escalate')).toHaveLength(0)
    const waits = { places: { a: {} }, transitions: { x: { from: ['a'], to: ['a'], when: 'data.never' } } }
    expect(makeCase(make({ ...waits, triggers: [{ action: 'update' }] })).now().attention).toBeNull()
    expect(
      makeCase(make({ ...waits, transitions: { x: { from: ['a'], on: 'manual' } } })).now().attention,
    ).toBeNull()
  })

  test('[WF19] a step that started an instance ends with it; a failed child is a failed step', () => {
    const workflow = make({
      places: { a: {}, ...FINAL },
      transitions: { x: { from: ['a'], to: ['done'], do: EMIT, out: { 'data.c': 'result.data.n' } } },
    })
    const child = 'ins_c' as InstanceId
    const good = makeCase(workflow)
    good.step({ type: 'started', firing: 1, child, key: null })
    expect(good.now().firings).toMatchObject([{ state: 'waiting', child }])
    good.step({ type: 'childEnded', firing: 1, state: 'completed', data: { n: 3 } })
    expect(good.now()).toMatchObject({ state: 'completed', data: { c: 3 } })
    const bad = makeCase(workflow)
    bad.step({ type: 'started', firing: 1, child, key: null })
    bad.step({ type: 'childEnded', firing: 1, state: 'failed', data: {} })
    expect(bad.now()).toMatchObject({
      attention: 'step_failed',
      failure: { class: 'validation', reason: 'rejected' },
    })
  })
})
