// Which firing a job is about, and its name for display.

import type { Firing, Instance } from '../../../core/workflows/instance/index.ts'
import { parseStepName, type Workflow } from '../../../core/workflows/machine/index.ts'

/** null: it is gone. Jobs of a cancelled instance may still end late. */
export function firingOf(instance: Instance, step: string | null): Firing | null {
  const named = step === null ? null : parseStepName(step)
  if (named === null) return null
  const firing = instance.firings.find(({ number }) => number === named.number)
  if (firing === undefined) return null
  // A signal is about the waiting firing, whatever its child is called.
  return named.type === 'child' || (firing.type === named.type && firing.name === named.name) ? firing : null
}

/** Its place and its action, as dead letters show it: `review/approve`. */
export function stepText({ rollBack }: Instance, { type, name, held }: Firing): string {
  const place = type === 'undo' ? (rollBack?.through ?? 'undo') : held.join('+')
  return type === 'undo' ? `${place}/undo ${name}` : type === 'enter' ? `${name}/enter` : `${place}/${name}`
}

/** Whether a rollback undoes what it does. */
export function canBeUndone({ transitions }: Workflow, { type, name }: Firing): boolean {
  return type === 'fire' && transitions.get(name)?.canUndo === true
}
