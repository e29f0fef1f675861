// Decides how one member ends when its batch does, for the same commit.

import type { LedgerProof } from '../../../core/effects/ledger/index.ts'
import type { WorkId } from '../../../core/foundation/ids/index.ts'
import { stringifyJson } from '../../../core/foundation/json/index.ts'
import type { MemberOutcome } from '../../../core/queue/batch/index.ts'
import { type Attempt, type Counters, EMPTY_NOTE, type Note } from '../../../core/queue/work/index.ts'
import type { Route } from '../../../core/routing/index.ts'
import type { Encryption } from '../../../ports/encryption.ts'
import type { Random } from '../../../ports/random.ts'
import type { Write } from '../../../ports/store.ts'
import type { StoreTime } from '../../commit/index.ts'
import { encryptResult } from '../../secrets/index.ts'
import {
  again,
  cancelled,
  type Decision,
  type Decisions,
  dead,
  decideNext,
  done,
  type OtherEnd,
  parked,
  skipped,
} from '../../settlement/index.ts'
import { outcomeWord, SAYING, settleLedger } from '../call-outcome.ts'
import { isMerged, type Member, memberReserve } from './batch-members.ts'

export interface MemberEnds {
  byOutcome(member: Member, route: Route, batch: Decision, outcome: MemberOutcome): OtherEnd
  /** `outcomeUnknown`: the batch may have been sent. */
  dead(
    member: Member,
    route: Route,
    batch: Extract<Decision, { to: 'dead' }>,
    outcomeUnknown: boolean,
  ): OtherEnd
  cancelled(member: Member, route: Route, batch: Decision, outcomeUnknown: boolean): OtherEnd
  known(member: Member, route: Route, batch: Decision): OtherEnd
  /** Moves it into another batch unchanged. */
  moved(member: Member, batch: WorkId): Write
}

export function makeMemberEnds(deps: {
  readonly encryption: Encryption
  readonly random: Random
  readonly time: StoreTime
  readonly decisions: Decisions
}): MemberEnds {
  const { time } = deps

  const ended = (member: Member, route: Route, decision: Decision, ledger: Write): OtherEnd => ({
    held: member,
    route,
    hold: isMerged(member),
    decision: { ...decision, guards: [memberReserve(member)], writes: [ledger] },
  })

  const attemptOf = (counters: Counters, note: Note, outcome: Attempt['outcome']): Attempt => ({
    number: counters.attempts,
    startedAt: time.now(),
    durationMs: note.durationMs ?? 0,
    outcome,
    class: note.class,
    httpStatus: note.httpStatus,
    error: note.lastError,
  })

  const untold = (member: Member, route: Route, batch: Decision, why: string): OtherEnd => {
    const { action } = route
    const isHttp = action.type === 'http'
    const counters = triedOnce(member)
    const step = decideNext(deps, member, route.document.retry, {
      class: 'unknown',
      effect: 'maybe',
      idempotent: isHttp && action.policy.idempotent,
      // The vendor knows the batch's key, not the member's.
      canRepeat: false,
      probeAfterMs: isHttp ? action.abilities.probeAfterMs : null,
      retryAfterMs: null,
    })
    const note = { ...noteOf(member, batch), class: 'unknown' as const, lastError: why }
    const base = { counters, note, attempt: attemptOf(counters, note, outcomeWord(step)) }
    const ledger = settleLedger(member.key, 'unknown', 'no-answer', null, null)
    const decision =
      step.step === 'again'
        ? again(step.delayMs, { ...base, counters: step.counters })
        : step.step === 'park'
          ? parked(base)
          : dead({ class: 'unknown', reason: step.reason, error: why }, base)
    return ended(member, route, decision, ledger)
  }

  return {
    byOutcome(member, route, batch, outcome) {
      const counters = triedOnce(member)
      if (outcome.as === 'untold') return untold(member, route, batch, outcome.why)
      if (outcome.as === 'refused') {
        const words = outcome.words === null ? '' : `${SAYING}${outcome.words}`
        const error = `refused within its batch${words}`
        const note = { ...noteOf(member, batch), class: 'validation' as const, lastError: error }
        const attempt = attemptOf(counters, note, 'dead')
        return ended(
          member,
          route,
          dead({ class: 'validation', reason: 'rejected', error }, { counters, note, attempt }),
          settleLedger(member.key, 'released', 'not-applied', null, null),
        )
      }
      const { effectRef } = batch.note
      const text = outcome.result === undefined ? null : stringifyJson(outcome.result)
      const result = encryptResult(deps.encryption, member, member.key, text)
      const note = { ...noteOf(member, batch), effectRef }
      return ended(
        member,
        route,
        done({ counters, note }),
        settleLedger(member.key, 'done', proofOf(batch), effectRef, result),
      )
    },
    dead(member, route, batch, outcomeUnknown) {
      const counters = { ...triedOnce(member), attempts: member.work.attempts + batch.counters.attempts }
      const note = { ...noteOf(member, batch), class: batch.class, lastError: batch.error }
      const ledger = outcomeUnknown
        ? settleLedger(member.key, 'unknown', 'no-answer', null, null)
        : settleLedger(member.key, 'released', 'not-applied', null, null)
      const { reason, error } = batch
      const died = dead({ class: batch.class, reason, error }, { counters, note })
      return ended(member, route, died, ledger)
    },
    cancelled(member, route, batch, outcomeUnknown) {
      const { attempts, waits, losses } = member.work
      const note = { ...noteOf(member, batch), lastError: batch.note.lastError }
      return ended(
        member,
        route,
        cancelled({ counters: { attempts, waits, losses }, note }),
        outcomeUnknown
          ? settleLedger(member.key, 'unknown', 'no-answer', null, null)
          : settleLedger(member.key, 'released', 'never-sent', null, null),
      )
    },
    known(member, route, batch) {
      const { attempts, waits, losses } = member.work
      const { effectRef } = batch.note
      const note = { ...noteOf(member, batch), effectRef }
      const counters = { attempts, waits, losses }
      return ended(
        member,
        route,
        skipped({ counters, note }),
        settleLedger(member.key, 'done', 'acknowledged', effectRef, null),
      )
    },
    moved({ work, key }, batch) {
      const { attempts, waits, losses, class: failure, lastError } = work
      return {
        w: 'work.settle',
        work: work.id,
        to: 'merged',
        counters: { attempts, waits, losses },
        note: { ...EMPTY_NOTE, key, class: failure, lastError },
        place: 'keep',
        into: batch,
      }
    },
  }
}

function triedOnce({ work }: Member): Counters {
  return { attempts: work.attempts + 1, waits: work.waits, losses: work.losses }
}

function noteOf({ key }: Member, batch: Decision): Note {
  const { httpStatus, durationMs } = batch.note
  return { ...EMPTY_NOTE, key, httpStatus, durationMs }
}

/** The proof of the batch's effect proves the members'. */
function proofOf({ writes }: Decision): LedgerProof {
  for (const write of writes) if (write.w === 'ledger.settle' && write.to === 'done') return write.proof
  return 'acknowledged'
}
