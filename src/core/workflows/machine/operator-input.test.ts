import { describe, expect, test } from 'vitest'
import type { InstanceId, WorkId } from '../../foundation/ids/index.ts'
import { created, makeCase, makeEnv } from './case.fixture.ts'
import {
  compileWorkflow,
  diffData,
  explainTransitions,
  type PastEntry,
  planMigration,
  rebuildInstance,
  stepInstance,
  stepScope,
} from './index.ts'
import { EMIT, type Sketch, sketchWorkflow } from './nets.fixture.ts'

const make = (sketch: Sketch) => compileWorkflow(sketchWorkflow(sketch))
const who = { actor: 'ann', reason: 'because' }

const review: Sketch = {
  places: { a: { type: 'review' }, b: {}, done: { type: 'final' } },
  transitions: {
    approve: {
      from: ['a'],
      to: ['done'],
      on: 'manual',
      when: 'data.n > 1',
      notBy: 'metadata.by',
      input: { type: 'object', required: ['ok'] },
      out: { 'data.approvedBy': 'actor', 'data.ok': 'input.ok' },
    },
    late: { from: ['a'], to: ['b'], on: 'timer' },
    on: { from: ['b'], to: ['a'] },
  },
}

describe('operators', () => {
  const start = (n: number) =>
    makeCase(make(review), created({ assignments: [{ path: 'data.n', value: n }], metadata: { by: 'bob' } }))
  const fire = (actor: string, input: never) =>
    ({ type: 'fire', transition: 'approve', actor, input, comment: null }) as const

  test('[WF22] fire what they may; each refusal names its rule', () => {
    const one = start(2)
    expect(one.attempt(fire('bob', { ok: true } as never))).toMatchObject({ code: 'not_allowed' })
    expect(one.attempt(fire('ann', null as never))).toMatchObject({ code: 'invalid_input' })
    expect(start(1).attempt(fire('ann', { ok: true } as never))).toMatchObject({
      code: 'cannot_fire',
      rules: expect.arrayContaining([
        { rule: 'when', holds: false, message: 'data.n > 1 is false (data.n = 1)' },
      ]),
    })
    expect(one.attempt({ ...fire('ann', null as never), transition: 'late' })).toMatchObject({
      code: 'cannot_fire',
    })
    expect(one.attempt({ ...fire('ann', null as never), transition: 'no' })).toMatchObject({
      code: 'unknown_transition',
    })
    one.step(fire('ann', { ok: true } as never))
    expect(one.now()).toMatchObject({ state: 'completed', data: { n: 2, approvedBy: 'ann', ok: true } })
  })

  test('[WF22] `notBy` names users as events and keys do: by the name of a key, its id, or both', () => {
    const bob = 'bob (key 1a1e46ec)'
    const byWhom = (by: string | string[]) =>
      makeCase(make(review), created({ assignments: [{ path: 'data.n', value: 2 }], metadata: { by } }))
    for (const by of ['bob', 'Bob', '1a1e46ec', bob, ['ann', 'bob']])
      expect(byWhom(by).attempt(fire(bob, { ok: true } as never))).toMatchObject({ code: 'not_allowed' })
    for (const by of ['bo', 'bob (key 77)', 'key', '', ['ann']])
      byWhom(by).step(fire(bob, { ok: true } as never))
  })

  test('[WF22] "why" lists each rule of each transition', () => {
    const one = start(1)
    const why = explainTransitions(make(review), one.now(), makeEnv(), 'bob')
    expect(why.map(({ name, canFire }) => [name, canFire])).toEqual([
      ['approve', false],
      ['late', false],
      ['on', false],
    ])
    expect(why[0]?.rules.filter(({ holds }) => !holds).map(({ rule }) => rule)).toEqual(['when', 'notBy'])
    expect(why[2]?.rules.find(({ rule }) => rule === 'tokens')).toEqual({
      rule: 'tokens',
      holds: false,
      message: 'b has 0 of 1 token',
    })
    const hidden = { ...one.now(), data: { n: '[hidden]' } }
    const shown = explainTransitions(make(review), one.now(), makeEnv(), 'ann', hidden)
    expect(shown[0]?.rules.find(({ rule }) => rule === 'when')?.message).toContain('[hidden]')
  })

  test('[WF2] [WF23] move tokens, but not out of final places, and interrupt their holders', () => {
    const workflow = make({
      places: { a: {}, b: { type: 'review' }, c: {}, done: { type: 'final' } },
      transitions: {
        x: { from: ['a'], to: ['c'], do: EMIT },
        y: { from: ['b'], to: ['done'], on: 'manual' },
      },
    })
    const one = makeCase(workflow)
    one.step({ type: 'move', from: { a: 1 }, to: { b: 1, done: 1 }, ...who })
    expect(one.now()).toMatchObject({ marking: { b: 1, done: 1 }, firings: [{ state: 'interrupted' }] })
    expect(one.history().at(-1)).toEqual({
      type: 'moved',
      took: ['a'],
      put: ['b', 'done'],
      actor: 'ann',
      comment: 'because',
    })
    const refused = (from: Record<string, number>, to: Record<string, number>) =>
      one.attempt({ type: 'move', from, to, ...who })
    expect(refused({ done: 1 }, { b: 1 })).toMatchObject({ code: 'cannot_fire' })
    expect(refused({ b: 2 }, { a: 1 })).toMatchObject({ code: 'cannot_fire' })
    expect(refused({ b: 1 }, { nowhere: 1 })).toMatchObject({ code: 'unknown_place' })
    expect(refused({ b: -1 }, {})).toMatchObject({ code: 'invalid_input' })
    expect(refused({}, {})).toMatchObject({ code: 'invalid_input' })
  })

  test('[WF23] edit, with the previous values recorded; the instance continues from there', () => {
    const one = start(1)
    const before = one.now()
    one.step({ type: 'edit', changes: [{ path: 'data.n', value: 5 }, { path: 'metadata.by' }], ...who })
    expect(one.history().at(-1)).toMatchObject({
      type: 'edited',
      changes: [
        { path: 'data.n', before: 1, after: 5 },
        { path: 'metadata.by', before: 'bob' },
      ],
    })
    expect(diffData(before, one.now())).toEqual([
      { path: 'data.n', before: 1, after: 5 },
      { path: 'metadata.by', before: 'bob' },
    ])
    expect(one.attempt({ type: 'edit', changes: [{ path: 'event.id', value: 1 }], ...who })).toMatchObject({
      code: 'invalid_input',
    })
  })

  test('[WF24] cancel: nothing is undone, and late results are recorded', () => {
    const one = makeCase(
      make({
        places: { a: {}, b: {} },
        transitions: { x: { from: ['a'], to: ['b'], do: EMIT, undo: EMIT } },
      }),
    )
    one.step({ type: 'cancel', ...who })
    expect(one.now()).toMatchObject({ state: 'cancelled', firings: [{ state: 'interrupted' }] })
    one.end(1)
    expect(one.now()).toMatchObject({ state: 'cancelled', firings: [] })
    expect(one.history().at(-1)?.type).toBe('late')
    expect(one.attempt({ type: 'cancel', ...who })).toMatchObject({ code: 'not_active' })
  })
})

