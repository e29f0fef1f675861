// N3 and N6 on every call that leaves a node, and the outcome of it all: one effect per key.

import { DEFAULT_TENANT, type WorkId } from '../src/core/foundation/ids/index.ts'
import { isUntried } from '../src/core/queue/work/index.ts'
import type { LaneChecks } from './check-lanes.ts'
import type { VirtualTime } from './clock.ts'
import type { Data } from './data.ts'
import { type Life, short } from './node.ts'
import { addTo, type Observations, type Reserve } from './run-observations.ts'
import { attemptsOf, isEffectKey, keyOfSent, variantOf } from './scenario.ts'
import type { Answer, Effect, Send, Vendor } from './vendor.ts'

export interface SendChecks {
  sent(send: Send): void
  took(effect: Effect): void
}

/** Statuses by which a server says that it did nothing (docs/spec/failures): 5xx but these two says nothing. */
function provesNothing({ outcome }: Send): boolean {
  if (outcome === null) return false
  if (outcome.kind === 'failed') return outcome.sent === 'no'
  return (outcome.status >= 300 && outcome.status < 500) || outcome.status === 501 || outcome.status === 503
}

/** Too many, or not with this credential: neither is the fault of the work. */
function isUncounted({ send, status }: Answer): boolean {
  return status === 429 || (send.operation.connection !== undefined && (status === 401 || status === 403))
}

