// N2, N4, N5 and N6 on every applied group: each commit is walked write by write against the rows as they were last
// seen, and the rows that the store then holds must be those that the walk gives.

import { isLockKey } from '../src/core/effects/action/index.ts'
import { keyOfGeneration, LEDGER_STEPS } from '../src/core/effects/ledger/index.ts'
import { messageOf } from '../src/core/foundation/errors/index.ts'
import {
  DEFAULT_TENANT,
  type Incarnation,
  type NodeId,
  type TenantId,
  type WorkId,
} from '../src/core/foundation/ids/index.ts'
import { WORK_STEPS, type WorkRow, type WorkState } from '../src/core/queue/work/index.ts'
import { FINAL_WORK } from '../src/core/store/retention/index.ts'
import type { ClaimRequest, Commit, Write } from '../src/ports/store.ts'
import { StoreError } from '../src/ports/store.ts'
import { isCopy, makeDeadLetterChecks } from './check-dead-letters.ts'
import { makeIntakeChecks } from './check-intake.ts'
import type { LaneChecks } from './check-lanes.ts'
import type { VirtualTime } from './clock.ts'
import type { Data, Outcome } from './data.ts'
import { type Life, short } from './node.ts'
import { addTo, type Observations } from './run-observations.ts'
import { isEffectKey } from './scenario.ts'
import type { Vendor } from './vendor.ts'

export interface RowChecks {
  applied(life: Life, commits: readonly Commit[], outcomes: readonly Outcome[]): void
  claimed(life: Life, request: ClaimRequest, result: ReturnType<Data['claim']>): void
  joined(life: Life, node: NodeId, result: ReturnType<Data['join']>): void
  reclaimed(life: Life, given: readonly WorkId[]): void
  /** A node stopped by itself: its jobs are released, and no crash is counted. */
  left(life: Life, given: readonly WorkId[]): void
}

type WorkWrite = Extract<Write, { w: 'work.settle' | 'work.again' }>
type LedgerWrite = Extract<Write, { w: 'ledger.reserve' | 'ledger.settle' | 'ledger.done' }>

/** Classes that only an operator may retry. */
const REFUSALS = new Set([400, 401, 403, 404, 405, 409, 410, 422, 501])

const TURNS: ReadonlySet<WorkState> = new Set<WorkState>(['ready', 'waiting'])

const isOver = (state: WorkState | undefined) => state === 'dead' || state === 'cancelled'

