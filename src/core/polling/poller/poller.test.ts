import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PagingDocument } from '../../definitions/documents/index.ts'
import type { WorkId } from '../../foundation/ids/index.ts'
import {
  beginPoll,
  failPoll,
  NEW_POLLER,
  NO_COUNTS,
  nextLink,
  openWindow,
  type PageStep,
  type PolledPage,
  type PollerState,
  pageParam,
  pausedUntil,
  rollBack,
  stepPage,
  stepPoll,
  type WindowRules,
  windowOf,
} from './index.ts'
import { NO_LOOP, stepLoop } from './loop-check.ts'

const MINUTE = 60_000
const NOW = 1_700_000_000_000
const WORK = 'wrk_1' as WorkId
const PAGE: PagingDocument = {
  style: 'page',
  param: 'page',
  first: 1,
  total: null,
  pageSize: 2,
  maxPages: 50,
}
const RULES: WindowRules = {
  hash: 'one',
  sinceMs: 60 * MINUTE,
  overlapMs: 10 * MINUTE,
  safetyLagMs: 30_000,
  paging: PAGE,
  hasFrom: true,
  hasTo: true,
}

const at = (watermark: number | null) => ({ watermark, origin: null })

function page(changedAt: readonly (number | null)[], more: Partial<PolledPage> = {}): PolledPage {
  return { changedAt, fingerprint: String(changedAt), next: null, total: null, ...more }
}

function read(pages: readonly PolledPage[], rules: WindowRules, watermark: number | null = null): PageStep {
  let window = openWindow(at(watermark), rules, NOW)
  let step: PageStep | null = null
  for (const one of pages) {
    step = stepPage(watermark, window, rules, one, { ...NO_COUNTS, found: one.changedAt.length })
    if (step.is !== 'more') return step
    window = step.window
  }
  if (step === null) throw new Error('there are no pages')
  return step
}

describe('a window', () => {
  test('[PO10] begins `since` before now the first time, and later `overlap` before the watermark', () => {
    expect(openWindow(at(null), RULES, NOW)).toMatchObject({ from: NOW - 60 * MINUTE, to: NOW - 30_000 })
    expect(openWindow(at(NOW - 5 * MINUTE), RULES, NOW)).toMatchObject({
      from: NOW - 15 * MINUTE,
      to: NOW - 30_000,
    })
  })

  test('[PO10] of the first poll begins where it began, however long polls fail', () => {
    const state = beginPoll(NEW_POLLER, WORK, RULES, NOW)
    expect(windowOf(state, RULES, NOW + 90 * MINUTE).from).toBe(NOW - 60 * MINUTE)
  })

  test('[PO10] ends before the present also if the clock went back', () => {
    const { from, to } = openWindow(at(NOW + 60 * MINUTE), RULES, NOW)
    expect(from).toBe(to)
  })
})

