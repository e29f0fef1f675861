// N7, and the other promises about lanes: the next job starts after the one before it has ended, a job older than its lane
// does not run, a superseded job names the one that replaces it, and a list makes one job per element.
//
// The vendor's log is the oracle of starts; rows say only who is in whose way.

import type { RouteDocument } from '../src/core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type WorkId } from '../src/core/foundation/ids/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import type { Commit, StoreDump } from '../src/ports/store.ts'
import type { Data } from './data.ts'
import { short } from './node.ts'
import type { Observations } from './run-observations.ts'
import { parsePayload, routeOf } from './scenario.ts'

export interface LaneChecks {
  /** After the rows of a group are known: items that got a place without being named. */
  applied(commits: readonly Commit[]): void
  /** A call of the item begins; `isFirst`: it made none before. */
  started(work: WorkId, isFirst: boolean): void
}

export function makeLaneChecks({
  observations,
  data,
}: {
  readonly observations: Observations
  readonly data: Data
}): LaneChecks {
  /** Items by lane, in no order. */
  const lanes = new Map<string, Set<WorkId>>()
  /** Jobs that an operator released, so that they may run outside of their lane. */
  const left = new Set<WorkId>()
  /** The version of what was done last, by lane. */
  const versions = new Map<string, number>()

  const rowOf = (id: WorkId): WorkRow | null =>
    data.work(observations.works.get(id)?.tenant ?? DEFAULT_TENANT, id)

  const nameOf = ({ tenant, consumer, lane }: Pick<WorkRow, 'tenant' | 'consumer' | 'lane'>): string =>
    `${consumer} ${lane} ${tenant}`

  const see = (name: string) => {
    let places = 0
    for (const id of lanes.get(name) ?? []) {
      const row = rowOf(id)
      if (row === null) continue
      if (row.hasPlace) places += 1
      if (observations.works.get(id)?.state === 'waiting' && row.state === 'ready')
        observations.counts.promoted += 1
      if (observations.works.has(id)) observations.works.set(id, row)
    }
    const width = widthOf(observations, name)
    if (places > width) observations.violate('N7', `lane ${name} has ${places} places taken`)
  }

  const amountOf = (row: WorkRow): number | null => {
    const event = data.event(row.tenant, row.eventId)
    return event === null ? null : parsePayload(event.data).amount
  }

  const checkPointer = (id: WorkId, pointer: string | null) => {
    const row = rowOf(id)
    const survivor = pointer === null ? null : rowOf(pointer as WorkId)
    observations.counts.superseded += 1
    if (row === null) return
    if (survivor === null || survivor.lane !== row.lane || survivor.consumer !== row.consumer)
      observations.violate('N2', `work ${short(id)} gives way to no job of its lane`)
    else if (survivor.createdAt < row.createdAt)
      observations.violate('N2', `work ${short(id)} gives way to an older one`)
  }

  return {
    applied(commits) {
      const touched = new Set<string>()
      for (const { writes } of commits) {
        for (const write of writes) {
          if (write.w === 'work.add' && write.inPlaceOf !== undefined) left.add(write.inPlaceOf)
          const id = write.w === 'work.add' ? write.work.id : 'work' in write ? (write.work as WorkId) : null
          const row = id === null ? null : rowOf(id)
          if (row === null || row.lane === null) continue
          // Operators release only jobs that have ended.
          if (write.w === 'lane.leave' && isStuck(row)) left.add(row.id)
          const name = nameOf(row)
          lanes.set(name, (lanes.get(name) ?? new Set()).add(row.id))
          touched.add(name)
          if (write.w !== 'work.settle' || row.state !== write.to) continue
          if (write.note.lastError === 'SUPERSEDED') checkPointer(row.id, write.note.effectRef)
          if (write.note.lastError === 'STALE') observations.counts.stale += 1
          const amount = write.to === 'done' ? amountOf(row) : null
          if (amount !== null) versions.set(name, amount)
        }
      }
      for (const name of touched) see(name)
    },

    started(id, isFirst) {
      const row = rowOf(id)
      if (row === null || row.lane === null) return
      const name = nameOf(row)
      const { order, concurrency } = turnsOf(row)
      if (!row.hasPlace && !left.has(id)) observations.violate('N7', `work ${short(id)} runs without a place`)
      for (const other of lanes.get(name) ?? []) {
        const before = other === id ? null : rowOf(other)
        if (before === null) continue
        const isBefore = before.createdAt < row.createdAt && row.replayOf === null && !row.isFrozen
        const isHeldUp = order !== undefined && order.onBlocked === undefined && isBefore && row.hasPlace
        if (isHeldUp && isStuck(before) && !left.has(other))
          observations.violate(
            'N7',
            `work ${short(id)} starts although ${short(other)} is ${before.state} before it`,
          )
        else if (concurrency === undefined && before.hasPlace && row.hasPlace)
          observations.violate(
            'N7',
            `work ${short(id)} starts while ${short(other)} is ${before.state} in its lane`,
          )
        else if (isBefore && isFirst && before.state === 'waiting' && row.hasPlace)
          observations.violate('N7', `work ${short(id)} overtakes ${short(other)}`)
      }
      if (order?.stale !== 'skip' || !isFirst || row.generation > 1) return
      const [amount, done] = [amountOf(row), versions.get(name)]
      // A job that died with a reserve may have called.
      if ((observations.lost.get(id) ?? 0) > 0) return
      if (amount !== null && done !== undefined && amount < done && row.attempts === 0)
        observations.violate('N7', `work ${short(id)} runs with version ${amount}, its lane is at ${done}`)
    },
  }
}

