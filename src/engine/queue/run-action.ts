// Carries out a job's action: an outbound call, a function, or an emitted event.

import { keyOfGeneration } from '../../core/effects/ledger/index.ts'
import type { DeadLetterReason } from '../../core/failures/dead-letter/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import { unreachable } from '../../core/foundation/errors/index.ts'
import { LOSSES_MAX } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { StoreTime } from '../commit/index.ts'
import type { Connections } from '../connections/index.ts'
import type {
  Agents,
  Batches,
  Call,
  DeadLetterRouteJob,
  Effects,
  InternalActions,
  InternalCall,
  OpenHttp,
  Upserts,
} from '../effects/index.ts'
import type { Timetables } from '../ingest/index.ts'
import type { Item } from '../leases/index.ts'
import type { RunStart } from '../workflows/index.ts'

export interface Actions {
  /** Throws ExpressionError if the job's event lacks what the action needs. */
  perform(call: InternalCall): Promise<void>
  /** The call for a whole batch; null: the job is settled. */
  callOfBatch(item: Item, route: Route): Promise<InternalCall | null>
}

export function makeActions(deps: {
  readonly time: StoreTime
  readonly effects: Effects
  readonly openHttp: OpenHttp
  readonly internal: InternalActions
  readonly batches: Batches
  readonly upserts: Upserts
  readonly agents: Agents
  readonly connections: Pick<Connections, 'calls' | 'operations'>
  readonly start: RunStart
  readonly timetables: Pick<Timetables, 'schedule' | 'unschedule'>
  readonly deadLetterJob: DeadLetterRouteJob
}): Actions {
  const { time, effects, internal, batches, upserts, deadLetterJob } = deps
  const { calls, operations } = deps.connections

  const callOut = (plain: Call): Promise<void> => {
    const call = calls.around(plain)
    return call.item.work.losses >= LOSSES_MAX ? effects.poison(call) : effects.run(call)
  }

  /** Why a job may not run again. */
  const findEnd = ({
    work,
  }: Item): { class: FailureClass; reason: DeadLetterReason; error: string } | null => {
    if (work.losses >= LOSSES_MAX) {
      const error = 'the node stopped each time while this item ran alone'
      return { class: 'poison', reason: 'crash_loop', error }
    }
    if (time.now() < work.expiresAt) return null
    return { class: work.class ?? 'transient', reason: 'expired', error: 'it waited longer than it may' }
  }

  /** True: the job may not run again, and is settled. */
  const isOver = async (call: InternalCall, isFunction: boolean): Promise<boolean> => {
    const { item, route, key } = call
    const end = findEnd(item)
    if (end === null) return false
    if (isFunction && (await internal.parkUnknown(call, end.error))) return true
    await deadLetterJob(item, route, key, end.class, end.reason, end.error)
    return true
  }

  return {
    callOfBatch: batches.callOf,
    async perform(call) {
      const { item, route, key, scope } = call
      const { action } = route
      if (route.batch !== null && item.work.kind !== 'batch') return batches.join(call)
      switch (action.type) {
        case 'http': {
          const sent = keyOfGeneration(key, item.work.generation)
          const request = action.render(scope, sent)
          const out = calls.through(call)
          const shown = { ...out, action, request: out.through?.locate(request) ?? request }
          return callOut(deps.openHttp(shown, action, sent))
        }
        case 'upsert':
          return callOut(upserts.callOf(calls.through(call), action))
        case 'function':
          if (await internal.endKnown(call)) return
          if (await isOver(call, true)) return
          return internal.runFunction(call, action)
        case 'emit':
          if (await isOver(call, false)) return
          return internal.runEmit(call, action)
        case 'start':
          if (await isOver(call, false)) return
          return deps.start(call, action)
        case 'schedule':
          if (await isOver(call, false)) return
          return deps.timetables.schedule(call, action)
        case 'unschedule':
          if (await isOver(call, false)) return
          return deps.timetables.unschedule(call, action)
        case 'operation':
          return callOut(operations.callOf(calls.through(call), action))
        case 'agent':
          return callOut(deps.agents.callOf(calls.through(call), action))
        default:
          return unreachable(action)
      }
    },
  }
}
