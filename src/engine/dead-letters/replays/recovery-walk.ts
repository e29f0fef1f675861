// Walks over the events that a subscription may select, oldest first, a bounded number at a time: which it selects by
// its current patterns and condition, and the state of each delivery.
//
// There is no index of events by pattern, so a walk reads summaries, a thousand at a time, and payloads only of events
// that may have to be sent and whose condition has to be evaluated. Memory holds one page and its findings.

import { isCanonicalSource } from '../../../core/events/canonical/index.ts'
import {
  deadLetterOfEdit,
  type EventSummary,
  idSpan,
  type StoredEvent,
} from '../../../core/events/event/index.ts'
import { parsePayload } from '../../../core/events/sensitive/index.ts'
import { makeTrie } from '../../../core/events/subject/index.ts'
import type { DeadLetter } from '../../../core/failures/dead-letter/index.ts'
import type { EventId } from '../../../core/foundation/ids/index.ts'
import { JsonError } from '../../../core/foundation/json/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import { isUntried, type WorkRow } from '../../../core/queue/work/index.ts'
import type { Vars } from '../../../core/routing/index.ts'
import { isTestEvent, type Subscription } from '../../../core/webhooks/subscription/index.ts'
import type { TenantReads } from '../../../ports/store.ts'
import type { Registry } from '../../definitions/index.ts'
import { isWanted } from '../../planning/index.ts'
import { judgeWork, type RecoveryVerdict } from './recovery-verdict.ts'
import { isCopy } from './replay-events.ts'
import type { DeliveriesFilter } from './replay-record.ts'

/** An event that the subscription selects. */
export interface Found {
  readonly summary: EventSummary
  readonly verdict: RecoveryVerdict
  /** If it failed: its open dead letter. */
  readonly deadLetter: DeadLetter | null
  /** If it is missing: the event, if its payload had to be read. */
  readonly event: StoredEvent | null
  /** If it is under way: its job, if that waits for a retry. */
  readonly waiting: WorkRow | null
}

export interface WalkBounds {
  /** How many deliveries to recover; the walk stops there. */
  readonly found: number
  /** How many events it reads. */
  readonly walked: number
  /** How many payloads it reads. */
  readonly payloads: number
}

export interface Walked {
  readonly found: readonly Found[]
  /** The last event read, and when it was received; null: there was none. */
  readonly last: Pick<EventSummary, 'id' | 'receivedAt'> | null
  readonly walked: number
  readonly isLast: boolean
}

const PAGE = 1_000
/** Each of them may read its event, which may be large. */
const AT_ONCE = 50

export interface WalkDeps {
  readonly reads: TenantReads
  readonly registry: Registry
  readonly vars: Vars
  readonly subscription: Subscription
  readonly filter: Required<DeliveriesFilter>
}

/** Whether a recovery has something to do for it. */
export function isRecovered(
  { verdict, waiting }: Pick<Found, 'verdict' | 'waiting'>,
  { what }: DeliveriesFilter,
): boolean {
  if (what === 'retrying') return waiting !== null
  return (verdict === 'failed' && what !== 'missing') || (verdict === 'missing' && what !== 'failed')
}

export async function walkEvents(deps: WalkDeps, after: EventId | null, bounds: WalkBounds): Promise<Walked> {
  const { reads, filter } = deps
  const span = idSpan(filter.since, filter.until)
  const below = span.below as EventId
  const fits = makeFits(deps.subscription)
  const found: Found[] = []
  let at = after ?? (span.atLeast as EventId)
  let last: Walked['last'] = null
  let walked = 0
  let recovered = 0
  let payloads = 0
  const isFull = () => recovered >= bounds.found || walked >= bounds.walked || payloads >= bounds.payloads
  // If little is taken at a time, little is read, unless there is nothing to take.
  const step = Math.min(AT_ONCE, bounds.found)
  let pageMax = Math.min(PAGE, Math.ceil(bounds.found * 1.5))
  for (;;) {
    const limit = Math.min(pageMax, bounds.walked - walked)
    pageMax = Math.min(PAGE, pageMax * 4)
    const page = await reads.eventsAfter({ after: at, below, limit })
    // A test event is for its endpoint only, and is not recovered.
    const own = page.filter((one) => isWithin(one, filter) && !isTestEvent(one) && fits(one.subject))
    const work = await workOf(reads, own)
    for (let start = 0; start < own.length; start += step) {
      const looks = own.slice(start, start + step).map((one) => look(deps, one, work.get(one.id) ?? []))
      for (const [index, seen] of (await Promise.all(looks)).entries()) {
        if (seen.isRead) payloads += 1
        if (seen.found === null) continue
        found.push(seen.found)
        if (isRecovered(seen.found, filter)) recovered += 1
        if (recovered < bounds.found) continue
        // The rest of the page is read again later: changes meanwhile count.
        const { id, receivedAt } = own[start + index] as EventSummary
        walked += page.findIndex((one) => one.id === id) + 1
        return { found, last: { id, receivedAt }, walked, isLast: false }
      }
      const end = own[Math.min(start + step, own.length) - 1] as EventSummary
      if (payloads < bounds.payloads || end === own.at(-1)) continue
      walked += page.indexOf(end) + 1
      return { found, last: end, walked, isLast: false }
    }
    walked += page.length
    last = page.at(-1) ?? last
    at = last?.id ?? at
    if (page.length < limit) return { found, last, walked, isLast: true }
    if (isFull()) return { found, last, walked, isLast: false }
  }
}

