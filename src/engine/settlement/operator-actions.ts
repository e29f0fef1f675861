// What an operator may decide about a job; src/engine/dead-letters carries it out.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Decided } from '../access/index.ts'
import type { AllowedAct } from './allowed-actions.ts'

export interface WorkActions {
  /** An operator says what happened to the effect of a parked job, or of one that was cancelled with an unknown outcome. */
  resolve(
    tenant: TenantId,
    id: WorkId,
    options: Decided & {
      readonly as: 'done' | 'released'
      /** The effect that the decision is about, as the user saw it; a conflict if the job is about another one by now. */
      readonly key?: string
    },
  ): Promise<void>
  /** Asks the vendor what happened to a parked job's effect. */
  probe(tenant: TenantId, id: WorkId, decided: Decided): Promise<void>
  /** A ready job is due at once; a parked one checks again what is known. */
  retry(tenant: TenantId, id: WorkId, decided: Decided): Promise<void>
  cancel(tenant: TenantId, id: WorkId, decided: Decided & { readonly reason: string }): Promise<void>
  /** What may be done about a job, and about an effect of it, in their current state. */
  allowed(work: WorkRow, entry: LedgerEntry | null): Promise<readonly AllowedAct[]>
}
