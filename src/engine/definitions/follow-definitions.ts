// Follows what other nodes apply, pause and resume: one small read per tenant every few seconds.

import { messageOf } from '../../core/foundation/errors/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { EngineBase } from '../commit/index.ts'
import type { Definitions } from './definition-types.ts'

/** How often a node checks whether another one changed the definitions. */
const FOLLOW_MS = 5_000

/** Follows what other nodes apply; returns how to stop. */
export function followDefinitions(
  deps: Pick<EngineBase, 'store' | 'log'> & {
    readonly definitions: Pick<Definitions, 'refresh'>
    readonly clock: Pick<Clock, 'after'>
  },
): () => void {
  let isStopped = false
  let cancel = () => {}
  const look = async () => {
    try {
      for (const tenant of await deps.store.system('definitions').tenants()) {
        if (isStopped) return
        await deps.definitions.refresh(tenant)
      }
    } catch (error) {
      deps.log.warn('definitions.not-followed', { error: messageOf(error) })
    }
    next()
  }
  const next = () => {
    if (!isStopped) cancel = deps.clock.after(FOLLOW_MS, () => void look())
  }
  next()
  return () => {
    isStopped = true
    cancel()
  }
}
