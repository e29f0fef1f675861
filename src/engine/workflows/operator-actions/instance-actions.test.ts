import { describe, expect, test } from 'vitest'
import type { InstanceId } from '../../../core/foundation/ids/index.ts'
import type { HistoryEntry, Instance } from '../../../core/workflows/instance/index.ts'
import { answered, LOST, makeWorld, type World } from '../../engine.fixture.ts'
import { called, look, made } from '../saga.fixture.ts'
import {
  ADA,
  ANN,
  BOB,
  documents,
  EVE,
  heard,
  open,
  refusal,
  SEALED,
  SECRET,
  TRIAGE,
} from './instance-actions.fixture.ts'

async function start(workflow = TRIAGE, answer = made as Parameters<typeof makeWorld>[0]) {
  const world = makeWorld(answer)
  const node = await world.node({ documents: documents(workflow) })
  return { world, node, operatorApi: node.engine.workflows, ...node.engine.workflows }
}

async function entries(world: World, { id }: Pick<Instance, 'id'>): Promise<readonly HistoryEntry[]> {
  const rows = await world.reads.instanceHistory(id, { after: 0, limit: 100 })
  return rows.map(({ body }) => JSON.parse(body))
}

const last = async (world: World, instance: Instance) => (await entries(world, instance)).at(-1)
const NOTE = { note: 'fine' }

describe('firing manually', () => {
  test('[HD3] [HD4] needs the permission, fires, and records who did it and why', async () => {
    const { world, node, instanceActions } = await start()
    const instance = await open(world, node)
    const asked = { transition: 'approve', input: NOTE, comment: 'looks good' }
    expect(await refusal(world, instanceActions.fire(BOB, instance.id, asked))).toMatchObject({
      code: 'permission_needed',
      message: 'firing approve needs the permission triage.approve',
      details: { needed: 'triage.approve' },
    })
    const fired = await heard(world, instanceActions.fire(ANN, instance.id, asked))
    expect(fired).toMatchObject({ state: 'completed', marking: { closed: 1 }, data: { note: 'fine' } })
    expect(await entries(world, instance)).toContainEqual(
      expect.objectContaining({ name: 'approve', actor: 'ann', comment: 'looks good', input: NOTE }),
    )
    expect(node.log.messages).toContainEqual(
      expect.objectContaining({
        name: 'instance.fired',
        fields: expect.objectContaining({
          instance: instance.id,
          workflow: 'triage',
          transition: 'approve',
          actor: 'ann',
          reason: 'looks good',
        }),
      }),
    )
  })

  test('[HD3] [HD5] an impossible firing is refused with the reason, and changes nothing', async () => {
    const { world, node, instanceActions } = await start()
    const { id } = await open(world, node, 'd1', { by: 'ann' })
    const before = await world.reads.instance(id)
    const fire = (transition: string, input: object = NOTE) =>
      refusal(world, instanceActions.fire(ANN, id, { transition, input: input as never, comment: null }))
    expect(await fire('aprove')).toMatchObject({
      code: 'unknown_transition',
      message: 'the workflow triage has no transition ‘aprove’; did you mean ‘approve’?',
      details: { suggestion: 'approve' },
    })
    expect(await fire('approve', { note: 7 })).toMatchObject({ code: 'shut_out' })
    expect(await fire('prioritise')).toMatchObject({ code: 'cannot_fire' })
    expect((await fire('expedite')).details).toMatchObject({
      rules: expect.arrayContaining([expect.objectContaining({ rule: 'mode', holds: false })]),
    })
    const nobody = 'ins_nobody' as InstanceId
    const asked = { transition: 'reject', input: null, comment: null }
    expect(await refusal(world, instanceActions.fire(ANN, nobody, asked))).toMatchObject({
      code: 'not_found',
    })
    expect(await world.reads.instance(id)).toEqual(before)
  })

  test('[HD5] invalid input, and an instance that has ended, are refused', async () => {
    const { world, node, instanceActions } = await start()
    const { id } = await open(world, node)
    const wrong = { transition: 'approve', input: { note: 7 }, comment: null }
    expect(await refusal(world, instanceActions.fire(ANN, id, wrong))).toMatchObject({
      code: 'invalid_input',
    })
    await heard(world, instanceActions.fire(ANN, id, { transition: 'reject', input: null, comment: null }))
    const again = instanceActions.fire(ANN, id, { transition: 'reject', input: null, comment: null })
    expect(await refusal(world, again)).toMatchObject({ code: 'instance_ended' })
  })

  test('[HD11] why lists each rule, including the caller’s permission', async () => {
    const { world, node, instanceActions } = await start()
    const { id } = await open(world, node)
    const whyOf = async (operator: typeof ANN) => heard(world, instanceActions.why(operator, id, 'approve'))
    expect(await whyOf(ANN)).toMatchObject([{ name: 'approve', canFire: true }])
    const [explained] = await whyOf(EVE)
    expect(explained?.canFire).toBe(false)
    expect(explained?.rules.filter(({ holds }) => !holds)).toEqual([
      { rule: 'permission', holds: false, message: 'the caller lacks the permission triage.approve' },
    ])
    const all = await heard(world, instanceActions.why(ANN, id, null))
    expect(all.map(({ name, canFire }) => [name, canFire])).toEqual([
      ['prioritise', false],
      ['approve', true],
      ['reject', true],
      ['expedite', false],
    ])
    expect(await refusal(world, instanceActions.why(ANN, id, 'rejekt'))).toMatchObject({
      code: 'unknown_transition',
    })
  })
})

