import { expect, test } from 'vitest'
import { AppError } from '../core/foundation/errors/index.ts'
import type { WorkId } from '../core/foundation/ids/index.ts'
import type { WorkRow } from '../core/queue/work/index.ts'
import { makeDefinitionWorld } from './definitions.fixture.ts'

test('[LN6] [LN8] who holds a lane up is listed, and leaving it needs a reason', async () => {
  const leaving: unknown[] = []
  const world = makeDefinitionWorld({
    lanes: {
      held: async () => ({ items: [{ work: HOLDER, waiting: 2 }], nextCursor: null }),
      leave: async (...args) => {
        leaving.push(args)
        throw new AppError('conflict', 'the item holds no lane up')
      },
    },
  })
  const held = await world.get('/lanes/held')
  expect(held.body.items).toMatchObject([
    { route: 'book', lane: 'o1', waiting: 2, work: { id: HOLDER.id, lane: 'o1', holdsLane: true } },
  ])
  const without = await world.post(`/work/${HOLDER.id}/leave-lane`, {})
  expect(without.status).toBe(400)
  expect(leaving).toEqual([])
  const refused = await world.post(`/work/${HOLDER.id}/leave-lane`, { reason: 'it is gone' })
  expect(refused.status).toBe(409)
  expect(leaving).toHaveLength(1)
  expect(world.faults).toEqual([])
})

const HOLDER: WorkRow = {
  id: 'wrk_0197c3f0-6c00-7000-8000-0097bf2f1e4d' as WorkId,
  tenant: 'default' as WorkRow['tenant'],
  kind: 'route',
  consumer: 'route:book',
  definition: 'sha256:1',
  codeHash: null,
  eventId: 'evt_0197c3f0-6c00-7000-8000-0097bf2f1e4d' as WorkRow['eventId'],
  state: 'dead',
  dueAt: 0,
  owner: null,
  epoch: 1,
  alone: false,
  createdAt: 0,
  expiresAt: 1,
  processedAt: 1,
  replayOf: null,
  element: null,
  lane: 'o1',
  hasPlace: true,
  isFrozen: false,
  into: null,
  generation: 1,
  instance: null,
  step: null,
  attempts: 1,
  waits: 0,
  losses: 0,
  key: 'k',
  class: 'validation',
  lastError: 'answered 400',
  effectRef: null,
  httpStatus: 400,
  durationMs: 1,
}
