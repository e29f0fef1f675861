import { expect, test } from 'vitest'
import type {
  DeadLetterId,
  EventId,
  Incarnation,
  TenantId,
  WorkId,
} from '../../../core/foundation/ids/index.ts'
import { EMPTY_NOTE } from '../../../core/queue/work/index.ts'
import type { Commit, Guard, Write } from '../../../ports/store.ts'
import { collectKeys, touchesOf } from './keys.ts'

const owner = 1 as Incarnation
const counters = { attempts: 0, waits: 0, losses: 0 }
const work = (id: string) => id as WorkId
const commitOf = (parts: Partial<Commit>): Commit => ({
  tenant: 'a' as TenantId,
  guards: [],
  writes: [],
  ...parts,
})
const touchesOfGuard = (guard: Guard) => touchesOf(commitOf({ guards: [guard] }))
const touchesOfWrite = (write: object) => touchesOf(commitOf({ writes: [write as Write] }))

test('rows that guards read are touched, owners are not', () => {
  expect(touchesOfGuard({ g: 'lease', work: work('w'), owner, epoch: 1 })).toEqual(['work 1:a1:w'])
  expect(touchesOfGuard({ g: 'work', work: work('w'), state: 'dead', epoch: 1 })).toEqual(['work 1:a1:w'])
  expect(touchesOfGuard({ g: 'dedup', source: 's', key: 'k' })).toEqual(['dedup 1:a1:s1:k'])
  expect(touchesOfGuard({ g: 'unreserved', key: 'k' })).toEqual(['ledger 1:a1:k'])
  expect(touchesOfGuard({ g: 'version', of: 'deadLetter', key: 'd', version: 1 })).toEqual([
    'deadLetter 1:a1:d',
  ])
  expect(touchesOfGuard({ g: 'version', of: 'setting', key: 'k', version: 1 })).toEqual([
    'record 1:a7:setting1:k',
  ])
  expect(touchesOfGuard({ g: 'ledger', key: 'k', state: 'done', work: work('w'), epoch: 1 })).toEqual([
    'ledger 1:a1:k',
  ])
  const versions = (['instance', 'correlation', 'orphan'] as const).flatMap((of) =>
    touchesOfGuard({ g: 'version', of, key: 'k', version: 1 }),
  )
  expect(versions).toEqual(['instance 1:a1:k', 'correlation 1:a1:k', 'orphan 1:a1:k'])
})

