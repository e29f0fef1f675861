// PA7, PA8, PA12, PA14 and PA19 on every send, commit and claim: rates, of one node and of all, hosts that asked to be left alone,
// cycles of drains, limits.

import type { RatePolicy } from '../src/core/definitions/documents/index.ts'
import type { DrainRecord } from '../src/core/flow-control/drain/index.ts'
import type { WorkId } from '../src/core/foundation/ids/index.ts'
import { MINUTE, SECOND } from '../src/core/foundation/time/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import type { Commit } from '../src/ports/store.ts'
import type { VirtualTime } from './clock.ts'
import type { Outcome } from './data.ts'
import type { Profile } from './faults.ts'
import type { Life } from './node.ts'
import type { Observations } from './run-observations.ts'
import { ROUTES } from './scenario.ts'
import type { Send } from './vendor.ts'

export interface FlowControlChecks {
  sent(send: Send): void
  applied(life: Life, commits: readonly Commit[], outcomes: readonly Outcome[]): void
  claimed(life: Life, work: readonly WorkRow[]): void
}

/** A call that had begun when the refusal came may still reserve and leave. */
const UNDER_WAY_MS = 15 * SECOND

/** How long a node may keep a token that it drew. */
const DRAWN_MS = 5 * SECOND

export function makeFlowControlChecks(deps: {
  readonly observations: Observations
  readonly time: VirtualTime
  readonly profile: Pick<Profile, 'hasFleet' | 'leaseMs'>
}): FlowControlChecks {
  const { observations, time, profile } = deps
  const rules = new Map(ROUTES.map(({ document }) => [`route:${document.name}`, document]))
  const sends = new Map<string, number[]>()
  const heard = new Map<Life, Send[]>()
  /** Since when an item is held. */
  const heldSince = new Map<WorkId, number>()
  /** Since when the item of a call was held: it may have asked for its host at any time after that. */
  const begunAt = new Map<Send, number>()
  /** What a life has claimed since it began its cycle. */
  const taken = new Map<string, number>()
  const cycles = new Set<string>()

  /** Over all nodes, in any stretch of time. Whoever has a token and a lease may be stopped before the call. */
  const checkShared = (consumer: string, at: number, { perMinute, burst }: RatePolicy) => {
    const all = [...(sends.get(consumer) ?? []), at]
    sends.set(consumer, all)
    const keptMs = DRAWN_MS + profile.leaseMs
    const isOver = all.some((from, index) => {
      const may = burst + (perMinute * (at - from + keptMs)) / MINUTE
      return all.length - index > may
    })
    if (isOver) observations.violate('PA19', `${consumer} makes more calls than its rate lets all nodes make`)
  }

  const checkRate = ({ life, operation, at }: Send) => {
    const rate = rules.get(operation.consumer)?.rateLimit
    if (rate === undefined) return
    if (profile.hasFleet) {
      checkShared(operation.consumer, at, rate)
      return
    }
    const name = `${life.name} ${operation.consumer}`
    const recent = [...(sends.get(name) ?? []).filter((before) => before > at - MINUTE), at]
    sends.set(name, recent)
    if (recent.length > rate.perMinute + rate.burst) {
      observations.violate('PA7', `${operation.consumer} makes ${recent.length} calls in a minute`)
    }
  }

  /** `null`: it does not say when, or by another clock. */
  const closedUntil = ({ outcome, outcomeAt }: Send): number | null => {
    if (outcome?.kind !== 'response' || outcome.status !== 429 || outcomeAt === null) return null
    const asked = outcome.headers['retry-after']
    if (asked !== undefined && !/^\d+$/.test(asked)) return null
    return outcomeAt + (asked === undefined ? MINUTE : Number(asked) * SECOND)
  }

  /** Of the answers in their order, the refusal of a call that began after another refusal, with no other answer between. */
  const findClosing = (
    answered: readonly Send[],
  ): { readonly by: Send; readonly until: number | null } | null => {
    let suspectedAt: number | null = null
    let closing: { readonly by: Send; readonly until: number | null } | null = null
    for (const one of answered) {
      if (one.outcome?.kind !== 'response' || one.outcome.status !== 429) {
        if (suspectedAt === null || one.at >= suspectedAt) {
          suspectedAt = null
          closing = null
        }
      } else if (!isOfRoute(one)) continue
      else if (suspectedAt === null) suspectedAt = one.outcomeAt
      else if ((begunAt.get(one) ?? one.at) >= suspectedAt) closing = { by: one, until: closedUntil(one) }
    }
    return closing
  }

  /** What functions ask for by themselves has no host that the engine knows. */
  const isOfRoute = ({ operation }: Send) => rules.get(operation.consumer)?.do.type === 'http'

  const checkHost = (send: Send) => {
    const answered = (heard.get(send.life) ?? [])
      .filter(({ outcomeAt }) => outcomeAt !== null && send.at > outcomeAt + UNDER_WAY_MS)
      .toSorted((one, other) => (one.outcomeAt ?? 0) - (other.outcomeAt ?? 0))
    const closing = findClosing(answered)
    if (closing !== null && closing.until !== null && send.at < closing.until)
      observations.violate('PA8', `send ${send.id} goes to a host that send ${closing.by.id} found closed`)
  }

  const remember = (send: Send) => {
    const { life } = send
    heard.set(life, [...(heard.get(life) ?? []).slice(-200), send])
    const held = observations.reserves.get(send.key)?.findLast((one) => one.life === life)?.work
    begunAt.set(send, (held === undefined ? undefined : heldSince.get(held)) ?? send.at)
  }

  return {
    sent(send) {
      if (send.isProbe) return
      if (isOfRoute(send)) {
        checkRate(send)
        checkHost(send)
      }
      // Of all others an answer may open the host.
      remember(send)
    },
    applied(life, commits, outcomes) {
      for (const [index, commit] of commits.entries()) {
        if (outcomes[index]?.ok !== true) continue
        for (const write of commit.writes) {
          if (write.w === 'work.add' && write.lease !== null) heldSince.set(write.work.id, time.now())
          if (write.w !== 'record.put' || write.kind !== 'drain') continue
          const { slotAt, cycle } = JSON.parse(write.body) as DrainRecord
          const name = `${write.key} ${slotAt} ${cycle}`
          const drain = rules.get(write.key)?.drain
          if (cycles.has(name) || cycle > (drain?.cycles ?? 0)) {
            observations.violate(
              'PA12',
              `${write.key} begins cycle ${cycle} of slot ${slotAt} at ${time.now()} once more`,
            )
          }
          cycles.add(name)
          taken.set(`${life.name} ${write.key}`, 0)
        }
      }
    },
    claimed(life, work) {
      for (const { id, consumer } of work) {
        heldSince.set(id, time.now())
        const { drain, concurrency } = rules.get(consumer) ?? {}
        if (drain !== undefined) {
          const name = `${life.name} ${consumer}`
          const count = (taken.get(name) ?? 0) + 1
          taken.set(name, count)
          if (count > drain.events)
            observations.violate('PA12', `${life.name} takes ${count} of ${consumer} in a cycle`)
        }
        if (concurrency === undefined || concurrency.by !== undefined) continue
        const leased = [...observations.works.values()].filter(
          (row) => row.consumer === consumer && row.state === 'leased',
        ).length
        if (leased > concurrency.limit)
          observations.violate('PA14', `${leased} of ${consumer} are in hand at once`)
      }
    },
  }
}
