// The scope of a workflow's expressions over an instance. The only place that defines it.

import { ExpressionError, type Scope } from '../../expression/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { DoneStep, Firing, Instance } from '../instance/index.ts'
import type { Workflow } from './machine-types.ts'

/** `base`: from the event. `extra`: `input`, `actor`, `key`, `result` and the like, which win. */
export function instanceScope(
  _workflow: Workflow,
  instance: Instance,
  base: Scope,
  extra: Scope = {},
): Scope {
  return liveScope(() => instance, base, extra)
}

export type Seen = Pick<
  Instance,
  'id' | 'workflow' | 'version' | 'state' | 'marking' | 'data' | 'metadata' | 'failure' | 'done'
>

/** Reads the current state: the machine changes its instance while it decides. */
export function liveScope(read: () => Seen, base: Scope, extra: Scope = {}): Scope {
  return {
    ...base,
    get data() {
      return read().data
    },
    get metadata() {
      return read().metadata
    },
    get instance() {
      const { id, workflow, version, state, marking, failure } = read()
      return { id, workflow, version, state, marking, failure }
    },
    get steps() {
      return stepsOf(read().done)
    },
    ...extra,
  }
}

/** `steps.<name>`: the last time. A transition wins over a place of the same name. */
function stepsOf(done: readonly DoneStep[]): Scope {
  const steps = new Map<string, DoneStep>()
  for (const step of done) {
    const before = steps.get(step.name)
    if (before === undefined || before.type === step.type || step.type === 'fire') steps.set(step.name, step)
  }
  return Object.fromEntries(
    [...steps].map(([name, { result, key, undone }]) => [name, { result, key, undone }]),
  )
}

/** The step under way, for its key; no expression may name it. */
interface StepOf {
  readonly number: number
  readonly type: Firing['type']
  readonly name: string
  /** Of an undo. */
  readonly forward: string | null
}

/** The scope of a firing's action. Throws ExpressionError if the step of an undo is no longer stored. */
export function stepScope(workflow: Workflow, instance: Instance, firing: Firing, base: Scope): Scope {
  const { number, type, name, actor, input } = firing
  const undone = type === 'undo' ? instance.done.find((step) => step.number === firing.of) : undefined
  if (type === 'undo' && undone === undefined) {
    throw new ExpressionError('missing', 'what the step did is not kept any more', 'undo')
  }
  const forward =
    undone === undefined
      ? null
      : (undone.key ?? defaultKey(workflow.document.name, instance.id, undone.name, undone.number))
  const firingOf: StepOf = { number, type, name, forward }
  return instanceScope(workflow, instance, base, {
    ...(actor === undefined ? {} : { actor }),
    ...(input === undefined ? {} : { input }),
    ...(undone === undefined ? {} : { result: undone.result }),
    firing: firingOf,
  })
}

/** The key of a step without a formula: one effect per firing. */
export function stepKey(scope: Scope): string {
  const { number, name, forward } = scope.firing as StepOf
  if (forward !== null) return `undo:${forward}`
  const { id, workflow } = scope.instance as Pick<Instance, 'id' | 'workflow'>
  return defaultKey(workflow, id, name, number)
}

function defaultKey(workflow: string, id: string, name: string, number: number): string {
  return `${workflow}:${id}:${name}:${number}`
}

/** The scope after an action: `out`, `choose` and conditions about the result see it. */
export function withResult(scope: Scope, result: JsonValue, key: string | null): Scope {
  return { ...scope, result, ...(key === null ? {} : { key }) }
}