function isWithin({ receivedAt }: EventSummary, { since, until }: Required<DeliveriesFilter>): boolean {
  return receivedAt >= since && receivedAt < until
}

/** There are few subjects compared to events: each is matched once. */
function makeFits({ document }: Subscription): (subject: string) => boolean {
  const trie = makeTrie(document.on.map((pattern) => ({ pattern, value: true })))
  const known = new Map<string, boolean>()
  return (subject) => {
    const before = known.get(subject)
    if (before !== undefined) return before
    const fits = trie.find(subject).length > 0
    if (known.size < PAGE) known.set(subject, fits)
    return fits
  }
}

async function workOf(
  reads: TenantReads,
  events: readonly EventSummary[],
): Promise<ReadonlyMap<string, readonly WorkRow[]>> {
  const byEvent = new Map<string, WorkRow[]>()
  if (events.length === 0) return byEvent
  for (const row of await reads.workOfEvents(events.map(({ id }) => id))) {
    const rows = byEvent.get(row.eventId)
    if (rows === undefined) byEvent.set(row.eventId, [row])
    else rows.push(row)
  }
  return byEvent
}

interface Seen {
  /** null: the subscription does not select it. */
  readonly found: Found | null
  readonly isRead: boolean
}

async function look(deps: WalkDeps, summary: EventSummary, work: readonly WorkRow[]): Promise<Seen> {
  const { reads, subscription, filter } = deps
  const { consumer, route } = subscription
  const seen = (verdict: RecoveryVerdict, deadLetter: DeadLetter | null = null): Found => ({
    summary,
    verdict,
    deadLetter,
    event: null,
    waiting: verdict === 'under-way' ? findWaiting(work, consumer) : null,
  })
  // An edited copy is the same occurrence as its original: only its dead letter says what to do.
  const deadLetter = isCopy(summary) ? await deadLetterOfCopy(reads, summary) : null
  if (isCopy(summary) && (deadLetter === null || deadLetter.consumer !== consumer)) return NOT_WANTED
  const verdict = deadLetter !== null && work.length === 0 ? 'failed' : judgeWork(work, consumer)
  if (verdict === 'under-way' || !isRecovered({ verdict, waiting: null }, filter))
    return { found: seen(verdict), isRead: false }
  const open = verdict === 'failed' ? await openDeadLetter(reads, summary, consumer, deadLetter) : null
  if (verdict === 'failed' && open === null) return { found: seen('given-up'), isRead: false }
  // An event of this system may be about the subscription itself, and is then not sent to it.
  const isAsked = subscription.document.where !== null || isCanonicalSource(summary.source)
  if (!isAsked && route.lane === null) return { found: seen(verdict, open), isRead: false }
  const event = await reads.event(summary.id)
  if (event === null || (isAsked && !wants(deps, event))) return { ...NOT_WANTED, isRead: true }
  const isKept = verdict === 'missing' && route.lane !== null
  return { found: { ...seen(verdict, open), event: isKept ? event : null }, isRead: true }
}

/**
 * A job that a crash interrupted is due at once, and stays isolated; a job that waits in its lane is not
 * delayed by its own failures.
 */
function findWaiting(work: readonly WorkRow[], consumer: string): WorkRow | null {
  const isWaiting = (one: WorkRow) =>
    one.consumer === consumer && one.state === 'ready' && !one.alone && !isUntried(one)
  return work.find(isWaiting) ?? null
}

const NOT_WANTED: Seen = { found: null, isRead: false }

/** As at ingest: a condition that cannot be evaluated must not lose the event. */
function wants(deps: WalkDeps, event: StoredEvent): boolean {
  try {
    const [payload, header] = [parsePayload(event.data), parsePayload(event.headers)]
    return isWanted(deps, deps.subscription.route, event, payload, header)
  } catch (error) {
    if (error instanceof JsonError) return true
    throw error
  }
}

async function deadLetterOfCopy(reads: TenantReads, { dedupKey }: EventSummary): Promise<DeadLetter | null> {
  const id = deadLetterOfEdit(dedupKey)
  return id === null ? null : reads.deadLetter(id)
}

const LETTERS_MAX = 50

async function openDeadLetter(
  reads: TenantReads,
  { id }: EventSummary,
  consumer: string,
  known: DeadLetter | null,
): Promise<DeadLetter | null> {
  if (known !== null) return isOpen(known) && known.eventId === id ? known : null
  const { items } = await reads.deadLetters({ eventId: id, cursor: null, limit: LETTERS_MAX })
  return items.find((deadLetter) => deadLetter.consumer === consumer && isOpen(deadLetter)) ?? null
}

function isOpen({ state }: Pick<DeadLetter, 'state'>): boolean {
  return state === 'open' || state === 'ready_to_replay'
}

/** When the oldest stored event was received. */
export async function oldestEventAt(reads: TenantReads): Promise<Instant | null> {
  const ends = { after: 'evt_' as EventId, below: 'evt_~' as EventId }
  const [first] = await reads.eventsAfter({ ...ends, limit: 1 })
  return first?.receivedAt ?? null
}
