// A window of a poll: which changes are asked for, which page is next, what a page means, and when the watermark moves.
//
// Invariants: N9 the watermark moves only with the last page, never back, and never past the end of the window; so it passes no
// item that was not stored. A source that contradicts itself is a fault, and a fault moves nothing.

import type { PagingDocument } from '../../definitions/documents/index.ts'
import { type Instant, SECOND } from '../../foundation/time/index.ts'
import { type LoopCheck, NO_LOOP, stepLoop } from './loop-check.ts'

export interface WindowRules {
  /** Of the document: what was asked for by another one is not continued. */
  readonly hash: string
  readonly sinceMs: number
  readonly overlapMs: number
  readonly safetyLagMs: number
  readonly paging: PagingDocument
  /** Whether the request asks for changes after the beginning of the window, and for changes before its end. */
  readonly hasFrom: boolean
  readonly hasTo: boolean
}

export interface PollCounts {
  readonly found: number
  readonly stored: number
  readonly duplicates: number
  readonly unchanged: number
  readonly deadLettered: number
}

export const NO_COUNTS: PollCounts = { found: 0, stored: 0, duplicates: 0, unchanged: 0, deadLettered: 0 }

/** A window that is being read: the checkpoint between its pages. */
export interface PollWindow {
  /** Of the document that opened it. Windows of former versions have none. */
  readonly hash?: string
  /** Inclusive. */
  readonly from: Instant
  /** Exclusive. */
  readonly to: Instant
  readonly openedAt: Instant
  /** Pages read so far, over all runs. */
  readonly pages: number
  /** A page number, an offset, a cursor or an address; null: the first page. */
  readonly next: string | null
  readonly largest: Instant | null
  readonly total: number | null
  /** How many items its first page has; null: it was not read. */
  readonly perPage: number | null
  readonly counts: PollCounts
  /** Fingerprints of the latest pages: each is compared with all of them. */
  readonly seen: readonly string[]
  /** Beyond these, circles are found all the same. */
  readonly loops: { readonly pages: LoopCheck; readonly next: LoopCheck }
  /** How often it was begun again because items disappeared from it. */
  readonly restarts: number
}

export interface PolledPage {
  /** When each item changed; null: it does not say. */
  readonly changedAt: readonly (Instant | null)[]
  /** The same for the same items. */
  readonly fingerprint: string
  /** Of the next page: its cursor or address; null: there is none, or the style has none. */
  readonly next: string | null
  /** How many items the source says there are; null: it does not. */
  readonly total: number | null
}

type PollFaultCode =
  | 'wrong_shape'
  | 'looping_cursor'
  | 'repeated_page'
  | 'back_in_time'
  | 'incomplete_pages'
  | 'foreign_link'

export interface PollFault {
  readonly code: PollFaultCode
  readonly message: string
}

export type PageStep =
  | { readonly is: 'more'; readonly window: PollWindow }
  | { readonly is: 'last'; readonly window: PollWindow; readonly watermark: Instant | null }
  | { readonly is: 'fault'; readonly fault: PollFault }

/** Sources that filter by whole seconds return items from the beginning of the second. */
const TOLERANCE_MS = SECOND
const RESTARTS_MAX = 3
const SEEN_MAX = 1_000

/** The lower bound is closed and overlaps with the window before; the upper one stays behind the present. */
export function openWindow(
  { watermark, origin }: { readonly watermark: Instant | null; readonly origin: Instant | null },
  { hash, sinceMs, overlapMs, safetyLagMs }: WindowRules,
  now: Instant,
): PollWindow {
  const to = now - safetyLagMs
  const first = Math.min(origin ?? now, now - sinceMs)
  const from = watermark === null ? first : watermark - overlapMs
  return {
    hash,
    from: Math.min(from, to),
    to,
    openedAt: now,
    pages: 0,
    next: null,
    largest: null,
    total: null,
    perPage: null,
    counts: NO_COUNTS,
    seen: [],
    loops: { pages: NO_LOOP, next: NO_LOOP },
    restarts: 0,
  }
}

/** The parameter that asks for the next page; null: the first page of a cursor or of links has none. */
export function pageParam(
  { next }: Pick<PollWindow, 'next'>,
  paging: PagingDocument,
): { readonly name: string; readonly value: string } | null {
  switch (paging.style) {
    case 'page':
    case 'offset':
      return { name: paging.param, value: next ?? String(paging.first) }
    case 'cursor':
      return next === null ? null : { name: paging.param, value: next }
    default:
      return null
  }
}

