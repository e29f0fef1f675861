// How subscriptions are stored: by name what the API created, and the state of each; beside them a change counter, which counts
// every change of a tenant's subscriptions and names the latest, so that a node that is behind reads those alone.
//
// The change counter is a record of the kind by which a start finds its tenants: a tenant may have subscriptions and no
// definitions.

import { isEncrypted } from '../../../core/events/sensitive/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../../../core/foundation/json/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import {
  FRESH_SUBSCRIPTION,
  type SubscriptionRecord,
  type SubscriptionState,
} from '../../../core/webhooks/subscription/index.ts'
import type { Guard, TenantReads, Write } from '../../../ports/store.ts'
import { isUnreadable } from '../../commit/index.ts'

export interface StoredSubscription {
  readonly record: SubscriptionRecord
  readonly version: number
}

export interface ChangeCounter {
  readonly version: number
  /** Names of the latest changes, the last one first. */
  readonly recent: readonly string[]
}

const COUNTER_KEY = 'subscriptions'
/** A node that is further behind reads all of them. */
const RECENT_MAX = 64
const PAGE = 500
/** Marks a subscription whose deliveries are being cancelled: the next node that starts continues. */
const REMOVAL_PREFIX = 'subscription-removed/'

export const NO_CHANGES: ChangeCounter = { version: 0, recent: [] }

export async function readChangeCounter(reads: Pick<TenantReads, 'record'>): Promise<ChangeCounter> {
  const found = await reads.record('bundle', COUNTER_KEY)
  if (found === null) return NO_CHANGES
  return { version: found.version, recent: JSON.parse(found.body) as readonly string[] }
}

/** Counts one more change: guarded, so that no two have the same number. */
export function beat(
  { version, recent }: ChangeCounter,
  name: string,
): { readonly changeCounter: ChangeCounter; readonly guard: Guard; readonly write: Write } {
  const changeCounter = { version: version + 1, recent: [name, ...recent].slice(0, RECENT_MAX) }
  return {
    changeCounter,
    guard: { g: 'version', of: 'bundle', key: COUNTER_KEY, version },
    write: {
      w: 'record.put',
      kind: 'bundle',
      key: COUNTER_KEY,
      version: changeCounter.version,
      body: JSON.stringify(changeCounter.recent),
    },
  }
}

/** The names that changed since; null: unknown, so all may have changed. */
export function changedSince(known: ChangeCounter, changeCounter: ChangeCounter): readonly string[] | null {
  const count = changeCounter.version - known.version
  return count < 0 || count > changeCounter.recent.length
    ? null
    : [...new Set(changeCounter.recent.slice(0, count))]
}

export async function readSubscription(
  reads: Pick<TenantReads, 'record'>,
  name: string,
): Promise<StoredSubscription | null> {
  const found = await reads.record('subscription', name)
  return found === null ? null : { record: parse(found.body), version: found.version }
}

/** The record cannot be decrypted here. */
export const UNREADABLE = 'unreadable'

export async function trySubscription(
  reads: Pick<TenantReads, 'record'>,
  name: string,
): Promise<StoredSubscription | typeof UNREADABLE | null> {
  try {
    return await readSubscription(reads, name)
  } catch (error) {
    if (isUnreadable(error)) return UNREADABLE
    throw error
  }
}

/** All of them, by name; a record whose version is in `known` is not read again. */
export async function readSubscriptions(
  reads: Pick<TenantReads, 'records'>,
  known: ReadonlyMap<string, StoredSubscription>,
): Promise<ReadonlyMap<string, StoredSubscription | typeof UNREADABLE>> {
  const all = new Map<string, StoredSubscription | typeof UNREADABLE>()
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<TenantReads['records']>> = await reads.records({
      kind: 'subscription',
      cursor,
      limit: PAGE,
    })
    for (const { key, version, body } of page.items) {
      const before = known.get(key)
      if (isEncrypted(body)) all.set(key, UNREADABLE)
      else all.set(key, before?.version === version ? before : { record: parse(body), version })
    }
    cursor = page.nextCursor
  } while (cursor !== null)
  return all
}

export function guardOf(name: string, version: number): Guard {
  return { g: 'version', of: 'subscription', key: name, version }
}

export function putSubscription(name: string, { record, version }: StoredSubscription): Write {
  const body = stringifyJson(record as unknown as JsonValue)
  return { w: 'record.put', kind: 'subscription', key: name, version, body }
}

export function deleteSubscription(name: string): Write {
  return { w: 'record.delete', kind: 'subscription', key: name }
}

/** The first record of a definition's subscription. */
export function freshRecord(
  now: Instant,
  by: string,
  state: Partial<SubscriptionState> = {},
): SubscriptionRecord {
  return {
    form: 1,
    document: null,
    written: null,
    state: { ...FRESH_SUBSCRIPTION, ...state },
    createdAt: now,
    createdBy: by,
    updatedAt: now,
    updatedBy: by,
  }
}

export function removalGuard(name: string): Guard {
  return { g: 'version', of: 'setting', key: `${REMOVAL_PREFIX}${name}`, version: 0 }
}

/** Of one removal: another one of the same name has another version. */
export interface RemovalMark {
  readonly version: number
  /** When it was removed: anything made for the name later belongs to another subscription. */
  readonly at: Instant
}

export function putRemoval(name: string, { version, at }: RemovalMark): Write {
  return {
    w: 'record.put',
    kind: 'setting',
    key: `${REMOVAL_PREFIX}${name}`,
    version,
    body: JSON.stringify({ at }),
  }
}

/** Ends this one removal: another one, perhaps begun after it was ended elsewhere, is left alone. */
export function endRemoval(
  name: string,
  { version }: RemovalMark,
): { readonly guard: Guard; readonly write: Write } {
  const key = `${REMOVAL_PREFIX}${name}`
  return {
    guard: { g: 'version', of: 'setting', key, version },
    write: { w: 'record.delete', kind: 'setting', key },
  }
}

export async function readRemoval(
  reads: Pick<TenantReads, 'record'>,
  name: string,
): Promise<RemovalMark | null> {
  const found = await reads.record('setting', `${REMOVAL_PREFIX}${name}`)
  if (found === null) return null
  const { at = Number.MAX_SAFE_INTEGER } = JSON.parse(found.body) as { readonly at?: Instant }
  return { version: found.version, at }
}

/** Names whose deliveries are not all cancelled yet, at most `limit`. */
export async function readRemovals(
  reads: Pick<TenantReads, 'records'>,
  limit: number,
): Promise<readonly string[]> {
  const page = await reads.records({ kind: 'setting', prefix: REMOVAL_PREFIX, cursor: null, limit })
  return page.items.map(({ key }) => key.slice(REMOVAL_PREFIX.length))
}

/** With every number as it was written: a transform may contain one that a double would change. */
function parse(body: string): SubscriptionRecord {
  return parseJson(body) as unknown as SubscriptionRecord
}