export function makeRowChecks(deps: {
  readonly observations: Observations
  readonly data: Data
  readonly time: VirtualTime
  readonly lanes: LaneChecks
  vendor(): Vendor
  /** Whether the firing of a step had failed before this group, so that its item had not begun. */
  hasFailed(step: WorkRow): boolean
}): RowChecks {
  const { observations, data, time } = deps
  const { works, entries } = observations
  /** When the dedup keys that were seen may come again. */
  const windows = new Map<string, number>()
  const letters = makeDeadLetterChecks(deps)
  const intake = makeIntakeChecks(deps)
  const newestOf = new Map<NodeId, Incarnation>()

  const isEnded = (id: WorkId | undefined): boolean => {
    const state = id === undefined ? undefined : works.get(id)?.state
    return state !== undefined && FINAL_WORK.includes(state)
  }

  const stepWork = (id: WorkId, from: WorkState | 'absent', to: WorkState) => {
    if (!WORK_STEPS[from].includes(to))
      observations.violate('N5', `work ${short(id)} goes from ${from} to ${to}`)
  }

  const added = (
    write: Extract<Write, { w: 'work.add' }>,
    isLeased: boolean,
    states: Map<WorkId, WorkState>,
  ) => {
    const { id, eventId } = write.work
    // An operator's replay found the event before retention took it: the store adds nothing.
    if (observations.gone.events.has(eventId)) return
    if (works.has(id)) observations.violate('N5', `work ${short(id)} is added twice`)
    states.set(id, isLeased ? 'leased' : 'ready')
    if (write.work.replayOf !== null) observations.counts.replays += 1
  }

  const moved = (life: Life, commit: Commit, write: WorkWrite, states: Map<WorkId, WorkState>) => {
    const id = write.work
    const before = works.get(id)
    const from = states.get(id) ?? before?.state ?? 'absent'
    const to = write.w === 'work.again' ? 'ready' : write.to
    // Asked for by name, an instance begins in the commit that keeps the event: its item is done from the start.
    if (before !== undefined || from !== 'ready' || to !== 'done') stepWork(id, from, to)
    states.set(id, to)
    if (before === undefined) return
    const isPersons = from === 'parked'
    if (from === 'leased' && !isDropped(commit, before)) checkHolder(life, commit, before)
    if (!isPersons && write.counters.attempts < before.attempts) {
      observations.violate(
        'N6',
        `work ${short(id)} forgets attempts: ${before.attempts} to ${write.counters.attempts}`,
      )
    }
    // An operator who puts a job back begins the count again; nothing else changes it in a commit.
    const isPutBack = from === 'ready' && to === 'ready' && write.counters.losses === 0
    if (!isPersons && !isPutBack && write.counters.losses !== before.losses) {
      observations.violate('N5', `work ${short(id)} changes its losses in a commit`)
    }
    if (isPersons && to === 'ready') observations.calls.delete(id)
    if (to === 'ready' && !isPersons) checkRetry(before)
    if (to === 'parked') observations.counts.parked += 1
    if (!isPersons && to !== 'done' && write.note.key !== null && isEffectKey(write.note.key)) {
      observations.counts.functionStops += 1
    }
    if (to === 'skipped') observations.counts.skipped += 1
    if (to === 'dead') observations.counts.deadLetters += 1
    if (to === 'dead' && write.note.class === 'poison') observations.counts.poisoned += 1
    if (to === 'cancelled') observations.counts.cancelled += 1
    if (isPersons) observations.counts.resolved += 1
  }

  /** A job that its instance no longer waits for ends with that change, whichever node leases it. */
  const isDropped = (commit: Commit, row: WorkRow): boolean => {
    const { kind, instance } = row
    const isDroppable = kind === 'timer' || kind === 'admit' || (kind === 'step' && deps.hasFailed(row))
    return (
      isDroppable && commit.writes.some((write) => write.w === 'instance.put' && write.row.id === instance)
    )
  }

  /** Only the incarnation that leases a job changes it, and only while it is not fenced. */
  const checkHolder = (life: Life, commit: Commit, before: WorkRow) => {
    const owner = before.owner
    if (owner === null || !life.owners.has(owner)) {
      observations.violate('N5', `${life.name} moves work ${short(before.id)} that another life holds`)
      return
    }
    if (data.incarnation(owner).fenced) {
      observations.violate('N5', `${life.name} moves work ${short(before.id)} although it is fenced`)
    }
    for (const guard of commit.guards) {
      if (guard.g === 'lease' && guard.work === before.id && guard.epoch !== before.epoch) {
        observations.violate('N5', `${life.name} moves work ${short(before.id)} by a stale epoch`)
      }
    }
  }

  const checkRetry = (before: WorkRow) => {
    const last = observations.calls.get(before.id)?.at(-1)
    // A function may make something else of a refusal.
    if (last === undefined || isEffectKey(last.key)) return
    if (last.outcome?.kind !== 'response') return
    // Another credential may do; and a rotation is retried whatever the response was.
    const isAuth = last.outcome.status === 401 || last.outcome.status === 403
    if (last.operation.isRotation || (last.operation.connection !== undefined && isAuth)) return
    const entry = entries.get(last.key)
    // Only responses during this very lease of the job: after a crash they are unknown.
    if (entry?.work !== before.id || entry.epoch !== before.epoch) return
    if (last.life.owners.has(before.owner!) && REFUSALS.has(last.outcome.status)) {
      observations.violate('N6', `work ${short(before.id)} is tried again after ${last.outcome.status}`)
    }
  }

  const wroteLedger = (life: Life, write: LedgerWrite, states: Map<string, { state: string }>) => {
    const key = write.w === 'ledger.settle' ? write.key : write.entry.key
    if (write.w !== 'ledger.settle') intake.keyed(write.entry)
    const from = (states.get(key)?.state ?? entries.get(key)?.state ?? 'absent') as keyof typeof LEDGER_STEPS
    const to = write.w === 'ledger.reserve' ? 'reserved' : write.w === 'ledger.done' ? 'done' : write.to
    // A deliberate repetition is a row of its own.
    const isRepetition = write.w !== 'ledger.settle' && (write.entry.generation ?? 1) > generationOf(key)
    if (isRepetition && from !== 'done')
      observations.violate('N3', `ledger ${key} is repeated while the one before is ${from}`)
    if (isRepetition) observations.counts.generations += 1
    // A job that died with a lock takes it again, and any job takes that of an ended one: a lock is no effect with an outcome.
    const isKept =
      isLockKey(key) &&
      write.w === 'ledger.reserve' &&
      from === 'reserved' &&
      (entries.get(key)?.work === write.entry.work || isEnded(entries.get(key)?.work))
    if (!isRepetition && !isKept && !LEDGER_STEPS[from].includes(to))
      observations.violate('N5', `ledger ${key} goes from ${from} to ${to}`)
    states.set(key, { state: to })
    if (write.w === 'ledger.reserve') {
      const row = works.get(write.entry.work)
      const isHeld = row?.state === 'leased' && row.epoch === write.entry.epoch && life.owners.has(row.owner!)
      if (!isHeld) observations.violate('N5', `${life.name} reserves ${key} for work that it does not hold`)
      const { work, epoch, eventId, consumer } = write.entry
      const sendBy = time.now() + write.sendWithinMs
      addTo(observations.reserves, key, { life, work, epoch, eventId, consumer, at: time.now(), sendBy })
    }
    if (write.w !== 'ledger.settle') return
    if (to === 'released') addTo(observations.releases, key, { at: time.now(), proof: write.proof })
    if (to === 'done') checkDone(key, write.proof)
  }

  const generationOf = (key: string): number => entries.get(key)?.generation ?? 1

  const checkDone = (key: string, proof: string) => {
    const isProved = [key, ...batchesOf(key)].some((one) => isProvedBy(one, proof))
    if (!isProved) observations.violate('N4', `ledger ${key} is done (${proof}) without proof`)
    // That a call is there says nothing of one whom the vendor refused within it.
    const sent = keyOfGeneration(key, generationOf(key))
    if (proof !== 'person' && observations.shared.has(sent) && !deps.vendor().has(sent))
      observations.violate('N4', `ledger ${key} is done (${proof}), and the vendor did nothing of it`)
  }

  /** The keys of calls that it shared with others. */
  const batchesOf = (key: string): readonly string[] => [
    ...(observations.shared.get(keyOfGeneration(key, generationOf(key))) ?? []),
  ]

  /** By a look that needed no call: what is there is left alone. */
  const wasFound = (sent: string): boolean =>
    deps
      .vendor()
      .answers.some(
        ({ send, status }) =>
          send.operation.name === 'shelf' && send.isProbe && send.sentKey === sent && status === 200,
      )

  const isProvedBy = (key: string, proof: string): boolean => {
    const sent = keyOfGeneration(key, generationOf(key))
    if (proof === 'acknowledged' && wasFound(sent)) return true
    return (
      (proof === 'acknowledged'
        ? observations.sends
            .get(sent)
            ?.some(({ outcome }) => outcome?.kind === 'response' && outcome.status < 300)
        : proof === 'probe'
          ? deps
              .vendor()
              .answers.some(({ send, status }) => send.isProbe && send.sentKey === sent && status === 200)
          : proof === 'person' && observations.words.get(key)?.includes('done')) ?? false
    )
  }

  /** An accepted event has exactly the jobs that one of the deployed bundles says. */
  const checkMatched = (commit: Commit) => {
    for (const write of commit.writes) if (write.w === 'event.append') checkAppended(commit, write)
  }

  const checkAppended = (commit: Commit, { event, dedupForMs }: Extract<Write, { w: 'event.append' }>) => {
    if (isCopy(event)) return
    const name = `${commit.tenant} ${event.source} ${event.dedupKey}`
    const knownUntil = windows.get(name)
    if (knownUntil !== undefined && time.now() < knownUntil) {
      observations.violate('N1', `a second event of ${name} within the window`)
    }
    windows.set(name, time.now() + dedupForMs)
    intake.appended(commit, event)
    if (event.source === 'route:ship') observations.counts.functionEvents += 1
    if (!event.source.includes(':')) observations.counts.events += 1
  }

  const walk = (life: Life, commit: Commit, leased: readonly WorkId[], rows: Rows) => {
    for (const write of commit.writes) {
      switch (write.w) {
        case 'work.add':
          added(write, leased.includes(write.work.id), rows.work)
          break
        case 'work.settle':
        case 'work.again':
          moved(life, commit, write, rows.work)
          break
        case 'ledger.reserve':
        case 'ledger.settle':
        case 'ledger.done':
          wroteLedger(life, write, rows.ledger)
          break
        case 'ledger.observe':
          observations.counts.evidence += 1
          break
        case 'deadLetter.put':
          if (write.row.state === 'open' && !isOver(rows.work.get(write.row.workId))) {
            observations.violate(
              'N2',
              `a dead letter is opened, but its work ${short(write.row.workId)} is not over`,
            )
          }
          break
        default:
          break
      }
    }
    letters.applied(commit)
    checkMatched(commit)
    intake.ended(commit)
  }

  interface Rows {
    readonly work: Map<WorkId, WorkState>
    readonly ledger: Map<string, { state: string }>
  }

  /** No store can apply it. What is wrong with it by the rows that we know says more than that. */
  const explain = (life: Life, commit: Commit, rows: Rows, error: unknown) => {
    const known = observations.violations.length
    walk(life, commit, [], { work: new Map(rows.work), ledger: new Map(rows.ledger) })
    if (observations.violations.length > known) return
    observations.violate('BROKEN', `a commit of ${life.name} is broken: ${messageOf(error)}`)
  }

  /** An operator is asked about the unknown outcomes of a cancelled job one by one: each decision shows the next. */
  const checkNamed = (commit: Commit) => {
    for (const write of commit.writes) {
      if (write.w !== 'ledger.settle' || write.proof !== 'person') continue
      const row = works.get(entries.get(write.key)!.work)
      if (row?.state !== 'cancelled') continue
      const doubts = [...entries.values()].filter(({ work, state }) => work === row.id && state === 'unknown')
      if (doubts.length > 0 && !doubts.some(({ key }) => key === row.key)) {
        observations.violate(
          'N4',
          `work ${short(row.id)} is cancelled, and no decision is asked for ${doubts[0]!.key}`,
        )
      }
    }
  }

  /** The store must hold what the walk gave, also where a commit was refused. */
  const compare = (commits: readonly Commit[], rows: Rows) => {
    for (const commit of commits) {
      for (const write of commit.writes) {
        if (write.w === 'work.add' || write.w === 'work.settle' || write.w === 'work.again') {
          seeWork(commit.tenant, write.w === 'work.add' ? write.work.id : write.work, rows.work)
        } else if (write.w.startsWith('ledger.')) {
          const ledger = write as LedgerWrite | Extract<Write, { w: 'ledger.observe' }>
          seeEntry(commit.tenant, 'entry' in ledger ? ledger.entry.key : ledger.key, rows.ledger)
        }
      }
    }
  }

  const seeWork = (tenant: TenantId, id: WorkId, states: ReadonlyMap<WorkId, WorkState>) => {
    const before = works.get(id)
    const row = data.work(tenant, id)
    // Who was stopped for long may still speak of what retention has taken.
    if (row === null && observations.gone.work.has(id)) return
    const said = states.get(id) ?? before?.state ?? null
    // The lane decides whether it waits.
    const isTurn = row !== null && row.lane !== null && TURNS.has(row.state)
    const expected = isTurn && said !== null && TURNS.has(said) ? row.state : said
    if ((row?.state ?? null) !== expected) {
      observations.violate(
        'N5',
        `work ${short(id)} is ${row?.state ?? 'absent'}, not ${expected ?? 'absent'}`,
      )
    }
    if (row === null) return
    if (before !== undefined && row.epoch !== before.epoch) {
      observations.violate('N5', `a commit changes the epoch of work ${short(id)}`)
    }
    works.set(id, row)
  }

  const seeEntry = (tenant: TenantId, key: string, states: ReadonlyMap<string, { state: string }>) => {
    const row = data.ledger(tenant, key)
    const expected = states.get(key)?.state ?? entries.get(key)?.state ?? null
    if ((row?.state ?? null) !== expected) {
      observations.violate('N5', `ledger ${key} is ${row?.state ?? 'absent'}, not ${expected ?? 'absent'}`)
    }
    if (row !== null) entries.set(key, row)
  }

  return {
    applied(life, commits, outcomes) {
      const rows: Rows = { work: new Map(), ledger: new Map() }
      for (const [index, commit] of commits.entries()) {
        const outcome = outcomes[index]!
        if (outcome.ok === true) walk(life, commit, outcome.leased, rows)
        else if (outcome.ok === 'failed') {
          observations.counts.storeFailures += 1
          if (!(outcome.error instanceof StoreError)) explain(life, commit, rows, outcome.error)
        } else {
          observations.counts.refusedCommits += 1
          if (commit.guards[outcome.guard]?.g === 'lease') observations.counts.staleCommits += 1
        }
      }
      compare(commits, rows)
      deps.lanes.applied(commits.filter((_commit, index) => outcomes[index]!.ok === true))
      for (const [index, commit] of commits.entries()) if (outcomes[index]!.ok === true) checkNamed(commit)
    },

    claimed(life, request, result) {
      for (const { work } of result.items) {
        const before = works.get(work.id)
        const row = data.work(work.tenant, work.id)
        stepWork(work.id, before?.state ?? 'absent', 'leased')
        if (before !== undefined && (work.epoch !== before.epoch + 1 || row?.epoch !== work.epoch)) {
          observations.violate('N5', `a claim does not raise the epoch of work ${short(work.id)}`)
        }
        if (before !== undefined && before.dueAt > result.now) {
          observations.violate('N5', `${life.name} claims work ${short(work.id)} before it is due`)
        }
        if (row?.state !== 'leased' || row.owner !== request.owner) {
          observations.violate('N5', `claimed work ${short(work.id)} is not its owner's`)
        }
        if (row !== null) works.set(work.id, row)
      }
    },

    joined(life, node, { owner }) {
      const before = newestOf.get(node)
      if (before !== undefined && !data.incarnation(before).fenced) {
        observations.violate('N5', `${node} has two lives in the store`)
      }
      newestOf.set(node, owner)
      life.owners.add(owner)
    },

    reclaimed: (life, given) => givenBack(life, given, true),
    left: (life, given) => givenBack(life, given, false),
  }

  function givenBack(life: Life, given: readonly WorkId[], isDead: boolean): void {
    for (const id of given) {
      const before = works.get(id)
      const row = data.work(before?.tenant ?? DEFAULT_TENANT, id)
      if (before === undefined || row === null) {
        observations.violate('N5', `${life.name} gives back work ${short(id)} that is not there`)
        continue
      }
      observations.counts.reclaimed += 1
      observations.lost.set(id, (observations.lost.get(id) ?? 0) + 1)
      if (row.state !== 'ready' || row.owner !== null) {
        observations.violate('N5', `work ${short(id)} was given back but is still held`)
      }
      if (!data.incarnation(before.owner!).fenced) {
        observations.violate('N5', `work ${short(id)} was taken from a living owner`)
      }
      if (row.losses !== before.losses + (isDead && before.alone ? 1 : 0)) {
        observations.violate(
          'N5',
          `work ${short(id)} has ${row.losses} losses after ${before.losses}, alone: ${before.alone}`,
        )
      }
      works.set(id, row)
    }
  }
}
