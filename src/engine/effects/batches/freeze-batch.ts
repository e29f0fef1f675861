// Freezes a batch: the members, their reserves and the batch itself are one commit, before anything is called. From
// then on the batch is the job that runs, and its members wait for its end.
//
// Invariant: BA5 a batch and its members are stored together or not at all.

import type { Ids, Incarnation } from '../../../core/foundation/ids/index.ts'
import { EMPTY_NOTE, type NewWork, type WorkRow } from '../../../core/queue/work/index.ts'
import type { Route } from '../../../core/routing/index.ts'
import { newWorkRow } from '../../../core/store/commit/index.ts'
import type { Guard, Write } from '../../../ports/store.ts'
import { type EngineBase, type FirmResult, orFail, retrying } from '../../commit/index.ts'
import type { EngineConfig } from '../../config.ts'
import { type Item, type JobSlots, makeItem } from '../../leases/index.ts'
import { SHORT_WAIT_MS } from '../../settlement/index.ts'
import type { Joined } from '../call.ts'
import { countersOf, isFresh, leaseGuard, ledgerGuard, newEntry, unreservedGuard } from '../call-outcome.ts'
import { type FrozenMembers, frozenRow, type Gathered, keyOfBatch } from './batch-members.ts'
import type { Freeze } from './gather-batch.ts'

/** Guards per member: its lease, its key. */
const GUARDS_EACH = 2
const NO_LEASE = 'the lease could not be made long enough for the call'
const unending = orFail('a batch without members was refused')

export function makeFreeze(
  deps: Pick<EngineBase, 'store' | 'commits' | 'ids' | 'wake'> & {
    readonly jobSlots: Pick<JobSlots, 'takeAnyway' | 'giveBack' | 'start'>
    owner(): Incarnation | null
    readonly frozen: FrozenMembers
  },
  config: Pick<EngineConfig, 'sendWithinMs'>,
): Freeze {
  const { store, commits, ids, jobSlots } = deps

  /** The store leased it to `owner`, also if a renewal is slow by now: the call is held until the lease is known to last. */
  const begin = (
    owner: Incarnation,
    route: Route,
    batch: NewWork,
    members: readonly Gathered[],
    result: FirmResult,
  ) => {
    const [first] = members
    const isOurs = result.ok ? result.leased.includes(batch.id) : true
    if (first === undefined || !isOurs) {
      jobSlots.giveBack(batch.id)
      return deps.wake()
    }
    const moment = {
      tenant: first.work.tenant,
      now: result.at,
      after: (delayMs: number) => result.at + delayMs,
    }
    const row = newWorkRow(moment, batch, 0, owner)
    deps.frozen.set(
      row.id,
      members.map((member) => ({ ...member, work: frozenRow(member, batch.id) })),
    )
    jobSlots.start(startable(owner, row, first, route))
  }

  /**
   * The same members formed a batch before that has ended without their effects. The batch's key belongs to
   * that call, so the new call uses the key's next generation.
   */
  const again = async (batch: NewWork, members: readonly Gathered[]): Promise<NewWork> => {
    const [first] = members
    if (first === undefined || members.some(isNew)) return batch
    const reads = store.forTenant(first.work.tenant)
    const before = await commits.retryUntilAvailable(() => reads.ledger(keyOfBatch(members)))
    return before?.state === 'done' ? { ...batch, generation: before.generation + 1 } : batch
  }

  return async (call, gathered) => {
    const rounds = new Map<Gathered, Joined>()
    const { tenant } = call.item.work
    /** Every refused attempt has one member less. */
    let left = gathered
    const freezeOnce = async (retry: () => Promise<void>): Promise<void> => {
      const [first] = left
      const owner = deps.owner()
      if (first === undefined) return
      if (owner === null) {
        for (const member of left) rounds.set(member, { delayMs: SHORT_WAIT_MS, why: NO_LEASE })
        return
      }
      const batch = await again(newBatch(ids, call.route, first.work), left)
      jobSlots.takeAnyway(batch.id)
      const result = await commits
        .firmly(tenant, left.flatMap(guardsOf), [
          { w: 'work.add', work: batch, lease: owner, delayMs: 0 },
          ...left.flatMap((member) => writesOf(member, batch, config.sendWithinMs)),
        ])
        .catch((error) => {
          jobSlots.giveBack(batch.id)
          throw error
        })
      const isThere =
        result.ok ||
        (result.isRepeat === true &&
          (await commits.retryUntilAvailable(() => store.forTenant(tenant).work(batch.id))) !== null)
      if (isThere) return begin(owner, call.route, batch, left, result)
      jobSlots.giveBack(batch.id)
      const refused = left[Math.floor((result.ok ? 0 : result.guard) / GUARDS_EACH)] as Gathered
      rounds.set(refused, roundOf(result))
      left = left.filter((member) => member !== refused)
      return retry()
    }
    await retrying(gathered.length + 1, freezeOnce, unending)
    return gathered.map((member) => rounds.get(member) ?? 'finished')
  }
}

/** Nothing was ever done under its key: no batch contained it. */
function isNew({ item, over }: Gathered): boolean {
  return over === null && isFresh(item)
}

/** A member that this node lost is left alone; one whose key is known by now is checked again, alone. */
function roundOf(result: FirmResult): Joined {
  if (result.ok || result.guard % GUARDS_EACH === 0) return 'finished'
  return { entry: result.found?.f === 'ledger' ? result.found.entry : null }
}

export function newBatch(
  ids: Ids,
  route: Route,
  member: Pick<WorkRow, 'definition' | 'codeHash' | 'eventId'>,
): NewWork {
  return {
    id: ids.work(),
    kind: 'batch',
    consumer: route.consumer,
    definition: member.definition,
    codeHash: member.codeHash,
    // It belongs to all of them; a row names one.
    eventId: member.eventId,
    expiresInMs: route.expiresInMs,
    replayOf: null,
  }
}

function guardsOf({ item, key, over }: Gathered): readonly Guard[] {
  return [leaseGuard(item), over === null ? unreservedGuard(key) : ledgerGuard(over)]
}

function writesOf({ item, key }: Gathered, batch: NewWork, sendWithinMs: number): readonly Write[] {
  const { class: failure, lastError } = item.work
  return [
    {
      w: 'work.settle',
      work: item.work.id,
      to: 'merged',
      counters: countersOf(item),
      note: { ...EMPTY_NOTE, key, class: failure, lastError },
      place: 'keep',
      into: batch.id,
    },
    { w: 'ledger.reserve', entry: newEntry(item, key), sendWithinMs },
  ]
}

function startable(owner: Incarnation, row: WorkRow, first: Gathered, route: Route): Item {
  const { item } = first
  return makeItem(owner, row, first.event, { payload: item.payload(), header: item.header(), route })
}
