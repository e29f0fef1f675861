// Carries out a job's action: an outbound call, a function, or an emitted event.

import type { Action, FunctionAction } from '../../core/effects/action/index.ts'
import { keyOfGeneration } from '../../core/effects/ledger/index.ts'
import type { DeadLetterReason } from '../../core/failures/dead-letter/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import { LOSSES_MAX } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { StoreTime } from '../commit/index.ts'
import type { Connections } from '../connections/index.ts'
import { connectionOf } from '../definitions/index.ts'
import {
  type Agents,
  type Batches,
  type Call,
  type DeadLetterRouteJob,
  type Effects,
  type InternalActions,
  type InternalCall,
  isFresh,
  type OpenHttp,
  type Upserts,
} from '../effects/index.ts'
import type { Timetables } from '../ingest/index.ts'
import type { Item } from '../leases/index.ts'
import type { RunStart } from '../workflows/index.ts'

export interface Actions {
  /** Throws ExpressionError, at once or later, if the job's event lacks what the action needs. */
  perform(call: InternalCall): Promise<void>
  /** The call for a whole batch; null: the job is settled. */
  callOfBatch(item: Item, route: Route): Promise<InternalCall | null>
}

type Run<Type extends Action['type']> = (
  call: InternalCall,
  action: Extract<Action, { readonly type: Type }>,
) => Promise<void>

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
    const call = plain.through === undefined ? plain : calls.around(plain)
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

  /** Runs inside the process, unless the job may not run again. */
  const runInside = (call: InternalCall, run: () => Promise<void>): Promise<void> => {
    const { item, route, key } = call
    const end = findEnd(item)
    return end === null ? run() : deadLetterJob(item, route, key, end.class, end.reason, end.error)
  }

  const runFunction = (call: InternalCall, action: FunctionAction): Promise<void> =>
    isFresh(call.item) && findEnd(call.item) === null
      ? internal.runFunction(call, action)
      : runFunctionAgain(call, action)

  /** The ledger may have its effect, or that of one of its steps. */
  const runFunctionAgain = async (call: InternalCall, action: FunctionAction): Promise<void> => {
    const { item, route, key } = call
    if (!isFresh(item) && (await internal.endKnown(call))) return
    const end = findEnd(item)
    if (end === null) return internal.runFunction(call, action)
    if (await internal.parkUnknown(call, end.error)) return
    await deadLetterJob(item, route, key, end.class, end.reason, end.error)
  }

  /** How each kind runs. What an action does outside goes through `callOut`, what it does inside through `runInside`. */
  const runs: { readonly [Type in Action['type']]: Run<Type> } = {
    http(call, action) {
      const { item, route, key, scope } = call
      const sent = keyOfGeneration(key, item.work.generation)
      const request = action.render(scope, sent)
      const out = connectionOf(route.document.do) === null ? call : calls.through(call)
      const shown = { ...out, action, request: out.through?.locate(request) ?? request }
      return callOut(deps.openHttp(shown, action, sent))
    },
    upsert: (call, action) => callOut(upserts.callOf(calls.through(call), action)),
    function: runFunction,
    emit: (call, action) => runInside(call, () => internal.runEmit(call, action)),
    start: (call, action) => runInside(call, () => deps.start(call, action)),
    schedule: (call, action) => runInside(call, () => deps.timetables.schedule(call, action)),
    unschedule: (call, action) => runInside(call, () => deps.timetables.unschedule(call, action)),
    operation: (call, action) => callOut(operations.callOf(calls.through(call), action)),
    agent: (call, action) => callOut(deps.agents.callOf(calls.through(call), action)),
  }

  return {
    callOfBatch: batches.callOf,
    perform(call) {
      const { item, route } = call
      const { action } = route
      if (route.batch !== null && item.work.kind !== 'batch') return batches.join(call)
      const run = runs[action.type] as (call: InternalCall, action: Action) => Promise<void>
      return run(call, action)
    },
  }
}
