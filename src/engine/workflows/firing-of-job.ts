// Which firing an item is about, and how people call it.

import type { Firing, Instance } from '../../core/workflows/instance/index.ts'
import { parseStepName, type Workflow } from '../../core/workflows/machine/index.ts'

/** null: it is gone. Of an instance that was cancelled there may still be some that end late. */
export function firingOf(instance: Instance, step: string | null): Firing | null {
  const named = step === null ? null : parseStepName(step)
  if (named === null) return null
  const firing = instance.firings.find(({ number }) => number === named.number)
  if (firing === undefined) return null
  // A signal is about the firing that waits, whatever its child is called.
  return named.type === 'child' || (firing.type === named.type && firing.name === named.name) ? firing : null
}

/** Where it stands and what it does: `review/approve`; what dead letters say. */
export function stepText({ rollBack }: Instance, { type, name, held }: Firing): string {
  const place = type === 'undo' ? (rollBack?.through ?? 'undo') : held.join('+')
  return type === 'undo' ? `${place}/undo ${name}` : type === 'enter' ? `${name}/enter` : `${place}/${name}`
}

/** Whether what it does is taken back by a roll-back. */
export function canBeUndone({ transitions }: Workflow, { type, name }: Firing): boolean {
  return type === 'fire' && transitions.get(name)?.canUndo === true
}
