// Operators acknowledge escalations: in one commit, guarded by the version, so that a second request gets a conflict and
// changes nothing.

import { type Escalation, stepEscalation } from '../../core/failures/escalation/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import type { EscalationId, TenantId } from '../../core/foundation/ids/index.ts'
import { toStorable } from '../../core/foundation/json/index.ts'
import type { EngineBase, UnitOfWork } from '../commit/index.ts'
import { planEscalationEvent } from './escalation-events.ts'

export interface EscalationActions {
  /** An operator takes it over. */
  acknowledge(
    tenant: TenantId,
    id: EscalationId,
    options: { readonly actor: string; readonly note: string | null },
  ): Promise<Escalation>
}

const NOTE_LENGTH_MAX = 1_000

export function makeEscalations(
  deps: Pick<EngineBase, 'store' | 'log' | 'ids' | 'plan'> & {
    readonly unitOfWork: Pick<UnitOfWork, 'once'>
  },
): EscalationActions {
  const { store, log, unitOfWork } = deps
  const find = async (tenant: TenantId, id: EscalationId): Promise<Escalation> => {
    const found = await store.forTenant(tenant).escalation(id)
    if (found === null) throw new AppError('not_found', `no escalation ${id}`)
    return found
  }
  return {
    async acknowledge(tenant, id, { actor, note: written }) {
      const escalation = await find(tenant, id)
      if (stepEscalation(escalation.state, 'acknowledge') === null)
        throw new AppError('conflict', `it was acknowledged before, by ${escalation.acknowledgedBy}`)
      const note = written === null ? null : toStorable(written, NOTE_LENGTH_MAX)
      const by = { acknowledgedBy: actor, note }
      const plan = await planEscalationEvent(deps, escalation, 'integration.escalation.acknowledged', by)
      const result = await unitOfWork.once(tenant, {
        guards: [{ g: 'version', of: 'escalation', key: id, version: escalation.version }],
        writes: [{ w: 'escalation.change', id, acknowledged: { by: actor, note } }, ...(plan?.writes ?? [])],
        plans: plan === null ? [] : [plan],
      })
      if (!result.ok) throw new AppError('conflict', 'the escalation changed meanwhile')
      const { consumer, class: failureClass, reason, count } = escalation
      const about = { tenant, escalation: id, consumer, class: failureClass, reason, count }
      log.info('escalation.acknowledged', { ...about, actor, note })
      return find(tenant, id)
    },
  }
}