describe('the past', () => {
  test('[WF20] an instance as of any moment or step', () => {
    const one = makeCase(make(review), created({ assignments: [{ path: 'data.n', value: 1 }] }))
    one.step({ type: 'edit', changes: [{ path: 'data.n', value: 7 }], ...who })
    const entries: PastEntry[] = one
      .history()
      .map((entry, index) => ({ ...entry, sequence: index + 1, at: 10 * (index + 1) }))
    expect(rebuildInstance(entries, { sequence: 1 })).toMatchObject({
      data: { n: 1 },
      marking: { a: 1 },
      version: '1.0.0',
    })
    expect(rebuildInstance(entries, { at: 25 })).toMatchObject({ data: { n: 7 }, sequence: 2 })
    expect(rebuildInstance(entries, { at: 9 })).toBeNull()
  })

  test('[WF25] with `audit: changes` the history has paths, no values', () => {
    const security = { permissions: [], encrypt: [], audit: 'changes' as const }
    const one = makeCase(
      make({ ...review, security }),
      created({ assignments: [{ path: 'data.n', value: 'secret' }] }),
    )
    expect(JSON.stringify(one.history())).not.toContain('secret')
    const entries = one.history().map((entry, index) => ({ ...entry, sequence: index + 1, at: 1 }))
    expect(rebuildInstance(entries, { sequence: 1 })).toMatchObject({ isWhole: false, marking: { a: 1 } })
  })
})

