// One row of the index by which events find their instance: which instances have the key now, the last that had it, and the
// updates that wait for one. Create, update, learning and freeing a key all go through this row, guarded by its version.
//
// Invariants: CR1 a row names each instance and each waiting update once. CR2 an empty row is not stored. CR3 waiting updates
// keep their order of arrival.

import type { InstanceId, OrphanId, WorkId } from '../../foundation/ids/index.ts'
import { parseJson, stringifyJson } from '../../foundation/json/index.ts'

/** An update that arrived before its instance, or behind one that did. */
export interface Buffered {
  readonly work: WorkId
  readonly orphan: OrphanId
  /** Other keys that its instance must have: their rows. Left out: none. */
  readonly also?: readonly string[]
}

export interface Correlation {
  /** The active ones, by creation. */
  readonly live: readonly InstanceId[]
  /** The last instance that had the key, where the workflow allows it only once; null: not relevant. */
  readonly ever: InstanceId | null
  /** In order of arrival. */
  readonly buffered: readonly Buffered[]
}

export const NO_CORRELATION: Correlation = { live: [], ever: null, buffered: [] }

/** More instances of one key are a mistake in the definition, and the row would grow without bound. */
export const LIVE_MAX = 100
/** Further updates do not wait: they become orphans immediately. */
export const BUFFERED_MAX = 100

/** null: there is no row. */
export function readCorrelation(body: string | null): Correlation {
  return body === null ? NO_CORRELATION : (parseJson(body) as unknown as Correlation)
}

/** null: there is nothing to store. */
export function writeCorrelation({ live, ever, buffered }: Correlation): string | null {
  if (live.length === 0 && ever === null && buffered.length === 0) return null
  return stringifyJson({
    live,
    ever,
    buffered: buffered.map(({ work, orphan, also }) => ({
      work,
      orphan,
      ...(also === undefined || also.length === 0 ? {} : { also }),
    })),
  })
}

/** `forEver`: the key stays recorded when it is free again. null: too many instances have it. */
export function learnKey(row: Correlation, instance: InstanceId, forEver: boolean): Correlation | null {
  const ever = forEver ? instance : row.ever
  if (row.live.includes(instance)) return { ...row, ever }
  if (row.live.length >= LIVE_MAX) return null
  return { ...row, live: [...row.live, instance], ever }
}

export function freeKey(row: Correlation, instance: InstanceId): Correlation {
  return { ...row, live: row.live.filter((one) => one !== instance) }
}

/** null: too many wait already. */
export function bufferUpdate(row: Correlation, update: Buffered): Correlation | null {
  if (row.buffered.length >= BUFFERED_MAX) return null
  return { ...row, buffered: [...row.buffered.filter(({ work }) => work !== update.work), update] }
}

export function unbuffer(row: Correlation, works: readonly WorkId[]): Correlation {
  return { ...row, buffered: row.buffered.filter(({ work }) => !works.includes(work)) }
}

/** Those that may proceed: the first one, and any before it that look for an instance with more keys. */
export function nextBuffered({ buffered }: Correlation): readonly Buffered[] {
  const first = buffered.findIndex(({ also }) => also === undefined)
  return first === -1 ? buffered : buffered.slice(0, first + 1)
}

/** Those that `work` must let go first; one that is not among them comes after all. */
export function aheadOf({ buffered }: Correlation, work: WorkId): readonly Buffered[] {
  const own = buffered.findIndex((one) => one.work === work)
  const before = own === -1 ? buffered : buffered.slice(0, own)
  // One that needs more keys may never find its instance: it does not block others.
  return before.filter(({ also }) => also === undefined)
}

export interface TriggerQuestion {
  readonly action: 'create' | 'update' | 'createOrUpdate'
  readonly unique: 'live' | 'ever' | null
  /** Of its keys, in the order written. */
  readonly rows: readonly Correlation[]
  /** Others arrived before it and wait. */
  readonly isBehind: boolean
}

export type TriggerStep =
  | { readonly do: 'create' }
  /** An instance has the key, or had it. */
  | { readonly do: 'exists'; readonly instance: InstanceId }
  | { readonly do: 'update'; readonly instance: InstanceId }
  /** Its instance does not exist yet; or it does, and earlier updates go first. */
  | { readonly do: 'wait'; readonly for: 'instance' | 'turn' }
  | { readonly do: 'several'; readonly count: number }

/** What an event means, given the instances of its keys. An update is for the one instance that has all of them. */
export function decideTrigger({ action, unique, rows, isBehind }: TriggerQuestion): TriggerStep {
  if (action !== 'create') {
    const live = inAll(rows)
    if (live.length > 1) return { do: 'several', count: live.length }
    const [instance] = live
    if (instance !== undefined) return isBehind ? { do: 'wait', for: 'turn' } : { do: 'update', instance }
    if (action === 'update') return { do: 'wait', for: 'instance' }
  }
  const known = unique === null ? null : holderOf(rows, unique)
  return known === null ? { do: 'create' } : { do: 'exists', instance: known }
}

function inAll(rows: readonly Correlation[]): readonly InstanceId[] {
  const [first, ...others] = rows
  if (first === undefined) return []
  return first.live.filter((instance) => others.every(({ live }) => live.includes(instance)))
}

function holderOf(rows: readonly Correlation[], unique: 'live' | 'ever'): InstanceId | null {
  for (const { live, ever } of rows) {
    if (live[0] !== undefined) return live[0]
    if (unique === 'ever' && ever !== null) return ever
  }
  return null
}
