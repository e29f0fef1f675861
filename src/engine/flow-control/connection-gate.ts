// What flow control asks before a job may call on a connection; src/engine/connections implements it.

import type { ConnectionUse } from '../../core/definitions/documents/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { LimitsSaid } from './limits-said.ts'

export interface Where extends Pick<ConnectionUse, 'connection' | 'buckets'> {
  /** Only its rate limits count, not its health and its credential: the call goes elsewhere. Left out: all of it. */
  readonly isForLimits?: true
}

export interface CallAdmission {
  gate(tenant: TenantId, connection: string, buckets?: readonly string[]): Gate
  /** What may be claimed for the connection. Refused jobs may be claimed: they end when they run. */
  offer(
    tenant: TenantId,
    where: Where,
  ):
    | { readonly is: 'open'; readonly max: number }
    /** A probe must be written first. */
    | { readonly is: 'ask' }
    | { readonly is: 'closed'; readonly untilAt: Instant | null }
  /** After `ask`: writes what is needed, so that the connection may open. */
  begin(tenant: TenantId, where: Where): Promise<void>
  /** Before `enter`; null: there is nothing to write. */
  prepare(tenant: TenantId, where: Where): Promise<void> | null
  mayLeaseOnInsert(tenant: TenantId, where: Where): boolean
  /** Right before a call; null: it is admitted, and its tokens are taken. */
  enter(
    tenant: TenantId,
    where: Where,
    hold: string,
  ): { readonly untilAt: Instant | null; readonly why: string } | null
  /** No call was made after all. */
  leave(hold: string): void
  /** Its call is sent: what was taken is used. False: nothing was. */
  spend(hold: string): boolean
  /** A call that goes elsewhere has ended: its permits are used, and its response counts for the buckets. */
  answered(hold: string, said: LimitsSaid): void
  /** A call has ended, and says nothing about the vendor's health. */
  used(hold: string): void
  reportResult(tenant: TenantId, connection: string, hold: string, failureClass: FailureClass | null): void
  /** The job has left this node. */
  finished(hold: string): void
}

/** Whether a call may start. Decided in memory, without waiting. */
export type Gate =
  | { readonly is: 'open' }
  /** It waits, and uses up no attempt. `untilAt`: when to look again; null: when it is woken. */
  | { readonly is: 'closed'; readonly untilAt: Instant | null; readonly why: string }
  /** It will not open: unknown, not tested yet, or retired. */
  | { readonly is: 'refused'; readonly code: ConnectionRefusal; readonly why: string }

export type ConnectionRefusal = 'connection_unknown' | 'connection_pending' | 'connection_retired'
