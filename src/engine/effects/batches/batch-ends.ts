// The end of a batch is the end of its members: each has its own outcome, ledger entry and dead letter. This participant of the settler
// adds them to the commit that ends the batch, whether its call, an operator or a late acknowledgement ends it.
//
// Invariants: BA3 every member gets exactly one outcome. BA6 a batch that is refused as a whole is split in two, until
// the member at fault is alone. BA7 a batch has no dead letter: its members have.

import { acknowledgedResult, type LedgerEntry, type LedgerProof } from '../../../core/effects/ledger/index.ts'
import type { FailureClass } from '../../../core/failures/failure/index.ts'
import { parseJson } from '../../../core/foundation/json/index.ts'
import { type MemberOutcome, splitBatch } from '../../../core/queue/batch/index.ts'
import type { Route } from '../../../core/routing/index.ts'
import type { Guard, Write } from '../../../ports/store.ts'
import type { EngineBase } from '../../commit/index.ts'
import { lineOf } from '../../observe/index.ts'
import { openResult } from '../../secrets/index.ts'
import type { Decision, Decisions, Held, OtherEnd, Part, Participant } from '../../settlement/index.ts'
import { withoutWords } from '../call-outcome.ts'
import { isMerged, keySentOf, loadMembers, type Member } from './batch-members.ts'
import { newBatch } from './freeze-batch.ts'
import { makeMemberEnds } from './member-ends.ts'

interface Deps
  extends Pick<
    EngineBase,
    'store' | 'commits' | 'encryption' | 'ids' | 'random' | 'time' | 'log' | 'vars' | 'wake'
  > {
  readonly decisions: Decisions
}

/** Failure classes that a single member can cause for all. */
const CULPABLE: readonly FailureClass[] = ['validation', 'poison']

