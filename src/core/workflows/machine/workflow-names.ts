// The names of the parts of a workflow and of the jobs of an instance, in one place: job rows, routes and pages use these.

import type { WorkflowDocument } from '../../definitions/documents/index.ts'

/** `fire/3/prioritise`, `undo/3/prioritise`, `enter/4/review`, `stay/2/review`, `child/3/order`; `lock`, `slot`, `ttl` stand alone. */
export type StepType = 'fire' | 'undo' | 'enter' | 'stay' | 'child'

export function stepName(type: StepType, number: number, name: string): string {
  return `${type}/${number}/${name}`
}

const STEP = /^(fire|undo|enter|stay|child)\/([0-9]+)\/(.+)$/

export function parseStepName(
  step: string,
): { readonly type: StepType; readonly number: number; readonly name: string } | null {
  const match = STEP.exec(step)
  if (match === null) return null
  return { type: match[1] as StepType, number: Number(match[2]), name: match[3] as string }
}

/** The route of a step: `fire/prioritise`, `undo/prioritise`, `enter/review`. */
export function partName(type: 'fire' | 'undo' | 'enter', name: string): string {
  return `${type}/${name}`
}

/** The route of a trigger. */
export function triggerPart(id: string): string {
  return `trigger/${id}`
}

/** The key of the index by which an event finds its instance. Names of workflows and keys contain no slash. */
export function correlationKey(workflow: string, name: string, value: string): string {
  return `${workflow}/${name}/${value}`
}

/**
 * The consumer whose jobs wait for the lock: workflows whose locks have one name share them, and a lane belongs to one
 * consumer.
 */
export function lockConsumer({ lock, name }: Pick<WorkflowDocument, 'lock' | 'name'>): string {
  return `lock:${lock?.name ?? name}`
}
