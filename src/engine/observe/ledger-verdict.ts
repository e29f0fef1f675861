// What the ledger would say if a job ran now: by its key, and for a function by the effects that it left open.

import {
  decideEffect,
  type EffectAbilities,
  isProved,
  type LedgerEntry,
} from '../../core/effects/ledger/index.ts'
import type { WorkId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { TenantReads } from '../../ports/store.ts'

export interface LedgerVerdict {
  readonly verdict: 'would-call' | 'would-skip' | 'would-wait' | 'would-park'
  readonly reason: string
  readonly entry: LedgerEntry | null
}

/** What actions inside the process can do about another job's key. */
const NO_ABILITIES: EffectAbilities = { idempotent: false, keyTtlMs: null, probeAfterMs: null, timeoutMs: 0 }

/** `own`: the job that would run; null: it does not exist yet. `before`: the jobs whose effects it would find open. */
export async function judgeLedger(
  reads: TenantReads,
  route: Route,
  key: string,
  items: { readonly own: WorkRow | null; readonly before: WorkRow | null },
  now: Instant,
): Promise<LedgerVerdict> {
  const { own, before } = items
  const entry = await reads.ledger(key)
  const said = entry === null ? UNKNOWN_KEY : judgeEntry(entry, route, own, now)
  if (said.verdict !== 'would-call' || route.action.type !== 'function' || before === null) return said
  const [open] = (await reads.ledgerOfWork(before.id)).filter((one) => !isProved(one))
  return open === undefined ? said : judgeEffect(open, own)
}

const UNKNOWN_KEY: LedgerVerdict = {
  verdict: 'would-call',
  reason: 'the ledger does not know the key',
  entry: null,
}

function judgeEntry(entry: LedgerEntry, route: Route, own: WorkRow | null, now: Instant): LedgerVerdict {
  const step = decideEffect({
    entry,
    work: own?.id ?? ('' as WorkId),
    epoch: own?.epoch ?? 0,
    consumer: route.consumer,
    waits: own?.waits ?? 0,
    abilities: 'abilities' in route.action ? route.action.abilities : NO_ABILITIES,
    now,
  })
  switch (step.step) {
    case 'reserve': {
      const reason =
        entry.state === 'released'
          ? 'an earlier try is proved to have had no effect'
          : 'the outcome of an earlier call is unknown, and a repetition is harmless'
      return { verdict: 'would-call', reason, entry }
    }
    case 'hit':
    case 'believe':
      return { verdict: 'would-skip', reason: 'the effect is there already', entry }
    case 'doubt':
      return { verdict: 'would-wait', reason: 'its own call is under way, or was interrupted', entry }
    case 'probe':
      return {
        verdict: 'would-wait',
        reason: 'the outcome is unknown: the vendor would be asked first',
        entry,
      }
    case 'wait': {
      const reason =
        step.for === 'probe'
          ? 'the outcome is unknown, and it is too early to ask'
          : 'another item holds the key'
      return { verdict: 'would-wait', reason, entry }
    }
    case 'park':
      return { verdict: 'would-park', reason: 'the outcome is unknown and cannot be asked for', entry }
  }
}

/** The function's own code says how it can be settled; the job's state shows if it cannot. */
function judgeEffect(entry: LedgerEntry, own: WorkRow | null): LedgerVerdict {
  const name = entry.key.slice(entry.key.lastIndexOf('#') + 1)
  if (entry.state === 'reserved') {
    const reason = `its effect '${name}' is under way, or was interrupted`
    return { verdict: 'would-wait', reason, entry }
  }
  const reason = `the outcome of its effect '${name}' is unknown`
  return own?.state === 'parked'
    ? { verdict: 'would-park', reason: `${reason} and cannot be asked for`, entry }
    : { verdict: 'would-wait', reason: `${reason}: what the function says of it decides`, entry }
}