/** The watermark after the last page: the end of the window if the source was asked up to it, otherwise the largest time seen. */
function movedTo(watermark: Instant | null, window: PollWindow, hasTo: boolean): Instant | null {
  const reached = hasTo ? window.to : window.largest === null ? null : Math.min(window.largest, window.to)
  if (reached === null) return watermark
  return watermark === null ? reached : Math.max(watermark, reached)
}

export function stepPage(
  watermark: Instant | null,
  before: PollWindow,
  rules: WindowRules,
  page: PolledPage,
  counts: PollCounts,
): PageStep {
  const { paging } = rules
  const count = page.changedAt.length
  const early = rules.hasFrom ? findEarly(page, before.from) : null
  if (early !== null) return fault('back_in_time', early)
  const pages = count === 0 ? before.loops.pages : stepLoop(before.loops.pages, page.fingerprint)
  if (pages === null || (count > 0 && before.seen.includes(page.fingerprint)))
    return fault('repeated_page', `page ${before.pages + 1} has the items of an earlier page`)
  const nextLoop = page.next === null ? before.loops.next : stepLoop(before.loops.next, page.next)
  if (nextLoop === null || (page.next !== null && page.next === before.next))
    return fault('looping_cursor', `page ${before.pages + 1} names a next page that was read before`)
  if (before.total !== null && page.total !== null && page.total < before.total) return restart(before)
  const found = before.counts.found + count
  const window: PollWindow = {
    ...before,
    pages: before.pages + 1,
    largest: largestOf(before.largest, page.changedAt),
    total: page.total ?? before.total,
    perPage: before.perPage ?? count,
    counts: added(before.counts, counts),
    seen: count === 0 ? before.seen : [page.fingerprint, ...before.seen].slice(0, SEEN_MAX),
    loops: { pages, next: nextLoop },
  }
  const last = (): PageStep => ({
    is: 'last',
    window: { ...window, next: null },
    watermark: movedTo(watermark, window, rules.hasTo),
  })
  if (paging.style !== 'page' && paging.style !== 'offset')
    return page.next === null ? last() : { is: 'more', window: { ...window, next: page.next } }
  const { total } = window
  const isUneven = paging.style === 'page' && before.perPage !== null && count !== before.perPage
  if (total !== null && isUneven && (count > (before.perPage ?? 0) || found < total)) {
    const message = `page ${window.pages} has ${count} items and the first one ${before.perPage}: numbered pages are equally long, except the last`
    return fault('incomplete_pages', message)
  }
  if (total !== null && found >= total) return last()
  if (count === 0) {
    if (total === null) return last()
    return fault(
      'incomplete_pages',
      `the source says that there are ${total} items, and its pages have ${found}`,
    )
  }
  // A page that is shorter than requested may be followed by others: sources have limits of their own.
  const at = Number(before.next ?? paging.first)
  const next = paging.style === 'page' ? at + 1 : at + count
  return { is: 'more', window: { ...window, next: String(next) } }
}

/** Items left the window while it was read, and those behind them moved up: one of them may be on a page that was read. */
function restart(before: PollWindow): PageStep {
  if (before.restarts >= RESTARTS_MAX)
    return fault('incomplete_pages', 'items disappear from its pages each time they are read')
  const again = {
    ...before,
    next: null,
    total: null,
    perPage: null,
    seen: [],
    loops: { pages: NO_LOOP, next: NO_LOOP },
    counts: { ...before.counts, found: 0 },
    restarts: before.restarts + 1,
  }
  return { is: 'more', window: again }
}

function findEarly({ changedAt }: PolledPage, from: Instant): string | null {
  const early = changedAt.find((at) => at !== null && at < from - TOLERANCE_MS)
  if (early == null) return null
  const [found, asked] = [early, from].map((at) => new Date(at).toISOString())
  return `it was asked for changes from ${asked} on, and returned one of ${found}`
}

function largestOf(before: Instant | null, changedAt: readonly (Instant | null)[]): Instant | null {
  return changedAt.reduce(
    (largest, at) => (at !== null && (largest === null || at > largest) ? at : largest),
    before,
  )
}

export function added(a: PollCounts, b: PollCounts): PollCounts {
  return {
    found: a.found + b.found,
    stored: a.stored + b.stored,
    duplicates: a.duplicates + b.duplicates,
    unchanged: a.unchanged + b.unchanged,
    deadLettered: a.deadLettered + b.deadLettered,
  }
}

function fault(code: PollFaultCode, message: string): PageStep {
  return { is: 'fault', fault: { code, message } }
}