/** The expression of its lane. An expression that a patch may remove says nothing about blocked jobs. */
function turnsOf({ consumer }: WorkRow): Pick<RouteDocument, 'order' | 'concurrency'> {
  if (!consumer.startsWith('subscription:')) return routeOf(consumer).document
  return consumer === 'subscription:books' ? { order: { by: 'payload.order' } } : {}
}

/** How many may have a place at once. Versions of a workflow say the same of it. */
function widthOf(observations: Observations, name: string): number {
  const [consumer = '', lane = ''] = name.split(' ', 2)
  if (consumer.startsWith('route:')) return routeOf(consumer).document.concurrency?.limit ?? 1
  if (lane !== 'slot') return 1
  const workflow = observations.cases?.documents(0).find((one) => `workflow:${one.name}` === consumer)
  return workflow?.maxConcurrent ?? 1
}

/** Over, but not well: it holds an ordered lane up. */
function isStuck({ state }: WorkRow): boolean {
  return state === 'dead' || state === 'parked'
}

/** No superseded job is forgotten: each leads to one that was not superseded. */
export function checkSuperseded(observations: Observations, { work }: Pick<StoreDump, 'work'>): void {
  const rows = new Map<string, WorkRow>(work.map((row) => [row.id, row]))
  for (const row of work) {
    let end: WorkRow | undefined = row
    for (let steps = 0; end?.lastError === 'SUPERSEDED' && steps <= work.length; steps += 1)
      end = rows.get(end.effectRef ?? '')
    if (end === undefined || end.lastError === 'SUPERSEDED')
      observations.violate('N2', `work ${short(row.id)} gave way, and no job stands for it`)
  }
}

/** One item per element of a list of two, or the one that stands for it. */
export function checkElements(observations: Observations, { work }: Pick<StoreDump, 'work'>): void {
  const byEvent = new Map<string, number[]>()
  for (const row of work) {
    if (row.consumer !== 'route:parts' || row.replayOf !== null) continue
    // A job for an empty list, or for a route that is disabled.
    if (row.state === 'skipped' && row.element === null) continue
    byEvent.set(row.eventId, [...(byEvent.get(row.eventId) ?? []), row.element ?? -1])
  }
  for (const [event, elements] of byEvent)
    if (elements.sort().join() !== '0,1')
      observations.violate('N2', `${event} has items of ${elements.join()}`)
}

/** Waits behind a job that blocks its lane until an operator resolves it. */
export function waitsBehindHolder(observations: Observations, row: WorkRow): boolean {
  if (row.state !== 'waiting') return false
  for (const other of observations.works.values()) {
    const isSame = other.tenant === row.tenant && other.consumer === row.consumer && other.lane === row.lane
    if (isSame && other.hasPlace && isStuck(other)) return true
  }
  return false
}
