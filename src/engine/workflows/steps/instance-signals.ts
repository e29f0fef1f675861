// Runs jobs without an action that signal something to an instance: a stay is over, a lock is acquired, a child has
// ended. Their end and the instance's change are one commit.
//
// Invariants: FI1 guarded by the instance's revision. FI9 a late signal (the token left, the instance ended) changes
// nothing. FI10 a lock and a concurrency slot are held from admission until the instance ends.

import { EMPTY_NOTE } from '../../../core/queue/work/index.ts'
import type { Instance } from '../../../core/workflows/instance/index.ts'
import {
  type InstanceInput,
  parseStepName,
  type Refused,
  stepInstance,
} from '../../../core/workflows/machine/index.ts'
import { orFail, retrying } from '../../commit/index.ts'
import { countersOf, type DeadLetterRouteJob } from '../../effects/index.ts'
import type { Item } from '../../leases/index.ts'
import { type Decision, dead, done, type Settler, skipped } from '../../settlement/index.ts'
import {
  type InstancePlan,
  type Instances,
  type Loaded,
  orRefused,
  type SteppedOk,
} from '../instances/index.ts'
import { firingOf, stepText } from './firing-of-job.ts'
import { STALE } from './run-step.ts'

export interface Signals {
  /** Of the kinds `timer`, `admit` and `signal`. */
  run(item: Item): Promise<void>
}

/** Timers, admissions and children of one instance that end at the same moment change it one after another. */
const RACES_MAX = 50

export function makeSignals(deps: {
  readonly instances: Instances
  readonly settler: Settler
  readonly deadLetterJob: DeadLetterRouteJob
}): Signals {
  const { instances, settler } = deps

  const skip = async (item: Item, why: string): Promise<void> => {
    await settler.settle(
      item,
      null,
      skipped({ counters: countersOf(item), note: { ...EMPTY_NOTE, lastError: why } }),
    )
  }

  const refuse = (item: Item, { code, message }: Refused): Promise<void> => {
    switch (code) {
      case 'gone':
      case 'not_active':
        return skip(item, STALE)
      case 'cannot_fire':
        return skip(item, message)
      default:
        return deps.deadLetterJob(item, null, null, 'validation', 'rejected', message)
    }
  }

  /** Its input to the machine; null: no firing waits for it. */
  const inputOf = async (item: Item, { instance }: Loaded): Promise<InstanceInput | null> => {
    const { kind, step, tenant, id } = item.work
    if (kind === 'admit' && (step === 'lock' || step === 'slot'))
      return { type: 'admitted', to: step, work: id }
    if (kind === 'timer' && step === 'ttl') return { type: 'lockExpired' }
    const named = step === null ? null : parseStepName(step)
    if (kind === 'timer' && named !== null) return { type: 'timer', stay: named.number }
    const firing = kind === 'signal' ? firingOf(instance, step) : null
    if (firing?.child === undefined) return null
    const child = await instances.load(tenant, firing.child)
    if (child === null || child.instance.state === 'active') return null
    const { state, data } = child.instance
    // An interrupted firing waits too. One that continued only to take the result again has a completed child.
    const isAwaited = firing.state === 'waiting' || firing.state === 'interrupted' || state === 'completed'
    return isAwaited ? { type: 'childEnded', firing: firing.number, state, data } : null
  }

  /** One attempt; `retry`: another commit changed the instance meanwhile. */
  const attempt = async (item: Item, retry: () => Promise<void>): Promise<void> => {
    const { tenant, instance: id } = item.work
    const loaded = id === null ? null : await instances.load(tenant, id)
    const input = loaded === null ? null : await inputOf(item, loaded)
    if (loaded === null || input === null) {
      await skip(item, STALE)
      return
    }
    const { event, payload, header } = item
    const origin = { event, stored: event, payload, header }
    const stepped = stepInstance(loaded.workflow, loaded.instance, input, instances.envOf(origin))
    if (!stepped.ok) {
      await refuse(item, stepped.refused)
      return
    }
    const { workflow, instance } = loaded
    const beside = { own: item.work.id }
    const plan = await orRefused(() => instances.plan(tenant, origin, workflow, instance, stepped, beside))
    if ('refused' in plan) {
      await refuse(item, plan.refused)
      return
    }
    const settlement = await settler.settle(item, null, decisionOf(item, instance, stepped, plan))
    if (settlement.ok || settlement.why === 'stale') return
    instances.forget(tenant, instance.id)
    return retry()
  }

  return {
    async run(item) {
      await retrying(
        RACES_MAX,
        (retry: () => Promise<void>) => attempt(item, retry),
        orFail('the instance changes without end'),
      )
    },
  }
}

function decisionOf(item: Item, before: Instance, stepped: SteppedOk, plan: InstancePlan): Decision {
  const { guards, writes } = plan
  const base = { counters: countersOf(item), note: EMPTY_NOTE, guards, writes, plans: [plan] }
  if (item.work.kind === 'admit') {
    const isLeft = stepped.effects.some((one) => one.type === 'leave' && one.work === item.work.id)
    return done(isLeft ? base : { ...base, place: 'keep' })
  }
  const failed = item.work.kind === 'signal' ? firingOf(plan.instance, item.work.step) : null
  if (failed?.state !== 'failed') return done(base)
  // The awaited child failed: a replay of this dead letter starts another one.
  const error = plan.instance.failure?.error ?? 'the instance that it waited for failed'
  const why = { class: 'validation', reason: 'rejected', error, step: stepText(before, failed) } as const
  return dead(why, { ...base, note: { ...EMPTY_NOTE, class: 'validation', lastError: error } })
}