describe('migrations', () => {
  const old = make({
    places: { a: { type: 'review' }, done: { type: 'final' } },
    transitions: { x: { from: ['a'], to: ['done'], on: 'manual' } },
  })
  const next = (extra: Partial<Sketch> = {}) =>
    make({
      version: '2.0.0',
      places: { b: { type: 'review', timeout: { afterMs: 5, fire: 'y' } }, done: { type: 'final' } },
      transitions: { y: { from: ['b'], to: ['done'], on: 'manual' } },
      migrations: [
        {
          from: '1.0.0',
          to: '2.0.0',
          strategy: 'inPlace',
          places: { a: 'b' },
          data: [
            { rename: 'n', to: 'm' },
            { default: 'd', value: 1 },
            { set: 'data.s', value: 'data.n + 1' },
            { delete: 'gone' },
          ],
        },
      ],
      ...extra,
    })
  const start = () =>
    makeCase(
      old,
      created({
        assignments: [
          { path: 'data.n', value: 4 },
          { path: 'data.gone', value: 1 },
        ],
      }),
    )

  test('[WF10] map places and data; the dry run says the same', () => {
    const one = start()
    const plan = planMigration(old, next(), one.now())
    expect(plan).toMatchObject({ ok: true, marking: { b: 1 } })
    one.step({ type: 'migrate', to: next(), ...who })
    expect(one.now()).toMatchObject({
      version: '2.0.0',
      definition: next().hash,
      marking: { b: 1 },
      data: { m: 4, d: 1, s: 5 },
    })
    expect(one.now().data).not.toHaveProperty('gone')
    expect(one.now().stays).toMatchObject([{ place: 'b' }])
    expect(one.history().at(-1)).toMatchObject({
      type: 'migrated',
      took: ['a'],
      put: ['b'],
      changes: plan.changes,
    })
  })

  test.each([
    [
      'a token that no place is for',
      { migrations: [{ from: '1.0.0', to: '2.0.0', strategy: 'inPlace' as const, places: {}, data: [] }] },
    ],
    ['no rule', { migrations: [] }],
    ['data that the new schema refuses', { data: { type: 'object', required: ['other'] } }],
  ])('[WF10] %s is refused', (_, extra) => {
    const one = start()
    expect(one.attempt({ type: 'migrate', to: next(extra), ...who })).toMatchObject({
      code: 'cannot_migrate',
    })
    expect(planMigration(old, next(extra), one.now()).ok).toBe(false)
  })

  test('[WF27] a new instance has the tokens, data and keys, and the old one has ended', () => {
    const one = start()
    const [rule] = next().document.migrations ?? []
    const to = next({ migrations: [{ ...rule!, strategy: 'newInstance' }] })
    expect(planMigration(old, to, one.now())).toMatchObject({ ok: true, isReplaced: true, marking: { b: 1 } })
    const before = one.now()
    const by = 'ins_2' as InstanceId
    const taking = { type: 'takeOver', id: by, of: before, from: old, to, ...who } as const
    const begun = stepInstance(to, null, taking, makeEnv())
    one.step({ type: 'replace', by, to, ...who })
    expect(one.now()).toMatchObject({ state: 'cancelled', version: '1.0.0' })
    expect(one.history().at(-1)).toMatchObject({ type: 'migrated', successor: by, state: 'cancelled' })
    expect(begun).toMatchObject({
      ok: true,
      instance: { id: by, marking: { b: 1 }, data: { m: 4, d: 1, s: 5 }, stays: [{ place: 'b' }], done: [] },
      history: [{ type: 'created', put: ['b'], predecessor: before.id }],
    })
  })

  test('[WF10] a firing continues only where its transition takes from the same places', () => {
    const sketch = (from: string, version: string): Sketch => ({
      version,
      places: { a: {}, b: {}, done: { type: 'final' } },
      transitions: { x: { from: [from], to: ['done'], do: EMIT } },
      compatibility: { supported: ['1'], deprecationWarnings: true, strict: false },
    })
    const one = makeCase(make(sketch('a', '1')))
    expect(one.attempt({ type: 'migrate', to: make(sketch('b', '2')), ...who })).toMatchObject({
      code: 'cannot_migrate',
    })
    one.step({ type: 'migrate', to: make(sketch('a', '3')), ...who })
    expect(one.now().firings).toMatchObject([{ number: 1, held: ['a'] }])
  })
})