test('rows that writes change or create are touched', () => {
  const event = { id: 'e' as EventId, source: 's', dedupKey: 'k' }
  const progress = { work: work('w'), counters, note: EMPTY_NOTE }
  expect(touchesOfWrite({ w: 'event.append', event, dedupForMs: 1 })).toEqual([
    'event 1:a1:e',
    'dedup 1:a1:s1:k',
  ])
  expect(touchesOfWrite({ w: 'event.repeat', event: event.id, count: 1 })).toEqual(['event 1:a1:e'])
  expect(touchesOfWrite({ w: 'event.match', event: event.id, matched: 1 })).toEqual(['event 1:a1:e'])
  const added = { id: work('w'), eventId: event.id }
  expect(touchesOfWrite({ w: 'work.add', work: added, lease: owner })).toEqual([
    'work 1:a1:w',
    'event 1:a1:e',
  ])
  expect(touchesOfWrite({ w: 'work.settle', to: 'done', ...progress })).toEqual(['work 1:a1:w'])
  expect(touchesOfWrite({ w: 'work.again', delayMs: 0, ...progress })).toEqual(['work 1:a1:w'])
  expect(touchesOfWrite({ w: 'work.settle', to: 'skipped', place: { to: work('v') }, ...progress })).toEqual([
    'work 1:a1:w',
    'work 1:a1:v',
  ])
  expect(touchesOfWrite({ w: 'lane.leave', work: work('w') })).toEqual(['work 1:a1:w'])
  expect(touchesOfWrite({ w: 'failure.put', row: { id: 'f' } })).toEqual(['failure 1:a1:f'])
  expect(touchesOfWrite({ w: 'attempt.append', work: work('w') })).toEqual(['work 1:a1:w'])
  expect(touchesOfWrite({ w: 'ledger.reserve', entry: { key: 'k' } })).toEqual(['ledger 1:a1:k'])
  expect(touchesOfWrite({ w: 'ledger.done', entry: { key: 'k' } })).toEqual(['ledger 1:a1:k'])
  expect(touchesOfWrite({ w: 'ledger.settle', key: 'k', to: 'done' })).toEqual(['ledger 1:a1:k'])
  expect(touchesOfWrite({ w: 'ledger.observe', key: 'k' })).toEqual(['ledger 1:a1:k'])
  expect(touchesOfWrite({ w: 'deadLetter.put', row: { id: 'd' as DeadLetterId } })).toEqual([
    'deadLetter 1:a1:d',
  ])
  expect(touchesOfWrite({ w: 'instance.put', row: { id: 'i' } })).toEqual(['instance 1:a1:i'])
  expect(touchesOfWrite({ w: 'correlation.put', key: 'k' })).toEqual(['correlation 1:a1:k'])
  expect(touchesOfWrite({ w: 'correlation.delete', key: 'k' })).toEqual(['correlation 1:a1:k'])
  expect(touchesOfWrite({ w: 'orphan.put', row: { id: 'o' } })).toEqual(['orphan 1:a1:o'])
  expect(touchesOfWrite({ w: 'run.put', row: { id: 'r' } })).toEqual(['run 1:a1:r'])
  // Its instance's row is where several commits may collide.
  expect(touchesOfWrite({ w: 'history.append', rows: [{ instance: 'i', sequence: 1 }] })).toEqual([])
  expect(touchesOfWrite({ w: 'record.put', kind: 'setting', key: 'k' })).toEqual(['record 1:a7:setting1:k'])
})

test('the same names of two tenants are different keys, and a key counts once', () => {
  const guard: Guard = { g: 'unreserved', key: 'k' }
  const own = touchesOf(commitOf({ guards: [guard, guard] }))
  expect(own).toEqual(['ledger 1:a1:k'])
  expect(touchesOf(commitOf({ guards: [guard], tenant: 'b' as TenantId }))).not.toEqual(own)
})

test('lanes and escalations are shared: commits of one group may have them in common', () => {
  const event = 'e' as EventId
  const lane = { key: 'k', width: 1 }
  const added = { id: work('w'), eventId: event, consumer: 'c', lane }
  const add = { w: 'work.add', work: added, lease: null, delayMs: 0 }
  expect(touchesOfWrite(add)).toEqual(['work 1:a1:w', 'event 1:a1:e'])
  expect(touchesOfWrite({ ...add, inPlaceOf: work('v') })).toEqual([
    'work 1:a1:v',
    'work 1:a1:w',
    'event 1:a1:e',
  ])
  expect(touchesOfWrite({ w: 'escalation.raise', row: { id: 'x', cause: 'down' } })).toEqual([])
  expect(touchesOfWrite({ w: 'escalation.change', id: 'x' })).toEqual([])
})

test('a waiting job may get a position with every step of a lane, also for a job created in the commit', () => {
  const lane = { key: 'k', width: 1 }
  const added = { id: work('w'), eventId: 'e' as EventId, consumer: 'c', lane }
  const commit = commitOf({
    writes: [
      { w: 'work.add', work: added, lease: null, delayMs: 0 } as unknown as Write,
      { w: 'work.settle', work: work('w'), to: 'done', counters, note: EMPTY_NOTE },
      { w: 'lane.leave', work: work('v') },
    ],
  })
  const keys = collectKeys([commit])
  expect(keys.laneSteps).toEqual(['1:a1:c1:k', '1:a1:c1:k'])
  expect([...keys.movers.keys()]).toEqual(['1:a1:v'])
})
