import { describe, expect, test } from 'vitest'
import { makeWorld, SOURCE } from '../world.fixture.ts'
import { CASE, instancesOf, itemsOf, sender } from './case.fixture.ts'

async function begin(workflow = CASE) {
  const world = makeWorld()
  const node = await world.node({ documents: [SOURCE, workflow] })
  return { world, node, send: sender(world, node) }
}

describe('an event that begins a case', () => {
  test('[TG1] makes one instance, with what its trigger maps and the keys that it has', async () => {
    const { world, send } = await begin()
    const eventId = await send('ordered', 'o1')
    const [item, ...others] = await itemsOf(world, eventId)
    expect(others).toEqual([])
    expect(item).toMatchObject({ kind: 'trigger', consumer: 'workflow:order', step: '0', state: 'done' })
    const [instance] = await instancesOf(world)
    expect(item?.effectRef).toBe(instance?.id)
    expect(instance).toMatchObject({
      state: 'active',
      marking: { open: 1 },
      data: { order: 'o1', by: 'd1' },
      correlations: [{ name: 'order', value: 'o1' }],
      eventId,
    })
  })
})