describe('who may see', () => {
  const guarded = {
    ...TRIAGE,
    security: {
      permissions: ['triage.see', 'triage.approve'],
      required: ['triage.see'],
      encrypt: [],
      audit: 'full',
    },
  } as const

  test('[HD2] without the required permission nothing of an instance is seen or changed', async () => {
    const { world, node, operatorApi, instanceActions, reading } = await start(guarded)
    const { id } = await open(world, node)
    const denied = { code: 'permission_needed', details: { needed: 'triage.see' } }
    for (const asking of [
      () => instanceActions.fire(ANN, id, { transition: 'reject', input: null, comment: null }),
      () => instanceActions.move(ANN, id, { from: { review: 1 }, to: { closed: 1 }, reason: null }),
      () => instanceActions.edit(ANN, id, { changes: [{ path: 'data.x', value: 1 }], reason: null }),
      () => instanceActions.cancel(ANN, id, { reason: null }),
      () => instanceActions.retry(ANN, id, { firing: null, reason: null }),
      () => instanceActions.why(ANN, id, null),
      () => reading.one(ANN, id),
      () => reading.history(ANN, id, { after: 0, limit: 10 }),
      () => reading.at(ANN, id, { sequence: 1 }),
      () => operatorApi.migrations.one(ANN, id, { dryRun: true, reason: null }),
      async () => operatorApi.one(ANN, 'triage'),
    ])
      expect(await refusal(world, asking()), String(asking)).toMatchObject(denied)
    expect((await look(world, { id })).marking).toEqual({ review: 1 })
    expect((await heard(world, reading.list(ANN, { cursor: null, limit: 10 }))).items).toEqual([])
    expect(operatorApi.list(ANN)).toEqual([])
    expect(reading.maySee(ANN, 'triage')).toBe(false)
    const seer = { ...ANN, permissions: ['triage.see'] }
    expect((await heard(world, reading.list(seer, { cursor: null, limit: 10 }))).items).toHaveLength(1)
    expect(operatorApi.list(seer)).toHaveLength(1)
    expect(operatorApi.list(ADA)).toHaveLength(1)
  })

  test('[HD3] a manual start needs the permission of its trigger', async () => {
    const { world, operatorApi } = await start()
    const request = { input: { order: 'o9' } }
    expect(await refusal(world, operatorApi.start(ANN, 'triage', request))).toMatchObject({
      code: 'permission_needed',
      message: 'starting triage needs the permission triage.start',
    })
    const starter = { ...ANN, permissions: ['triage.start'] }
    expect(await refusal(world, operatorApi.start(starter, 'triage', { input: {} }))).toMatchObject({
      code: 'invalid_input',
    })
    const { instanceId } = await heard(world, operatorApi.start(starter, 'triage', request))
    expect(await look(world, { id: instanceId })).toMatchObject({ data: { order: 'o9' } })
    expect(await refusal(world, operatorApi.start(starter, 'triag', request))).toMatchObject({
      code: 'not_found',
    })
  })

  test('[HD7] encrypted values are hidden from viewers, in data, history, results and the past', async () => {
    const { world, node, instanceActions, reading } = await start(SEALED)
    const { id } = await open(world, node)
    await heard(
      world,
      instanceActions.edit(ANN, id, {
        changes: [{ path: 'data.email', value: 'ann@example.com' }],
        reason: 'moved',
      }),
    )
    const seen = await heard(world, reading.one(EVE, id))
    expect(seen.instance.data).toMatchObject({ order: 'o-d1', email: '[hidden]' })
    expect(seen.instance.done.map(({ result }) => result)).toEqual(['[hidden]'])
    const history = await heard(world, reading.history(EVE, id, { after: 0, limit: 100 }))
    const past = await heard(world, reading.at(EVE, id, { sequence: 1 }))
    expect(past.past.data).toMatchObject({ email: '[hidden]', order: 'o-d1' })
    for (const text of [seen, history, past.past, past.entries].map((one) => JSON.stringify(one)))
      expect(text).not.toMatch(/@example\.com/)
    expect(node.log.messages.filter(({ name }) => name === 'instance.sensitive-read')).toEqual([])
    const clear = await heard(world, reading.one(ANN, id))
    expect(clear.instance.data).toMatchObject({ email: 'ann@example.com' })
    const before = await heard(world, reading.at(ANN, id, { sequence: 1 }))
    expect(before.past.data).toMatchObject({ email: SECRET })
    expect(node.log.messages.filter(({ name }) => name === 'instance.sensitive-read')).toHaveLength(2)
    expect(JSON.stringify(node.log.messages)).not.toMatch(/@example\.com/)
  })
})

