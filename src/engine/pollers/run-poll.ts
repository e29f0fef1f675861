// Runs a poll: reads the window page by page. The items of a page are stored first; then one commit stores the checkpoint, and with the
// last page the watermark. A job that is interrupted goes on at the checkpoint.
//
// Invariants: N9 the watermark passes no item that was not stored. PO5 a fault of the source or a failed call moves nothing.

import { describeError, ExpressionError } from '../../core/expression/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import { assert } from '../../core/foundation/errors/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import {
  beginPoll,
  failPoll,
  NO_COUNTS,
  type Poller,
  type PollFault,
  type PollRun,
  type PollStep,
  type PollWindow,
  stepPage,
  stepPoll,
  windowOf,
} from '../../core/polling/poller/index.ts'
import { type Attempt, EMPTY_NOTE, LOSSES_MAX } from '../../core/queue/work/index.ts'
import type { EngineBase, EventPlan } from '../commit/index.ts'
import type { Registry } from '../definitions/index.ts'
import { countersOf, errorTextInFull, leaseGuard, measured, type Performed } from '../effects/index.ts'
import { canonicalEvent } from '../events/index.ts'
import { iso } from '../ingest/index.ts'
import type { BeginJob, Item } from '../leases/index.ts'
import {
  again,
  type Decision,
  type Decisions,
  dead,
  decideNext,
  done,
  type Settler,
  skipped,
} from '../settlement/index.ts'
import { pollerOf } from './begin-poll.ts'
import { changePoller, readPoller, type StoredPoller } from './poller-records.ts'
import type { PageRead, ReadPage } from './read-page.ts'
import type { StoreItems } from './store-items.ts'

export interface PollRunner {
  /** Throws StoreError; the caller puts the job back. */
  run(item: Item): Promise<void>
}

interface About {
  readonly item: Item
  readonly poller: Poller
  readonly stored: StoredPoller
  readonly window: PollWindow
}

