import { describe, expect, test } from 'vitest'
import type {
  RouteDocument,
  TriggerDocument,
  WorkflowDocument,
} from '../../../core/definitions/documents/index.ts'
import { makeWorld, ROUTE, SOURCE, type World } from '../../engine.fixture.ts'
import { CASE, instancesOf, itemsOf, place, sender } from '../order-workflow.fixture.ts'

const MINUTE = 60_000

const TIMED: TriggerDocument = {
  id: '0',
  schedule: { cron: '* * * * *', zone: 'UTC', missed: 'once' },
  action: 'create',
  where: null,
  correlate: {},
  map: { 'data.slot': 'payload.slot' },
  bufferMs: 0,
}
const EVERY_MINUTE: WorkflowDocument = {
  ...CASE,
  name: 'minutely',
  places: [place('open', 'waiting'), place('closed', 'final')],
  triggers: [TIMED],
}

const eventsOf = async (world: World, subject: string) =>
  (await world.store.system('verification').dump()).events.filter((event) => event.subject === subject)

describe('a scheduled trigger', () => {
  test('[TG9] starts one instance per slot, over several nodes and a crash', async () => {
    const world = makeWorld()
    const documents = [SOURCE, EVERY_MINUTE]
    const one = await world.node({ name: 'one', documents })
    await world.node({ name: 'two', documents })
    await world.pass(2 * MINUTE)
    one.crash()
    await world.pass(2 * MINUTE)
    await world.pass(5_000)
    const slots = (await instancesOf(world)).map(({ data }) => data.slot)
    expect(slots.length).toBeGreaterThanOrEqual(3)
    expect(new Set(slots).size).toBe(slots.length)
    expect(await eventsOf(world, 'workflow.minutely.scheduled')).toHaveLength(slots.length)
  })

  test('[TG23] beyond `maxInstances` a slot is skipped, listed and logged', async () => {
    const world = makeWorld()
    const schedule = { ...TIMED.schedule!, maxInstances: 1 }
    const workflow = { ...EVERY_MINUTE, triggers: [{ ...TIMED, schedule }] }
    const node = await world.node({ documents: [SOURCE, workflow] })
    await world.pass(3 * MINUTE)
    expect(await instancesOf(world)).toHaveLength(1)
    const events = await eventsOf(world, 'workflow.minutely.scheduled')
    expect(events.length).toBeGreaterThan(1)
    const [last] = await itemsOf(world, events.at(-1)!.id)
    expect(last).toMatchObject({ state: 'skipped', lastError: 'MAX_INSTANCES' })
    expect(node.log.controls.some(({ action }) => action === 'MAX_INSTANCES')).toBe(true)
  })

  test('[TG18] of a paused workflow does not fire', async () => {
    const world = makeWorld()
    await world.node({ documents: [SOURCE, { ...EVERY_MINUTE, status: 'paused' }] })
    await world.pass(3 * MINUTE)
    expect(await eventsOf(world, 'workflow.minutely.scheduled')).toEqual([])
  })
})

const route = (name: string, kind: string, action: RouteDocument['do']): RouteDocument => ({
  ...ROUTE,
  name,
  on: [`shop.events.${kind}`],
  key: null,
  do: action,
})
const PLANS = route('plans', 'planned', {
  type: 'schedule',
  name: 'sync-{{ payload.order }}',
  cron: '* * * * *',
  zone: 'UTC',
  emit: 'sync.due',
  data: { order: '{{ payload.order }}' },
})
const UNPLANS = route('unplans', 'unplanned', { type: 'unschedule', name: 'sync-{{ payload.order }}' })

describe('a timetable', () => {
  test('[TG24] is created by an action with its ledger entry, and fires until it is removed', async () => {
    const world = makeWorld()
    const node = await world.node({ documents: [SOURCE, PLANS, UNPLANS] })
    const send = sender(world, node)
    const eventId = await send('planned', 'o1')
    const [item] = await itemsOf(world, eventId)
    expect(item).toMatchObject({ state: 'done' })
    expect(await world.reads.ledger(item!.key!)).toMatchObject({ state: 'done' })
    await world.pass(2 * MINUTE)
    const due = await eventsOf(world, 'sync.due')
    expect(due.map(({ data }) => JSON.parse(data))).toEqual([{ order: 'o1' }, { order: 'o1' }])
    expect(due[0]).toMatchObject({ source: 'route:plans', causationId: eventId })
    await send('unplanned', 'o1')
    await world.pass(3 * MINUTE)
    expect(await eventsOf(world, 'sync.due')).toHaveLength(2)
    expect(await world.reads.record('timetable', 'sync-o1')).toBeNull()
  })

  test('[TG25] created again is replaced: one per name, with the last content', async () => {
    const world = makeWorld()
    const other = { ...PLANS, name: 'plans2', on: ['shop.events.replanned'] }
    const documents = [
      SOURCE,
      PLANS,
      { ...other, do: { ...PLANS.do, emit: 'sync.other' } as RouteDocument['do'] },
    ]
    const send = sender(world, await world.node({ documents }))
    await send('planned', 'o1')
    await send('replanned', 'o1')
    await world.pass(2 * MINUTE)
    expect(await eventsOf(world, 'sync.due')).toEqual([])
    expect(await eventsOf(world, 'sync.other')).toHaveLength(2)
  })

  test('[TG26] loses no slot and duplicates none when its node dies and others take over', async () => {
    const world = makeWorld()
    const documents = [SOURCE, PLANS]
    const one = await world.node({ name: 'one', documents })
    await sender(world, one)('planned', 'o1')
    one.crash()
    await world.pass(2 * MINUTE)
    await world.node({ name: 'two', documents })
    await world.node({ name: 'three', documents })
    await world.pass(MINUTE)
    const slots = (await eventsOf(world, 'sync.due')).map(({ occurredAt }) => occurredAt)
    // Slots that passed meanwhile fire once, and then each slot.
    expect(slots).toHaveLength(2)
    expect(new Set(slots).size).toBe(2)
  })
})