describe('moving and editing', () => {
  test('[HD4] tokens are moved past every transition, with who and why', async () => {
    const { world, node, instanceActions } = await start()
    const instance = await open(world, node)
    const moved = await heard(
      world,
      instanceActions.move(BOB, instance.id, {
        from: { review: 1 },
        to: { rejected: 1 },
        reason: 'a duplicate',
      }),
    )
    expect(moved).toMatchObject({ state: 'failed', marking: { rejected: 1 } })
    expect(await entries(world, instance)).toContainEqual(
      expect.objectContaining({
        type: 'moved',
        took: ['review'],
        put: ['rejected'],
        actor: 'bob',
        comment: 'a duplicate',
      }),
    )
  })

  test('[HD3] [HD5] an unknown place is refused with a suggestion', async () => {
    const { world, node, instanceActions } = await start()
    const { id } = await open(world, node)
    const before = await world.reads.instance(id)
    const move = (from: Record<string, number>, to: Record<string, number>) =>
      refusal(world, instanceActions.move(BOB, id, { from, to, reason: null }))
    expect(await move({ review: 1 }, { close: 1 })).toMatchObject({
      code: 'unknown_place',
      message: 'the workflow triage has no place ‘close’; did you mean ‘closed’?',
    })
    expect(await move({ review: 2 }, { closed: 2 })).toMatchObject({ code: 'cannot_fire' })
    expect(await world.reads.instance(id)).toEqual(before)
  })

  test('[HD5] a preview of an edit shows the changes, and changes nothing', async () => {
    const { world, node, instanceActions } = await start()
    const { id } = await open(world, node)
    const before = await world.reads.instance(id)
    const request = {
      changes: [{ path: 'data.urgent', value: true }, { path: 'data.email' }],
      reason: 'called in',
    }
    expect(await heard(world, instanceActions.previewEdit(ANN, id, request))).toEqual({
      changes: expect.arrayContaining([
        { path: 'data.urgent', after: true },
        { path: 'data.email', before: SECRET },
      ]),
      fires: ['expedite'],
      marking: { closed: 1 },
    })
    expect(await world.reads.instance(id)).toEqual(before)
    const edited = await heard(world, instanceActions.edit(ANN, id, request))
    expect(edited).toMatchObject({ state: 'completed', data: { urgent: true } })
    const line = node.log.messages.find(({ name }) => name === 'instance.edited')
    expect(line?.fields).toMatchObject({
      paths: ['data.urgent', 'data.email'],
      actor: 'ann',
      reason: 'called in',
    })
    expect(JSON.stringify(node.log.messages)).not.toContain(SECRET)
  })

  test('[HD5] an edit outside the data is refused', async () => {
    const { world, node, instanceActions } = await start()
    const { id } = await open(world, node)
    const edit = instanceActions.edit(ANN, id, {
      changes: [{ path: 'marking.review', value: 2 }],
      reason: null,
    })
    expect(await refusal(world, edit)).toMatchObject({ code: 'invalid_input' })
  })
})

describe('cancelling', () => {
  test('[HD4] an instance is cancelled, with who and why', async () => {
    const { world, node, instanceActions } = await start()
    const instance = await open(world, node)
    const ended = await heard(world, instanceActions.cancel(BOB, instance.id, { reason: 'not wanted' }))
    expect(ended.state).toBe('cancelled')
    expect(await last(world, instance)).toMatchObject({
      type: 'cancelled',
      actor: 'bob',
      comment: 'not wanted',
    })
  })

  test('[HD6] not while the outcome of an effect is unknown', async () => {
    const { world, node, instanceActions } = await start(TRIAGE, () => LOST)
    const { id } = await open(world, node)
    const [item] = await world.reads.workOfInstance(id, { all: true })
    expect(item?.state).toBe('parked')
    expect(await refusal(world, instanceActions.cancel(BOB, id, { reason: null }))).toMatchObject({
      code: 'in_doubt',
      details: { workId: item?.id, state: 'unknown' },
    })
    expect((await look(world, { id })).state).toBe('active')
  })

  test('[HD6] nor while a call is in progress', async () => {
    const { world, node, instanceActions } = await start(TRIAGE, () => null)
    const { id } = await open(world, node)
    expect(called(world)).toEqual(['prioritise'])
    expect(await refusal(world, instanceActions.cancel(BOB, id, { reason: null }))).toMatchObject({
      code: 'in_doubt',
      details: { state: 'reserved' },
    })
  })
})