describe('pages', () => {
  test.each([
    ['page', PAGE, ['1', '2', '3']],
    ['page from 0', { ...PAGE, first: 0 }, ['0', '1', '2']],
    ['offset', { ...PAGE, style: 'offset', first: 0 }, ['0', '2', '3']],
  ] as const)(
    '[PO11] by %s: each asks for the next, and a short page is not the last',
    (_, paging, asked) => {
      const rules = { ...RULES, paging: paging as PagingDocument }
      let window = openWindow(at(null), rules, NOW)
      const params: (string | undefined)[] = [pageParam(window, rules.paging)?.value]
      for (const changedAt of [[NOW - 3, NOW - 2], [NOW - 1]]) {
        const step = stepPage(null, window, rules, page(changedAt), { ...NO_COUNTS, found: changedAt.length })
        if (step.is !== 'more') throw new Error(step.is)
        window = step.window
        params.push(pageParam(window, rules.paging)?.value)
      }
      expect(params).toEqual(asked)
      expect(stepPage(null, window, rules, page([]), NO_COUNTS).is).toBe('last')
    },
  )

  test('[PO11] by cursor: the first has none, and the one without a next is the last', () => {
    const paging = { style: 'cursor', param: 'after', next: 'x', pageSize: 2, maxPages: 9 } as const
    const rules = { ...RULES, paging }
    const window = openWindow(at(null), rules, NOW)
    expect(pageParam(window, paging)).toBeNull()
    const step = stepPage(null, window, rules, page([], { next: 'c' }), NO_COUNTS)
    expect(step.is === 'more' && pageParam(step.window, paging)).toEqual({ name: 'after', value: 'c' })
    expect(read([page([NOW], { next: 'c' }), page([])], rules).is).toBe('last')
  })

  const TOTAL = { ...RULES, paging: { ...PAGE, total: 'result.body.total' } as PagingDocument }

  test('[PO11] a total ends them without an empty page', () => {
    expect(read([page([NOW, NOW], { total: 3 }), page([NOW - 1], { total: 3 })], TOTAL).is).toBe('last')
  })

  test('[PO7] pages that lack items are a fault', () => {
    expect(read([page([NOW], { total: 3 }), page([], { total: 3 })], TOTAL)).toMatchObject({
      fault: { code: 'incomplete_pages' },
    })
  })

  test('[PO12] if items leave the window while it is read, it is read again from its first page', () => {
    const step = read([page([NOW, NOW], { total: 3 }), page([NOW - 1], { total: 2 })], TOTAL)
    expect(step).toMatchObject({ is: 'more', window: { next: null, restarts: 1, counts: { found: 0 } } })
  })

  test('[PO7] items before the window are a fault, unless the request names no lower bound', () => {
    const early = [page([NOW - 61 * MINUTE])]
    expect(read(early, RULES)).toMatchObject({ fault: { code: 'back_in_time' } })
    expect(read(early, { ...RULES, hasFrom: false }).is).toBe('more')
    // Some sources filter by whole seconds.
    expect(read([page([NOW - 60 * MINUTE - 999])], RULES).is).toBe('more')
  })

  test('[PO7] a circle of any length is found within three rounds, and a line never', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 40 }), (lead, length) => {
        let check: ReturnType<typeof stepLoop> = NO_LOOP
        let steps = 0
        while (check !== null && steps < 1_000) {
          const at = steps < lead ? steps : lead + ((steps - lead) % length)
          check = stepLoop(check, String(at))
          steps += 1
        }
        expect(steps).toBeLessThanOrEqual(3 * (lead + length) + 2)
      }),
    )
    let line: ReturnType<typeof stepLoop> = NO_LOOP
    for (let at = 0; at < 1_000; at += 1) line = stepLoop(line ?? NO_LOOP, String(at))
    expect(line).not.toBeNull()
  })
})

