// One instance in tests: stepped, with the results of every step.

import type { EventId, InstanceId, WorkId } from '../../foundation/ids/index.ts'
import type { HistoryEntry, Instance } from '../instance/index.ts'
import type { InstanceEffect, InstanceInput, Refused, StepEnv, Workflow } from './index.ts'
import { stepInstance } from './index.ts'

export interface Case {
  readonly instance: Instance
  readonly history: readonly HistoryEntry[]
  readonly effects: readonly InstanceEffect[]
}

export type Create = Extract<InstanceInput, { readonly type: 'create' }>

export function created(changes: Partial<Create> = {}): Create {
  return {
    type: 'create',
    id: 'ins_1' as InstanceId,
    assignments: [],
    metadata: {},
    keys: [],
    parent: null,
    correlationId: 'c',
    ...changes,
  }
}

export function makeEnv(scope: StepEnv['scope'] = { payload: {}, vars: {} }): StepEnv {
  let count = 0
  return {
    now: 1_000,
    newWork: () => `wrk_${++count}` as WorkId,
    scope,
    eventId: 'evt_1' as EventId,
  }
}

export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
  return value
}

/** A case that rejects refused inputs. */
export function makeCase(workflow: Workflow, input: Create = created(), env = makeEnv()) {
  const steps: Case[] = []
  const now = (): Instance => (steps.at(-1) as Case).instance
  const attempt = (one: InstanceInput): Case | Refused => {
    const before = steps.length === 0 ? null : deepFreeze(now())
    const stepped = stepInstance(workflow, before, deepFreezeInput(one), env)
    if (!stepped.ok) return stepped.refused
    steps.push(stepped)
    return stepped
  }
  const step = (one: InstanceInput): Case => {
    const answer = attempt(one)
    if ('code' in answer) throw new Error(`refused: ${answer.code} ${answer.message}`)
    return answer
  }
  step(input)
  return {
    now,
    attempt,
    step,
    steps,
    history: () => steps.flatMap(({ history }) => history),
    effects: () => (steps.at(-1) as Case).effects,
    end: (firing: number, result: Instance['data'][string] = null) =>
      step({ type: 'ended', firing, result, key: `key-${firing}`, work: 'wrk_x' as WorkId }),
    fail: (firing: number) =>
      step({
        type: 'failed',
        firing,
        class: 'validation',
        reason: 'rejected',
        error: 'no',
        work: 'wrk_x' as WorkId,
      }),
  }
}

/** A migration contains a compiled workflow, which has caches of its own. */
function deepFreezeInput(input: InstanceInput): InstanceInput {
  return input.type === 'migrate' ? input : deepFreeze(input)
}