export function makeSendChecks(deps: {
  readonly observations: Observations
  readonly data: Data
  readonly time: VirtualTime
  vendor(): Vendor
  readonly lanes: Pick<LaneChecks, 'started'>
  /** Another process of the same node ran beside this one. */
  wasDoubled(life: Life): boolean
}): SendChecks {
  const { observations, data, time } = deps
  const sharedBy = new Map<string, Send[]>()
  const sendsWithEffect = new Map<string, Set<number>>()
  /** What created the objects of an operation and a reference. */
  const objects = new Map<string, readonly Send[]>()

  /** Answers whose call it is; `isHeld`: by a reserve that is open, and not by one that a replaced process still has. */
  const checkReserve = (send: Send): { readonly work: WorkId; readonly isHeld: boolean } | null => {
    const name = `send ${send.id} (${send.operation.name}, key ${send.key})`
    // A call for several names no single event.
    const isShared = send.operation.isBatch === true || send.operation.isRotation === true
    const reserve = observations.reserves
      .get(send.key)
      ?.findLast(({ life, eventId }) => life === send.life && (isShared || eventId === send.eventId))
    if (reserve === undefined || reserve.consumer !== send.operation.consumer) {
      observations.violate('N3', `${name} has no reserve`)
      return null
    }
    // An upsert looks first, which may take its time.
    const sendBy = reserve.sendBy + (send.operation.isUpsert ? send.operation.timeoutMs + 500 : 0)
    if (time.now() > sendBy) observations.violate('N3', `${name} begins after its reserve allows`)
    const row = data.work(DEFAULT_TENANT, reserve.work)
    if (row !== null && !isUntried(row) && reserve.at >= row.expiresAt) {
      observations.violate('N6', `${name} is made after its work has expired`)
    }
    const variant = row === null ? undefined : variantOf(row.definition)
    if (!send.isProbe && variant !== undefined && send.definition !== variant) {
      observations.violate(
        'DV9',
        `${name} is made by the ${send.definition} version, its work began with the ${variant}`,
      )
    }
    const isHeld = checkHeld(send, reserve, name)
    if (send.operation.isBatch) checkMembers(send, reserve.work, name)
    return { work: reserve.work, isHeld }
  }

  /** A job that shares a call waits in its batch, and has its own reserve. */
  const checkMembers = (send: Send, batch: WorkId, name: string) => {
    if (send.members.length === 0) observations.violate('N3', `${name} is made for no job`)
    for (const sent of send.members) {
      const { key } = keyOfSent(sent)
      const entry = data.ledger(DEFAULT_TENANT, key)
      const member = entry === null ? null : data.work(DEFAULT_TENANT, entry.work)
      const isIn = entry?.state === 'reserved' && member?.state === 'merged' && member.into === batch
      if (!isIn && !deps.wasDoubled(send.life))
        observations.violate(
          'N3',
          `${name} is made for ${sent}, which is ${entry?.state} and ${member?.state}`,
        )
    }
  }

  /**
   * The reserve is open and the lease outlasts the call. A lease ends early in one way only: the node was started a
   * second time. Then the call may still be made until its `sendBy`, and the node that takes over allows for it.
   */
  const checkHeld = (send: Send, reserve: Reserve, name: string): boolean => {
    const row = data.work(DEFAULT_TENANT, reserve.work)
    const entry = data.ledger(DEFAULT_TENANT, send.key)
    const isOpen = entry?.state === 'reserved' && entry.work === reserve.work && entry.epoch === reserve.epoch
    const isHolder =
      row?.state === 'leased' && row.epoch === reserve.epoch && send.life.owners.has(row.owner!)
    const lease = isHolder ? data.incarnation(row.owner!) : null
    if (isOpen && lease !== null && !lease.fenced) {
      if (lease.until < time.now() + send.operation.timeoutMs) {
        observations.violate('N3', `${name} may outlast the lease of ${send.life.name}`)
      }
      return true
    }
    observations.counts.staleSends += 1
    if (!deps.wasDoubled(send.life))
      observations.violate('N3', `${name} is made by ${send.life.name} without an open reserve`)
    return false
  }

  /** Each that shares a call is repeated for a reason of its own. */
  const checkMemberRepeats = (send: Send) => {
    for (const member of send.members) {
      const { key } = keyOfSent(member)
      for (const before of sharedBy.get(member) ?? []) {
        const isRefused = before.said?.some((one) => one.key === member && !one.ok) === true
        const isTold = before.outcome?.kind === 'response' && before.outcome.status < 300
        if (provesNothing(before) || (isTold && isRefused)) continue
        if (isReleased(before) || isMemberReleased(before, member, key)) continue
        if (deps.wasDoubled(send.life) && observations.words.has(key)) continue
        observations.violate('N3', `send ${send.id} repeats send ${before.id} for ${member} without a reason`)
      }
      addTo(sharedBy, member, send)
    }
  }

  const isMemberReleased = (before: Send, member: string, key: string): boolean =>
    (observations.releases.get(key) ?? []).some(
      ({ at, proof }) =>
        at >= before.at &&
        (proof === 'person' || (proof === 'probe' && isProbedAbsent({ ...before, sentKey: member }, at))),
    )

  const checkRepeat = (send: Send) => {
    const earlier = observations.sends.get(send.sentKey) ?? []
    if (earlier.length > 0) observations.counts.secondSends += 1
    for (const before of earlier) {
      if (provesNothing(before) || isHarmless(before, send) || isReleased(before)) continue
      // An operator released the key while a call that was given up could still be made.
      if (deps.wasDoubled(send.life) && observations.words.has(send.key)) continue
      observations.violate(
        'N3',
        `send ${send.id} repeats send ${before.id} (key ${send.key}) without a reason`,
      )
    }
  }

  /** The operation may be repeated, or the vendor still knows the key. */
  const isHarmless = (before: Send, send: Send): boolean => {
    const { operation } = send
    // What was created may be updated as often as one likes.
    if (operation.isIdempotent && before.operation.consumer === operation.consumer) return true
    if (before.operation.name !== operation.name) return false
    const first = observations.sends.get(send.sentKey)![0]!
    return (
      operation.keyTtlMs !== null &&
      before.idempotencyKey === send.idempotencyKey &&
      send.at + operation.timeoutMs < first.at + operation.keyTtlMs
    )
  }

  const isReleased = (before: Send): boolean =>
    (observations.releases.get(before.key) ?? []).some(
      ({ at, proof }) =>
        at >= before.at && (proof === 'person' || (proof === 'probe' && isProbedAbsent(before, at))),
    )

  /** Asked in time to know: after the vendor can have applied what was given up. */
  const isProbedAbsent = (before: Send, until: number): boolean => {
    const gaveUpAt = Math.min(
      before.outcomeAt ?? Number.POSITIVE_INFINITY,
      before.at + before.operation.timeoutMs,
    )
    return deps
      .vendor()
      .answers.some(
        ({ send, at, status }) =>
          send.isProbe &&
          send.sentKey === before.sentKey &&
          send.operation.name === before.operation.name &&
          status === 404 &&
          send.at >= gaveUpAt + (before.operation.probeAfterMs ?? 0) &&
          at <= until,
      )
  }

  const checkCap = (send: Send, work: WorkId) => {
    addTo(observations.calls, work, send)
    const limited = new Set(
      deps.vendor().answers.flatMap((answer) => (isUncounted(answer) ? [answer.send.id] : [])),
    )
    const isEffect = isEffectKey(send.key)
    const calls = observations.calls
      .get(work)!
      .filter(({ id, sentKey }) => sentKey === send.sentKey && (isEffect || !limited.has(id))).length
    const attempts = attemptsOf(send.operation.consumer)
    // A function that dies after a call of which it knew that it had no effect forgets that it was made.
    const forgotten = isEffect ? (observations.lost.get(work) ?? 0) : 0
    if (calls > attempts + forgotten) {
      observations.violate('N6', `work ${short(work)} makes call ${calls} of ${attempts} for ${send.key}`)
    }
  }

  const releasedBy = (key: string): number =>
    (observations.words.get(key) ?? []).filter((word) => word === 'released').length

  /** One object per reference, whichever job creates it. */
  const checkObject = (send: Send) => {
    observations.counts.created += 1
    const name = `${send.operation.name} ${send.ref}`
    const creates = [...(objects.get(name) ?? []), send]
    objects.set(name, creates)
    const excused = creates.reduce((sum, { key }) => sum + releasedBy(key), 0)
    if (creates.length > 1 + excused)
      observations.violate(
        'N3',
        `there are ${creates.length} objects of ${name}, by ${creates.map(({ key }) => key).join()}`,
      )
  }

  return {
    sent(send) {
      if (send.isProbe) {
        observations.counts.probes += 1
        return
      }
      if (send.operation.isUnreserved) return
      const reserve = checkReserve(send)
      const work = reserve?.work ?? null
      // The node that took the job over allows for a call of the replaced process: this call starts nothing in its lane.
      if (reserve?.isHeld) deps.lanes.started(reserve.work, !observations.calls.has(reserve.work))
      if (send.operation.name.endsWith('fresh')) observations.counts.updated += 1
      if (send.operation.isBatch) checkMemberRepeats(send)
      else checkRepeat(send)
      addTo(observations.sends, send.sentKey, send)
      for (const member of send.members)
        observations.shared.set(member, (observations.shared.get(member) ?? new Set()).add(send.key))
      if (work !== null) checkCap(send, work)
    },

    took({ send, key }) {
      observations.counts.effects += 1
      if (isEffectKey(send.key)) observations.counts.functionEffects += 1
      if (send.operation.isIdempotent) return
      const sends = sendsWithEffect.get(key) ?? new Set()
      sendsWithEffect.set(key, sends.add(send.id))
      // An operator may have been wrong; the engine may not.
      const excused = releasedBy(keyOfSent(key).key)
      if (sends.size > 1 + excused) {
        observations.violate('N3', `key ${key} has the effects of sends ${[...sends].join(' and ')}`)
      }
      if (send.operation.isUpsert && !send.operation.name.endsWith('fresh')) checkObject(send)
    },
  }
}
