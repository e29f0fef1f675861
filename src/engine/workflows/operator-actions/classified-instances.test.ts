// What the classification and the audit level of a workflow mean for its instances.

import { describe, expect, test } from 'vitest'
import type { WorkflowDocument } from '../../../core/definitions/documents/index.ts'
import { ENCRYPTED_MARK } from '../../../core/events/sensitive/index.ts'
import type { InstanceRow } from '../../../core/workflows/instance/index.ts'
import { makeWorld, type World } from '../../engine.fixture.ts'
import { made } from '../saga.fixture.ts'
import { ADA, ANN, documents, EVE, heard, open, refusal, SECRET, TRIAGE } from './instance-actions.fixture.ts'

type Security = NonNullable<WorkflowDocument['security']>

async function start(security: Partial<Security>) {
  const world = makeWorld(made)
  const { security: usual } = TRIAGE
  const workflow = { ...TRIAGE, security: { ...(usual as Security), ...security } }
  const node = await world.node({ documents: documents(workflow) })
  const instance = await open(world, node)
  const row = await world.reads.instance(instance.id)
  const history = await world.reads.instanceHistory(instance.id, { after: 0, limit: 100 })
  return { world, node, id: instance.id, row, history, ...node.engine.workflows }
}

/** Of the definition that an instance is pinned to. */
async function languageStored(world: World, row: InstanceRow | null): Promise<number | undefined> {
  return (await world.reads.record('definition', row?.definition ?? ''))?.version
}

const ALL = { enforced: true, encrypt: ['data', 'metadata'] } as const
const CONFIDENTIAL = { ...ALL, classification: 'confidential' } as const
const RESTRICTED = { ...ALL, classification: 'restricted' } as const

describe('[HD12] classification', () => {
  test.each(['public', 'internal'] as const)('%s changes nothing', async (classification) => {
    const { row, reading, id } = await start({ classification, enforced: true })
    expect(row?.body).toContain(SECRET)
    expect((await reading.one(EVE, id)).instance.data.email).toBe(SECRET)
  })

  test('confidential: no value is stored in clear, and viewers get none', async () => {
    const { row, history, reading, id } = await start(CONFIDENTIAL)
    expect(row?.body).not.toContain(SECRET)
    expect(row?.body).not.toContain('"jo"')
    expect(history.map(({ body }) => body).join()).not.toContain(SECRET)
    expect((await reading.one(ANN, id)).instance.data).toMatchObject({ email: SECRET, order: 'o-d1' })
    const { data, metadata } = (await reading.one(EVE, id)).instance
    expect(data).toEqual({ order: '[hidden]', email: '[hidden]', priority: '[hidden]' })
    expect(metadata).toEqual({ requestedBy: '[hidden]' })
  })

  test('restricted: only admins get values, also in answers to actions', async () => {
    const { world, reading, instanceActions, id } = await start(RESTRICTED)
    expect((await reading.one(ADA, id)).instance.data.email).toBe(SECRET)
    expect((await reading.one(ANN, id)).instance.data.email).toBe('[hidden]')
    const entries = await reading.history(ANN, id, { after: 0, limit: 100 })
    expect(JSON.stringify(entries)).not.toContain(SECRET)
    const edit = { changes: [{ path: 'data.email', value: 'x@example.com' }], reason: 'moved' }
    const preview = await heard(world, instanceActions.previewEdit(ANN, id, edit))
    expect(preview.changes).toEqual([{ path: 'data.email', hidden: true }])
    const edited = await heard(world, instanceActions.edit(ANN, id, edit))
    expect(edited.data.email).toBe('[hidden]')
    expect((await reading.one(ADA, id)).instance.data.email).toBe('x@example.com')
  })

  test('its steps and conditions work with the values', async () => {
    const { world, instanceActions, reading, id } = await start(RESTRICTED)
    const note = { transition: 'approve', input: { note: 'fine' }, comment: null }
    const approved = await heard(world, instanceActions.fire(ADA, id, note))
    expect(approved).toMatchObject({
      state: 'completed',
      data: { note: 'fine', priority: expect.anything() },
    })
    expect((await reading.one(ADA, id)).instance.data.note).toBe('fine')
  })
})

