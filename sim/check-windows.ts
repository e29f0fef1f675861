// DB1 and DB2, FO11, HK1, and what guards by version promise: a debounced job runs no sooner than its window ends, a delayed one no sooner than its delay, a digest of one value is the
// same in every key, and a record that nodes change in turns is never written twice from the same version.

import type { RouteDocument } from '../src/core/definitions/documents/index.ts'
import type { WorkId } from '../src/core/foundation/ids/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import type { Commit, Write } from '../src/ports/store.ts'
import type { VirtualTime } from './clock.ts'
import type { Data, Outcome } from './data.ts'
import type { Profile } from './faults.ts'
import { short } from './node.ts'
import type { Observations, Rule } from './run-observations.ts'
import { HMAC_ROUTES, parsePayload, routeOf } from './scenario.ts'

/** Asked before the rows of a group are noted: what the observations says is how they were. */
export interface WindowChecks {
  applied(commits: readonly Commit[], outcomes: readonly Outcome[]): void
}

/** Records that several nodes change, each from the version that it read. */
const IN_TURN: Readonly<Record<string, Rule>> = { schedule: 'SC7', rate: 'PA19', drain: 'PA12' }
/** A job that cannot decide puts itself off for this long. */
const SHORT_MS = 1_000

export function makeWindowChecks(deps: {
  readonly observations: Observations
  readonly data: Data
  readonly time: VirtualTime
  readonly profile: Pick<Profile, 'isInstant' | 'hasHmac'>
}): WindowChecks {
  const { observations, data, time, profile } = deps
  const versions = new Map<string, number>()
  /** An operator retried them before their delay ended. */
  const retried = new Set<WorkId>()
  /** By route and order. */
  const digests = new Map<string, string>()

  const rowOf = (tenant: WorkRow['tenant'], id: WorkId): WorkRow | null => data.work(tenant, id)

  const checkVersion = (tenant: string, write: Extract<Write, { w: 'record.put' }>) => {
    const rule = IN_TURN[write.kind]
    if (rule === undefined) return
    const name = `${tenant} ${write.kind} ${write.key}`
    const before = versions.get(name)
    if (before !== undefined && write.version !== before + 1 && write.version !== 1)
      observations.violate(
        rule,
        `${write.kind} ${write.key} is written from version ${write.version - 1}, not ${before}`,
      )
    versions.set(name, write.version)
  }

  const checkDigest = (tenant: WorkRow['tenant'], id: WorkId, key: string) => {
    const row = rowOf(tenant, id)
    const name = row?.consumer.slice('route:'.length) ?? ''
    if (row === null || row.replayOf !== null || !HMAC_ROUTES.includes(name)) return
    const event = data.event(tenant, row.eventId)
    if (event === null) return
    const whose = `${name} ${parsePayload(event.data).order}`
    const before = digests.get(whose)
    if (before !== undefined && before !== key)
      observations.violate('HK1', `${whose} has the keys ${before} and ${key}`)
    digests.set(whose, key)
  }

  /** Nothing is chosen, and nothing runs, before it was quiet for as long as the window, or the oldest waited long enough. */
  const checkQuiet = (head: WorkRow, newest: WorkRow, what: string) => {
    const endsAt = edgeOf(head, newest)
    if (endsAt !== null && time.now() < endsAt)
      observations.violate(
        'DB1',
        `work ${short(head.id)} ${what} ${endsAt - time.now()} ms before its window ends`,
      )
  }

  const checkChosen = (tenant: WorkRow['tenant'], write: Extract<Write, { w: 'work.settle' }>) => {
    if (write.note.lastError !== 'SUPERSEDED' || write.note.effectRef === null) return
    const before = observations.works.get(write.work)
    const head = rowOf(tenant, write.work)
    const survivor = rowOf(tenant, write.note.effectRef as WorkId)
    // Only the one that had the position decides.
    if (head === null || survivor === null || before?.hasPlace !== true) return
    checkQuiet(head, survivor, 'gives way')
  }

  const checkAlone = (tenant: WorkRow['tenant'], id: WorkId) => {
    const row = rowOf(tenant, id)
    if (row === null || row.isFrozen || row.replayOf !== null) return
    if (row.attempts + row.waits + row.losses > 0) return
    checkQuiet(row, row, 'runs')
  }

  const checkDelay = (tenant: WorkRow['tenant'], id: WorkId) => {
    const row = rowOf(tenant, id)
    if (row === null || row.replayOf !== null || !row.consumer.startsWith('route:')) return
    if (retried.has(id)) return
    const { delayMs } = routeOf(row.consumer).document
    const early = delayMs === undefined ? 0 : row.createdAt + delayMs - time.now()
    if (early > 0) observations.violate('FO11', `work ${short(id)} runs ${early} ms before its delay ends`)
  }

  /** A store that takes no time puts it off to the very instant. */
  const checkPutOff = (tenant: WorkRow['tenant'], { work, note }: Extract<Write, { w: 'work.again' }>) => {
    const row = rowOf(tenant, work)
    if (!profile.isInstant || row === null || note.lastError !== null || row.isFrozen) return
    if (row.lane === null || row.attempts > 0) return
    const last = newestOf(row)
    const endsAt = edgeOf(row, last)
    if (endsAt !== null && row.dueAt > Math.max(endsAt, time.now() + SHORT_MS))
      observations.violate('DB2', `work ${short(work)} waits ${row.dueAt - endsAt} ms longer than its window`)
  }

  const newestOf = (head: WorkRow): WorkRow => {
    let newest = head
    for (const row of observations.works.values()) {
      const isBehind = row.tenant === head.tenant && row.consumer === head.consumer && row.lane === head.lane
      if (isBehind && row.state === 'waiting' && row.createdAt >= newest.createdAt) newest = row
    }
    return newest
  }

  const apply = ({ tenant, writes }: Commit) => {
    for (const write of writes) {
      if (write.w === 'record.put') checkVersion(tenant, write)
      if (write.w === 'work.settle') checkChosen(tenant, write)
      if (write.w === 'work.again') {
        // Nothing but an operator puts back a job that nothing leased.
        if (observations.works.get(write.work)?.state === 'ready') retried.add(write.work)
        checkPutOff(tenant, write)
      }
      if (write.w !== 'ledger.reserve') continue
      checkAlone(tenant, write.entry.work)
      checkDelay(tenant, write.entry.work)
      if (profile.hasHmac) checkDigest(tenant, write.entry.work, write.entry.key)
    }
  }

  return {
    applied(commits, outcomes) {
      for (const [index, commit] of commits.entries()) if (outcomes[index]?.ok === true) apply(commit)
    },
  }
}

/** When a debounced lane is decided, in the words of its definition; null: it gathers nothing. */
function edgeOf(head: WorkRow, newest: WorkRow): number | null {
  const debounce = debounceOf(head)
  if (debounce === undefined) return null
  return Math.min(newest.createdAt + debounce.windowMs, head.createdAt + debounce.maxWaitMs)
}

function debounceOf({ consumer }: WorkRow): RouteDocument['debounce'] {
  return consumer.startsWith('route:') ? routeOf(consumer).document.debounce : undefined
}