export function endBatches(deps: Deps): Participant {
  const { store, commits, log } = deps
  const ends = makeMemberEnds(deps)

  const membersOf = (held: Held, route: Route): Promise<readonly Member[]> =>
    commits.retryUntilAvailable(() =>
      loadMembers(store.forTenant(held.work.tenant), held.work, route, deps.vars),
    )

  const whole = async (held: Held, route: Route, decision: Decision): Promise<Whole> => {
    const members = await membersOf(held, route)
    switch (decision.to) {
      case 'done':
        return finished(held, route, decision, members)
      case 'dead': {
        const halves = CULPABLE.includes(decision.class) ? splitBatch(members) : null
        if (halves !== null) return split(route, decision, halves)
        // A repeatable call without a response may still have had its effect.
        const outcomeUnknown = unknownOf(decision, held) ?? (await isOutcomeUnknown(held))
        const others = members.map((member) => ends.dead(member, route, decision, outcomeUnknown))
        return { decision: asSkipped(decision, decision.error), others }
      }
      case 'cancelled': {
        const isOpen = await isOutcomeUnknown(held)
        return { decision, others: members.map((member) => ends.cancelled(member, route, decision, isOpen)) }
      }
      // Another batch of exactly the same members existed before.
      default:
        return { decision, others: members.map((member) => ends.known(member, route, decision)) }
    }
  }

  const finished = async (
    held: Held,
    route: Route,
    decision: Decision,
    members: readonly Member[],
  ): Promise<Whole> => {
    const outcomes = await outcomesOf(held, route, decision, members)
    const others = members.map((member, index) =>
      ends.byOutcome(member, route, decision, outcomes[index] as MemberOutcome),
    )
    if (members.length === 0 || outcomes.some(({ as }) => as === 'done')) return { decision, others }
    // No member's effect is known to exist, and unknown outcomes are recorded under the members' own keys. The same
    // members may form a batch again, and then the batch's key must not decide for them.
    const writes = decision.writes.flatMap(released)
    const isRefused = outcomes.every(({ as }) => as === 'refused')
    const why = isRefused ? 'every member was refused' : 'the answer tells of no member that was taken'
    return { decision: { ...asSkipped(decision, why), writes }, others }
  }

  /**
   * What is known of the response: the current one, or what was stored of it. Without either, the decision
   * applies to all members alike.
   */
  const outcomesOf = async (
    held: Held,
    route: Route,
    decision: Decision,
    members: readonly Member[],
  ): Promise<readonly MemberOutcome[]> => {
    const keys = members.map(keySentOf)
    const { batch } = route
    if (batch === null || !batch.isPartial) return keys.map(() => ({ as: 'done', result: undefined }))
    if (decision.said !== undefined) return batch.outcomesOf(keys, decision.said)
    const key = decision.note.key ?? held.work.key
    const entry =
      key === null
        ? null
        : await commits.retryUntilAvailable(() => store.forTenant(held.work.tenant).ledger(key))
    if (entry === null) return keys.map(() => ({ as: 'done', result: undefined }))
    const opened = openResult(deps.encryption, {
      ...entry,
      result: acknowledgedResult(entry) ?? entry.result,
    })
    if (opened.ok && opened.text !== null) return batch.outcomesOf(keys, parseJson(opened.text))
    // An operator decides for all members. A response that was lost or too long to store, and a probe that finds the
    // batch, do not: one member may have been refused.
    if (proofOf(decision, entry) === 'person') return keys.map(() => ({ as: 'done', result: undefined }))
    return keys.map(() => ({ as: 'untold', why: 'what the answer says of it was not kept' }))
  }

  const split = (
    route: Route,
    decision: Extract<Decision, { to: 'dead' }>,
    halves: NonNullable<ReturnType<typeof splitBatch<Member>>>,
  ): Whole => {
    const guards: Guard[] = []
    const writes: Write[] = []
    for (const half of halves) {
      const batch = newBatch(deps.ids, route, (half[0] as Member).work)
      writes.push({ w: 'work.add', work: batch, lease: null, delayMs: 0 })
      for (const member of half) {
        guards.push(isMerged(member))
        writes.push(ends.moved(member, batch.id))
      }
    }
    const skipped = asSkipped(decision, `SPLIT: ${decision.error}`)
    return { decision: skipped, guards, writes, others: [], isSplit: true }
  }

  const isOutcomeUnknown = async ({ work }: Held): Promise<boolean> => {
    const open = await commits.retryUntilAvailable(() => store.forTenant(work.tenant).ledgerOfWork(work.id))
    return open.length > 0
  }

  const logBatch = (held: Held, route: Route, { others, isSplit }: Whole) => {
    const name = route.document.name
    if (isSplit === true) {
      log.control(
        lineOf('effect', 'SPLIT', held.event, { route: name, work: held.work.id, key: held.work.key }),
      )
      deps.wake()
    }
    for (const { held: member, decision } of others) {
      const point = decision.to === 'dead' ? 'dead-letter' : 'effect'
      log.control(
        lineOf(point, WORDS[decision.to], member.event, {
          route: name,
          work: member.work.id,
          key: decision.note.key,
          attempt: decision.counters.attempts,
          class: decision.note.class,
          message: withoutWords(decision.note.lastError ?? ''),
        }),
      )
      if (decision.to === 'again') deps.wake()
    }
  }

  return async (decision, { held, route }) => {
    if (route === null || decision.to === 'again' || decision.to === 'parked') return null
    const ended = await whole(held, route, decision)
    return {
      ...ended,
      // A member belongs to its batch alone: another node that changed the member ended the batch too.
      refused: () => 'stale',
      ended(settlement) {
        if (settlement?.ok === true) logBatch(held, route, ended)
      },
    }
  }
}

interface Whole extends Pick<Part, 'guards' | 'writes'> {
  readonly decision: Decision
  readonly others: readonly OtherEnd[]
  readonly isSplit?: boolean
}

const WORDS: Readonly<Record<Decision['to'], string>> = {
  done: 'DONE',
  dead: 'DEAD_LETTERED',
  parked: 'PARKED',
  again: 'RETRY',
  skipped: 'DEDUPE_HIT',
  cancelled: 'CANCELLED',
  merged: 'MERGED',
}

function asSkipped({ counters, note, guards, writes, attempt }: Decision, lastError: string): Decision {
  return { to: 'skipped', counters, note: { ...note, lastError }, guards, writes, attempt }
}

/** How the end is known: by the current decision, or by what the ledger had already. */
function proofOf({ writes }: Decision, entry: LedgerEntry): LedgerProof | null {
  for (const write of writes) if (write.w === 'ledger.settle' && write.to === 'done') return write.proof
  return entry.proof
}

/** Whether the decision leaves the outcome of its key unknown; null: it does not say. */
function unknownOf({ writes, note }: Decision, { work }: Held): boolean | null {
  const key = note.key ?? work.key
  for (const write of writes) {
    if (write.w === 'ledger.settle' && write.key === key) return write.to === 'unknown'
  }
  return null
}

function released(write: Write): readonly Write[] {
  // An internal action reserves nothing: there is nothing to release.
  if (write.w === 'ledger.done') return []
  if (write.w !== 'ledger.settle' || write.to !== 'done') return [write]
  return [{ ...write, to: 'released', proof: 'not-applied', effectRef: null, result: null }]
}
