// Which node role each path needs. A node without the role refuses the request, so that a caller can distinguish
// the wrong node from something that does not exist.

import { AppError } from '../core/foundation/errors/index.ts'
import type { Role } from '../core/queue/node-role/index.ts'
import { isIngest } from './ingest.ts'
import { pauseSentences, type ShownPause } from './paused-page.ts'

/** Every node answers these: they are about the node itself, or need nothing of it. */
const OF_EVERY_NODE = /^\/(healthz|readyz|metrics|errors|openapi\.json)(\/|$)/

function roleOfPath(path: string): 'ingest' | 'api' | null {
  if (isIngest(path)) return 'ingest'
  return OF_EVERY_NODE.test(path) ? null : 'api'
}

export function assertRole(roles: ReadonlySet<Role>, path: string): void {
  const role = roleOfPath(path)
  if (role === null || roles.has(role)) return
  throw new AppError('role_missing', `this node does not have the role ${role}`, {
    details: { role, roles: [...roles] },
  })
}

/** What ends the pause. */
const CONFIRM_PATH = '/v1/node/confirm-copy'

/** A paused node answers for itself alone, and takes nothing in. */
export function assertNotPaused(pause: ShownPause, path: string): void {
  if (path === CONFIRM_PATH || (OF_EVERY_NODE.test(path) && !path.startsWith('/metrics'))) return
  const reasons = pauseSentences(pause)
  throw new AppError('node_paused', reasons.join(' '), { details: { reasons } })
}