export function makePollRunner(
  deps: Pick<EngineBase, 'store' | 'ids' | 'plan' | 'time' | 'random' | 'commits' | 'log'> & {
    readonly registry: Registry
    readonly settler: Settler
    readonly decisions: Decisions
    readonly begin: BeginJob
    readonly readPage: ReadPage
    readonly storeItems: StoreItems
  },
): PollRunner {
  const { store, time, log, registry, settler, commits, readPage, storeItems } = deps

  const run = async (claimed: Item): Promise<void> => {
    const { tenant, consumer } = claimed.work
    const name = pollerOf(consumer)
    assert(name !== null, 'a poll is of a poller')
    const poller = registry.poller(tenant, name)
    if (poller === null) return over(claimed, null, `the poller ${name} is not defined any more`)
    const item = await deps.begin(claimed, poller.route)
    const found = await take(item, poller)
    if (found === null) return over(item, poller, 'another poll has taken its place')
    let stored: StoredPoller | null = found
    while (stored !== null) stored = await runPage(item, poller, stored)
  }

  /** The state that this job reads a window of; null: it is another job's. A replayed job takes a poller that no other has. */
  const take = async (item: Item, poller: Poller): Promise<StoredPoller | null> => {
    const { work } = item
    const { name } = poller.document
    const stored = await readPoller(store, work.tenant, name)
    if (stored.state.active?.workId === work.id) return stored
    if (stored.state.active !== null || work.replayOf === null) return null
    const taken = beginPoll(stored.state, work.id, poller.rules, time.now())
    return commitState(item, name, stored, {
      ...taken,
      active: taken.active && { ...taken.active, attempts: work.attempts },
    })
  }

  /** null: the job is not this node's any more, or the state changed meanwhile. */
  const commitState = async (
    item: Item,
    name: string,
    stored: StoredPoller,
    state: StoredPoller['state'],
  ): Promise<StoredPoller | null> => {
    const { guard, write } = changePoller(name, stored, state)
    const result = await commits.firmly(item.work.tenant, [leaseGuard(item), guard], [write])
    return result.ok ? { state, version: stored.version + 1 } : null
  }

  /** The state after one page; null: the job is settled, or left. */
  const runPage = async (item: Item, poller: Poller, stored: StoredPoller): Promise<StoredPoller | null> => {
    const now = time.now()
    const window = windowOf(stored.state, poller.rules, now)
    const about: About = { item, poller, stored, window }
    const end = endOf(item)
    if (end !== null) return failForGood(about, end.class, end.reason, end.error)
    let read: PageRead
    try {
      read = await readPage(item, poller, window)
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      return failForGood(about, 'validation', 'rejected', describeError(error))
    }
    switch (read.is) {
      case 'wait':
        return wait(about, read.delayMs, read.why)
      case 'failed':
        return failed(about, read.performed, now)
      case 'fault':
        return fault(about, read.fault)
      case 'moved':
        return proceed(about, { is: 'more', state: { ...stored.state, window: null } })
      case 'page': {
        const { watermark } = stored.state
        // Nothing of a page that contradicts the others is stored.
        const first = stepPage(watermark, window, poller.rules, read.page, NO_COUNTS)
        if (first.is === 'fault') return fault(about, first.fault)
        const counts = await storeItems(item, poller, read.items)
        const step = stepPage(watermark, window, poller.rules, read.page, counts)
        return proceed(
          about,
          stepPoll(stored.state, step, window, poller.rules, {
            attempts: item.work.attempts,
            now: time.now(),
          }),
        )
      }
    }
  }

  const proceed = async (
    { item, poller, stored, window }: About,
    step: PollStep,
  ): Promise<StoredPoller | null> => {
    const { name } = poller.document
    if (step.is === 'more') {
      const next = await commitState(item, name, stored, step.state)
      return next ?? lost({ item, poller, stored, window })
    }
    const counters = { ...countersOf(item), attempts: item.work.attempts + 1 }
    await end({ item, poller, stored, window }, step, done({ counters, note: EMPTY_NOTE }))
    return null
  }

  /** An operator changed the poller, or the job is another node's. */
  const lost = async ({ item, poller }: About): Promise<StoredPoller | null> => {
    const stored = await readPoller(store, item.work.tenant, poller.document.name)
    if (stored.state.active?.workId === item.work.id) return stored
    await over(item, poller, 'the poller was changed while it was read')
    return null
  }

  /** Settles the job together with the state after it. */
  const end = async (
    about: About,
    step: Extract<PollStep, { is: 'over' }>,
    decision: Decision,
  ): Promise<void> => {
    const { item, poller, stored } = about
    const { guard, write } = changePoller(poller.document.name, stored, step.state)
    const plans = step.run.outcome === 'truncated' ? [planBehind(item, poller, step.run)] : []
    const settlement = await settler.settle(item, poller.route, {
      ...decision,
      guards: [guard],
      writes: [write, ...plans.flatMap(({ writes }) => writes)],
      ...(plans.length === 0 ? {} : { plans }),
    })
    if (settlement.ok) return report(item, poller, step.run)
    if (settlement.why === 'guard') await lost(about)
  }

  const planBehind = (
    item: Item,
    { document, consumer }: Poller,
    { from, to, pages, counts }: PollRun,
  ): EventPlan =>
    canonicalEvent(deps, {
      tenant: item.work.tenant,
      subject: 'integration.poller.behind',
      data: {
        poller: document.name,
        consumer,
        workId: item.work.id,
        from: iso(from),
        to: iso(to),
        pages,
        found: counts.found,
      },
      key: item.work.id,
      parent: item.event,
    })

  const report = ({ work }: Item, { document }: Poller, ended: PollRun): void => {
    const { outcome, from, to, pages, counts, watermark, code, error, startedAt, endedAt } = ended
    const facts = {
      tenant: work.tenant,
      poller: document.name,
      work: work.id,
      fromTs: iso(from),
      toTs: iso(to),
      pages,
      ...counts,
      watermark: watermark === null ? null : iso(watermark),
      durationMs: endedAt - startedAt,
    }
    if (outcome === 'completed') log.info('poller.window-completed', facts)
    else if (outcome === 'truncated') log.warn('poller.behind', facts)
    else log.warn('poller.failed', { ...facts, code, error })
  }

  const over = async (item: Item, poller: Poller | null, why: string): Promise<void> => {
    const note = { ...EMPTY_NOTE, lastError: why }
    await settler.settle(item, poller?.route ?? null, skipped({ counters: countersOf(item), note }))
  }

  const wait = async ({ item, poller }: About, delayMs: number, why: string): Promise<null> => {
    const counters = { ...countersOf(item), waits: item.work.waits + 1 }
    const note = { ...EMPTY_NOTE, class: item.work.class, lastError: why }
    await settler.settle(item, poller.route, again(delayMs, { counters, note }))
    return null
  }

  /** Tried again by the retry policy; the pages before it used none of its attempts. */
  const failed = async (about: About, performed: Performed, startedAt: Instant): Promise<null> => {
    const { item, poller, stored } = about
    const { outcome, verdict, error = errorTextInFull(outcome) } = performed
    assert(verdict.as === 'failed', 'a call that succeeded did not fail')
    const { work } = item
    const before = stored.state.active?.attempts ?? 0
    const counted = { work: { ...work, attempts: Math.max(0, work.attempts - before) } }
    const step = decideNext(deps, counted, poller.document.retry, {
      class: verdict.class,
      retryAfterMs: verdict.retryAfterMs,
    })
    const attempt: Attempt = {
      number: work.attempts + 1,
      startedAt,
      durationMs: measured(outcome).durationMs ?? 0,
      outcome: step.step === 'again' ? 'again' : 'dead',
      class: verdict.class,
      httpStatus: measured(outcome).httpStatus,
      error,
    }
    if (step.step !== 'again')
      return failForGood(
        about,
        verdict.class,
        step.step === 'dead' ? step.reason : 'cap_reached',
        error,
        attempt,
      )
    const counters = { ...countersOf(item), attempts: work.attempts + 1 }
    const note = { ...EMPTY_NOTE, class: verdict.class, lastError: error, ...measured(outcome) }
    await settler.settle(item, poller.route, again(step.delayMs, { counters, note, attempt }))
    return null
  }

  /** The source contradicts itself: its window is given up, and the next poll begins it again. */
  const fault = async (about: About, found: PollFault): Promise<null> => {
    const { item, stored, window, poller } = about
    const step = stepPoll(stored.state, { is: 'fault', fault: found }, window, poller.rules, {
      attempts: item.work.attempts,
      now: time.now(),
    })
    assert(step.is === 'over', 'a fault ends a poll')
    await dieWith(
      about,
      step,
      { class: 'validation', reason: 'rejected', error: `${found.code}: ${found.message}` },
      null,
    )
    return null
  }

  const failForGood = async (
    about: About,
    failureClass: FailureClass,
    reason: Parameters<typeof dead>[0]['reason'],
    error: string,
    attempt: Attempt | null = null,
  ): Promise<null> => {
    const step = failPoll(
      about.stored.state,
      about.poller.rules,
      { code: reason, message: error },
      time.now(),
    )
    assert(step.is === 'over', 'a failure ends a poll')
    await dieWith(about, step, { class: failureClass, reason, error }, attempt)
    return null
  }

  const dieWith = (
    about: About,
    step: Extract<PollStep, { is: 'over' }>,
    why: Parameters<typeof dead>[0],
    attempt: Attempt | null,
  ): Promise<void> => {
    const { item } = about
    const counters = { ...countersOf(item), attempts: item.work.attempts + 1 }
    const note = {
      ...EMPTY_NOTE,
      class: why.class,
      lastError: why.error,
      httpStatus: attempt?.httpStatus ?? null,
    }
    return end(about, step, dead(why, { counters, note, ...(attempt === null ? {} : { attempt }) }))
  }

  const endOf = ({ work }: Item) => {
    if (work.losses >= LOSSES_MAX) {
      const error = 'the node stopped each time while this job ran alone'
      return { class: 'poison', reason: 'crash_loop', error } as const
    }
    if (time.now() < work.expiresAt) return null
    const error = work.lastError ?? 'it waited longer than it may'
    return { class: work.class ?? ('transient' as const), reason: 'expired' as const, error }
  }

  return { run }
}
