// The correlation rows by which events find their instance, as part of a commit: rows that were read are guarded,
// changes are written, and updates that wait for a key become due in the commit that gives it to an instance.
//
// Invariants: CR4 a decision by a row guards its version. CR5 a waiting update is woken by the commit that makes it
// next, or its own commit is refused and it decides again.

import type { Ids, InstanceId, TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import {
  type Correlation,
  freeKey,
  LIVE_MAX,
  learnKey,
  NO_CORRELATION,
  nextBuffered,
  readCorrelation,
  unbuffer,
  writeCorrelation,
} from '../../../core/workflows/correlation/index.ts'
import type { Instance } from '../../../core/workflows/instance/index.ts'
import { correlationKey, type Workflow } from '../../../core/workflows/machine/index.ts'
import type { Guard, TenantReads, Write } from '../../../ports/store.ts'

export type Keys = Instance['correlations']

export interface KnownRow {
  /** A `correlationKey`. */
  readonly key: string
  /** 0: there is none. */
  readonly version: number
  readonly row: Correlation
  /** The caller's change, before keys are learned and freed; omitted: none. */
  readonly after?: Correlation
}

export interface RowChange {
  readonly known: KnownRow
  readonly after: Correlation
  /** Waiting updates may be next. */
  readonly wakes: boolean
}

export interface CorrelationPlan {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
  /** Jobs became due: the claim loop must be woken. */
  readonly wakes: boolean
}

interface Deps {
  readonly store: { forTenant(tenant: TenantId): Pick<TenantReads, 'correlation' | 'work'> }
  readonly ids: Pick<Ids, 'uuid'>
}

export async function loadRows(
  reads: Pick<TenantReads, 'correlation'>,
  workflow: string,
  keys: Keys,
): Promise<readonly KnownRow[]> {
  return Promise.all(
    keys.map(async ({ name, value }) => {
      const key = correlationKey(workflow, name, value)
      const found = await reads.correlation(key)
      return found === null
        ? { key, version: 0, row: NO_CORRELATION }
        : { key, version: found.version, row: readCorrelation(found.body) }
    }),
  )
}

/** As if no event had ever named them: the caller guards that. */
export function freeRows(workflow: string, keys: Keys): readonly KnownRow[] {
  return keys.map(({ name, value }) => ({
    key: correlationKey(workflow, name, value),
    version: 0,
    row: NO_CORRELATION,
  }))
}

/** Whether a key of this name is given once and never again. */
function isForEver({ triggers }: Pick<Workflow, 'triggers'>, name: string): boolean {
  return triggers.some(
    ({ document }) => document.unique === 'ever' && Object.hasOwn(document.correlate, name),
  )
}

/**
 * The changes of the index when an instance learns or frees keys. `known`: rows that were already read and
 * decided by. `error`: it cannot have one of the keys.
 */
export async function planCorrelation(
  deps: Deps,
  tenant: TenantId,
  workflow: Workflow,
  instance: InstanceId,
  { learned, freed }: { readonly learned: Keys; readonly freed: Keys },
  known: readonly KnownRow[] = [],
): Promise<
  | ({ readonly ok: true } & CorrelationPlan)
  | { readonly ok: false; readonly key: string; readonly error: string }
> {
  const reads = deps.store.forTenant(tenant)
  const { name } = workflow.document
  const rows = new Map(known.map((one) => [one.key, one]))
  const after = new Map<string, Correlation>()
  const woken = new Set<string>()
  const find = async (key: Keys[number]): Promise<string> => {
    const id = correlationKey(name, key.name, key.value)
    if (!rows.has(id)) for (const row of await loadRows(reads, name, [key])) rows.set(id, row)
    if (!after.has(id)) after.set(id, changedRow(rows.get(id) as KnownRow))
    return id
  }
  for (const key of learned) {
    const id = await find(key)
    const row = learnKey(after.get(id) as Correlation, instance, isForEver(workflow, key.name))
    if (row === null) {
      return {
        ok: false,
        key: key.name,
        error: `more than ${LIVE_MAX} active instances have the key \`${key.name}\``,
      }
    }
    after.set(id, row)
    woken.add(id)
  }
  for (const key of freed) {
    const id = await find(key)
    after.set(id, freeKey(after.get(id) as Correlation, instance))
    woken.delete(id)
  }
  const changes = [...rows.values()].map((row) => ({
    known: row,
    after: after.get(row.key) ?? changedRow(row),
    // A waiting update was applied: the next one follows.
    wakes: woken.has(row.key) || row.after !== undefined,
  }))
  return { ok: true, ...(await planRows(deps, tenant, changes, null)) }
}

function changedRow({ row, after }: KnownRow): Correlation {
  return after ?? row
}

/** `self`: the job that ends in this commit; it needs no wake-up. */
export async function planRows(
  deps: Deps,
  tenant: TenantId,
  changes: readonly RowChange[],
  self: WorkId | null,
): Promise<CorrelationPlan> {
  const guards: Guard[] = []
  const writes: Write[] = []
  let wakes = false
  for (const { known, after: changed, wakes: isWoken } of changes) {
    guards.push({ g: 'version', of: 'correlation', key: known.key, version: known.version })
    let after = changed
    if (isWoken && after.live.length > 0 && after.buffered.length > 0) {
      const woken = await wakeBuffered(deps.store.forTenant(tenant), after, self)
      guards.push(...woken.guards)
      writes.push(...woken.writes)
      wakes ||= woken.writes.length > 0
      after = woken.row
    }
    const write = writeRow(deps.ids, known, after)
    if (write !== null) writes.push(write)
  }
  return { guards, writes, wakes }
}

function writeRow(ids: Deps['ids'], { key, version, row }: KnownRow, after: Correlation): Write | null {
  const body = writeCorrelation(after)
  if (body === writeCorrelation(row)) return null
  if (body === null) return { w: 'correlation.delete', key }
  return { w: 'correlation.put', key, version: version === 0 ? firstVersion(ids) : version + 1, body }
}

/** A row that is removed and created again must not get a version that another node still guards. */
function firstVersion(ids: Deps['ids']): number {
  return Number.parseInt(ids.uuid().slice(-6), 16) + 1
}

/** Jobs that will not run any more are dropped from the row. */
async function wakeBuffered(
  reads: Pick<TenantReads, 'work'>,
  row: Correlation,
  self: WorkId | null,
): Promise<{
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
  readonly row: Correlation
}> {
  let left = row
  for (;;) {
    const next = nextBuffered(left).filter(({ work }) => work !== self)
    const items = await Promise.all(next.map(({ work }) => reads.work(work)))
    const gone = next.filter((_, index) => isOver(items[index] ?? null)).map(({ work }) => work)
    if (gone.length > 0) {
      left = unbuffer(left, gone)
      continue
    }
    const waiting = items.flatMap((item) => (item === null ? [] : [item]))
    return {
      // A running job decides by the row, and is refused by what is written there.
      guards: waiting.map(({ id, state, epoch }) => ({ g: 'work', work: id, state, epoch })),
      writes: waiting.filter(({ state }) => state === 'ready').map(makeDue),
      row: left,
    }
  }
}

/** Whether it will not run again by itself. */
export function isOver(item: WorkRow | null): boolean {
  return item === null || !(item.state === 'ready' || item.state === 'leased' || item.state === 'waiting')
}

/** Unchanged, and due now. */
function makeDue(item: WorkRow): Write {
  const { attempts, waits, losses, key, class: failureClass, lastError, effectRef } = item
  const { httpStatus, durationMs } = item
  return {
    w: 'work.again',
    work: item.id,
    delayMs: 0,
    counters: { attempts, waits, losses },
    note: { key, class: failureClass, lastError, effectRef, httpStatus, durationMs },
  }
}
