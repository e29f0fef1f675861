// What flow control asks before a job may call on a connection; src/engine/connections answers.

import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Named } from '../definitions/index.ts'

export type Where = Pick<Named, 'connection' | 'buckets'>

export interface Entrance {
  gate(tenant: TenantId, connection: string, buckets?: readonly string[]): Gate
  /** What may be claimed of those that call there. What is refused may be: it ends when it runs. */
  offer(
    tenant: TenantId,
    where: Where,
  ):
    | { readonly is: 'open'; readonly max: number }
    /** A try must be written down first. */
    | { readonly is: 'ask' }
    | { readonly is: 'closed'; readonly untilAt: Instant | null }
  /** After `ask`: writes down what has to be, so that it may be open. */
  begin(tenant: TenantId, where: Where): Promise<void>
  /** Before `enter`; null: there is nothing to write down. */
  prepare(tenant: TenantId, where: Where): Promise<void> | null
  bears(tenant: TenantId, where: Where): boolean
  /** Right before a call; null: it is in, and its tokens are taken. */
  enter(
    tenant: TenantId,
    where: Where,
    hold: string,
  ): { readonly untilAt: Instant | null; readonly why: string } | null
  /** No call was made after all. */
  leave(hold: string): void
  /** Its call goes out: what was taken is spent. False: nothing was. */
  spend(hold: string): boolean
  /** A call is over, and says nothing of the other side's health. */
  used(hold: string): void
  told(tenant: TenantId, connection: string, hold: string, failureClass: FailureClass | null): void
  /** It is out of our hands. */
  finished(hold: string): void
}

/** Whether a call may begin. Asked in memory: nobody waits for the answer. */
export type Gate =
  | { readonly is: 'open' }
  /** It waits, and uses up no attempt. `untilAt`: when it is worth to look again; null: when somebody says so. */
  | { readonly is: 'closed'; readonly untilAt: Instant | null; readonly why: string }
  /** It will not: unknown, not tested yet, or retired. */
  | { readonly is: 'refused'; readonly code: ConnectionRefusal; readonly why: string }

export type ConnectionRefusal = 'connection_unknown' | 'connection_pending' | 'connection_retired'
