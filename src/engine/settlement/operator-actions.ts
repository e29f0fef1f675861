// What an operator may decide about a job; src/engine/dead-letters carries it out.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Decided } from '../access/index.ts'
import type { AllowedAct } from './allowed-actions.ts'

export interface WorkActions {
  /** A person says what became of a parked item's effect, or of one that was cancelled in doubt. */
  resolve(
    tenant: TenantId,
    id: WorkId,
    options: Decided & {
      readonly as: 'done' | 'released'
      /** The effect that the word is about, as the person saw it; a conflict if the item is about another one by now. */
      readonly key?: string
    },
  ): Promise<void>
  /** Asks the vendor what became of a parked item's effect. */
  probe(tenant: TenantId, id: WorkId, decided: Decided): Promise<void>
  /** A ready item is due at once; a parked one looks again at what is known. */
  retry(tenant: TenantId, id: WorkId, decided: Decided): Promise<void>
  cancel(tenant: TenantId, id: WorkId, decided: Decided & { readonly reason: string }): Promise<void>
  /** What may be done about an item, and about an effect of it, as they are. */
  allowed(work: WorkRow, entry: LedgerEntry | null): Promise<readonly AllowedAct[]>
}