describe('[HD14] a classification that was stored as a label', () => {
  test.each(['confidential', 'restricted'] as const)('%s encrypts nothing, and hides nothing', async (it) => {
    const { world, row, history, reading, instanceActions, id } = await start({ classification: it })
    expect(await languageStored(world, row)).toBe(1)
    expect(row?.body).toContain(SECRET)
    expect(row?.body).not.toContain(ENCRYPTED_MARK)
    expect(history.map(({ body }) => body).join()).toContain(SECRET)
    expect((await reading.one(EVE, id)).instance.data.email).toBe(SECRET)
    const edit = { changes: [{ path: 'data.order', value: 'x' }], reason: 'moved' }
    expect((await heard(world, instanceActions.edit(ANN, id, edit))).data).toMatchObject({ order: 'x' })
    expect((await world.reads.instance(id))?.body).not.toContain(ENCRYPTED_MARK)
  })

  test('still encrypts what its document names, and operators read it', async () => {
    const { row, reading, id } = await start({ classification: 'restricted', encrypt: ['data.email'] })
    expect(row?.body).not.toContain(SECRET)
    expect(row?.body).toContain('"o-d1"')
    expect((await reading.one(ANN, id)).instance.data).toMatchObject({ email: SECRET, order: 'o-d1' })
    expect((await reading.one(EVE, id)).instance.data).toMatchObject({ email: '[hidden]', order: 'o-d1' })
  })

  test('is in another language than one that is enforced, which nodes of the former version leave alone', async () => {
    const { world, row } = await start(CONFIDENTIAL)
    expect(await languageStored(world, row)).toBe(4)
    expect(row?.body).toContain(ENCRYPTED_MARK)
  })
})

describe('[HD13] the audit level', () => {
  const entriesOf = async (audit: Security['audit']) => {
    const { world, id, reading, instanceActions } = await start({ audit })
    const edit = { changes: [{ path: 'data.order', value: 'x' }], reason: 'wrong' }
    await heard(world, instanceActions.edit(ANN, id, edit))
    const note = { transition: 'approve', input: { note: 'fine' }, comment: null }
    await heard(world, instanceActions.fire(ANN, id, note))
    const entries = await reading.history(ADA, id, { after: 0, limit: 100 })
    return { world, reading, id, entries: entries.map(({ entry }) => entry), raw: entries }
  }

  test('full has values, detailed paths, basic neither', async () => {
    const [full, changes, basic] = [
      await entriesOf('full'),
      await entriesOf('changes'),
      await entriesOf('basic'),
    ]
    const edited = (of: typeof full) => of.entries.find(({ type }) => type === 'edited')?.changes
    expect(edited(full)).toEqual([{ path: 'data.order', before: 'o-d1', after: 'x' }])
    expect(edited(changes)).toEqual([{ path: 'data.order', hidden: true }])
    expect(edited(basic)).toEqual([{ path: 'data', hidden: true }])
    const types = (of: typeof full) => of.entries.map(({ type }) => type)
    expect(types(changes)).toEqual(types(full))
    expect(types(basic)).toEqual(types(full).filter((type) => type !== 'learned'))
    expect(basic.entries.find(({ type }) => type === 'edited')).toMatchObject({
      actor: 'ann',
      comment: 'wrong',
    })
    const past = await basic.reading.at(ADA, basic.id, { sequence: basic.raw.at(-1)!.sequence })
    expect(past.past).toMatchObject({ marking: { closed: 1 }, isWhole: false })
  })

  test('none has the beginning, the end and what users did, numbered without gaps', async () => {
    const { world, entries, raw, reading, id } = await entriesOf('none')
    expect(entries.map(({ type }) => type)).toEqual(['created', 'edited', 'fired'])
    expect(raw.map(({ sequence }) => sequence)).toEqual([1, 2, 3])
    const { code } = await refusal(world, reading.at(ADA, id, { sequence: 1 }))
    expect(code).toBe('conflict')
    expect((await reading.one(ADA, id)).instance).toMatchObject({
      state: 'completed',
      data: { order: 'x' },
    })
  })
})
