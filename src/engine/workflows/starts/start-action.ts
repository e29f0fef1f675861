// `start` as an action of a route or a step: the instance starts in the commit that ends the job. A step that waits for
// it ends when it does; src/engine/workflows/steps/step-ends.ts recognises that by `waitsFor`.

import type { StartAction } from '../../../core/effects/action/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import { stringifyJson } from '../../../core/foundation/json/index.ts'
import type { Instance } from '../../../core/workflows/instance/index.ts'
import { parseStepName } from '../../../core/workflows/machine/index.ts'
import type { Store } from '../../../ports/store.ts'
import { RACES_MAX, retrying } from '../../commit/index.ts'
import type { InternalActions, InternalCall, InternalFailure } from '../../effects/index.ts'
import type { Item } from '../../leases/index.ts'
import type { Settlement } from '../../settlement/index.ts'
import type { PlannedStart, Starter } from './start-instance.ts'

export type RunStart = (call: InternalCall, action: StartAction) => Promise<void>

export function makeStartAction(deps: {
  readonly store: Pick<Store, 'forTenant'>
  readonly clock: { monotonic(): number }
  readonly starter: Starter
  readonly internal: Pick<InternalActions, 'complete' | 'settleKnown'>
  fail(call: InternalCall, failure: InternalFailure): Promise<void>
}): RunStart {
  const refuse = (call: InternalCall, failureClass: 'config' | 'validation', error: string) =>
    deps.fail(call, { class: failureClass, error, retryAfterMs: null })

  const endKnown = async (call: InternalCall): Promise<boolean> => {
    const { tenant, generation } = call.item.work
    const entry = await deps.store.forTenant(tenant).ledger(call.key)
    if (entry?.state !== 'done' || entry.generation < generation) return false
    await deps.internal.settleKnown(call, {
      ok: false,
      why: 'guard',
      index: 0,
      found: { f: 'ledger', entry },
    })
    return true
  }

  const found = (call: InternalCall, action: StartAction): ReturnType<Starter['triggerOf']> | string => {
    try {
      return deps.starter.triggerOf(call.item.work.tenant, action.workflow)
    } catch (error) {
      if (error instanceof AppError) return error.message
      throw error
    }
  }

  return async (call, action) => {
    const { item, scope } = call
    const startedAt = deps.clock.monotonic()
    const target = found(call, action)
    if (typeof target === 'string') return refuse(call, 'config', target)
    const { workflow, trigger } = target
    // A disabled workflow starts nothing; a paused one does, and its steps wait.
    if (workflow.status === 'disabled')
      return refuse(call, 'config', `the workflow ${action.workflow} is disabled`)
    const input = action.input(scope)
    const fault = trigger.inputFault(input)
    if (fault !== null) return refuse(call, 'validation', fault)
    const startOnce = async (retry: () => Promise<void>): Promise<void> => {
      const planned = await deps.starter.plan({
        tenant: item.work.tenant,
        workflow,
        trigger,
        input,
        parent: parentOf(item, action),
        work: item.work.id,
        cause: { event: item.event, header: item.header() },
      })
      // Its own key may be the obstacle: then it was started before.
      if (planned.is !== 'planned' && (await endKnown(call))) return
      switch (planned.is) {
        case 'exists':
          return refuse(
            call,
            'validation',
            `the instance ${planned.instance} of ${action.workflow} has its key`,
          )
        case 'held':
          return refuse(call, 'validation', `another instance of ${action.workflow} holds its lock`)
        case 'refused':
          return refuse(call, planned.class, planned.error)
        case 'planned':
      }
      const settlement = await commit(call, action, planned, startedAt)
      const isRaced = !settlement.ok && settlement.why === 'guard' && settlement.found?.f !== 'ledger'
      return isRaced ? retry() : deps.internal.settleKnown(call, settlement)
    }
    const error = 'others begin instances with the same key all the time'
    return await retrying(RACES_MAX, startOnce, () =>
      deps.fail(call, { class: 'transient', error, retryAfterMs: null }),
    )
  }

  function commit(
    call: InternalCall,
    action: StartAction,
    planned: Extract<PlannedStart, { is: 'planned' }>,
    startedAt: number,
  ): Promise<Settlement> {
    const { id, event, guards, writes, plans } = planned
    const said = { instance: id, eventId: event.id }
    return deps.internal.complete(call, stringifyJson(said), startedAt, {
      guards,
      writes,
      plans,
      said,
      ...(action.wait && call.item.work.instance !== null ? { waitsFor: id } : {}),
    })
  }
}

/** The firing whose step this is; null: of a route. */
function parentOf({ work }: Item, { wait }: StartAction): Instance['parent'] {
  const named = work.instance === null || work.step === null ? null : parseStepName(work.step)
  return work.instance === null || named === null
    ? null
    : { instance: work.instance, firing: named.number, waits: wait }
}