describe('the watermark', () => {
  test('[PO13] becomes the end of the window, also if nothing was found', () => {
    expect(read([page([])], RULES)).toMatchObject({ is: 'last', watermark: NOW - 30_000 })
  })

  test('[PO13] of a request without an upper bound becomes the largest time seen, and never a time in the future', () => {
    const rules = { ...RULES, hasTo: false }
    expect(read([page([NOW - 9_000_0]), page([])], rules)).toMatchObject({ watermark: NOW - 90_000 })
    expect(read([page([NOW + 9 * MINUTE]), page([])], rules)).toMatchObject({ watermark: NOW - 30_000 })
    expect(read([page([])], rules, NOW - MINUTE)).toMatchObject({ watermark: NOW - MINUTE })
  })

  test('[PO13] never goes back by itself', () => {
    const ahead = NOW + 60 * MINUTE
    expect(read([page([])], RULES, ahead)).toMatchObject({ watermark: ahead })
  })

  /**
   * A source that changes while it is read: its objects, in the order of their changes, with pages by number. Its total does not show
   * that one object left the window while another one entered it.
   */
  test('[N9] passes no item that was not stored, if no object takes the place of another', () => {
    const change = fc.record({
      id: fc.nat(5),
      lagMs: fc.integer({ min: 0, max: 9 * MINUTE }),
      inMs: fc.nat(4 * MINUTE),
    })
    const world = fc.record({
      changes: fc.array(change, { maxLength: 60 }),
      pageSize: fc.integer({ min: 1, max: 4 }),
      maxPages: fc.integer({ min: 1, max: 3 }),
      faults: fc.array(fc.constantFrom('none', 'none', 'repeat', 'outage', 'partial', 'refused', 'changed'), {
        maxLength: 80,
      }),
    })
    fc.assert(
      fc.property(world, ({ changes, pageSize, maxPages, faults }) => {
        let last = NOW
        const all = changes.map(({ id, inMs, lagMs }, version) => {
          last += inMs
          return { id, version, at: last, visibleAt: last + lagMs }
        })
        let rules: WindowRules = {
          ...RULES,
          paging: { ...PAGE, total: 'total', pageSize, maxPages } as PagingDocument,
        }
        const stored = new Set<number>()
        let state: PollerState = NEW_POLLER
        let now = NOW
        let turn = 0
        /** What the window had at the page before. */
        let before: readonly number[] = []
        const end = last + 60 * MINUTE
        while (now < end) {
          now += 2 * MINUTE
          state = beginPoll(state, WORK, rules, now)
          for (;;) {
            const fault = faults[turn % Math.max(1, faults.length)] ?? 'none'
            turn += 1
            if (fault === 'changed') rules = { ...rules, hash: String(turn) }
            const window = windowOf(state, rules, now)
            if (fault === 'changed') expect(window).toMatchObject({ pages: 0, next: null })
            // The source has the latest version of each object alone.
            const visible = new Map<number, (typeof all)[number]>()
            for (const one of all) if (one.visibleAt <= now) visible.set(one.id, one)
            const found = [...visible.values()]
              .filter((one) => one.at >= window.from && one.at < window.to)
              .sort((a, b) => a.at - b.at || a.id - b.id)
            const versions = found.map(({ version }) => version)
            const hasLeft = before.some((version) => !versions.includes(version))
            const hasEntered = versions.some((version) => !before.includes(version))
            if (window.pages > 0 && hasLeft && hasEntered) return
            now += 1_000
            if (fault === 'outage') break
            if (fault === 'refused') {
              const { watermark } = state
              state = failPoll(state, rules, { code: 'rejected', message: 'x' }, now).state
              expect(state).toMatchObject({ watermark, window: null })
              break
            }
            before = versions
            const number = fault === 'repeat' ? 1 : Number(window.next ?? 1)
            const items = found.slice((number - 1) * pageSize, number * pageSize)
            const some = fault === 'partial' ? items.slice(0, -1) : items
            const answer = page(
              some.map((one) => one.at),
              { fingerprint: JSON.stringify(some), total: found.length },
            )
            const first = stepPage(state.watermark, window, rules, answer, NO_COUNTS)
            const counts = { ...NO_COUNTS, found: some.length }
            if (first.is !== 'fault') for (const { version } of some) stored.add(version)
            const step = stepPoll(
              state,
              stepPage(state.watermark, window, rules, answer, counts),
              window,
              rules,
              {
                attempts: 0,
                now,
              },
            )
            state = step.state
            const { watermark } = state
            if (watermark !== null) {
              // The latest visible version of every object below the watermark, less what the overlap is for.
              const missed = [...visible.values()].filter(
                (one) => one.at < watermark - RULES.overlapMs && !stored.has(one.version),
              )
              expect(missed).toEqual([])
            }
            if (step.is === 'over') break
          }
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe('a run', () => {
  const windowed = (state: PollerState) => windowOf(state, RULES, NOW)

  test('[PO6] that read as many pages as it may leaves the window for the next', () => {
    const rules = { ...RULES, paging: { ...PAGE, maxPages: 1 } as PagingDocument }
    const state = beginPoll(NEW_POLLER, WORK, RULES, NOW)
    const window = windowed(state)
    const step = stepPoll(state, stepPage(null, window, rules, page([NOW]), NO_COUNTS), window, rules, {
      attempts: 0,
      now: NOW,
    })
    expect(step).toMatchObject({
      is: 'over',
      run: { outcome: 'truncated' },
      state: { watermark: null, window: { next: '2' } },
    })
    expect(windowOf(step.state, rules, NOW + MINUTE).from).toBe(window.from)
  })

  test('[PO5] that met a fault gives up the window, and the poller pauses for longer each time', () => {
    let state: PollerState = NEW_POLLER
    const pauses: number[] = []
    for (let n = 0; n < 8; n += 1) {
      state = beginPoll(state, WORK, RULES, NOW)
      const fault = { is: 'fault', fault: { code: 'wrong_shape', message: 'x' } } as const
      state = stepPoll(state, fault, windowed(state), RULES, { attempts: 0, now: NOW }).state
      pauses.push((pausedUntil(state) - NOW) / MINUTE)
    }
    expect(state).toMatchObject({ watermark: null, window: null, active: null })
    expect(pauses).toEqual([2, 4, 8, 16, 32, 60, 60, 60])
    expect(pausedUntil(NEW_POLLER)).toBe(0)
  })

  test('[PO5] that failed for good gives up the window: its cursor may have expired', () => {
    const state = {
      ...beginPoll(NEW_POLLER, WORK, RULES, NOW),
      window: { ...openWindow(at(null), RULES, NOW), next: 'c' },
    }
    const failed = failPoll(state, RULES, { code: 'rejected', message: '410' }, NOW).state
    expect(failed).toMatchObject({
      watermark: null,
      window: null,
      active: null,
      runs: [{ outcome: 'failed' }],
    })
  })

  test('[PO8] gives up a window that another document opened, or a former version', () => {
    const opened = { ...openWindow(at(null), RULES, NOW), next: '7', pages: 6 }
    const { hash: _, ...former } = opened
    const windowWith = (window: PollerState['window'], hash: string) =>
      windowOf({ ...NEW_POLLER, window }, { ...RULES, hash }, NOW + MINUTE)
    expect(windowWith(opened, 'one')).toBe(opened)
    expect(windowWith(opened, 'two')).toMatchObject({ hash: 'two', next: null, pages: 0 })
    expect(windowWith(former, 'one')).toMatchObject({ next: null, pages: 0 })
  })

  test('[PO14] rolling back sets the watermark and gives up the window', () => {
    const state = { ...beginPoll(NEW_POLLER, WORK, RULES, NOW), watermark: NOW }
    expect(rollBack(state, NOW - MINUTE)).toMatchObject({
      watermark: NOW - MINUTE,
      window: null,
      active: null,
    })
  })
})

test.each([
  ['<https://a.example/x?page=2>; rel="next"', 'https://a.example/x?page=2'],
  ['</x?page=2>; rel=next', 'https://a.example/x?page=2'],
  ['<?p=1>; rel="prev", <?p=3>; title="x"; rel="last next"', 'https://a.example/list?p=3'],
  ['<https://a.example/x>; rel="nextish"', null],
  ['<?p=3>; title="a, b <c>"; rel="next"', 'https://a.example/list?p=3'],
  ['<?p=1>; title="x\\", <?p=2>; rel=next"; rel=prev, <?p=3>; REL=Next', 'https://a.example/list?p=3'],
  ['<?p=1>; rel=prev; rel=next', null],
  ['<?p=1>; title="; rel=next"', null],
  [undefined, null],
])('[PO11] the next page in the header %s', (header, next) => {
  expect(nextLink(header, 'https://a.example/list?p=2')).toEqual({ ok: true, link: next })
})

test('[PO7] a next link that is no address is a fault, not the end', () => {
  expect(nextLink('<https://[x/>; rel=next', 'https://a.example/list')).toMatchObject({
    ok: false,
    fault: { code: 'wrong_shape' },
  })
})