describe('steps as routes', () => {
  const workflow = make({
    places: { a: { onEnter: EMIT }, b: {} },
    transitions: {
      x: { from: ['a'], to: ['b'], do: EMIT, undo: EMIT },
      keyed: { from: ['b'], to: ['b'], do: EMIT, key: "'K:' + data.n", on: 'manual' },
    },
    triggers: [
      {
        action: 'update',
        on: ['s.>'],
        correlate: { issue: 'payload.id' },
        map: { 'data.n': 'payload.n', 'data.m': 'payload.none' },
      },
      { action: 'create', on: ['s.new'] },
    ],
    onFailure: { undo: 'done-steps', to: 'b' },
  })

  test('[WF26] each part is a route of the workflow, under a key of its firing', () => {
    expect([...workflow.parts.keys()]).toEqual(['fire/x', 'undo/x', 'fire/keyed', 'enter/a'])
    const one = makeCase(workflow)
    const key = (part: string) => {
      const firing = one.now().firings[0]
      if (firing === undefined) throw new Error('nothing is under way')
      return workflow.parts.get(part)?.keyOf(stepScope(workflow, one.now(), firing, {}))
    }
    expect(key('enter/a')).toBe('case:ins_1:a:1')
    one.end(1)
    expect(key('fire/x')).toBe('case:ins_1:x:2')
    one.end(2)
    expect(one.now().done.map(({ name }) => name)).toEqual(['a', 'x'])
    one.step({ type: 'fire', transition: 'keyed', actor: 'ann', input: null, comment: null })
    one.step({ type: 'edit', changes: [{ path: 'data.n', value: 3 }], ...who })
    expect(key('fire/keyed')).toBe('K:3')
    one.fail(3)
    expect(key('undo/x')).toBe('undo:key-2')
    const route = workflow.parts.get('fire/x')
    expect(route).toMatchObject({
      hash: workflow.hash,
      consumer: 'workflow:case',
      of: { kind: 'step', part: 'fire/x' },
    })
  })

  test('[WF26] a trigger matches as a route does; updates of one key share a lane', () => {
    const [update, create] = workflow.triggers
    expect(update?.keysOf({ payload: { id: 5 } })).toEqual([{ name: 'issue', value: '5' }])
    expect(() => update?.keysOf({ payload: {} })).toThrow('the key `issue` is null')
    expect(update?.route?.lane?.of({ payload: { id: 5 } })).toEqual({ key: 'key/issue/5', width: 1 })
    expect(create?.route).toMatchObject({ lane: null, isImmediate: true, of: { kind: 'trigger', part: '1' } })
    expect(update?.map({ payload: { n: null } })).toEqual([{ path: 'data.n', value: null }])
  })
})

test('[WF6] the outcome of a job is not refused because of what follows it', () => {
  const workflow = make({
    places: { a: {}, b: {}, c: {} },
    transitions: {
      x: { from: ['a'], to: ['b'], do: EMIT, onFailure: { to: 'b' } },
      y: { from: ['b'], to: ['c'] },
      z: { from: ['c'], to: ['b'] },
    },
  })
  const one = makeCase(workflow)
  expect(
    one.attempt({ type: 'ended', firing: 1, result: null, key: null, work: 'wrk_x' as WorkId }),
  ).toMatchObject({ code: 'loop' })
  one.fail(1)
  expect(one.now()).toMatchObject({ attention: 'stuck', firings: [] })
})