describe('retrying', () => {
  const failing = (from: number) => (request: Parameters<typeof made>[0], call: number) =>
    call < from ? answered(422) : made(request)

  test('[HD8] a failed step continues by its dead letter', async () => {
    const { world, node, instanceActions } = await start(TRIAGE, failing(2))
    const instance = await open(world, node)
    expect((await look(world, instance)).attention).toBe('step_failed')
    const retried = await heard(
      world,
      instanceActions.retry(ANN, instance.id, { firing: null, reason: 'vendor mended' }),
    )
    expect(retried.firing).toBe(1)
    await world.pass()
    expect(await look(world, instance)).toMatchObject({ marking: { review: 1 }, attention: null })
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 10 })).items
    expect(letter?.state).toBe('resolved')
    expect((await entries(world, instance)).filter(({ type }) => type === 'retried')).toMatchObject([
      { name: 'prioritise', actor: 'ann', comment: 'vendor mended' },
    ])
    expect(node.log.messages).toContainEqual(expect.objectContaining({ name: 'instance.retried' }))
  })

  test('[HD8] and by a new job if the dead letter was discarded', async () => {
    const { world, node, instanceActions } = await start(TRIAGE, failing(2))
    const instance = await open(world, node)
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 10 })).items
    if (letter === undefined) throw new Error('there is no letter')
    await heard(world, node.engine.discard(ANN.tenant, letter.id, { actor: 'ann', reason: 'wrong' }))
    await heard(world, instanceActions.retry(ANN, instance.id, { firing: 1, reason: null }))
    await world.pass()
    expect(await look(world, instance)).toMatchObject({ marking: { review: 1 }, attention: null })
    expect(called(world)).toEqual(['prioritise', 'prioritise'])
  })

  test('[HD8] one that is replayed at the same moment continues by one job', async () => {
    const { world, node, instanceActions } = await start(TRIAGE, failing(2))
    const instance = await open(world, node)
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 10 })).items
    if (letter === undefined) throw new Error('there is no letter')
    const control = (verb: 'pause' | 'resume') =>
      node.engine.definitions.control(ANN.tenant, 'Workflow', instance.workflow, verb, {
        by: 'ann',
        reason: null,
      })
    await heard(world, control('pause'))
    await heard(world, node.engine.replay(ANN.tenant, letter.id, { force: true }))
    const retry = instanceActions.retry(ANN, instance.id, { firing: 1, reason: null })
    expect(await refusal(world, retry)).toMatchObject({ code: 'conflict' })
    await heard(world, control('resume'))
    await world.pass()
    expect(await look(world, instance)).toMatchObject({ marking: { review: 1 }, attention: null })
  })

  test('[HD8] a step that did not fail is not retried', async () => {
    const { world, node, instanceActions } = await start()
    const { id } = await open(world, node)
    const retry = (firing: number | null) =>
      refusal(world, instanceActions.retry(ANN, id, { firing, reason: null }))
    expect(await retry(null)).toMatchObject({ code: 'firing_gone' })
    expect(await retry(1)).toMatchObject({ code: 'firing_gone', message: 'no firing 1 is open' })
  })
})

test('[HD10] an instance is shown as it was at any step and at any instant', async () => {
  const { world, node, instanceActions, reading } = await start()
  const { id } = await open(world, node)
  const opened = world.now()
  await world.pass(60_000)
  const edit = { changes: [{ path: 'data.order', value: 'o2' }], reason: 'typo' }
  await heard(world, instanceActions.edit(ANN, id, edit))
  const at = async (until: Parameters<typeof reading.at>[2]) =>
    (await heard(world, reading.at(ANN, id, until))).past
  expect(await at({ sequence: 1 })).toMatchObject({ marking: { incoming: 1 }, data: { order: 'o-d1' } })
  expect(await at({ at: opened })).toMatchObject({ marking: { review: 1 }, data: { order: 'o-d1' } })
  expect(await at({ at: world.now() })).toMatchObject({ data: { order: 'o2', priority: 'v-prioritise' } })
  expect(await refusal(world, reading.at(ANN, id, { at: 0 }))).toMatchObject({ code: 'not_found' })
  expect(await refusal(world, reading.at(ANN, id, { sequence: 0 }))).toMatchObject({ code: 'not_found' })
})
