// What people decide about work: replaying a dead letter, settling an unknown outcome by hand.

import { type DeadLetter, stepDeadLetter } from '../core/dead-letter/index.ts'
import { AppError } from '../core/errors/index.ts'
import type { DeadLetterId, Ids, TenantId, WorkId } from '../core/ids/index.ts'
import { EMPTY_NOTE } from '../core/work/index.ts'
import type { Write } from '../ports/store.ts'
import type { Commits } from './commits.ts'
import type { EngineDeps } from './deps.ts'
import { lineOf } from './lines.ts'
import { ledgerGuard, settleLedger } from './outcome.ts'
import { newWork } from './plan.ts'
import type { Registry } from './registry.ts'
import type { Settler } from './settle.ts'

/** Who decided, and why, for the log. */
export interface Decided {
  readonly actor?: string
  readonly reason?: string | null
}

export interface Replays {
  /** A new item through the same path, on the definition in force, with the same key. */
  replay(
    tenant: TenantId,
    id: DeadLetterId,
    options: Decided & { readonly force: boolean },
  ): Promise<{ readonly workId: WorkId }>
  /** A person says what became of a parked item's effect; `work.key` names it, also where it is one of several. */
  resolve(
    tenant: TenantId,
    id: WorkId,
    options: Decided & { readonly as: 'done' | 'released' },
  ): Promise<void>
}

export function makeReplays(
  deps: Pick<EngineDeps, 'store' | 'log'> & {
    readonly registry: Registry
    readonly ids: Ids
    readonly commits: Commits
    readonly settler: Settler
    wake(): void
  },
): Replays {
  const { store, log, registry, ids, commits, settler } = deps
  return {
    async replay(tenant, id, { force, ...decided }) {
      const reads = store.forTenant(tenant)
      const letter = await reads.deadLetter(id)
      if (letter === null) throw new AppError('not_found', `no dead letter ${id}`)
      const [event, route] = [await reads.event(letter.eventId), registry.route(tenant, letter.consumer)]
      if (event === null) throw new AppError('not_found', `event ${letter.eventId} is gone`)
      if (route === null)
        throw new AppError('definition_missing', `${letter.consumer} is not defined any more`)
      const work = { ...newWork(ids, route, event), replayOf: id }
      const step = stepDeadLetter(rowOf(letter), { type: 'replay', work: work.id, force })
      if (!step.ok) {
        if (step.refusal === 'replays_exhausted') throw new AppError('replays_exhausted')
        throw new AppError('conflict', `the dead letter is ${letter.state}`)
      }
      const writes: Write[] = [
        { w: 'deadLetter.put', row: step.row },
        { w: 'work.add', work, lease: null, delayMs: 0 },
      ]
      const guards = [{ g: 'version', of: 'deadLetter', key: id, version: letter.version }] as const
      const result = await commits.once(tenant, guards, writes)
      if (!result.ok) throw new AppError('conflict', 'the dead letter changed meanwhile')
      const message = decidedText(decided)
      const facts = {
        route: route.document.name,
        work: work.id,
        key: letter.key,
        attempt: step.row.replays,
        message,
      }
      log.control(lineOf('replay', 'REPLAYED', event, facts))
      deps.wake()
      return { workId: work.id }
    },

    async resolve(tenant, id, { as, ...decided }) {
      const reads = store.forTenant(tenant)
      const work = await reads.work(id)
      if (work === null) throw new AppError('not_found', `no work item ${id}`)
      if (work.state !== 'parked') throw new AppError('conflict', `the item is ${work.state}, not parked`)
      const [event, entry] = [
        await reads.event(work.eventId),
        work.key === null ? null : await reads.ledger(work.key),
      ]
      if (event === null) throw new AppError('not_found', `event ${work.eventId} is gone`)
      if (entry === null) throw new AppError('conflict', 'it has no ledger entry')
      const isWaiting = entry.state === 'unknown' && entry.work === id
      // Another item has settled the doubt meanwhile: the ledger stands, and the person's word is about the item alone.
      if (!isWaiting && as === 'done' && entry.state !== 'done') {
        throw new AppError(
          'conflict',
          `the ledger entry is ${entry.state}; say released, and the item looks again`,
        )
      }
      const note = {
        ...EMPTY_NOTE,
        key: entry.key,
        lastError: decidedText(decided),
        effectRef: entry.effectRef,
      }
      const guards = [ledgerGuard(entry)]
      const writes = isWaiting ? [settleLedger(entry.key, as, 'person', entry.effectRef, entry.result)] : []
      const route = await registry.pinned(tenant, work.definition)
      const base = { note, guards, writes, attempt: null }
      // An item of a function is parked over one of its effects: with that settled, the function goes on.
      const isOver = as === 'done' && route?.action.type !== 'function'
      const settlement = await settler.settleUnheld(
        { work, event },
        route,
        isOver
          ? {
              ...base,
              to: 'done',
              counters: { attempts: work.attempts, waits: work.waits, losses: work.losses },
            }
          : // A person's word is a new start: the item has all its attempts again.
            { ...base, to: 'again', delayMs: 0, counters: { attempts: 0, waits: 0, losses: 0 } },
        { g: 'work', work: id, state: 'parked', epoch: work.epoch },
      )
      if (!settlement.ok) throw new AppError('conflict')
      const facts = {
        route: route?.document.name ?? null,
        work: id,
        key: entry.key,
        message: decidedText(decided),
      }
      log.control(lineOf('effect', as === 'done' ? 'MARKED_DONE' : 'MARKED_RELEASED', event, facts))
      if (!isOver) deps.wake()
    },
  }
}

function rowOf(letter: DeadLetter) {
  const { tenant: _tenant, createdAt: _createdAt, updatedAt: _updatedAt, ...row } = letter
  return row
}

function decidedText({ actor = 'the engine’s owner', reason }: Decided): string {
  return reason == null ? `by ${actor}` : `by ${actor}: ${reason}`
}
