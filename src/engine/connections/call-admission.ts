// Which calls a connection admits now: combines its state cache, its credential and its buckets for claims, leases on insert
// and calls.
//
// Invariants: CX6 a job that may not call is neither claimed nor leased on insert, and uses no attempt. DR5 a permit that was
// taken is used by a call or given back.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { StoreTime } from '../commit/index.ts'
import type { Account, Lookups } from '../definitions/index.ts'
import type { Buckets, CallAdmission, Where } from '../flow-control/index.ts'
import { SHORT_WAIT_MS } from '../settlement/index.ts'
import type { CircuitGate, ConnectionStateCache } from './connection-state-cache.ts'
import type { Credentials } from './connection-types.ts'

const OPEN: CircuitGate = { is: 'open' }

export function makeCallAdmission(deps: {
  readonly time: StoreTime
  readonly lookups: Lookups
  readonly stateCache: ConnectionStateCache
  readonly buckets: Buckets
  readonly credentials: Pick<Credentials, 'gate'>
}): CallAdmission {
  const { time, lookups, stateCache, buckets, credentials } = deps
  const inside = new Map<string, { tenant: TenantId; account: Account; names: readonly string[] }>()

  /** Beside the state cache: the limits of the credential and the buckets. `max` is 0 exactly if `closed` is set. */
  const roomOf = (tenant: TenantId, { connection, buckets: names, isForLimits }: Where) => {
    const found = lookups.find(tenant, connection)
    if (!found.ok) return { max: Number.POSITIVE_INFINITY, closed: null, account: null, mustAcquire: false }
    const { account } = found
    const credential = isForLimits === true ? null : account.credential
    const rotating = credential === null ? null : credentials.gate(tenant, credential.name)
    if (rotating !== null) return { max: 0, closed: rotating, account, mustAcquire: false }
    const { max, opensAt, mustAcquire = false } = buckets.room(tenant, account, names)
    if (max > 0) return { max, closed: null, account, mustAcquire: false }
    const why = `the rate of the connection ${connection} is used up`
    return { max, closed: { is: 'closed' as const, untilAt: opensAt, why }, account, mustAcquire }
  }

  const stateOf = (tenant: TenantId, { connection, isForLimits }: Where): CircuitGate =>
    isForLimits === true ? OPEN : stateCache.gate(tenant, connection)

  const prepare: CallAdmission['prepare'] = (tenant, where) => {
    const { account, mustAcquire } = roomOf(tenant, where)
    return mustAcquire && account !== null ? buckets.acquire(tenant, account, where.buckets) : null
  }

  const leave: CallAdmission['leave'] = (hold) => {
    const entered = inside.size === 0 ? undefined : inside.get(hold)
    if (entered === undefined) return
    inside.delete(hold)
    buckets.leave(entered.tenant, entered.account, entered.names, hold)
  }

  return {
    gate(tenant, connection, names = []) {
      const gate = stateCache.gate(tenant, connection)
      if (gate.is === 'refused' || gate.is === 'closed') return gate
      const { closed, mustAcquire } = roomOf(tenant, { connection, buckets: names })
      if (closed !== null && !mustAcquire) return closed
      if (gate.is !== 'tryable') return { is: 'open' }
      return {
        is: 'closed',
        untilAt: time.now(),
        why: `the circuit of the connection ${connection} is open; one may be tried`,
      }
    },
    offer(tenant, where) {
      const gate = stateOf(tenant, where)
      if (gate.is === 'refused') return { is: 'open', max: Number.POSITIVE_INFINITY }
      if (gate.is === 'closed') return { is: 'closed', untilAt: gate.untilAt }
      const { max, closed, mustAcquire } = roomOf(tenant, where)
      if (closed !== null && !mustAcquire) return { is: 'closed', untilAt: closed.untilAt }
      if (mustAcquire || gate.is === 'tryable') return { is: 'ask' }
      return { is: 'open', max: gate.is === 'mine' ? 1 : max }
    },
    async begin(tenant, where) {
      const drawing = prepare(tenant, where)
      if (drawing !== null) await drawing
      if (stateOf(tenant, where).is === 'tryable') await stateCache.mayTry(tenant, where.connection)
    },
    prepare,
    mayLeaseOnInsert(tenant, where) {
      const gate = stateOf(tenant, where)
      if (gate.is === 'refused') return true
      if (gate.is !== 'open') return false
      const { closed, mustAcquire } = roomOf(tenant, where)
      return closed === null || mustAcquire
    },
    enter(tenant, where, hold) {
      const { connection, buckets: names, isForLimits } = where
      const gate = stateOf(tenant, where)
      // It ends as soon as it runs.
      if (gate.is === 'refused') return null
      // Closed by the circuit, by an operator, or by a test that is still to come: only a trial in progress is let in again.
      if (gate.is === 'closed' && !stateCache.isTry(tenant, connection, hold)) return gate
      const isIn = isForLimits === true || stateCache.enter(tenant, connection, hold)
      if (!isIn) {
        // No claim asks for the trial: the next job that comes is let in.
        if (gate.is === 'tryable') void stateCache.mayTry(tenant, connection).catch(() => {})
        const why = `the circuit of the connection ${connection} is open`
        return { untilAt: time.now() + SHORT_WAIT_MS, why }
      }
      const { closed, account } = roomOf(tenant, where)
      if (closed !== null) {
        stateCache.finished(hold)
        return closed
      }
      if (account !== null) {
        buckets.enter(tenant, account, names, hold)
        inside.set(hold, { tenant, account, names })
      }
      return null
    },
    leave,
    spend: (hold) => inside.delete(hold),
    answered(hold, said) {
      const entered = inside.get(hold)
      if (entered === undefined) return
      inside.delete(hold)
      buckets.reportResult(entered.tenant, entered.account, entered.names, { by: hold, ...said })
    },
    used: leave,
    reportResult(tenant, connection, hold, failureClass) {
      const isUnsent = inside.has(hold)
      leave(hold)
      // The other side knows nothing of a call that was not sent for a reason of our own.
      if (isUnsent && (failureClass === 'config' || failureClass === 'auth')) return stateCache.finished(hold)
      stateCache.reportResult(tenant, connection, failureClass, stateCache.isTry(tenant, connection, hold))
    },
    finished(hold) {
      leave(hold)
      stateCache.finished(hold)
    },
  }
}
