// Canonical events contain what their catalog shows: users write routes by the example.
import { expect, test } from 'vitest'
import { CANONICAL_EVENTS, type CanonicalSubject } from '../../core/events/canonical/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { accept, answered, CREATED, makeWorld, ROUTE, SOURCE, type World } from '../engine.fixture.ts'

const ORDERED = { ...ROUTE, name: 'ordered', on: ['shop.events.ordered'], order: { by: 'payload.order' } }

async function dataBySubject(world: World): Promise<Map<string, object>> {
  const { items } = await world.reads.events({ source: 'millrace', cursor: null, limit: 100 })
  const told = new Map<string, object>()
  for (const { id, subject } of items) {
    const event = await world.reads.event(id)
    if (event !== null) told.set(subject, JSON.parse(event.data))
  }
  return told
}

test('[FL8] each canonical event has the fields that its catalog shows', async () => {
  let status = 503
  const world = makeWorld(() => (status === 200 ? CREATED : answered(status)))
  const documents = [SOURCE, ROUTE, ORDERED]
  const node = await world.node({ documents, config: { sweepEveryMs: 60_000 } })
  for (const order of ['a', 'b', 'c', 'd', 'e', 'f']) {
    await accept(world, node, { kind: 'paid', id: order, order })
  }
  status = 422
  await accept(world, node, { kind: 'ordered', id: 'g', order: 'g' })
  status = 200
  await world.pass(120_000)
  const [escalation] = (await world.reads.escalations({ cursor: null, limit: 10 })).items
  const acknowledged = node.engine.escalations.acknowledge(DEFAULT_TENANT, escalation!.id, {
    actor: 'ann',
    note: null,
  })
  await world.pass()
  await acknowledged
  const told = await dataBySubject(world)
  expect([...told.keys()].sort()).toEqual(
    // Those of subscriptions are emitted by src/engine/webhooks/deliveries and src/engine/webhooks/subscriptions, those of
    // connections, their runs and their credentials by src/engine/connections and src/engine/connections/credentials, those of
    // circuits of workflows by src/engine/flow-control, those of pollers by src/engine/pollers.
    Object.keys(CANONICAL_EVENTS)
      .filter((subject) => /^integration\.(?!connection|credential|run|workflow|poller)/.test(subject))
      .sort(),
  )
  for (const [subject, data] of told) {
    const { example } = CANONICAL_EVENTS[subject as CanonicalSubject]
    expect(Object.keys(data).sort(), subject).toEqual(Object.keys(example).sort())
  }
})
