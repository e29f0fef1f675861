// Composes how jobs end: the rows that every ended job leaves, and the escalation of failures. The settler needs participants of
// other folders, so engine.ts makes it.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { EngineBase, EngineSignals } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import type { Registry } from '../definitions/index.ts'
import type { Decisions } from './decision-functions.ts'
import { type EscalationActions, makeEscalations } from './escalations.ts'
import { type FailureSweep, makeFailureSweep } from './failure-sweep.ts'
import { type Failures, makeFailures } from './failures.ts'
import { makePlanEnd, type PlanEnd } from './job-end.ts'

export function composeJobEnds(deps: EngineBase & { readonly decisions: Decisions }): {
  readonly failures: Failures
  readonly planEnd: PlanEnd
} {
  const failures = makeFailures(deps)
  return { failures, planEnd: makePlanEnd({ ...deps, failures, lanes: deps }) }
}

export function composeEscalations(
  deps: EngineBase & {
    readonly signals: EngineSignals
    readonly registry: Pick<Registry, 'connection'>
    tenants(): readonly TenantId[]
  },
  config: Pick<EngineConfig, 'sweepEveryMs' | 'escalateAfterMs'>,
): { readonly sweep: FailureSweep; readonly escalations: EscalationActions } {
  const sweep = makeFailureSweep(deps, config)
  deps.signals.applied.listen(({ writes }) => {
    if (writes.some(({ w }) => w === 'escalation.raise')) sweep.wake()
  })
  return { sweep, escalations: makeEscalations(deps) }
}
