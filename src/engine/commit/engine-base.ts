// What every part of the engine may use, whatever its job. The compose.ts of a folder asks for this and names what else it needs.

import type { SystemEvents } from '../../core/events/canonical/index.ts'
import type { Ids } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Vars } from '../../core/routing/index.ts'
import type { EngineDeps } from '../config.ts'
import type { Commits } from './commits.ts'
import type { PlanEvent } from './event-plan.ts'
import type { StoreTime } from './store-time.ts'
import type { UnitOfWork } from './unit-of-work.ts'

export interface EngineBase extends EngineDeps {
  readonly ids: Ids
  readonly time: StoreTime
  readonly vars: Vars
  readonly commits: Commits
  readonly unitOfWork: UnitOfWork
  readonly plan: PlanEvent
  /** Which facts are written. */
  readonly systemEvents: SystemEvents
  /** The store's time. */
  now(): Instant
  /** A job may be due now, or will be after `delayMs`. */
  wake(delayMs?: number): void
}
