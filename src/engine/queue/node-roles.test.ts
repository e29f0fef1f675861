import { describe, expect, test } from 'vitest'
import type { DefinitionDocument, SourceDocument } from '../../core/definitions/documents/index.ts'
import { HOUR, MINUTE } from '../../core/foundation/time/index.ts'
import type { Role } from '../../core/queue/node-role/index.ts'
import { accept, CREATED, makeWorld, ROUTE, SOURCE, type World, workOf } from '../engine.fixture.ts'
import { HOOK, SECRET } from '../webhooks/deliveries/deliveries.fixture.ts'
import { TRIAGE } from '../workflows/operator-actions/instance-actions.fixture.ts'

const TICK: SourceDocument = {
  ...SOURCE,
  name: 'tick',
  verify: { scheme: 'closed' },
  subject: 'schedule.tick',
  event: { id: null, objectType: null, objectId: null, occurredAt: null },
  dedup: { by: null, windowMs: HOUR },
  schedule: { cron: '* * * * *', zone: 'UTC', missed: 'once', data: null },
}

function nodeOf(world: World, roles: readonly Role[], documents: readonly DefinitionDocument[]) {
  return world.node({ name: roles.join('-'), documents, config: { roles: new Set(roles) } })
}

const callers = (world: World) => world.calls.map(({ node, request }) => [node, new URL(request.url).host])

describe('roles', () => {
  test('[ND6] events that one node receives are processed only by nodes with the role', async () => {
    const world = makeWorld(() => CREATED, [SECRET])
    const documents = [SOURCE, ROUTE, HOOK]
    const ingest = await nodeOf(world, ['ingest'], documents)
    const id = await accept(world, ingest)
    await world.pass(10 * MINUTE)
    expect(world.calls).toEqual([])
    const waiting = await world.reads.workOfEvent(id)
    expect(waiting.map(({ state }) => state)).toEqual(['ready', 'ready'])
    await nodeOf(world, ['deliver'], documents)
    await world.pass(MINUTE)
    expect(callers(world)).toEqual([['deliver', 'crm.example']])
    await nodeOf(world, ['work'], documents)
    await world.pass(MINUTE)
    expect(callers(world)).toEqual([
      ['deliver', 'crm.example'],
      ['work', 'vendor.example'],
    ])
    const settled = await world.reads.workOfEvent(id)
    expect(settled.map(({ state }) => state)).toEqual(['done', 'done'])
  })

  test('[ND6] jobs are leased on insert only where the accepting node may run them', async () => {
    const world = makeWorld(() => null, [SECRET])
    const node = await nodeOf(world, ['ingest', 'deliver'], [SOURCE, ROUTE, HOOK])
    const id = await accept(world, node)
    const items = await world.reads.workOfEvent(id)
    expect(items.map(({ consumer, state }) => [consumer, state]).sort()).toEqual([
      ['route:book', 'ready'],
      ['subscription:crm', 'leased'],
    ])
  })

  test('[ND6] workflow steps run on worker nodes', async () => {
    const world = makeWorld(() => CREATED)
    const documents = [SOURCE, TRIAGE]
    const ingest = await nodeOf(world, ['ingest', 'api', 'schedule', 'deliver'], documents)
    await accept(world, ingest)
    await world.pass(5 * MINUTE)
    expect(world.calls).toEqual([])
    await nodeOf(world, ['work'], documents)
    await world.pass(MINUTE)
    expect(new Set(world.calls.map(({ node }) => node))).toEqual(new Set(['work']))
  })

  test('[ND6] jobs of a removed consumer are left to nodes with its role', async () => {
    const world = makeWorld(() => CREATED)
    const ingest = await nodeOf(world, ['ingest'], [SOURCE, ROUTE])
    const id = await accept(world, ingest)
    await nodeOf(world, ['deliver'], [SOURCE])
    await world.pass(5 * MINUTE)
    expect(await workOf(world, id)).toMatchObject({ state: 'ready', attempts: 0 })
    await nodeOf(world, ['work'], [SOURCE])
    await world.pass(5 * MINUTE)
    expect(await workOf(world, id)).toMatchObject({ state: 'done' })
    expect(new Set(world.calls.map(({ node }) => node))).toEqual(new Set(['work']))
  })

  test('[ND7] schedules fire on nodes with the role', async () => {
    const world = makeWorld(() => CREATED)
    const count = async () => (await world.reads.events({ cursor: null, limit: 50 })).items.length
    await nodeOf(world, ['ingest', 'api', 'work', 'deliver'], [TICK])
    await world.pass(3 * MINUTE)
    expect(await count()).toBe(0)
    await nodeOf(world, ['schedule'], [TICK])
    await world.pass(3 * MINUTE)
    expect(await count()).toBe(3)
  })
})
